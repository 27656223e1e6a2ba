"""Probed cases: whose verdicts a study shows, and the cases that illustrate which probes judges break."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import mrb_lib as mrb
from mrb_lib.demo.build import write_demo
from mrb_lib.probes import target
from mrb_lib.report import study as study_module
from mrb_lib.review.failures.lists import illustrative_cases
from mrb_lib.tables.schema import NO_PROBE

CASES = [f"c{i}" for i in range(6)]
BLUR, BLANK, MARKDOWN, SIDE = "image/blur:4", "image/blank", "response/markdown", "response/side:1"
LABELS = pd.DataFrame({"case_id": CASES, "dimension": "overall", "choice": "A"})


def verdicts(moved: dict[tuple[str, str], list[str]]) -> pd.DataFrame:
    """All labels are A; judges choose A, and B on the cases that a judge's probe moves."""
    keys = itertools.product(
        ["at-fault", "other"], CASES, ["AB", "BA"], [0, 1], [NO_PROBE, BLUR, BLANK, MARKDOWN, SIDE]
    )
    table = pd.DataFrame(keys, columns=["judge", "case_id", "order", "repeat", "probe"])
    turns = [
        case in moved.get((judge, probe), [])
        for judge, case, probe in table[["judge", "case_id", "probe"]].itertuples(index=False)
    ]
    return table.assign(choice=["B" if turn else "A" for turn in turns], dimension="overall")


def row(probe: str, severity: int, expected: str, change: float, kept: bool | None = False) -> dict[str, object]:
    return {
        "judge": "at-fault", "probe": probe, "severity": severity, "expected": expected, "accuracy_change": change,
        "kept_expectation": kept,
    }  # fmt: skip


def rows(*each: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame(each).astype({"kept_expectation": "boolean", "severity": "Int64"})


def shown(table: pd.DataFrame, *each: dict[str, object], n: int = 3) -> pd.DataFrame:
    return illustrative_cases(table, LABELS, rows(*each), dimension="overall", n=n)


def cases_of(made: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(made["probe"], made["case_id"], strict=True))


class TestIllustrativeCases:
    def test_a_verdict_that_should_stay_is_shown_where_most_judges_turn_wrong(self) -> None:
        table = verdicts({("at-fault", BLUR): ["c1", "c3", "c4"], ("other", BLUR): ["c0", "c3", "c4"]})
        assert shown(table, row("image/blur", 4, "same", -0.4)).to_dict("records") == [
            {
                "judge": "at-fault", "probe": BLUR, "case_id": "c3", "expected": "same", "choice": "A",
                "choice_probed": "B", "gold": "A", "n_judges_moved": 2,
            }
        ]  # fmt: skip

    def test_a_verdict_that_should_change_is_shown_where_it_stays_and_others_move(self) -> None:
        table = verdicts({("at-fault", BLANK): ["c0", "c5"], ("other", BLANK): ["c0", "c2", "c4"]})
        made = shown(table, row("image/blank", 1, "worse", 0.0))
        assert cases_of(made) == [(BLANK, "c2")], "on c0 the judge at fault moves as well"

    def test_an_error_that_is_not_noticed_is_in_the_response_still_chosen(self) -> None:
        ((_, case),) = cases_of(shown(verdicts({}), row("response/side", 1, "flips", 0.0)))
        assert case == min(name for name in CASES if target(name) == "A"), "judges choose A, and the error is in it"

    def test_probes_of_pictures_come_first_each_probe_once_and_the_most_broken_before(self) -> None:
        everywhere = verdicts({("at-fault", probe): CASES for probe in (BLUR, MARKDOWN)})
        broken = (
            row("response/markdown", 1, "same", -0.9), row("image/blank", 1, "worse", 0.0),
            row("image/blur", 4, "same", -0.1), row("image/blur", 2, "same", -0.9),
        )  # fmt: skip
        made = cases_of(shown(everywhere, *broken))
        assert [probe for probe, _ in made] == [BLUR, BLANK, MARKDOWN], "no verdict is of blur at severity 2"
        assert len(shown(everywhere, *broken, n=2)) == 2

    @pytest.mark.parametrize("kept", [True, None])
    def test_what_is_kept_or_undecided_has_no_case(self, kept: bool | None) -> None:
        with pytest.raises(mrb.NotApplicable, match="no case shows a judge"):
            shown(verdicts({("at-fault", BLUR): CASES}), row("image/blur", 4, "same", -0.4, kept))

    def test_a_choice_that_differs_between_repeats_is_no_turned_verdict(self) -> None:
        table = verdicts({("at-fault", BLUR): ["c1", "c2"]})
        unsure = table["case_id"].eq("c1") & table["probe"].eq(BLUR) & table["repeat"].eq(1)
        made = shown(table.assign(choice=table["choice"].mask(unsure, "A")), row("image/blur", 4, "same", -0.4))
        assert cases_of(made) == [(BLUR, "c2")]


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> mrb.Study:
    """Eighty simulated cases without runs, judged by simulated judges under probes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_module, "DEFAULTS", {})
        folder = tmp_path_factory.mktemp("small")
        write_demo(folder, cases=80, seed=5)
        return mrb.with_probes(mrb.open(folder, resamples=50))


def test_an_embedded_benchmark_without_probes_gets_simulated_judges_that_say_so(probed: mrb.Study) -> None:
    assert len(probed.judges) == 7 and all(name.startswith("simulated-") for name in probed.judges)
    assert probed.groups["judge"].tolist() == probed.judges
    assert mrb.with_probes(probed) is probed, "runs with probed cases stay as they are"
    assert "The judges are SIMULATED here" in probed.note and probed.remark in repr(probed)
    profile = probed.table("probes", dimension="overall").frame
    broken = profile[profile["kept_expectation"].eq(False).fillna(False)]
    assert {"simulated-deferent", "simulated-wordy"} <= set(broken["judge"])
    assert "simulated-sound" not in set(broken["judge"])


def test_the_cases_are_shown_plain_and_probed_and_published_with_a_table(probed: mrb.Study, tmp_path: Path) -> None:
    study = replace(probed, out=str(tmp_path), _made={})
    page = mrb.probe_cases(study, study.table("probes", dimension="overall"), n=2)._repr_html_()
    sidecar = json.loads((tmp_path / "tables" / "probe-cases.json").read_text())
    cases = pd.read_csv(tmp_path / "tables" / "probe-cases.csv")
    assert len(cases) == 2 and page.count("<section") == 2
    for case, probe in zip(cases["case_id"], cases["probe"], strict=True):
        assert case in page and probe.partition(":")[0] in page
    assert sidecar["simulated"] is True and "The judges are SIMULATED here" in sidecar["caption"]
    one = study.table("probes", dimension="overall").query("judge == 'simulated-sound'")
    with pytest.raises(mrb.NotApplicable):
        mrb.probe_cases(study, one)
