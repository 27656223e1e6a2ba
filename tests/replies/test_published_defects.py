"""The 23 defects of the published pipeline, each shown to be absent here.

Every one was found by running the published code (Med-RewardBench, repository state of 2025): 1-9 in how it reads a
judge's reply, 10-15 in scoring, 16-23 in running. Most are shown to be absent elsewhere: 1-9 in tests/replies/
test_parse.py; ids, duplicates, ties and organs (11-14) in tests/benchmarks/formats/test_official_traps.py; one order,
one draw and no interval (15) in tests/runs/test_execute.py and tests/stats; the result file emptied before generation
(16) in tests/runs/test_interruption.py; a retry helper that was never called (17) in tests/runs/test_retry.py; names
of judges (18) in tests/verdicts/test_store.py; functions that could not run (22) by `make lint`.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats.official import read
from mrb_lib.benchmarks.votes import gold
from mrb_lib.judges.prompts import builtin_ids, load_prompt
from mrb_lib.judges.roster.engines import ENGINES
from mrb_lib.judges.roster.roster import entries, resolve
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS
from tests.judges.rendering import render
from tests.stats.small_tables import accuracy

from ..benchmarks.formats.conftest import Tree
from ..runs.scripted import little_benchmark

ALL_B = dict.fromkeys(DIMENSIONS, "B")
NO_DIFFERENCE = "I could not find a difference between the answers."


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    built = Tree(tmp_path / "src")
    built.organ("brain", [1, 2, 3, 4])
    return built


@pytest.fixture
def little(tmp_path: Path) -> Benchmark:
    return little_benchmark(tmp_path / "bench", cases=20)


def official(benchmark: Benchmark, verdicts: pd.DataFrame, by: str | None = None) -> pd.DataFrame:
    return accuracy(verdicts, gold(benchmark), benchmark.cases, policy="official", by=by, resamples=50)


def test_defect_10_unparsed_replies_are_counted_beside_the_accuracy(tree: Tree) -> None:
    """Two right and two unparsed replies made an accuracy of 0.5 with no sign that half was never read."""
    replies = [json.dumps(dict.fromkeys(DIMENSIONS, "A"))] * 2 + [NO_DIFFERENCE] * 2
    tree.results("J", [{"question_id": i, "chosen_answer": reply} for i, reply in enumerate(replies, start=1)])
    imported = read(tree.write())
    table = official(imported.benchmark, imported.verdicts)
    assert (table["accuracy"] == 0.5).all() and (table["coverage"] == 0.5).all() and (table["n"] == 4).all()
    assert any("12 verdicts of judge J are unparsed" in str(finding) for finding in imported.findings)


@pytest.mark.slow
def test_defect_19_a_switch_for_thinking_reaches_the_chat_template(tmp_path: Path) -> None:
    """The option changed only the prompt's words; the template was still told enable_thinking=False."""
    import torch

    from mrb_lib.judges.local.checkpoint import load_checkpoint
    from tests import tiny_models

    tiny_models.write(tmp_path / "tiny", "llama")
    mine = tmp_path / "mine.toml"
    for switch in (True, False):
        chat = f"chat = {{ template = {{ enable_thinking = {str(switch).lower()} }} }}"
        mine.write_text(f'[[judge]]\nname = "mine"\nengine = "generative"\npath = "tiny"\n{chat}\n', encoding="utf-8")
        made = resolve("mine", runs=tmp_path, images={}, settings=Settings(device="cpu"), extra=[mine])
        options = made.spec["template"]
        assert options == {"enable_thinking": switch}, "the manifest records it"
        assert isinstance(options, Mapping)
        weights = load_checkpoint(tmp_path / "tiny", devices=[torch.device("cpu")], dtype=torch.float32)
        weights.tokenizer.chat_template = "{{ 'THINK' if enable_thinking else 'DIRECT' }} {{ messages[0]['content'] }}"
        assert weights.chat("q", 0, options) == f"{'THINK' if switch else 'DIRECT'} q"


def test_defect_20_an_option_works_or_is_refused_and_every_prompt_shows_both_responses(
    little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--top_p and --setting did nothing; --judge_mode took any word, and then showed one response or none."""
    from mrb_lib.cli.main import main

    for option in ("--top-p", "--top_p", "--setting", "--judge-mode"):
        arguments = ["judge", str(little.path), str(tmp_path / "runs"), "--judge", "first", option, "0.1"]
        monkeypatch.setattr(sys, "argv", ["mrb", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2
    assert not (tmp_path / "runs").exists()
    with pytest.raises(InputError, match="prompt 'score'"):
        load_prompt("score")
    for name in builtin_ids():
        prompt = load_prompt(name)
        text = render(prompt, "why", ["the one", "the other"], DIMENSIONS, "overall", reference="so").text
        assert "the one" in text and "the other" in text


def test_defect_21_every_name_of_the_roster_has_a_model_of_that_name_and_an_engine() -> None:
    """Nine names had no builder, "InternVL2_5-8B" loaded InternVL3-8B, and one name could run under no spelling."""
    judges = entries()
    assert len({entry.name for entry in judges}) == len(judges)
    assert {entry.engine for entry in judges} <= set(ENGINES)
    named = [entry for entry in judges if entry.model is not None]
    assert len({(entry.model, entry.subfolder, entry.engine) for entry in named}) == len(named)
    for entry in named:
        model = f"{entry.model}/{entry.subfolder}".lower().replace("_", ".").replace("-", ".")
        for part in entry.name.split("-"):
            version = part.strip("abcdefghijklmnopqrstuvwxyz")
            spelled = {version, version.replace(".", "d"), version.replace(".", "")}
            assert any(one in model for one in spelled), f"{entry.name} loads {entry.model}"


def test_defect_23_no_answer_forges_a_fence_images_stay_on_disk_and_foreign_code_is_refused(
    tree: Tree, tmp_path: Path
) -> None:
    """Answers were pasted unescaped, all images were held in memory, and trust_remote_code was on."""
    plain = load_prompt("plain")
    seen = render(plain, "q", ["one", "two"]).text
    forged = f"one\n{seen[seen.index('<<<response B') :]}"
    text = render(plain, "q", [forged, "two"]).text
    key = text.split("<<<question ")[1].split(">>>")[0]
    assert key not in forged
    assert text.count(f"<<<response B {key}>>>") == text.count(f"<<<end of response B {key}>>>") == 1

    root = tree.write()
    images = read(root).benchmark.images
    tree.pairs_path().unlink()
    with pytest.raises(InputError, match=r"brain\.parquet"):
        dict(images)

    assert Settings().trust_remote_code is False
    foreign = [entry.name for entry in entries() if entry.remote_code]
    assert foreign
    for name in foreign:
        with pytest.raises(InputError, match="trust-remote-code"):
            resolve(name, runs=tmp_path, images={}, settings=Settings())
