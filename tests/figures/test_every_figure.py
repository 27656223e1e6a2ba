"""Every figure of a table, drawn from real rows of few, many and hostile judges: complete, readable, as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mrb_lib.figures.registry import FIGURES, FigureSpec
from mrb_lib.figures.style import PAGE, Paper, mark_simulated
from mrb_lib.stats.analyze import analyze
from tests.stats.every_table import KNOWN, full_benchmark
from tests.stats.small_tables import OF_PREFERENCES

JUDGES = ("j1", "j2", "j3")
NAMED = ("judge", "judge_1", "judge_2", "base", "tuned", "responder")
HOSTILE = ("$\\frac{a}{b}$ {x}", "<script>alert(1)</script>\0", "\u202eevil\n\tname" + "x" * 90)
# Of what this benchmark does not have: reviews, probes, costs, domains left out of training.
LACKING = ("adjudication-moves", "adjudication-reasons", "calibration-shift", "jury-cost", "probe-profile",
           "probe-severity", "transfer-losses", "transfer-trained")  # fmt: skip
# What these show is drawn in part, or otherwise than as itself: see the files of these figures.
OTHERWISE = ("gold-confusion", "gold-ranks", "leaderboard", "models-difficulty", "ppi-win-rates",
             "responder-strengths", "risk-coverage")  # fmt: skip
MANY = [tuple(f"{name} of group {i}" for name in JUDGES) for i in range(10)]
SPECS = [spec for spec in FIGURES.values() if spec.table in OF_PREFERENCES and spec.id not in LACKING]


@cache
def rows_of(table: str, by: str | None) -> pd.DataFrame:
    return analyze(*full_benchmark(), table, by=by, resamples=40, **KNOWN)


def drawn(spec: FigureSpec, groups: list[tuple[str, ...]]) -> Paper:
    """The figure of the judges' rows, once under the names of each group."""
    rows = rows_of(spec.table, "organ" if spec.by else None)
    copies = []
    for i, names in enumerate(groups):
        renamed = dict(zip(JUDGES, names, strict=True))
        own = rows.assign(**{each: rows[each].replace(renamed) for each in NAMED if each in rows})
        judged = own[[each for each in NAMED if each in own]].isin(names).any(axis=1)
        copies.append(own if i == 0 else own[judged])
    every = pd.concat(copies, ignore_index=True)
    if spec.parts:
        every = every[every["part"].isin(spec.parts)].reset_index(drop=True)
    known = {
        "dimension": "overall",
        "by": "organ",
        "judges": [name for names in groups for name in names],
        "target": 0.9,
    }
    given = inspect.signature(spec.draw).parameters
    return spec.draw(every, **{name: value for name, value in known.items() if name in given})


@pytest.mark.parametrize("groups", [[HOSTILE], MANY], ids=["hostile", "many"])
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_text_is_inside_readable_and_apart(
    flaws: Callable[[Figure], list[str]], spec: FigureSpec, groups: list[tuple[str, ...]]
) -> None:
    figure = drawn(spec, groups)
    mark_simulated(figure)
    assert flaws(figure) == []
    assert figure.get_figwidth() <= PAGE
    assert groups is MANY or b"\0" not in figure.svg()


@pytest.mark.parametrize("spec", [s for s in SPECS if s.shows and s.id not in OTHERWISE], ids=lambda spec: spec.id)
def test_every_value_of_the_dimension_is_drawn(spec: FigureSpec) -> None:
    rows = rows_of(spec.table, "organ" if spec.by else None)
    here = rows["dimension"].eq("overall")
    here &= rows["subfield"].notna().eq(spec.by) if "subfield" in rows else True
    here &= rows["part"].isin(spec.parts) if spec.parts else True
    here &= rows["kind"].ne("reference") if "kind" in rows else True
    axes = drawn(spec, [JUDGES]).axes
    found = [line.get_xydata() for each in axes for line in each.lines if line.get_gid()]
    found += [points.get_offsets() for each in axes for points in each.collections]
    found += [cells.get_array() for each in axes for cells in each.collections if cells.get_array() is not None]
    numbers = np.concatenate([np.ma.filled(np.ma.asarray(each, float), np.nan).ravel() for each in found])
    for value in rows.loc[here, spec.shows].dropna().astype(float):
        assert np.isclose(numbers, value, rtol=0, atol=1e-12).any(), value
