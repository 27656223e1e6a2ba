"""The options of the commands that open an app in a browser."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mrb_lib.review.access import Address

Port = Annotated[int | None, typer.Option(min=1, max=65535, help="The port; default: that of last time if it is free.")]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
AllowRemote = Annotated[bool, typer.Option("--allow-remote", help="Let other machines reach it.")]
BaseUrl = Annotated[
    str,
    typer.Option(
        metavar="URL",
        help="The address that a proxy gives the app, such as https://hub.example.org/user/me/proxy/8000/.",
    ),
]
NewToken = Annotated[bool, typer.Option("--new-token", help="Make a new token; links with the old one stop working.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")]


def app_address(
    folder: Path, app: str, *, host: str, port: int | None, allow_remote: bool, base_url: str, new_token: bool
) -> Address:
    """Return where an app will listen; see `mrb_lib.review.access.address_of`.

    Raises
    ------
    InputError
        Nothing can listen there, the base URL is none, or a package is missing.
    """
    from mrb_lib.tables.errors import InputError

    missing = [name for name in ("tornado", "jinja2", "sqlalchemy") if not find_spec(name)]
    if missing:
        raise InputError(f"{', '.join(missing)}: not installed; pip install 'mrb-workbench[review]' brings it.")
    if base_url and not base_url.startswith(("http://", "https://", "/")):
        raise InputError(f"--base-url {base_url}: begin it with https://, http:// or /.")
    from mrb_lib.review.access import address_of

    return address_of(folder, app, host=host, port=port, allow_remote=allow_remote, base_url=base_url, renew=new_token)
