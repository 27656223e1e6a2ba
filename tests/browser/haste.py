"""Somebody in a hurry before a server that stalls: random keys and clicks, and what was in sight at each."""

import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from playwright.sync_api import Page

from mrb_lib.benchmarks.benchmark import Benchmark

from .server import simulated

CASES, ACTIONS = 300, 500
ME = "Dr Haste"

# After every frame what is in sight is noted; an action is about the last frame before it.
RECORD = """texts => {
  const frames = [];
  const look = () => {
    const found = Object.fromEntries(Object.entries(texts).map(([name, at]) => {
      const node = document.querySelector(at);
      return [name, node && node.checkVisibility() ? node.textContent.trim() : "out of sight"];
    }));
    const last = frames.at(-1);
    if (!last || JSON.stringify(last.found) !== JSON.stringify(found)) frames.push({ time: performance.now(), found });
    requestAnimationFrame(() => setTimeout(look));
  };
  window.mrbActions = [];
  const note = (kind) => (event) => {
    const frame = frames.findLast(({ time }) => time <= event.timeStamp) ?? { found: {} };
    const on = event.target instanceof Element ? event.target.closest("[data-index], label, button") : null;
    const words = on?.localName === "button" ? on.textContent.trim() : on?.localName;
    const what = kind === "key" ? event.key : on?.querySelector("input")?.value ?? words ?? "";
    window.mrbActions.push({ kind, what, at: performance.timeOrigin + event.timeStamp, ...frame.found });
  };
  window.addEventListener("keydown", note("key"), true);
  window.addEventListener("pointerdown", note("click"), true);
  look();
}"""


def hasty_benchmark(folder: Path) -> Benchmark:
    """So many cases that most are seen once, a tenth of them with an image."""

    def images(cases: pd.DataFrame) -> list[Any]:
        return [[] if place % 10 else names for place, names in enumerate(cases["images"])]

    def question(cases: pd.DataFrame) -> list[Any]:
        return [f"Question {place}: {text}" for place, text in enumerate(cases["question"])]

    return simulated(folder, CASES, seed=5, images=images, question=question)


@contextmanager
def stalled(server: subprocess.Popen[str], seed: int) -> Iterator[None]:
    """A server stops and goes on at random, as on a machine with other work."""
    over, chance = threading.Event(), random.Random(seed)

    def stall() -> None:
        while not over.wait(chance.uniform(0.2, 2.0)):
            with paused(server):
                time.sleep(chance.choice([0.02, 0.1, 0.3, 1.0]))

    thread = threading.Thread(target=stall)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def paused(server: subprocess.Popen[str]) -> Iterator[None]:
    """A server stands still."""
    server.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.send_signal(signal.SIGCONT)


def act(page: Page, steps: list[Callable[[], object]], chance: random.Random) -> None:
    """At random, mostly in a hurry, until there are enough."""
    while page.evaluate("window.mrbActions.length") < ACTIONS:
        if page.locator(".mrb-nothing").count():  # a filter was hit that leaves no case
            page.evaluate("() => { location.hash = ''; }")
            page.locator(".mrb-shown").wait_for()
        for _ in range(20):
            chance.choice(steps)()
            time.sleep(chance.choice([0, 0, 0, 0, 0.01, 0.05]))


def press(page: Page, keys: list[str], after: float) -> None:
    """Look for so many seconds, and press one after the other."""
    time.sleep(after)
    for key in keys:
        page.keyboard.press(key)


def click(page: Page, at: str, chance: random.Random, way: str = "mouse") -> None:
    """A click or tap where one of these is now, whether or not it can be used: a person's hand does not wait."""
    boxes = page.locator(at).evaluate_all(
        "found => found.map(one => one.getBoundingClientRect())"
        ".filter(box => box.width && box.top > 0 && box.bottom < innerHeight)"
        ".map(box => [box.left + box.width / 2, box.top + box.height / 2])"
    )
    if boxes and way == "touch":
        page.touchscreen.tap(*chance.choice(boxes))
    elif boxes:
        page.mouse.click(*chance.choice(boxes), delay=chance.choice([0, 0, 20, 150]))
