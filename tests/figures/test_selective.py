"""Figures of selective answering and of pairs of judges draw what the frame says."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from mrb_lib.figures.confidence import promised
from mrb_lib.figures.significance import differences, p_values
from mrb_lib.figures.style import Paper
from tests.figures.read import JUDGES, draw, marks, of, shown, spans

PROMISE = ("agreement", "coverage", "low", "high")


def rows() -> pd.DataFrame:
    """The rows of the full benchmark where j1 is promised something and j2 nothing, with promises not to be drawn."""
    made = shown("risk-coverage")
    made = made[made["judge"].isin(JUDGES[:2])]
    row = of(made, part="guarantee").iloc[[0]].assign(**dict.fromkeys(PROMISE, 0.1))
    own = row.assign(delta=0.05, agreement=0.93, coverage=0.4, low=0.9, high=0.95)
    looser, nothing = row.assign(delta=0.1), row.assign(delta=0.05, **dict.fromkeys(PROMISE, np.nan))
    second = [each.assign(judge="j2") for each in (looser, nothing)]
    return pd.concat([of(made, part="curve"), looser, own, *second], ignore_index=True)


def test_curve_band_target_and_promise_are_drawn() -> None:
    figure = draw("risk-coverage", rows(), JUDGES[:2])
    first, second = figure.axes
    curve = of(rows(), part="curve", judge="j1")
    np.testing.assert_array_equal(
        marks(first, "values"), curve.assign(agreement=1 - curve["risk"])[["coverage", "agreement"]]
    )
    assert marks(first, "target")[0, 1] == 0.9
    np.testing.assert_array_equal(marks(first, "promise"), [[0.4, 0.93]])
    span = spans(first, "promise-interval")[0]
    assert (span[0, 1], span[1, 1]) == (0.9, 0.95)
    band = next(c for c in first.collections if c.get_gid() == "band").get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(1 - curve["risk_high"].max())
    assert np.isnan(marks(second, "promise")).all()
    assert [text.get_text() for text in second.texts] == ["nothing promised"]
    assert [axes.get_title() for axes in draw("risk-coverage", rows(), ["j2", "j1"]).axes] == ["j2", "j1"]


@pytest.mark.parametrize("judges", [1, 3])
def test_a_promise_holds_for_all_judges_together(judges: int) -> None:
    made = shown("risk-coverage")
    found = promised(made[made["judge"].isin(JUDGES[:judges])])
    assert found["delta"].tolist() == pytest.approx([0.1 / judges] * judges)
    assert found["judge"].tolist() == list(JUDGES[:judges])


def pairs_of(judges: Sequence[str]) -> pd.DataFrame:
    """Pairs of judges; every fourth is better, worse, equivalent, or neither."""
    rows = []
    for number, (first, second) in enumerate(combinations(judges, 2)):
        kind = number % 4
        difference, p = (0.1, 0.0001) if kind == 0 else (-0.1, 0.02) if kind == 1 else (0.01, 0.6)
        rows.append((first, second, difference, difference - 0.04, difference + 0.03, p, kind == 2))
    columns = ["judge_1", "judge_2", "difference", "low", "high", "p_adjusted", "equivalent"]
    frame = pd.DataFrame(rows, columns=columns).astype({"equivalent": "boolean"})
    return frame.assign(part="pair", dimension="overall", subfield=pd.Series(pd.NA, frame.index, dtype="str"))


def texts(drawn: Paper, gid: str) -> list[str]:
    return [text.get_text() for text in drawn.findobj(lambda artist: artist.get_gid() == gid)]


def cells(drawn: Paper, judges: Sequence[str]) -> dict[tuple[str, str], float]:
    """The values of the cells by the judges of the column and of the row, NaN where hatched."""
    (mesh,) = drawn.findobj(lambda artist: artist.get_gid() == "cells")
    values = np.ma.filled(mesh.get_array().reshape(len(judges) - 1, -1).astype(float), np.nan)
    return {(judges[j], judges[i + 1]): values[i, j] for i, j in np.ndindex(values.shape) if j <= i}


MANY = [f"j{i:02d}" for i in range(14)]


def drawn_cells(draw_it: Callable[..., Paper], frame: pd.DataFrame, judges: Sequence[str] = "abc") -> list[str]:
    return texts(draw_it(frame, dimension="overall", judges=judges), "cell")


def test_a_star_stands_where_the_matrix_of_tests_says_significant() -> None:
    """Not where the interval of one pair leaves out 0, which is not corrected for the number of pairs."""
    frame = pairs_of("abc").assign(low=0.01, high=0.2, p_adjusted=[0.05, 0.06, np.nan])
    assert drawn_cells(differences, frame) == ["+10*\n1 to 20", "\u221210\n1 to 20", "+1\n1 to 20"]
    frame = pairs_of(MANY).assign(low=0.01, high=0.2)
    dots = drawn_cells(differences, frame, MANY)
    assert dots == ["\u25cf"] * int(frame["p_adjusted"].le(0.05).sum())
    drawn = p_values(frame, dimension="overall", judges=MANY)
    (mesh,) = drawn.findobj(lambda artist: artist.get_gid() == "cells")
    pale = "#f4f4f4"
    assert sum(to_hex(mesh.cmap(mesh.norm(p))) != pale for p in mesh.get_array().compressed()) == len(dots)


def test_a_difference_changes_sign_with_the_order_of_judges_and_an_undefined_one_is_hatched() -> None:
    frame = pairs_of("abc").assign(low=[0.05, -0.2, np.nan], high=[0.2, -0.05, np.nan])
    frame.loc[2, ["difference", "p_adjusted"]] = np.nan
    for judges, first in (("abc", 0.1), ("cba", np.nan)):
        drawn = differences(frame, dimension="overall", judges=judges)
        assert cells(drawn, judges)[judges[0], judges[1]] == pytest.approx(first, nan_ok=True)
        assert texts(drawn, "cell") == ["+10*\n5 to 20", "\u221210*\n\u221220 to \u22125", "n/a"]
        assert len(drawn_cells(p_values, frame, judges)) == 3
        assert len([patch for patch in drawn.axes[0].patches if patch.get_gid() == "not-available"]) == 1


def test_equivalence_is_marked_with_and_without_text() -> None:
    frame = pairs_of("abc")
    untested = frame.assign(equivalent=pd.array([pd.NA] * 3, dtype="boolean"))
    assert drawn_cells(p_values, frame) == ["<.001", ".020", ".600 ="]
    assert drawn_cells(p_values, untested) == ["<.001", ".020", ".600"]
    assert {text.strip() for text in drawn_cells(p_values, pairs_of(MANY), MANY)} == {"="}
