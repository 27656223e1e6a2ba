"""What reviewers wait for, and what the app takes, with one, five and ten pages open. SIMULATED data.

Run it by hand on a machine with nothing else to do: `python tests/benchmarks/speed/review_app.py [TREE ...]`. A TREE is
a checkout of the workbench; they are measured in turn, in one run. Without any it is this one. The
results are in RESULTS.md.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
from playwright.sync_api import Browser, Page, expect, sync_playwright

from mrb_lib.report.html.pdf import browser

HERE = Path(__file__).parents[3]
PAGES = (1, 5, 10)
STEPS = 40
START = "from mrb_lib.cli.main import main; main()"


def run(tree: Path, home: Path, *words: object) -> subprocess.Popen[str]:
    """Start a command of a checkout."""
    environment = os.environ | {"PYTHONPATH": str(tree), "MRB_HOME": str(home), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", START, *map(str, words)], env=environment, cwd=tree, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def taken(top: int) -> str:
    """The memory of a process and all below it, what they share counted once (PSS), and how many they are."""
    every = [psutil.Process(top), *psutil.Process(top).children(recursive=True)]
    return f"{sum(each.memory_full_info().pss for each in every) / 2**20:.0f} MB, {len(every)} processes"


@contextmanager
def served(tree: Path, home: Path, bench: Path) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """The app of a benchmark, its address, and how long that took."""
    start = time.perf_counter()
    server = run(tree, home, "review", bench, "--no-browser")
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    try:
        yield server, address, time.perf_counter() - start
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


def opened(chromium: Browser, address: str, fragment: str = "") -> tuple[Page, float]:
    """A page in a browser of its own, once a key would be taken, and how long that took."""
    page = chromium.new_context(viewport={"width": 1366, "height": 768}).new_page()
    start = time.perf_counter()
    page.goto(f"{address}{fragment}", wait_until="commit")
    explorer = page.locator(".mrb-explorer:not([aria-busy]) .mrb-title")
    expect(explorer).to_be_visible(timeout=120_000)
    return page, time.perf_counter() - start


def milliseconds(page: Page, act: str, seen: str) -> float:
    """How long after an act of the page something is seen, both in JavaScript."""
    return float(page.evaluate(f"""async () => {{
      const before = document.querySelector(".mrb-of-case bdi")?.textContent;
      const start = performance.now();
      {act};
      while (!({seen})) await new Promise((settle) => setTimeout(settle, 1));
      await new Promise(requestAnimationFrame);
      return performance.now() - start;
    }}"""))  # fmt: skip


KEY = """document.querySelector(".mrb-explorer").dispatchEvent(
  new KeyboardEvent("keydown", { key: "%s", bubbles: true }))"""
CHANGED = """document.querySelector(".mrb-of-case bdi").textContent !== before
  && !document.querySelector(".mrb-changing")"""
LEXICAL = """const judge = document.querySelector("[data-filter=judge]");
  judge.value = "=lexical";
  judge.dispatchEvent(new Event("change"))"""


def measure(tree: Path, folder: Path, chromium: Browser, n_cases: int) -> None:
    """Print what a checkout does on a benchmark of its own, made and indexed beforehand."""
    home, bench = folder / "home", folder / "bench"
    for words in (("demo", bench, "--cases", n_cases), ("judge", bench, bench / "runs", "--judge", "longer"),
                  ("judge", bench, bench / "runs", "--judge", "lexical")):  # fmt: skip
        run(tree, home, *words).communicate()
    with served(tree, home, bench):
        pass  # the index is made
    with served(tree, home, bench) as (server, address, seconds):
        print(f"{n_cases} cases: address after {seconds:.1f} s", flush=True)
        pages = list[Page]()
        for number in PAGES:
            while len(pages) < number:
                page, usable = opened(chromium, address, "#judge=longer&dimension=overall")
                pages.append(page)
                if len(pages) == 1:
                    print(f"  first page usable after {usable:.2f} s", flush=True)
            time.sleep(3)
            print(f"  {number} pages: {taken(server.pid)}", flush=True)
        page = pages[0]
        page.get_by_label("Your name").fill("Dr Swift")
        page.get_by_role("button", name="Sign in").click()
        page.locator(".mrb-explorer").focus()
        steps, saves = list[float](), list[float]()
        for _ in range(STEPS):
            page.wait_for_timeout(700)
            steps.append(milliseconds(page, KEY % "j", CHANGED))
        for _ in range(STEPS // 4):
            page.wait_for_timeout(300)
            stored = 'document.querySelector(".mrb-saved").textContent.startsWith("Saved")'
            saves.append(milliseconds(page, f"{KEY % '1'}; {KEY % 's'}", stored))
            milliseconds(page, KEY % "j", CHANGED)
        for what, each in (("step", steps), ("save", saves)):
            middle, most = np.quantile(each, [0.5, 0.95])
            print(f"  {what}: median {middle:.0f} ms, 95% within {most:.0f} ms", flush=True)
        seen = 'document.querySelector(".mrb-in-view")?.textContent.includes("lexical")'
        print(f"  filter, to its first case: {milliseconds(page, LEXICAL, seen):.0f} ms", flush=True)


def main() -> None:
    """Measure each checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="*", type=Path, default=[HERE])
    parser.add_argument("--cases", type=int, default=1026)
    options = parser.parse_args()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser(), args=["--no-sandbox", "--disable-gpu"])
        for tree in options.trees:
            print(tree.name, flush=True)
            with tempfile.TemporaryDirectory() as name:
                measure(tree.resolve(), Path(name), chromium, options.cases)
        chromium.close()


if __name__ == "__main__":
    main()
