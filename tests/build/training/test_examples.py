"""Every label becomes the answer to the prompt that asks for it, in each order, and none is lost uncounted."""

from dataclasses import replace

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.build.training.examples import NO_LABEL, NO_REFERENCE, ExampleOptions, examples
from mrb_lib.tables.errors import InputError

VOTES = {
    "clear": {"overall": "AAA", "accuracy": "AAB"},
    "second": {"overall": "BBA", "accuracy": "BBB"},
    "tied": {"overall": "ttA", "accuracy": "ABt"},
}


def _benchmark(votes: dict[str, dict[str, str]] = VOTES) -> Benchmark:
    cases = pd.DataFrame(
        {"case_id": list(votes), "question": "What is seen?", "response_a": "A lesion.", "response_b": "Nothing."}
    ).assign(images=[[] for _ in votes], reference=pd.Series(["A lesion.", None, "Nothing."]))
    annotations = pd.DataFrame(
        [
            (case, annotator, dimension, {"t": "tie"}.get(letter, letter))
            for case, by_dimension in votes.items()
            for dimension, letters in by_dimension.items()
            for annotator, letter in zip("xyz", letters, strict=True)
        ],
        columns=["case_id", "annotator", "dimension", "choice"],
    )
    return Benchmark(BenchmarkMeta("small", "general", ("overall", "accuracy")), cases, annotations)


def _picks(rows: pd.DataFrame, case: str, dimension: str) -> dict[str, str]:
    own = rows[(rows["case_id"] == case) & (rows["dimension"] == dimension)]
    return dict(zip(own["order"], own["pick"], strict=True))


def test_the_answer_to_a_prompt_is_the_position_of_the_preferred_response() -> None:
    made = examples(_benchmark(), list(VOTES), ExampleOptions())
    assert _picks(made.rows, "clear", "overall") == {"AB": "first", "BA": "second"}
    assert _picks(made.rows, "second", "accuracy") == {"AB": "second", "BA": "first"}
    assert _picks(made.rows, "tied", "overall") == {"AB": "tie", "BA": "tie"}
    assert made.rows.groupby("pick")["p_first"].first().to_dict() == {"first": 1.0, "second": 0.0, "tie": 0.5}
    assert made.left_out == {NO_LABEL: 1}
    assert made.case_ids == list(VOTES)
    assert set(examples(_benchmark(), list(VOTES), ExampleOptions(swap=False)).rows["order"]) == {"AB"}


def test_references_are_shown_never_always_or_for_half_of_the_cases() -> None:
    votes = {f"case-{i}": {"overall": "AAA" if i % 2 else "BBB"} for i in range(40)}
    bench = _benchmark(votes)
    bench = replace(bench, cases=bench.cases.assign(reference="It is this."))

    def shown(option: str) -> pd.Series:
        rows = examples(bench, list(votes), ExampleOptions(reference=option)).rows
        by_case = rows.groupby("case_id")["shows_reference"]
        assert by_case.nunique().eq(1).all(), "both orders of a case are shown alike"
        return by_case.first()

    assert not shown("drop").any() and shown("keep").all()
    assert shown("half").sum() == 20


def test_a_case_without_a_reference_is_left_out_where_all_are_shown_one() -> None:
    made = examples(_benchmark(), list(VOTES), ExampleOptions(reference="keep"))
    assert "second" not in made.case_ids
    assert made.left_out == {NO_LABEL: 1, NO_REFERENCE: 2}


@pytest.mark.parametrize(
    ("votes", "cases", "options", "message"),
    [
        (VOTES, [], {}, "no label is left to train on"),
        ({"one": {"overall": "AAA"}}, ["one"], {"swap": False}, "nothing to tell apart"),
        ({"one": {"overall": "ttt"}}, ["one"], {}, "nothing to tell apart"),
        (VOTES, list(VOTES), {"dimensions": ("charm",)}, "dimension 'charm': use some of overall, accuracy"),
    ],
)
def test_bad_input_is_one_line(
    votes: dict[str, dict[str, str]], cases: list[str], options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message) as raised:
        examples(_benchmark(votes), cases, ExampleOptions(**options))
    assert "\n" not in str(raised.value)
