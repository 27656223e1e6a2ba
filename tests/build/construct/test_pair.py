"""Models are named by a plan, and `pair` makes of their responses a benchmark that can be annotated and extended."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.build.construct.answers.pool import pool_of, recorded
from mrb_lib.build.construct.pair import NO_PAIR, NOT_DRAWN, Paired, Plan, annotation_blocks, pair
from mrb_lib.build.construct.work import Work
from mrb_lib.judges import Settings
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.tables.errors import InputError

from .paired import N, make_work, respond


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return make_work(tmp_path / "work")


def _meetings(made: Paired) -> Counter[tuple[str, ...]]:
    return Counter(tuple(sorted(both)) for both in made.pairs[["model_a", "model_b"]].to_numpy().tolist())


def test_a_work_folder_becomes_a_benchmark_without_annotations(work: Work) -> None:
    made = pair(work, Plan())
    assert len(made.pairs) == N - 1
    assert set(_meetings(made).values()) == {6}
    by_side = made.pairs.groupby(["model_a", "model_b"]).size().unstack(fill_value=0)
    assert (by_side - by_side.T).abs().to_numpy().max() <= 1, "each stands first half of the time"
    assert dict(zip(made.excluded["reason"], made.excluded["n"], strict=True))["near-identical pair"] == 6
    bench = load(work.path)
    assert (bench.meta.name, bench.meta.kind, bench.meta.licence) == ("mine", "simulated", "CC0")
    assert bench.annotations.empty
    assert bench.cases["case_id"].tolist() == made.pairs["case_id"].tolist()
    first = bench.cases.set_index("item").loc["i0"]
    assert first["question"] == "What is it?\n\nA. yes\nB. no"
    said = work.responses().set_index(["item_id", "model", "sample"])["answer"]
    for row in made.pairs.merge(bench.cases, on="case_id").itertuples():
        assert row.response_a == said[row.item_id, row.model_a_x, row.sample_a]
        assert (row.model_b_y, row.cluster) == (row.model_b_x, row.item_id)
    half = made.pairs.head(18)
    assert max(Counter(tuple(sorted(both)) for both in half[["model_a", "model_b"]].to_numpy().tolist()).values()) == 3
    funnel = work.funnel().set_index(["step", "reason"])["n"]
    assert funnel["pair", "kept"] == N - 1
    assert funnel["pair", NO_PAIR] == 1


def test_the_same_again_does_nothing_and_other_responses_make_it_stale(work: Work) -> None:
    before = pair(work, Plan())
    assert pair(work, Plan()).is_done
    with pytest.raises(InputError, match="--again"):
        pair(work, Plan(balance=()))
    with pytest.raises(InputError, match="seed was 0, now 1"):
        pair(work, Plan(), seed=1)
    (work.path / "benchmark.toml").write_text('name = "mine"\nkind = "simulated"\ndimensions = ["overall"]\n')
    respond(work, refusing="d", seed=1)
    assert "pair" in work.stale()
    made = pair(work, Plan())
    assert not made.is_done
    assert "d" not in {*made.pairs["model_a"], *made.pairs["model_b"]}
    assert not set(made.pairs["case_id"]) & set(before.pairs["case_id"]), "answers to other responses never count"
    assert load(work.path).meta.dimensions == ("overall",), "what was edited stays"


def test_so_many_cases_are_drawn_and_the_others_counted(work: Work) -> None:
    made = pair(work, Plan(n_cases=12, per_item=2))
    assert (len(made.pairs), made.pairs["item_id"].nunique()) == (12, 6)
    assert work.funnel().set_index(["step", "reason"])["n"]["pair", NOT_DRAWN] == N - 7


def test_impossible_plans_are_one_line(work: Work) -> None:
    for plan, words in (
        (Plan(balance=("age",)), "'age': is unknown"),
        (Plan(exclude=("short",)), "'short': is unknown"),
        (Plan(per_item=0), "at least one"),
    ):
        with pytest.raises(InputError, match=words):
            pair(work, plan)
    assert work.state("pair") != "finished"
    assert not (work.path / "benchmark.toml").exists()


def test_in_every_block_of_annotation_each_pair_of_responders_has_a_case(work: Work, tmp_path: Path) -> None:
    assert annotation_blocks(work.path) is None and annotation_blocks(tmp_path) is None
    made = pair(work, Plan())
    blocks = annotation_blocks(work.path)
    assert blocks is not None and list(blocks) == made.pairs["case_id"].tolist()
    both = made.pairs[["model_a", "model_b"]].apply(frozenset, axis=1)
    of_block = both.groupby(made.pairs["case_id"].map(blocks)).agg(set)
    assert of_block.map(len).tolist() == [6] * 6


USUAL = PlannedModel("", Settings(prompt="open-answer", seed=3))
OWN = (
    "{# asks: answer #}\n{% block case %}{{ question }}{% endblock %}{% block responses %}{% endblock %}"
    "{% block ask %} Be brief.{% endblock %}"
)


def test_a_plan_says_how_each_model_is_asked(tmp_path: Path) -> None:
    (tmp_path / "own.jinja").write_text(OWN)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[[model]]\nname = "path:here"\nprompt = "own.jinja"\ntemperature = 1\ndevice = "cpu"\n'
        '[[model]]\nname = "endpoint:big"\nurl = "http://user:secret@127.0.0.1:8000/v1"\n'
        '[[model]]\nname = "path:there"\nengine = "ray"\nworkers = 2\n'
    )
    named, own, served, spread = pool_of(["path:first"], plan, USUAL)
    assert named == replace(USUAL, name="path:first")
    assert own.settings.prompt == str(tmp_path / "own.jinja")
    assert (own.settings.temperature, own.settings.seed) == (1, 3)
    assert served.settings.prompt == "open-answer" and served.settings.url.endswith("8000/v1")
    assert (spread.engine, spread.workers, own.engine) == ("ray", 2, "local")
    record = recorded({"here": own, "big": served}, 2)
    hashed = load_prompt(own.settings.prompt).hash
    assert record[0] == {"model": "here", "prompt": "own", "prompt_hash": hashed, "temperature": 1, "dtype": "auto",
                         "seed": 3}  # fmt: skip
    assert record[1]["temperature"] == 0.7, "several samples are drawn"
    assert str(tmp_path) not in str(record) and "secret" not in str(record)
