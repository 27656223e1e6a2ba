"""Hands in a hurry before a server that stalls: random keys, clicks and taps, and what was in sight at each."""

import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page, expect

from .pages import settled
from .server import Served

ACTIONS, FEW = 400, 150
"""What each hand does at least, and at a desk that another test has been at: keys, clicks and taps."""

# After every frame what is in sight is noted. A key is about the last frame before it, a click that chooses something
# about the last frame before its press began.
RECORD = """texts => {
  const frames = [];
  let began = 0;
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
    const on = event.target instanceof Element ? event.target : null;
    if (kind === "click" && !(event.detail && on?.matches(".mrb-pick input, .mrb-skip .mrb-first"))) return;
    if (kind === "press") began = event.timeStamp;
    const view = frames.findLastIndex(({ time }) => time <= (kind === "click" ? began : event.timeStamp));
    const near = on?.closest("[data-index], label, button");
    const what = kind === "key" ? event.key : near?.querySelector("input")?.value ?? near?.textContent.trim() ?? "";
    const dimension = on?.closest(".mrb-row")?.querySelector(".mrb-name")?.textContent ?? "";
    window.mrbActions.push({ kind, what, dimension, view, ...frames[view]?.found });
  };
  window.addEventListener("keydown", note("key"), true);
  window.addEventListener("pointerdown", note("press"), true);
  window.addEventListener("click", note("click"), true);
  look();
}"""
# How much was done, whether nothing in sight takes a press, and the middles of what may be pressed, by its kind: only
# a dialog's own while one is open.
LOOK = """(kinds) => {
  if (document.querySelector(".mrb-nothing")) location.hash = "";  // a filter was hit that leaves no case
  const within = document.querySelector("dialog[open]") ?? document;
  const middles = (at) => [...within.querySelectorAll(at)].filter((one) => one.checkVisibility()).map((one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  }).filter(([x, y]) => x > 0 && y > 0 && x < innerWidth && y < innerHeight);
  const places = Object.entries(kinds).map(([kind, at]) => [kind, middles(at)]);
  const n = window.mrbActions.filter(({ kind }) => kind !== "click").length;
  return [n, Boolean(document.querySelector(".mrb-changing")), Object.fromEntries(places)];
}"""


@dataclass
class Hasty:
    """Somebody who looks, and then does a few things of their habits where things are or just were.

    Parameters
    ----------
    kinds : selectors of what may be pressed
    habits : one after the other a key, a kind, `hold` for a key that is held, or `scroll`
    """

    page: Page
    way: str
    kinds: Mapping[str, str]
    habits: Sequence[Sequence[str]]
    _holds: bool = False

    @property
    def who(self) -> str:
        """The name that this hand signs in with."""
        return f"Dr {self.way.title()}"

    def turn(self, chance: random.Random) -> int:
        """Do some of them, and return how much was done before; while the page changes often nothing is done."""
        self._let_go()
        n, is_changing, places = self.page.evaluate(LOOK, self.kinds)
        if is_changing and chance.random() < 0.5:
            return int(n)
        possible = [habit for habit in self.habits if places.get(habit[0], True)]
        for habit in chance.choices(possible, k=chance.choice([1, 1, 2, 3])):
            self._let_go()
            for part in habit:
                self._do(part, places, chance)
        return int(n)

    def _do(self, part: str, places: Mapping[str, Sequence[tuple[float, float]]], chance: random.Random) -> None:
        if part == "hold":
            for _ in range(chance.randrange(2, 9)):
                self.page.keyboard.down("j")
            self.page.keyboard.up("j")
        elif part == "scroll":
            self.page.mouse.wheel(0, chance.choice([-9000, -900, 900, 9000]))
        elif part not in self.kinds:
            self.page.keyboard.press(part)
        elif places[part]:
            self._press(*chance.choice(places[part]), chance.choice([0, 0, 0.02, None]))

    def _press(self, x: float, y: float, seconds: float | None) -> None:
        """Tap, or click for so long; for None until the next press."""
        if self.way == "touch":
            self.page.touchscreen.tap(x, y)
            return
        self._let_go()
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self._holds = True
        if seconds is not None:
            time.sleep(seconds)
            self._let_go()

    def _let_go(self) -> None:
        if self._holds:
            self.page.mouse.up()
        self._holds = False

    def done(self) -> list[dict[str, Any]]:
        """All that was done, once it is stored."""
        self._let_go()
        expect(self.page.locator(".mrb-saved", has_text="Saving …")).to_have_count(0)
        settled(self.page)
        actions: list[dict[str, Any]] = self.page.evaluate("window.mrbActions")
        return actions


def hurry(
    served: Served, hands: Sequence[Hasty], texts: Mapping[str, str], seed: int, actions: int = ACTIONS
) -> list[list[dict[str, Any]]]:
    """Act in turns, so that each page has a moment to paint, and return what each hand did with what was in sight."""
    chance, busy = random.Random(seed), list(hands)
    for hand in hands:
        hand.page.evaluate(RECORD, texts)
    with stalled(served, seed):
        while busy:
            busy = [hand for hand in busy if hand.turn(chance) < actions]
            time.sleep(chance.choice([0, 0, 0, 0.03]))
    return [hand.done() for hand in hands]


@contextmanager
def stalled(served: Served, seed: int) -> Iterator[None]:
    """A server stops and goes on at random, as on a machine with other work."""
    over, chance = threading.Event(), random.Random(seed)

    def stall() -> None:
        while not over.wait(chance.uniform(0.1, 1.0)):
            with paused(served):
                time.sleep(chance.choice([0.02, 0.1, 0.3]))

    thread = threading.Thread(target=stall)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def paused(served: Served) -> Iterator[None]:
    """A server stands still."""
    os.kill(served.process.pid or 0, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(served.process.pid or 0, signal.SIGCONT)
