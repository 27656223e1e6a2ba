"""Figures of comparisons draw what the frame says, small and large, and hostile names as text."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from mrb_lib.figures.accuracy import macro_micro
from mrb_lib.figures.significance import OUTCOMES, judge_order, outcomes, split_letters
from mrb_lib.figures.style import PAGE, Paper, mark_simulated

HOSTILE = ["$x_1^2$", "<script>alert(1)</script>", "nul\0l", "\u202eevil", "x" * 300, ""]


def letters_of(count: int) -> pd.DataFrame:
    value = np.linspace(0.83, 0.41, count)
    signs = ["abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"[i : i + 2] for i in range(count)]
    names = [f"judge-{i}-of-a-longer-name" for i in range(count)]
    ends = {"low": value - 0.03, "high": value + 0.02}
    return pd.DataFrame({"judge": names, "accuracy": value, **ends, "letters": signs})


def pairs_of(judges: list[str]) -> pd.DataFrame:
    rows = []
    for number, (first, second) in enumerate(combinations(judges, 2)):
        kind = number % 4
        difference, p = (0.1, 0.001) if kind == 0 else (-0.1, 0.02) if kind == 1 else (0.01, 0.6)
        rows.append((first, second, difference, p, kind == 2))
    frame = pd.DataFrame(rows, columns=["judge_1", "judge_2", "difference", "p_adjusted", "equivalent"])
    return frame.astype({"equivalent": "boolean"})


def accuracy_of(judges: list[str]) -> pd.DataFrame:
    value = np.linspace(0.8, 0.4, len(judges))
    out = pd.DataFrame({"judge": judges, "accuracy": value, "low": value - 0.03, "high": value + 0.03})
    return out.assign(macro_accuracy=value - 0.02, macro_accuracy_low=value - 0.06, macro_accuracy_high=value + 0.02)


def make(figure: str, count: int) -> Paper:
    judges = letters_of(count)["judge"].tolist()
    if figure == "judge-order":
        return judge_order(letters_of(count))
    return outcomes(pairs_of(judges), judges=judges) if figure == "outcomes" else macro_micro(accuracy_of(judges))


@pytest.mark.parametrize("count", [2, 6, 32])
@pytest.mark.parametrize("figure", ["judge-order", "outcomes", "macro-micro"])
def test_text_is_inside_readable_and_apart(flaws, figure: str, count: int) -> None:
    drawn = make(figure, count)
    mark_simulated(drawn)
    assert flaws(drawn) == []
    assert drawn.get_figwidth() <= PAGE


def texts(drawn: Paper, gid: str) -> list[str]:
    return [text.get_text() for text in drawn.findobj(lambda artist: artist.get_gid() == gid)]


def test_accuracies_intervals_and_letters_are_the_frames() -> None:
    frame = pd.DataFrame(
        {
            "judge": ["a", "b", "c", "d"],
            "accuracy": [0.8, 0.75, 0.6, np.nan],
            "low": [0.7, np.nan, 0.5, np.nan],
            "high": [0.9, np.nan, 0.65, np.nan],
            "letters": ["a", "ab", "b", None],
        }
    )
    drawn = judge_order(frame)
    (line,) = drawn.findobj(lambda artist: artist.get_gid() == "values")
    shown = line.get_xydata()
    assert shown[np.isfinite(shown).all(axis=1)].tolist() == [[0.8, 0], [0.75, 1], [0.6, 2]]
    (bars,) = drawn.findobj(lambda artist: artist.get_gid() == "intervals")
    ends = [segment.tolist() for segment in bars.get_segments() if np.isfinite(segment).all() and len(segment)]
    assert ends == [[[0.7, 0], [0.9, 0]], [[0.5, 2], [0.65, 2]]]
    assert texts(drawn, "letter") == ["a", "a", "b", "b"]
    assert texts(drawn, "not-available") == ["n/a", "n/a"]
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == ["a", "b", "c", "d"]


def test_a_number_in_parentheses_is_one_letter() -> None:
    assert split_letters("zA\u03c9(77)(78)") == ["z", "A", "\u03c9", "(77)", "(78)"]


def test_an_outcome_is_what_the_tests_show() -> None:
    judges = ["a", "b", "c", "d"]
    frame = pairs_of(judges)
    frame.loc[5, ["p_adjusted", "equivalent"]] = [np.nan, pd.NA]
    drawn = outcomes(frame, judges=judges)
    (mesh,) = drawn.findobj(lambda artist: artist.get_gid() == "cells")
    code = np.ma.filled(mesh.get_array().reshape(4, 4).astype(float), np.nan)
    kinds = list(OUTCOMES)
    shown = {(judges[i], judges[j]): kinds[int(code[i, j])] for i, j in np.argwhere(~np.isnan(code))}
    assert shown[("a", "b")] == "better"
    assert shown[("b", "a")] == "worse"
    assert shown[("a", "c")] == "worse"
    assert shown[("a", "d")] == shown[("d", "a")] == "equivalent"
    assert shown[("b", "c")] == "open"
    assert shown[("b", "d")] == "better"  # the sign is the mean's, which is what is tested
    assert ("c", "d") not in shown
    assert len({to_hex(patch.get_facecolor()) for patch in drawn.legends[0].get_patches()}) == 4


def test_macro_stands_beside_micro() -> None:
    frame = accuracy_of(["a", "b", "c"])
    frame.loc[1, ["macro_accuracy", "macro_accuracy_low", "macro_accuracy_high"]] = np.nan
    drawn = macro_micro(frame)
    for name in ("accuracy", "macro_accuracy"):
        (line,) = drawn.findobj(lambda artist, name=name: artist.get_gid() == name)
        assert line.get_xdata() == pytest.approx(frame[name].dropna().to_numpy())
    assert texts(drawn, "not-available") == ["n/a"]


@pytest.mark.filterwarnings("error")
def test_hostile_names_are_drawn_as_text(flaws) -> None:
    parts = [
        judge_order(letters_of(6).assign(judge=HOSTILE)),
        outcomes(pairs_of(HOSTILE), judges=HOSTILE),
        macro_micro(accuracy_of(HOSTILE)),
    ]
    for drawn in parts:
        assert drawn.png()
        assert b"\0" not in drawn.svg()
        assert not [flaw for flaw in flaws(drawn) if "leaves the canvas" in flaw]
