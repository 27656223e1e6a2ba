"""A loopback server that answers like the Hub, as far as downloading a dataset or a model asks it to."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest


def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, no token, and library settings that are put back afterwards."""
    from huggingface_hub import constants

    for name in ("HF_ENDPOINT", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    for name in ("HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_TELEMETRY", "HF_HUB_OFFLINE"):
        monkeypatch.setattr(constants, name, False)


@dataclass(frozen=True)
class Request:
    """One request as the server saw it; `file` is the file whose bytes were asked for, or empty."""

    method: str
    path: str
    file: str
    range: str
    authorization: str


@dataclass
class LocalHub:
    """What the server serves and how it misbehaves.

    Attributes
    ----------
    revisions : folder of each commit; `branches` and tags name commits
    is_model : serve a model instead of a dataset
    cut : cut the connection in the middle of this file, once
    down_after_cut : answer 503 from then on
    status : answer every request with this status and `error_code`
    token : the only token that is let in, if any is asked for
    body : answer every request with this text, as a captive portal does
    """

    repo: str
    revisions: dict[str, Path]
    branches: dict[str, str]
    is_model: bool = False
    cut: str = ""
    down_after_cut: bool = False
    status: int = 0
    error_code: str = ""
    token: str = ""
    body: bytes = b""
    url: str = ""
    requests: list[Request] = field(default_factory=list)

    def fetched(self) -> list[str]:
        """The files whose bytes were sent, or begun to be, in order of name."""
        return sorted(request.file for request in self.requests if request.method == "GET" and request.file)


def _handler(hub: LocalHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on stderr."""

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def _answer(self) -> None:
            path = unquote(urlsplit(self.path).path)
            at, api_at = ("", "models/") if hub.is_model else ("datasets/", "datasets/")
            file = re.fullmatch(rf"/{at}{hub.repo}/resolve/([^/]+)/(.+)", path)
            name = file[2] if file else ""
            headers = self.headers
            hub.requests.append(
                Request(self.command, path, name, headers.get("Range", ""), headers.get("Authorization", ""))
            )
            if hub.status:
                return self._json({"error": "no"}, hub.status, hub.error_code)
            if hub.body:
                return self._send(200, hub.body, {"Content-Type": "text/html"})
            if hub.token and headers.get("Authorization") != f"Bearer {hub.token}":
                return self._json({"error": "no"}, 401, "GatedRepo")
            if file:
                return self._file(file[1], name)
            api = re.fullmatch(rf"/api/{api_at}{hub.repo}(?:/(revision|tree)/([^/]+))?", path)
            if api is None:
                return self._json({"error": "no such repository"}, 404, "RepoNotFound")
            return self._listing(api[1] or "revision", api[2] or "main")

        def _listing(self, what: str, revision: str) -> None:
            sha = hub.branches.get(revision, revision)
            if sha not in hub.revisions:
                return self._json({"error": "no such revision"}, 404, "RevisionNotFound")
            folder = hub.revisions[sha]
            names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
            if what == "tree":
                entries = [
                    {"type": "file", "path": name, "size": (folder / name).stat().st_size, "oid": _etag(folder / name)}
                    for name in names
                ]
                return self._json(entries)
            siblings = [{"rfilename": name} for name in names]
            return self._json({"id": hub.repo, "sha": sha, "private": False, "tags": [], "siblings": siblings})

        def _file(self, revision: str, name: str) -> None:
            path = hub.revisions[revision] / name
            if not path.is_file():
                return self._json({"error": "no such file"}, 404, "EntryNotFound")
            data = path.read_bytes()
            headers = {"ETag": f'"{_etag(path)}"', "X-Repo-Commit": revision, "Accept-Ranges": "bytes"}
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            start = int(asked[1]) if asked else 0
            if asked:
                headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            if name == hub.cut and self.command == "GET":
                hub.cut = ""
                if hub.down_after_cut:
                    hub.status = 503
                self._send(200, data, headers, stop=len(data) // 2)
                self.close_connection = True
                return None
            return self._send(206 if asked else 200, data[start:], headers)

        def _json(self, value: object, status: int = 200, code: str = "") -> None:
            headers = {"Content-Type": "application/json"} | ({"X-Error-Code": code} if code else {})
            self._send(status, json.dumps(value).encode(), headers)

        def _send(self, status: int, data: bytes, headers: dict[str, str], stop: int | None = None) -> None:
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data[:stop])

    return Handler


def _etag(path: Path) -> str:
    return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()


@contextmanager
def serve(hub: LocalHub) -> Iterator[LocalHub]:
    """Serve `hub` on a free port of the loopback interface; sets its `url`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub)) as server:
        hub.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()
