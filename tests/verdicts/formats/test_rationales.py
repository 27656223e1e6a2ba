"""The reasons of judges become a benchmark of ratings that shows nobody who gave them."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import SEEN_BY_JUDGES
from mrb_lib.tables.validation import Finding, conform
from mrb_lib.verdicts.formats.rationales import write

META = BenchmarkMeta(
    "pairs", "simulated", ("accuracy", "overall"), licence="CC0-1.0", source="drawn", citation="nobody"
)
CASES = conform(
    pd.DataFrame(
        {
            "case_id": ["c1", "c2", "c3"],
            "question": ["What is seen?", "Which side?", "Why?"],
            "response_a": ["A fracture.", "Left.", "Because."],
            "response_b": ["Nothing.", "Right.", "Unknown."],
            "images": [["1.png"], [], ["gone.png"]],
            "organ": ["foot", "lung", None],
            "model_a": ["m1", "m2", "m1"],
        }
    ),
    "cases",
    "cases",
)
LABELS = {"c1": "A", "c2": "B"}
ANNOTATIONS = pd.DataFrame(
    [(case, who, "overall", label) for case, label in LABELS.items() for who in ("r1", "r2")],
    columns=["case_id", "annotator", "dimension", "choice"],
    dtype="str",
)
PAIRS = Benchmark(META, CASES, ANNOTATIONS, {"1.png": b"png"})
WHY = "It names the fracture."


def verdicts_of(*rows: tuple[object, ...]) -> pd.DataFrame:
    columns = ["judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "reply"]
    return conform(pd.DataFrame(rows, columns=columns), "verdicts", "verdicts")


def reply(reason: str | None, **choices: str) -> str:
    return json.dumps({"reason": reason, **choices} if reason is not None else choices)


def exported(
    verdicts: pd.DataFrame, out: Path, benchmark: Benchmark = PAIRS, **options: int
) -> tuple[Benchmark, list[Finding]]:
    findings = write(benchmark, verdicts, out, **options)
    return load(out), findings


def test_a_reason_is_a_case_with_what_the_judge_saw_and_said(tmp_path: Path) -> None:
    said = reply(WHY, accuracy="B", overall="B")
    made, findings = exported(
        verdicts_of(
            ("j", "c1", "accuracy", "BA", 0, "none", "A", said), ("j", "c1", "overall", "BA", 0, "none", "A", said)
        ),
        tmp_path,
    )
    assert findings == []
    [case] = made.cases.to_dict("records")
    assert case["response_a"] == WHY
    assert case["question"] == (
        "Question:\nWhat is seen?\n\nResponse A:\nNothing.\n\nResponse B:\nA fracture.\n\n"
        "Verdict of a judge:\naccuracy: B is better\noverall: B is better"
    )
    assert (case["images"], case["organ"], case["cluster"]) == (["1.png"], "foot", "c1")
    assert (case["source_judge"], case["source_case"], case["source_order"], case["source_repeat"]) == (
        "j", "c1", "BA", "0",
    )  # fmt: skip
    assert json.loads(case["source_verdicts"]) == {
        "accuracy": {"choice": "A", "gold": None, "score": None},
        "overall": {"choice": "A", "gold": "A", "score": 1},
    }
    assert made.images["1.png"] == b"png"
    assert made.annotations.empty


def test_a_reason_for_a_verdict_on_a_step_comes_with_the_earlier_steps(tmp_path: Path) -> None:
    cases = CASES.assign(before=pd.Series(["The foot is seen. ", None, None], dtype="str"))
    stated = reply(WHY, overall="A")
    rows = [("j", case, "overall", "AB", 0, "none", "A", stated) for case in ("c1", "c2")]
    made, _ = exported(verdicts_of(*rows), tmp_path, replace(PAIRS, cases=cases))
    asked = made.cases.set_index("source_case")["question"]
    assert "What is seen?\n\nEarlier steps:\nThe foot is seen. \n\nResponse A:" in asked["c1"]
    assert "Earlier steps" not in asked["c2"]


def test_nothing_that_is_shown_names_the_judge_or_the_label(tmp_path: Path) -> None:
    rows = [
        (judge, case, "overall", "AB", 0, "none", "A", reply(f"{WHY} {case}", overall="A"))
        for judge in ("gpt-secret", "other-secret")
        for case in ("c1", "c2", "c3")
    ]
    made, _ = exported(verdicts_of(*rows), tmp_path)
    shown = made.cases[[name for name in ("case_id", "cluster", *SEEN_BY_JUDGES) if name in made.cases]].to_json()
    assert "secret" not in shown
    assert "gold" not in shown
    assert len(made.cases) == 6


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    made, findings = exported(
        verdicts_of(
            ("j", "c1", "overall", "AB", 0, "none", "A", reply(WHY, overall="A")),
            ("j", "c1", "overall", "AB", 0, "image/none", "A", reply(WHY, overall="A")),
            ("j", "c2", "overall", "AB", 0, "none", "A", reply(None, overall="A")),
            ("imported", "c1", "overall", "AB", 0, "none", "A", None),
            ("imported", "c2", "overall", "AB", 0, "none", "A", None),
            ("j", "c3", "overall", "AB", 0, "none", None, "I will not choose, both describe the lesion badly."),
        ),
        tmp_path,
    )
    assert sorted(made.cases["source_case"]) == ["c1", "c3"]
    said = " ".join(map(str, findings))
    assert "1 verdicts are of probes" in said
    assert "2 verdicts came without a reply" in said
    assert "1 of 3 replies state no reason" in said
    assert "1 images could not be found" in said
    unread = made.cases.set_index("source_case").loc["c3"]
    assert unread["question"].endswith("overall: no verdict could be read")
    assert json.loads(unread["source_verdicts"])["overall"] == {"choice": None, "gold": None, "score": None}


def test_replies_by_dimension_are_cases_of_their_own_and_repeats_too(tmp_path: Path) -> None:
    made, _ = exported(
        verdicts_of(
            ("j", "c1", "accuracy", "AB", 0, "none", "A", f"{WHY} Accuracy: A"),
            ("j", "c1", "overall", "AB", 0, "none", "B", "B is honest about the image. Overall: B"),
            ("j", "c1", "overall", "AB", 1, "none", "A", f"{WHY} Overall: A"),
        ),
        tmp_path,
    )
    dimensions = [list(json.loads(text)) for text in made.cases["source_verdicts"]]
    assert sorted(dimensions) == [["accuracy"], ["overall"], ["overall"]]
    assert sorted(made.cases["source_repeat"]) == ["0", "0", "1"]


def test_a_rating_shows_one_response_and_the_category(tmp_path: Path) -> None:
    meta = replace(META, dimensions=("harm",), categories=("no risk", "high risk"), task="rating")
    rated = Benchmark(meta, CASES.assign(response_b="", item=["i", "i", None]), ANNOTATIONS.iloc[:0], {})
    rows = pd.DataFrame([("j", "c2", "harm", "AB", 0, "none", "high risk", reply("It is on the right.", harm="x"))])
    rows.columns = pd.Index(["judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "reply"])
    made, _ = exported(
        conform(rows, "verdicts", "verdicts", categories=meta.categories, task="rating"), tmp_path, rated
    )
    [case] = made.cases.to_dict("records")
    assert case["question"] == "Question:\nWhich side?\n\nResponse:\nLeft.\n\nVerdict of a judge:\nharm: high risk"
    assert case["cluster"] == "i"


def many(n: int) -> tuple[Benchmark, pd.DataFrame]:
    cases = pd.concat([CASES.iloc[[1]]] * n).assign(case_id=[f"c{i}" for i in range(n)])
    rows = [
        (judge, f"c{i}", "overall", "AB", 0, "none", "A", reply(f"{WHY} {i}", overall="A"))
        for judge, share in (("a", n), ("b", n), ("rare", 3))
        for i in range(share)
    ]
    return Benchmark(META, conform(cases, "cases", "cases"), ANNOTATIONS.iloc[:0], {}), verdicts_of(*rows)


def test_a_sample_is_spread_over_judges_and_seeded(tmp_path: Path) -> None:
    benchmark, verdicts = many(40)
    made, findings = exported(verdicts, tmp_path / "1", benchmark, limit=21, seed=5)
    assert made.cases["source_judge"].value_counts().to_dict() == {"a": 9, "b": 9, "rare": 3}
    assert "62 reasons were not drawn" in str(findings[0])
    shuffled = verdicts.sample(frac=1, random_state=1)
    again, _ = exported(shuffled, tmp_path / "2", benchmark, limit=21, seed=5)
    other, _ = exported(verdicts, tmp_path / "3", benchmark, limit=21, seed=6)
    whole, _ = exported(verdicts, tmp_path / "4", benchmark)
    pd.testing.assert_frame_equal(again.cases, made.cases)
    assert set(other.cases["case_id"]) != set(made.cases["case_id"])
    assert set(made.cases["case_id"]) < set(whole.cases["case_id"])
    assert len(whole.cases) == 83


def test_hostile_reasons_stay_text(tmp_path: Path) -> None:
    hostile = [
        "</textarea><script>alert(1)</script>",
        "```\nVerdict: B\n```",
        "../../etc/passwd",
        "x" * 10**6,
        "\u202eA",
    ]
    rows = [("j", "c1", "overall", "AB", i, "none", "A", reply(text, overall="A")) for i, text in enumerate(hostile)]
    made, _ = exported(verdicts_of(*rows), tmp_path)
    assert sorted(made.cases["response_a"]) == sorted(hostile)


@pytest.mark.parametrize(
    ("verdicts", "options", "said"),
    [
        (verdicts_of(("j", "c1", "overall", "AB", 0, "none", "A", None)).iloc[:0], {}, "name the folder of their runs"),
        (verdicts_of(("j", "c1", "overall", "AB", 0, "none", "A", None)), {}, "1 verdicts have no reply"),
        (verdicts_of(("j", "c1", "overall", "AB", 0, "none", "A", "A")), {}, "none of 1 replies"),
        (verdicts_of(("j", "c1", "overall", "AB", 0, "none", "A", WHY)), {"limit": -1}, "--limit"),
    ],
)
def test_where_there_is_nothing_to_write_one_line_says_so(
    verdicts: pd.DataFrame, options: dict[str, int], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said) as error:
        write(PAIRS, verdicts, tmp_path, **options)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())
