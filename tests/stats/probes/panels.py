"""Verdict panels of simulated judges, many seeds as so many judges: tables over hundreds of runs in a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from mrb_lib.demo.probed_judges import Effect, ProbedJudge, choices, probabilities
from mrb_lib.probes.probe import target
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.probes import probes
from mrb_lib.tables.schema import CHOICES, NO_PROBE

TEST_PROBES = {
    "image/removed": ("worse", 1),
    "image/swapped-same": ("worse", 1),
    "image/blur": ("same", 5),
    "question/hurry": ("same", 1),
    "response/side": ("flips", 1),
    "response/negation": ("flips", 1),
    "response/credentials": ("same", 1),
    "response/lengthened": ("same", 1),
    "response/markdown": ("same", 1),
    "question/colleague": ("same", 1),
    "question/sex": ("same", 1),
}
"""What each expects, and how many severities it has."""
GROUPED = {"question/origin": ("north", "south", "east"), "question/other": ("the other",)}
"""The groups that their severities stand for; a sound judge says the same of all."""
FAMILY = [name for name in TEST_PROBES if name != "image/blur"] + ["image/blur:5"]
ERRORS = ("response/side", "response/negation")
OTHERS = ("question/sex", "question/hurry")


def cases_of(n: int, **columns: object) -> pd.DataFrame:
    ids = [f"c{i}" for i in range(n)]
    return pd.DataFrame({"case_id": ids, "question": ids, "response_a": "a", "response_b": "b", **columns})


def gold_of(letters: Sequence[str]) -> pd.DataFrame:
    rows = [(f"c{i}", "overall", letter) for i, letter in enumerate(letters)]
    return pd.DataFrame(rows, columns=["case_id", "dimension", "choice"]).astype("str")


def panel_of(choice: np.ndarray, p_a: np.ndarray | None = None, judges: Sequence[str] = ()) -> Panel:
    """A panel of one dimension from codes or letters of shape (judges, cases, 2, repeats)."""
    if choice.dtype.kind == "U":
        codes = np.full(choice.shape, -1)
        for code, name in enumerate(CHOICES):
            codes[choice == name] = code
        choice = codes
    names = list(judges) or [f"j{i:04d}" for i in range(len(choice))]
    costs = pd.DataFrame(columns=["judge", "dimension", "order", "repeat", "n_verdicts"])
    repeats = list(range(choice.shape[3]))
    return Panel(
        names, ["overall"], repeats, choice[:, None].astype(np.int8), None if p_a is None else p_a[:, None], costs
    )


def towards(n: int) -> np.ndarray:
    """1 where A is the target of a probe, -1 where B is."""
    return np.array([1.0 if target(f"c{i}") == "A" else -1.0 for i in range(n)])


def effect(text: str, n: int) -> Effect:
    name, _, step = text.partition(":")
    pulls = not name.startswith("image/") and name not in OTHERS
    side = towards(n) if pulls else np.zeros(n)
    return Effect(name, int(step or name != NO_PROBE), side, np.ones(n, dtype=bool), name in ERRORS)


def simulated(
    judge: ProbedJudge, difference: np.ndarray, family: Sequence[str] = FAMILY, repeats: int = 2
) -> dict[str, Panel]:
    """The panels of one kind of judge, a run for each row of differences of quality, shape (runs, cases)."""
    out = {}
    for text in (NO_PROBE, *family):
        own = effect(text, difference.shape[1])
        p_a = np.stack([probabilities(judge, row, own, (7, run), repeats) for run, row in enumerate(difference)])
        out[text] = panel_of(choices(p_a), p_a)
    return out


def table(panels: Mapping[str, Panel], gold: pd.DataFrame, n: int, **options: object) -> pd.DataFrame:
    """The rows about each judge by itself: where judges are runs, their order means nothing."""
    given = {"resamples": 0, **options}
    rows = probes(panels[NO_PROBE], gold, cases_of(n), probes=panels, **given)
    return rows[rows["part"] != "rank"]
