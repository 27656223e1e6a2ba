"""Verdict panels of simulated judges, many seeds as so many judges: tables over hundreds of runs in a second."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.demo.probed_judges import Effect, ProbedJudge, choices, probabilities
from mrb_lib.probes.probe import target
from mrb_lib.stats.panel import Panel
from mrb_lib.tables.schema import CHOICES, NO_PROBE
from tests.stats.small_tables import cases_of, table_of

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


def panel_of(choice: np.ndarray, p_a: np.ndarray | None = None, judges: Sequence[str] = ()) -> Panel:
    """A panel of one dimension from codes or letters of shape (judges, cases, 2, repeats)."""
    if choice.dtype.kind == "U":
        choice = np.select([choice == name for name in CHOICES], range(len(CHOICES)), -1)
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


probes = table_of("probes")


def table(panels: Mapping[str, Panel], gold: pd.DataFrame, n: int, **options: Any) -> pd.DataFrame:
    """The table `probes` of n cases without other columns, and without resamples."""
    return probes(panels, gold, cases_of(n), **{"resamples": 0, **options})


def as_runs(panels: Mapping[str, Panel], gold: pd.DataFrame) -> tuple[dict[str, Panel], pd.DataFrame]:
    """Judges as so many runs of one judge, each a dimension of its own, so that each is corrected for itself."""
    names = panels[NO_PROBE].judges
    made = {
        text: replace(
            panel,
            judges=["run"],
            dimensions=names,
            choice=panel.choice.swapaxes(0, 1),
            p_a=None if panel.p_a is None else panel.p_a.swapaxes(0, 1),
        )
        for text, panel in panels.items()
    }
    return made, pd.concat([gold.assign(dimension=name) for name in names], ignore_index=True)
