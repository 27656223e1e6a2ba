"""What the notebooks about training conclude is what their tables say."""

from __future__ import annotations

import pandas as pd
import pytest

from mrb_lib.report.notebook.absent import Absent
from mrb_lib.report.notebook.live.training import BLANKED
from mrb_lib.report.notebook.training_conclusions import left_out, looks, training

PARTS = {
    "accuracy": (0.2, 0.1, 0.3, 0.001), "consistency": (0.1, -0.1, 0.3, 0.4), "first_rate": (-0.3, -0.4, -0.2, 0.001),
    "brier": (-0.05, -0.08, -0.02, 0.01), "longer_rate": (0.02, -0.1, 0.2, 0.8),
}  # fmt: skip


def gains(**changed: tuple[float, float, float, float]) -> pd.DataFrame:
    rows = [
        {"part": part, "base": "base", "tuned": "tuned", "dimension": "overall", "subfield": None, "n": 90,
         "gain": gain, "low": low, "high": high, "p_adjusted": p}
        for part, (gain, low, high, p) in {**PARTS, **changed}.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def images(*rows: tuple[str, str, float, float, float]) -> pd.DataFrame:
    names = ["base", "tuned", "gain", "low", "high"]
    shared = {"dimension": "overall", "subfield": None, "part": "accuracy", "value_tuned": 0.7}
    return pd.DataFrame(rows, columns=names).assign(**shared)


def test_a_gain_is_told_with_what_else_is_shown_to_have_changed() -> None:
    said = training(gains(), dimension="overall", note="NOTE.", looks="It looks.")
    assert said.startswith("NOTE. Overall, tuned is significantly more accurate than base (+20 points [+10, +30]).")
    assert "also changed: choices for the response shown first -30 points [-40, -20]; Brier score -0.05" in said
    assert "both orders" not in said and "longer" not in said
    assert said.endswith("It looks.")


def test_where_nothing_else_changed_that_is_told() -> None:
    same = {part: (0.0, -0.1, 0.1, 0.9) for part in PARTS if part != "accuracy"}
    said = training(gains(**same), dimension="overall", note="", looks="")
    assert "Cannot tell whether anything else changed in tuned." in said


def test_sizes_of_training_are_told() -> None:
    sizes = pd.DataFrame({
        "part": "size",
        "dimension": "overall",
        "recipe": "method reward",
        "n_training": [100, 400],
        "value_tuned": [0.7, 0.8],
        "value_tuned_low": [0.65, 0.75],
        "value_tuned_high": [0.75, 0.85],
    })  # fmt: skip
    said = training(pd.concat([gains(), sizes]), dimension="overall", note="", looks="")
    assert "70% [65, 75] after 100 training cases and 80% [75, 85] after 400 (method reward)" in said
    assert "cannot tell how much another training would change" in said


def test_without_a_pair_there_is_no_gain_to_tell() -> None:
    said = training(gains().head(0), dimension="overall", note="NOTE.", looks="")
    assert said == "NOTE. No judge here is known to be trained further from another overall."


@pytest.mark.parametrize(
    ("own", "over_base", "said"),
    [
        ((0.1, 0.05, 0.2), (0.1, 0.02, 0.2), "tuned uses the images"),
        ((0.0, -0.1, 0.1), (0.2, 0.1, 0.3), "tuned judges by the texts"),
        ((0.0, -0.1, 0.1), (0.0, -0.1, 0.1), "tuned is not shown to look"),
    ],
)
def test_whether_it_looks_is_told_by_the_intervals(
    own: tuple[float, float, float], over_base: tuple[float, float, float], said: str
) -> None:
    blind = f"tuned{BLANKED}"
    table = images((blind, "tuned", *own), ("base", "tuned", 0.2, 0.1, 0.3), ("base", blind, *over_base))
    text = looks(table, dimension="overall")
    assert text.startswith(said)
    assert f"with images blanked it gains {100 * over_base[0]:+.0f} points" in text


def test_whether_it_looks_may_be_unknown() -> None:
    reason = "no judge has verdicts with images blanked"
    assert looks(Absent(reason), dimension="overall") == f"Whether it looks at the images is not known: {reason}."
    assert "not known" in looks(images(), dimension="overall")


NOBODY = pd.DataFrame(columns=["judge", "trained_on", "accuracy", "low", "high"])


def lost(*rows: tuple[str | None, float, float, float]) -> pd.DataFrame:
    names = ["subfield", "gain", "low", "high"]
    shared = {
        "part": "out_of_domain",
        "by": "organ",
        "dimension": "overall",
        "n": 80,
    }
    return pd.DataFrame(rows, columns=names).assign(**shared)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((-0.2, -0.05), "is worse there"),
        ((-0.2, 0.05), "does not differ significantly there"),
        ((0.01, 0.2), "is better there"),
    ],
)
def test_what_leaving_out_costs_is_told_by_its_interval(ends: tuple[float, float], said: str) -> None:
    table = lost((None, -0.1, *ends), ("eye", -0.05, -0.2, 0.1), ("lung", -0.15, -0.3, 0.0))
    text = left_out(table, NOBODY, by="organ", dimension="overall", note="")
    assert said in text and "over 80 cases" in text
    assert "The difference is lowest on lung, -15 points" in text
    assert "cannot be told" in left_out(table, NOBODY, by="dataset", dimension="overall", note="")


def test_judges_of_another_benchmark_are_told() -> None:
    other = pd.DataFrame([{"judge": "general", "trained_on": "pairs", "accuracy": 0.6, "low": 0.5, "high": 0.7}])
    table = lost((None, -0.1, -0.2, 0.0))
    text = left_out(table, other, by="organ", dimension="overall", note="")
    without = left_out(table, other, by="dataset", dimension="overall", note="")
    assert without.endswith(text[text.index("Of judges trained") :])
    assert "general (pairs) is the most accurate here: 60% [50, 70]" in text
