"""Who may open an app: whoever has its token. Who comes without it, or with an old one, is told so in plain words."""

from __future__ import annotations

from jupyter_server.auth.identity import PasswordIdentityProvider
from jupyter_server.auth.login import LoginFormHandler


class DoorHandler(LoginFormHandler):
    """The page in front of an app; what is pasted there is tried by opening the address again."""

    def _render(self, message: dict[str, str] | None = None) -> None:
        refused = message is not None or "token=" in self.get_argument("next", default="")
        page = self.settings["voila_jinja2_env"].get_template("door.html.j2")
        self.write(page.render(refused=refused))


class TokenProvider(PasswordIdentityProvider):
    """Lets in whoever has the token, and shows others `DoorHandler`."""

    def get_handlers(self) -> list[tuple[str, object]]:
        """The one page that can be opened without the token."""
        return [(r"/login", DoorHandler)]
