"""The app behind a proxy that serves it under a path of its own, as JupyterHub does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.store import open_store

from .pages import explorer, press, reviewing
from .server import Served

PATH = "/user/me/proxy/8000"


class _Passing(RequestHandler):
    """Passes a request on, with or without the proxy's own path, and answers nothing else."""

    async def get(self, rest: str) -> None:
        body = self.request.body if self.request.method == "POST" else None
        kept = {name: value for name, value in self.request.headers.get_all() if name not in ("Connection", "Host")}
        query = f"?{self.request.query}" if self.request.query else ""
        path = self.request.path if self.settings["keeps_path"] else rest
        answer = await AsyncHTTPClient().fetch(
            f"http://127.0.0.1:{self.settings['port']}{path}{query}", method=self.request.method, body=body,
            headers={**kept, "Host": self.request.host}, raise_error=False, follow_redirects=False,
        )  # fmt: skip
        self.set_status(answer.code)
        for name, value in answer.headers.get_all():
            if name not in ("Content-Length", "Transfer-Encoding", "Connection"):
                self.add_header(name, value)
        self.finish(answer.body or None)

    post = get


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proxy") / "bench"
    write_demo(folder, cases=4, seed=2)
    return folder


@contextmanager
def _behind_a_proxy(app: str, bench: Path, *options: str, keeps_path: bool) -> Iterator[str]:
    """The address of an app behind a proxy that listens on another port, as `--base-url` prints it."""
    socket, port = bind_unused_port()
    loops, started = list[IOLoop](), threading.Event()
    free, own = bind_unused_port()
    free.close()
    options = ("--base-url", f"http://127.0.0.1:{port}{PATH}/", "--port", str(own), *options)
    with Served(app, bench, *options) as served:

        def run() -> None:
            loop = IOLoop(make_current=True)
            loops.append(loop)
            server = HTTPServer(Application([(f"{PATH}(/.*)", _Passing)], port=own, keeps_path=keeps_path))
            server.add_sockets([socket])
            loop.add_callback(started.set)
            loop.start()
            server.stop()
            loop.close()

        thread = threading.Thread(target=run)
        thread.start()
        assert started.wait(20)
        yield served.address
        loops[0].add_callback(loops[0].stop)
        thread.join(20)


def test_annotations_are_kept_where_the_path_is_kept(page: Page, bench: Path) -> None:
    with _behind_a_proxy("annotate", bench, "--annotators", "Dr A", keeps_path=True) as address:
        page.goto(address)
        page.locator(".mrb-person", has_text="Dr A").click()
        page.locator(".mrb-pick").first.click()
        expect(page.locator(".mrb-saved")).to_contain_text("Saved")
        expect(page.locator(".mrb-view.mrb-live").first).to_be_visible()
        assert page.url.endswith(f"{PATH}/")
    with open_store(bench / "reviews.sqlite", create=False) as store:
        assert len(store.answers(load(bench).meta.name)) == 1


def test_reviews_are_kept_where_the_path_is_taken_away(page: Page, bench: Path) -> None:
    second = load(bench).cases["case_id"].iloc[1]
    with _behind_a_proxy("review", bench, keeps_path=False) as address:
        explorer(page, address, who="Dr B")
        assert page.url.partition("#")[0].endswith(f"{PATH}/"), "the token is out of sight"
        press(page, "j")
        reviewing(page, second)
        press(page, "1s")
        expect(page.locator(".mrb-saved")).to_contain_text("Saved")
        page.reload()
        reviewing(page, second)
    with open_store(bench / "reviews.sqlite", create=False) as store:
        assert store.adjudications(load(bench).meta.name)["case_id"].tolist() == [second]
