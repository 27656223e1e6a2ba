"""The address of the apps that open in a browser."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from pydantic import Field

from mrb_lib.review.access import Address, address_of
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import Option, checked_dataclass


@checked_dataclass
class ServerOptions:
    """Where an app listens, and who may reach it."""

    port: Annotated[
        int | None,
        Field(ge=1, le=65535),
        Option("Listen on this port; default: that of last time if it is free.", "PORT"),
    ] = None
    host: Annotated[str, Option("Listen on this address.", "HOST")] = "127.0.0.1"
    allow_remote: Annotated[bool, Option("Let other machines reach it.")] = False
    base_url: Annotated[
        str, Option("Name the address that a proxy gives it: https://hub.example.org/user/me/proxy/8000/.", "URL")
    ] = ""
    new_token: Annotated[bool, Option("Make a new token; links with the old one stop working.")] = False
    browser: Annotated[bool, Option("Open the browser.")] = True


def app_address(folder: Path, app: str, options: ServerOptions) -> Address:
    """Return where an app will listen; see `mrb_lib.review.access.address_of`.

    Raises
    ------
    InputError
        Nothing can listen there, the base URL is none, or a package is missing.
    """
    missing = [name for name in ("tornado", "jinja2", "sqlalchemy") if not find_spec(name)]
    if missing:
        raise InputError(f"{', '.join(missing)}: not installed; pip install 'mrb-workbench[review]' brings it.")
    if options.base_url and not options.base_url.startswith(("http://", "https://", "/")):
        raise InputError(f"--base-url {options.base_url}: begin it with https://, http:// or /.")
    return address_of(
        folder, app, host=options.host, port=options.port, allow_remote=options.allow_remote,
        base_url=options.base_url, renew=options.new_token,
    )  # fmt: skip
