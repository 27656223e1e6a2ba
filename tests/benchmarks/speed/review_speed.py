"""How quickly the reviewer's index and app answer: building it, a filter, its counts, a case. SIMULATED data.

10,000 cases x 32 judges x 2 orders x 6 dimensions, 3.84 million verdicts with replies, an image of 1 megapixel a case.
Run it by hand: `python tests/benchmarks/speed/review_speed.py`; the results are in RESULTS.md. The app is measured in
Chromium, through `mrb review`: from the request of the page to the first case in it, and from a key to the case.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright
from simulated import benchmark, verdicts

from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.report.html.pdf import browser
from mrb_lib.review.failures.index import build_index, open_index
from mrb_lib.review.failures.query import Query, facets, select
from mrb_lib.verdicts.store import save_imported

JUDGE, OTHER = "simulated-20", "simulated-05"
QUERIES = {
    "everything": Query(),
    "wrong": Query(judge=JUDGE, dimension="overall", kind=("wrong",)),
    "wrong, most confident first": Query(kind=("wrong", "inconsistent"), sort="confidence"),
    "two judges differ, hardest first": Query(judge=JUDGE, other=OTHER, sort="difficulty"),
    "text": Query(text="word question 77", organ="lung"),
}


N_IMAGES = 32
SIDE = 1024
STEPS = 25


def picture(number: int) -> bytes:
    """A grey picture with as much detail as a radiograph: a smooth field and fine grain."""
    generator = np.random.default_rng(number)
    coarse = Image.fromarray(generator.integers(0, 256, (8, 8), dtype=np.uint8)).resize(
        (SIDE, SIDE), Image.Resampling.BICUBIC
    )
    grain = generator.integers(-6, 7, (SIDE, SIDE))
    out = BytesIO()
    Image.fromarray(np.clip(np.asarray(coarse, dtype=np.int64) + grain, 0, 255).astype(np.uint8)).save(out, "png")
    return out.getvalue()


def simulate(folder: Path, n_cases: int, n_judges: int) -> None:
    """Write a benchmark and its runs; each reply answers six rows."""
    made, latent = benchmark(n_cases)
    folder.mkdir(parents=True)
    names = [[f"{place % N_IMAGES}.png"] for place in range(n_cases)]
    images = {f"{number}.png": picture(number) for number in range(N_IMAGES)}
    save(replace(made, cases=made.cases.assign(images=names), images=images), folder)
    text = ("judge", "case_id", "dimension", "order", "probe", "choice")
    for frame in verdicts(made, latent, n_judges):
        plain = frame.astype(dict.fromkeys(text, "str"))
        reply = plain["case_id"] + plain["order"] + " because" * 60
        save_imported(plain.assign(reply=reply), folder / "runs", benchmark="b", kind="simulated", source="SIMULATED")


def timed(what: str, work: Callable[[], object], times: int = 1) -> None:
    """Print the median and the slowest of several calls."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    print(f"{what:45} median {1000 * np.median(seconds):9.1f} ms   slowest {1000 * max(seconds):9.1f} ms", flush=True)


def seconds_to(page: Page, title: str, work: Callable[[], object]) -> float:
    """How long after `work` the page shows a case whose title holds `title`, drawn."""
    page.evaluate(WATCH, title)
    work()
    return float(page.evaluate("window.__seen")) / 1000


# The time from the first key after this, to the first frame after the case is there.
WATCH = """(title) => { window.__seen = new Promise((settle) => {
  let start = null;
  window.addEventListener("keydown", () => { start = performance.now(); }, { once: true, capture: true });
  const look = () => {
    const shown = document.querySelector(".mrb-title");
    if (start === null || !shown || !shown.textContent.includes(title)) setTimeout(look, 1);
    else requestAnimationFrame(() => settle(performance.now() - start));
  };
  look();
}); }"""


def in_browser(folder: Path, home: Path) -> None:
    """Serve the benchmark and measure what a reviewer waits for."""
    environment = os.environ | {"MRB_HOME": str(home)}
    command = [str(Path(sys.executable).with_name("mrb")), "review", str(folder), "--no-browser"]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=browser(), args=["--no-sandbox", "--disable-gpu"])
            page = chromium.new_page(viewport={"width": 1280, "height": 860})
            for what in ("the first view, an empty browser", "the first view, loaded again"):
                start = time.perf_counter()
                page.goto(address, wait_until="commit")
                expect(page.locator(".mrb-title")).to_be_visible(timeout=60_000)
                print(f"{what:45} {1000 * (time.perf_counter() - start):9.0f} ms", flush=True)
                page.wait_for_timeout(8_000)  # the kernel of the next visitor is made ready meanwhile
            step(page)
            chromium.close()
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


def step(page: Page) -> None:
    """From case to case by key, at a reader's pace and in a hurry; then a filter."""
    for what, pause in (("next case, looked at for two seconds", 2_000), ("next case, in a hurry", 0)):
        seconds = []
        for _ in range(STEPS):
            place = int(page.locator(".mrb-position").inner_text().split(" ")[0].replace(",", ""))
            seconds.append(seconds_to(page, f"{place:07d}", lambda: page.keyboard.press("j")))
            page.wait_for_timeout(pause)
        middle, most, slowest = (1000 * np.quantile(seconds, share) for share in (0.5, 0.95, 1))
        print(f"{what:45} median {middle:6.0f} ms   95 % within {most:6.0f} ms   slowest {slowest:6.0f} ms", flush=True)
    start = time.perf_counter()
    page.locator("[data-filter=judge]").select_option(f"={JUDGE}")
    expect(page.locator(".mrb-in-view")).to_be_visible(timeout=60_000)
    print(f"{'a filter, to its first case':45} {1000 * (time.perf_counter() - start):9.0f} ms", flush=True)


def main() -> None:
    """Simulate, build, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--judges", type=int, default=32)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "bench"
        simulate(folder, options.cases, options.judges)
        made = load(folder)
        timed("build the index", lambda: build_index(folder / "runs", made, Path(name) / "index"))
        timed("find that it is built", lambda: build_index(folder / "runs", made, Path(name) / "index"), 5)
        place = build_index(folder / "runs", made, Path(name) / "index")
        timed("open it", lambda: open_index(place), 5)
        index = open_index(place)
        timed("kinds of failure, once a policy", index.kinds)
        kinds = index.kinds
        for what, query in QUERIES.items():
            print(f"{len(select(kinds, made.cases, query))} cases: {query}")
            timed(f"select: {what}", lambda query=query: select(kinds, made.cases, query), 9)
            timed(f"count: {what}", lambda query=query: facets(kinds, made.cases, query), 9)
        positions = iter(np.random.default_rng(0).integers(0, options.cases, 100).tolist())
        timed("a case, all its verdicts and replies", lambda: index.verdicts(next(positions)), 100)
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 2**20
        print(f"index {size:.0f} MB, peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")
        in_browser(folder, Path(name) / "home")
        pd.testing.assert_series_equal(
            index.verdicts(7)["case_id"].drop_duplicates(), made.cases["case_id"].iloc[[7]], check_index=False
        )


if __name__ == "__main__":
    main()
