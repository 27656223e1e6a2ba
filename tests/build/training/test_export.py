"""Rows to train on elsewhere: the prompts that judge, the annotators' answers, and nothing of the test."""

import json
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.case_digests import case_digests
from mrb_lib.benchmarks.formats import WRITERS
from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo import write_demo
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.replies.reading import parse
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import to_shown_frame
from mrb_lib.verdicts.store import empty_verdicts

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Forty SIMULATED cases with an image each, split as they are shipped."""
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder, cases=40)
    return load(folder)


def plain(benchmark: Benchmark) -> Benchmark:
    """The same without images."""
    return replace(benchmark, cases=benchmark.cases.assign(images=[[] for _ in range(len(benchmark.cases))]))


@pytest.fixture
def export(tmp_path: Path) -> Callable[..., pd.DataFrame]:
    """Writes rows in a format, and reads them as they stand there."""

    def run(format_: str, benchmark: Benchmark, **options: object) -> pd.DataFrame:
        folder = tmp_path / format_
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        WRITERS[format_].convert(benchmark, empty_verdicts(), folder, **options)
        [file] = folder.glob("*.parquet")
        rows = pd.read_parquet(file)
        for name in {"prompt", "completion", "chosen", "rejected"} & set(rows.columns):
            assert {(len(turns), turns[0]["role"]) for turns in rows[name]} == {
                (1, "user" if name == "prompt" else "assistant")
            }
            rows[name] = [turns[0]["content"] for turns in rows[name]]
        return rows

    return run


def test_a_row_is_the_prompt_that_judges_and_the_letter_of_the_majority(demo: Benchmark, export: Callable) -> None:
    rows = export("sft", demo)
    train = demo.cases[demo.cases["split"] == "train"]
    labels = gold(demo).dropna(subset="choice").set_index(["case_id", "dimension"])["choice"]
    labels = labels[labels.index.get_level_values("case_id").isin(train["case_id"])]
    n_ties = int((labels == "tie").sum())
    assert len(rows) == 2 * (len(labels) + n_ties), "each label in both orders, a tie for either letter"
    shown = {
        (row["case_id"], order): row
        for order in ("AB", "BA")
        for row in to_shown_frame(train.assign(order=order)).to_dict("records")
    }
    single = load_prompt("single")
    for row in rows.itertuples():
        case = shown[row.case_id, row.order]
        settings = Settings(dimensions=demo.meta.dimensions)
        text = single.render(case, [case["first"], case["second"]], settings, row.dimension).text
        assert row.prompt == text
        label = labels[row.case_id, row.dimension]
        if label == "tie":
            assert (row.completion in "AB", row.weight) == (True, 0.5)
        else:
            assert row.completion == (label if row.order == "AB" else {"A": "B", "B": "A"}[label])
            assert row.weight == 1.0
    halves = rows.groupby(["case_id", "dimension"])
    assert (halves["completion"].agg(lambda letters: (letters == "A").mean()) == 0.5).all(), "no position is preferred"


@pytest.mark.parametrize("prompt", ["plain", "reasoned"])
def test_all_dimensions_in_one_reply_are_read_back_as_they_were_labelled(
    prompt: str, demo: Benchmark, export: Callable
) -> None:
    rows = export("dpo", demo, prompt=prompt, no_swap=True)
    labels = gold(demo).pivot_table(index="case_id", columns="dimension", values="choice", aggfunc="first")
    complete = labels[labels.notna().all(axis=1) & labels.ne("tie").any(axis=1)]
    train = demo.cases.loc[demo.cases["split"] == "train", "case_id"]
    assert rows["case_id"].tolist() == [case for case in train if case in complete.index]
    assert len(rows)
    mirrored = {"A": "B", "B": "A", "tie": "tie"}
    for row in rows.itertuples():
        reading = parse(row.chosen, demo.meta.dimensions, demo.meta.choices)
        assert reading.choices == complete.loc[row.case_id, list(demo.meta.dimensions)].to_dict()
        assert json.loads(row.rejected) == {name: mirrored[value] for name, value in json.loads(row.chosen).items()}
    assert set(rows["order"]) == {"AB"}


def test_the_responses_themselves_are_preferred_for_a_reward(demo: Benchmark, export: Callable) -> None:
    rows = export("reward", demo, dimension=["overall"], ties="drop")
    cases = demo.cases.set_index("case_id")
    labels = gold(demo).query("dimension == 'overall'").set_index("case_id")["choice"]
    for row in rows.itertuples():
        side, other = ("a", "b") if labels[row.case_id] == "A" else ("b", "a")
        case = cases.loc[row.case_id]
        assert (row.prompt, row.chosen, row.rejected) == (
            case["question"], case[f"response_{side}"], case[f"response_{other}"]
        )  # fmt: skip
    with_ties = export("reward", demo, dimension=["overall"])
    train = demo.cases.loc[demo.cases["split"] == "train", "case_id"]
    n_ties = int(labels[train].eq("tie").sum())
    assert n_ties
    assert len(with_ties) == len(rows) + 2 * n_ties
    assert with_ties["weight"].sum() == len(rows) + n_ties
    assert "order" not in rows


def test_the_reference_is_shown_where_it_is_to_be(demo: Benchmark, export: Callable) -> None:
    has = demo.cases.set_index("case_id")["reference"]
    never = export("sft", demo, prompt="plain")
    assert not never["prompt"].str.contains("reference answer").any()
    kept = export("sft", demo, prompt="plain", reference="keep")
    assert all(has[row.case_id] in row.prompt for row in kept.itertuples())
    half = export("sft", demo, prompt="plain", reference="half")
    shows = half["prompt"].str.contains("reference answer")
    assert shows.groupby(half["case_id"]).nunique().eq(1).all(), "both orders of a case are shown alike"
    assert 0 < shows.mean() < 1
    assert half.loc[shows, "case_id"].map(has).notna().all()


def test_only_the_split_asked_for_and_its_digests_are_kept(demo: Benchmark, export: Callable, tmp_path: Path) -> None:
    rows = export("sft", demo, split="test", dimension=["overall"])
    assert set(rows["case_id"]) <= set(demo.cases.loc[demo.cases["split"] == "test", "case_id"])
    stated = tomllib.loads((tmp_path / "sft" / "rows.toml").read_text(encoding="utf-8"))
    assert (stated["warning"], stated["exported_split"]) == ("SIMULATED", "test")
    assert stated["digests"] == case_digests(demo)[stated["cases"]].tolist()
    assert set(stated["cases"]) == set(rows["case_id"])
    assert stated["n_rows"] == len(rows)
    assert "SIMULATED" in (tmp_path / "sft" / "rows.toml").read_text(encoding="utf-8")


def test_what_is_left_out_is_counted(demo: Benchmark, tmp_path: Path) -> None:
    assert demo.path is not None
    first = demo.cases.loc[demo.cases["split"] == "train", "images"].iloc[0][0]
    lacking = replace(demo, images={name: demo.images[name] for name in demo.images if name != first})
    findings = WRITERS["sft"].convert(lacking, empty_verdicts(), tmp_path, ties="drop")
    problems = " ".join(finding.problem for finding in findings)
    labels = gold(demo)
    train = demo.cases.loc[demo.cases["split"] == "train", "case_id"].iloc[1:]
    of_train = labels[labels["case_id"].isin(train)]
    assert "1 left out: cases with an image that is missing or cannot be read" in problems
    assert f"{of_train['choice'].isna().sum()} left out: labels, for the annotators' votes give no label" in problems
    assert f"{of_train['choice'].eq('tie').sum()} left out: labels, for the label is a tie" in problems


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"split": "dev"}, "--split 'dev'"),
        ({"prompt": "official-form"}, "asks for a reason"),
        ({"prompt": "reference"}, "add --reference keep"),
        ({"reference": "half"}, "prompt single shows none; add --prompt plain"),
        ({"reference": "some"}, "reference 'some'"),
        ({"ties": "first"}, "ties 'first'"),
        ({"dimension": ["beauty"]}, "dimension 'beauty'"),
    ],
)
def test_what_cannot_be_written_is_refused(
    options: dict[str, object], part: str, demo: Benchmark, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        WRITERS["sft"].convert(demo, empty_verdicts(), tmp_path, **options)
    assert part in str(caught.value)


def test_a_leaking_split_is_refused(demo: Benchmark, tmp_path: Path) -> None:
    first = demo.cases.loc[demo.cases["split"] == "train", "images"].iloc[0]
    shown = [
        first if split == "test" else own for split, own in zip(demo.cases["split"], demo.cases["images"], strict=True)
    ]
    with pytest.raises(InputError, match="shares the same image"):
        WRITERS["dpo"].convert(replace(demo, cases=demo.cases.assign(images=shown)), empty_verdicts(), tmp_path)


# What other packages warn of as they are imported is theirs to mend.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("format_", ["sft", "dpo", "reward"])
def test_trl_trains_a_model_on_the_rows(
    format_: str, demo: Benchmark, export: Callable, tiny: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vision model learns from rows with images; a reward model reads text, and gets rows without."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets
    import transformers
    import trl

    seeing = format_ != "reward"
    export(format_, demo if seeing else plain(demo), dimension=["overall"])
    rows = datasets.load_dataset(str(tmp_path / format_), split="train", cache_dir=str(tmp_path / "cache"))
    assert rows[0]["images"][0].size == (256, 256) if seeing else "images" not in rows.column_names
    folder, kind = tiny("llava" if seeing else "llama"), {"sft": "SFT", "dpo": "DPO", "reward": "Reward"}[format_]
    if seeing:
        model = transformers.AutoModelForImageTextToText.from_pretrained(folder)
    else:
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1)
    before = {name: value.clone() for name, value in model.named_parameters()}
    settings = getattr(trl, f"{kind}Config")(
        output_dir=str(tmp_path / "out"), max_length=None, max_steps=2, per_device_train_batch_size=2, use_cpu=True,
        bf16=False, report_to="none", save_strategy="no", gradient_checkpointing=False, disable_tqdm=True,
        learning_rate=1e-3,
    )  # fmt: skip
    reader = (transformers.AutoProcessor if seeing else transformers.AutoTokenizer).from_pretrained(folder)
    trained = getattr(trl, f"{kind}Trainer")(model=model, processing_class=reader, args=settings, train_dataset=rows)
    trained.train()
    assert trained.state.global_step == 2
    moved = [name for name, value in model.named_parameters() if not value.equal(before[name])]
    assert moved and (not seeing or any("vision" in name for name in moved)), "the images were seen"
