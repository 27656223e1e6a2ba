"""The most telling cases are those of the judge at fault, under the probe that is broken."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.probes import target
from mrb_lib.report.notebook.absent import Absent
from mrb_lib.report.notebook.live.probes import ProbedVerdicts
from mrb_lib.report.notebook.live.telling import telling_cases
from mrb_lib.report.notebook.workspace import Workspace
from mrb_lib.tables.schema import NO_PROBE

CASES = [f"c{i}" for i in range(6)]
BLUR, BLANK, MARKDOWN, SIDE = "image/blur:4", "image/blank", "response/markdown", "response/side:1"


def probed(moved: dict[tuple[str, str], list[str]]) -> ProbedVerdicts:
    """All labels are A; judges choose A, and B on the cases that a judge's probe moves."""
    cases = pd.DataFrame({"case_id": CASES, "question": "?", "response_a": "a", "response_b": "b"})
    labels = pd.DataFrame({"case_id": CASES, "annotator": "r", "dimension": "overall", "choice": "A"})
    keys = itertools.product(
        ["at-fault", "other"], CASES, ["AB", "BA"], [0, 1], [NO_PROBE, BLUR, BLANK, MARKDOWN, SIDE]
    )
    verdicts = pd.DataFrame(keys, columns=["judge", "case_id", "order", "repeat", "probe"])
    turns = [
        case in moved.get((judge, probe), [])
        for judge, case, probe in verdicts[["judge", "case_id", "probe"]].itertuples(index=False)
    ]
    verdicts["choice"] = pd.Series(["B" if turn else "A" for turn in turns])
    verdicts = verdicts.assign(dimension="overall", p_a=0.5, status="ok")
    benchmark = Benchmark(BenchmarkMeta("b", "general"), cases, labels, {})
    return ProbedVerdicts(Workspace(benchmark, verdicts, [], "overall"))


def row(probe: str, severity: int, expected: str, change: float, kept: bool | None = False) -> dict[str, object]:
    return {
        "judge": "at-fault", "probe": probe, "severity": severity, "expected": expected, "accuracy_change": change,
        "kept_expectation": kept,
    }  # fmt: skip


def rows(*each: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame(each).astype({"kept_expectation": "boolean", "severity": "Int64"})


def cases_of(made: object) -> list[tuple[str, str]]:
    assert isinstance(made, pd.DataFrame)
    return list(zip(made["probe"], made["case_id"], strict=True))


def test_a_verdict_that_should_stay_is_shown_where_most_judges_turn_wrong() -> None:
    p = probed({("at-fault", BLUR): ["c1", "c3", "c4"], ("other", BLUR): ["c0", "c3", "c4"]})
    made = telling_cases(p, rows(row("image/blur", 4, "same", -0.4)), dimension="overall")
    assert isinstance(made, pd.DataFrame)
    assert made.to_dict("records") == [
        {
            "judge": "at-fault", "probe": BLUR, "case_id": "c3", "expected": "same", "choice": "A",
            "choice_probed": "B", "gold": "A", "n_judges_moved": 2,
        }
    ]  # fmt: skip


def test_a_verdict_that_should_change_is_shown_where_it_stays_and_others_move() -> None:
    p = probed({("at-fault", BLANK): ["c0", "c5"], ("other", BLANK): ["c0", "c2", "c4"]})
    made = telling_cases(p, rows(row("image/blank", 1, "worse", 0.0)), dimension="overall")
    assert cases_of(made) == [(BLANK, "c2")], "on c0 the judge at fault moves as well"


def test_an_error_that_is_not_noticed_is_in_the_response_still_chosen() -> None:
    made = telling_cases(probed({}), rows(row("response/side", 1, "flips", 0.0)), dimension="overall")
    ((_, case),) = cases_of(made)
    assert case == min(name for name in CASES if target(name) == "A"), "judges choose A, and the error is in it"


def test_probes_of_pictures_come_first_each_probe_once_and_the_most_broken_before() -> None:
    everywhere = {("at-fault", probe): CASES for probe in (BLUR, MARKDOWN)}
    table = rows(
        row("response/markdown", 1, "same", -0.9), row("image/blank", 1, "worse", 0.0),
        row("image/blur", 4, "same", -0.1), row("image/blur", 2, "same", -0.9),
    )  # fmt: skip
    made = telling_cases(probed(everywhere), table, dimension="overall")
    assert [probe for probe, _ in cases_of(made)] == [BLUR, BLANK, MARKDOWN], "no verdict is of blur at severity 2"
    assert len(cases_of(telling_cases(probed(everywhere), table, dimension="overall", n=2))) == 2


@pytest.mark.parametrize("kept", [True, None])
def test_what_is_kept_or_undecided_has_no_case(kept: bool | None) -> None:
    p = probed({("at-fault", BLUR): CASES})
    made = telling_cases(p, rows(row("image/blur", 4, "same", -0.4, kept)), dimension="overall")
    assert isinstance(made, Absent)


def test_a_choice_that_differs_between_repeats_is_no_turned_verdict() -> None:
    p = probed({("at-fault", BLUR): ["c1", "c2"]})
    verdicts = p.workspace.verdicts
    unsure = verdicts["case_id"].eq("c1") & verdicts["probe"].eq(BLUR) & verdicts["repeat"].eq(1)
    p = ProbedVerdicts(p.workspace.on(verdicts.assign(choice=verdicts["choice"].mask(unsure, "A"))))
    made = telling_cases(p, rows(row("image/blur", 4, "same", -0.4)), dimension="overall")
    assert cases_of(made) == [(BLUR, "c2")]
