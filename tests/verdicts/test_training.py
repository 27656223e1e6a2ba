"""Tests of cases that a judge has seen: known by their content, and never by a record that was changed."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.verdicts.training import seen_notes, training_cases, training_curves, training_records
from tests.training_records import BASE_REVISION, manifest_of, record_of


@pytest.fixture
def whole(pictured: Benchmark) -> Benchmark:
    """A benchmark that is not divided into training and test."""
    return replace(pictured, cases=pictured.cases.drop(columns="split"))


def seen(benchmark: Benchmark, *manifests: Manifest) -> dict[str, set[str]]:
    made = training_cases(manifests, benchmark)
    made = made[~made["judge"].str.contains("@")]
    return {str(judge): set(rows["case_id"].dropna()) for judge, rows in made.groupby("judge")}


def merged(benchmark: Benchmark) -> Benchmark:
    """The benchmark as one of several: ids with its name before them, images renamed, responses exchanged."""
    cases = benchmark.cases.assign(
        case_id="first/" + benchmark.cases["case_id"],
        images=benchmark.cases["images"].map(lambda names: [f"first/{name}" for name in names]),
        response_a=benchmark.cases["response_b"],
        response_b=benchmark.cases["response_a"],
    )
    other = cases.head(3).assign(case_id=["a", "b", "c"], question="something else")
    images = {f"first/{name}": benchmark.images[name] for name in benchmark.images}
    meta = replace(benchmark.meta, name="both")
    return Benchmark(meta, pd.concat([cases, other], ignore_index=True), benchmark.annotations.head(0), images)


def test_cases_are_known_again_in_a_merged_benchmark(whole: Benchmark) -> None:
    trained = whole.cases["case_id"].tolist()[2:9]
    judge = manifest_of("tuned", record_of(whole, trained))
    assert seen(whole, judge) == {"tuned": set(trained)}
    assert seen(merged(whole), judge) == {"tuned": {f"first/{case}" for case in trained}}


def test_what_it_was_continued_from_counts_and_so_do_validation_and_related_cases(whole: Benchmark) -> None:
    ids = whole.cases["case_id"].tolist()
    first = record_of(whole, ids[:4], validation=ids[4:6], related=[*ids[2:5], *ids[8:10]])
    second = record_of(whole, ids[5:8], started_from=first, method="dpo")
    made = training_cases([manifest_of("dpo", second)], whole)
    uses = made[made["judge"] == "dpo"].set_index("case_id")["use"]
    assert uses.to_dict() == {
        **dict.fromkeys([*ids[:4], *ids[5:8]], "training"), ids[4]: "validation",
        **dict.fromkeys(ids[8:10], "related"),
    }  # fmt: skip
    said = "10 of 18 cases are left out: 7 were trained on, and 3 more are validation cases or related"
    assert seen_notes(made, ["dpo", "other", "dpo@run-dpo"], 18) == [f"dpo: {said}", f"dpo@run-dpo: {said}"]


def test_a_record_of_other_cases_is_a_record_and_no_record_is_none(whole: Benchmark) -> None:
    elsewhere = replace(whole, cases=whole.cases.assign(question="of another benchmark"))
    judge = manifest_of("tuned", record_of(elsewhere, elsewhere.cases["case_id"].head(5)))
    made = training_cases([judge, manifest_of("plain")], whole)
    assert set(made["judge"]) == {"tuned", "tuned@run-tuned"}
    assert made["case_id"].isna().all()
    assert seen_notes(made, ["tuned"], 18) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda record: {"digests": record["digests"][1:], "cases": record["cases"][1:]},
        lambda record: {"digests": ["0" * 32, *record["digests"][1:]]},
        lambda record: {"cases": record["cases"][1:]},
        lambda record: {"cases_digest": None},
        lambda record: {"digests": None},
    ],
)
def test_a_record_that_was_changed_is_refused_in_one_line(whole: Benchmark, change: object) -> None:
    record = record_of(whole, whole.cases["case_id"].head(5))
    changed = {**record, **change(record)}  # type: ignore[operator]  # one of the above
    for training in (changed, record_of(whole, [], started_from=changed)):
        with pytest.raises(InputError, match="run-tuned: the training record of judge tuned was changed") as caught:
            training_cases([manifest_of("tuned", training)], whole)
        assert "\n" not in str(caught.value)


def test_a_judge_that_was_trained_on_test_cases_is_refused_and_one_that_stopped_by_validation_is_not(
    whole: Benchmark,
) -> None:
    ids = whole.cases["case_id"].tolist()
    split = ["train"] * 10 + ["validation"] * 4 + ["test"] * 4
    divided = replace(whole, cases=whole.cases.assign(split=split))
    sound = manifest_of("tuned", record_of(divided, ids[:10], validation=ids[10:14]))
    assert seen(divided, sound) == {"tuned": set(ids[:14])}
    with pytest.raises(InputError, match="was trained on 2 cases that the split") as caught:
        training_cases([manifest_of("leaky", record_of(divided, [*ids[:10], *ids[13:15]]))], divided)
    assert f"first {ids[13]} (validation)" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_jury_has_seen_what_its_members_have(whole: Benchmark) -> None:
    ids = whole.cases["case_id"].tolist()
    one = manifest_of("one", record_of(whole, ids[:3], validation=ids[3:5]))
    two = manifest_of("two", record_of(whole, ids[4:6]))
    jury = Manifest(
        "run-jury", "consensus-of:one,two,three", spec={"runs": ["run-one", "run-two", "run-three", ["run-two"]]}
    )
    made = training_cases([one, two, jury], whole)
    uses = made[made["judge"] == jury.judge].set_index("case_id")["use"]
    assert uses.to_dict() == dict.fromkeys([*ids[:3], *ids[4:6]], "training") | {ids[3]: "validation"}


def test_bases_are_known_by_the_digest_of_their_weights_step_by_step(whole: Benchmark) -> None:
    first = record_of(whole, [])
    second = record_of(whole, [], base_revision="sha256:sft", started_from=first, method="dpo")
    runs = [
        manifest_of("base", revision=BASE_REVISION),
        manifest_of("base+generative", revision=BASE_REVISION, engine="generative"),
        manifest_of("sft", first, revision="sha256:sft"),
        manifest_of("dpo", second, revision="sha256:dpo"),
        manifest_of("rm", record_of(whole, []), revision="sha256:rm", engine="reward"),
        manifest_of("asked", record_of(whole, []), revision="sha256:asked", engine="pointwise"),
        manifest_of("stranger", record_of(whole, [], base_revision="sha256:else"), revision="sha256:x"),
    ]
    bases = training_records(runs).set_index("judge")["bases"]
    plain = {judge: [name for name in bases[judge] if "@" not in name] for judge in ("sft", "dpo", "rm", "asked")}
    assert plain == {
        "sft": ["base"], "dpo": ["sft", "base"], "rm": ["base"], "asked": ["base", "base+generative"],
    }  # fmt: skip
    assert bases["stranger"] == ()
    assert "base" not in bases.index
    stated = training_records(runs).set_index("judge").loc["dpo"]
    assert (stated["base_revision"], stated["method"]) == (BASE_REVISION, "dpo")
    assert pd.isna(stated["left_out_column"])


def test_curves_have_a_row_a_step_and_tell_stages_apart(whole: Benchmark) -> None:
    def point(step: int) -> Mapping[str, float]:
        return {"step": step, "epoch": 1.0, "loss": 1 / step, "accuracy": 0.6, "consistency": 0.8, "seconds": 2.0}

    first = record_of(whole, [], curve=[point(1), point(2)])
    made = training_curves([manifest_of("dpo", record_of(whole, [], curve=[point(3)], started_from=first))])
    assert made[["stage", "step"]].to_numpy().tolist() == [[0, 1], [0, 2], [1, 3]]
    assert training_curves([manifest_of("plain")]).empty
