"""The manifest holds what is needed to repeat a run, what a judge was trained on, and nothing that is secret."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.formats import WRITERS
from mrb_lib.benchmarks.splits import split
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.roster.source import provenance_of
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import empty_verdicts, load_verdicts
from mrb_lib.verdicts.training import read_record, training_cases, with_record

from .scripted import Scripted, Use


def test_the_manifest_states_prompt_options_and_where_cases_went(little: Benchmark, tmp_path: Path, use: Use) -> None:
    server = Scripted(url="https://me:secret@example.org/v1?key=secret")
    server.prompt_id, server.prompt_hash, server.prompt_text = "mine", "f" * 64, "{# asks: all #}"
    use(server)
    url = "https://me:secret@example.org/v1?key=secret"
    (tmp_path / "mine.jinja").write_text(load_prompt("plain").text, encoding="utf-8")
    written = {"prompt": str(tmp_path / "mine.jinja"), "ca_file": str(tmp_path / "ca.pem")}
    settings = Settings(seed=3, temperature=0.5, url=url, proxy="http://me:secret@proxy:3128", **written)
    [done] = judge(little, tmp_path, ["scripted"], orders=("BA",), repeats=2, limit=4, settings=settings)
    manifest = read_manifest(done.folder)
    assert (manifest.prompt_id, manifest.prompt_text) == ("mine", "{# asks: all #}")
    assert manifest.sent_to == "https://example.org/v1"
    asked = {"orders": ["BA"], "repeats": 2, "limit": 4, "dimensions": ["overall", "accuracy"]}
    set_by_user = {"seed": 3, "temperature": 0.5, "url": "https://example.org/v1", "prompt": "mine.jinja"}
    set_by_user |= {"proxy": "http://proxy:3128", "ca_file": "ca.pem"}
    assert {**manifest.options, **asked, **set_by_user} == manifest.options
    assert "revision" not in manifest.options, "what was left open is not stated"
    assert set(load_verdicts(tmp_path, replies=True)["prompt_id"]) == {"mine"}


def test_a_session_of_another_kind_is_added_and_one_like_it_is_not(little: Benchmark, tmp_path: Path, use: Use) -> None:
    scripted = Scripted()
    use(scripted)
    [done] = judge(little, tmp_path, ["scripted"], limit=4)
    first = read_manifest(done.folder)
    scripted.device = "another"
    for limit in (6, 6, 8):
        judge(little, tmp_path, ["scripted"], limit=limit)
    manifest = read_manifest(done.folder)
    assert (manifest.device, manifest.options, manifest.created) == (first.device, first.options, first.created)
    assert [(entry["device"], entry["options"]["limit"]) for entry in manifest.resumed] == [
        ("another", 6),
        ("another", 8),
    ]


def test_other_runs_say_what_differs(little: Benchmark, tmp_path: Path, use: Use) -> None:
    def run(bench: Benchmark, prompt: str, **spec: object) -> str:
        scripted = Scripted(**spec)
        scripted.prompt_hash = prompt
        use(scripted)
        [done] = judge(bench, tmp_path / "runs", ["scripted"], limit=1)
        return "\n".join(done.other_runs)

    assert run(little, "a" * 64, temperature=0, chat={"x": 1}) == ""
    assert run(little, "a" * 64, temperature=0.7, chat={"x": 1}).startswith("temperature 0 -> 0.7 differs from run")
    assert "prompt_hash aaaaaaaa -> bbbbbbbb differs" in run(little, "b" * 64, temperature=0, chat={"x": 1})
    save(Benchmark(little.meta, little.cases.assign(question="?"), little.annotations), tmp_path / "other")
    found = run(load(tmp_path / "other"), "b" * 64, temperature=0, chat={"x": 2})
    assert found.count("cases ") == found.count("\n") + 1 == 3
    assert "chat.x 1 -> 2, cases " in found


def test_a_judge_judges_only_its_dimensions(little: Benchmark, tmp_path: Path, use: Use) -> None:
    narrow = Scripted()
    narrow.dimensions = ("creativity", "accuracy")
    use(narrow)
    [done] = judge(little, tmp_path, ["scripted"])
    assert done.made == 80
    assert set(load_verdicts(tmp_path)["dimension"]) == {"accuracy"}
    narrow.dimensions = ("creativity",)
    with pytest.raises(InputError, match="judges creativity, and the benchmark has overall, accuracy"):
        judge(little, tmp_path, ["scripted"])


N_TRAIN = 20


@pytest.fixture
def divided(little: Benchmark, tmp_path: Path) -> Benchmark:
    """The little benchmark with half of its cases to train on, in a folder of its own."""
    save(split(little, test=0.5, validation=0.0, seed=0).benchmark, tmp_path / "divided")
    return load(tmp_path / "divided")


@pytest.fixture
def rows(divided: Benchmark, tmp_path: Path) -> Path:
    """The file that tells which cases exported rows are of."""
    (tmp_path / "rows").mkdir()
    WRITERS["dpo"].convert(divided, empty_verdicts(), tmp_path / "rows")
    return tmp_path / "rows" / "rows.toml"


def seen(benchmark: Benchmark, folder: Path) -> set[str]:
    found = training_cases([read_manifest(folder)], benchmark)
    return set(found.loc[found["judge"] == "longer", "case_id"])


def trained(benchmark: Benchmark) -> set[str]:
    return set(benchmark.cases.loc[benchmark.cases["split"] == "train", "case_id"])


def test_the_cases_of_rows_are_marked_in_runs_new_and_old(divided: Benchmark, rows: Path, tmp_path: Path) -> None:
    told = Settings(trained_on=str(rows))
    [new] = judge(divided, tmp_path / "new", ["longer"], settings=told)
    assert f"{N_TRAIN} of 40 cases are in its training data" in new.notices[-1]
    [old] = judge(divided, tmp_path / "old", ["longer"])
    assert seen(divided, old.folder) == set()
    [again] = judge(divided, tmp_path / "old", ["longer"], settings=told)
    assert (again.made, again.folder.name) == (0, new.folder.name), "it is no other judge"
    assert seen(divided, old.folder) == seen(divided, new.folder) == trained(divided)
    before = (old.folder / "manifest.json").read_bytes()
    judge(divided, tmp_path / "old", ["longer"], settings=told)
    assert (old.folder / "manifest.json").read_bytes() == before
    assert str(rows.parent) not in before.decode()


def test_a_copy_beside_the_weights_is_enough(rows: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.mkdir()
    shutil.copy(rows, weights)
    record = read_record(rows)
    assert provenance_of(weights) == {"training": record}
    own = {"engine": "reward", "cases": ["x"], "digests": ["d"], "cases_digest": "e", "started_from": None}
    (weights / "training.json").write_text(json.dumps(own), encoding="utf-8")
    assert provenance_of(weights) == {"training": {**own, "started_from": record}}, "its own training is the latest"
    assert with_record({**own, "started_from": record}, record) == {**own, "started_from": record}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('digests = [\n    "', 'digests = [\n    "0', 1), "was changed"),
        (lambda text: 'format = "reward"\n', "has no digests"),
        (lambda text: "= 3", "is no training record"),
    ],
)
def test_a_file_that_is_none_stops_the_command_before_anything_is_judged(
    divided: Benchmark, rows: Path, tmp_path: Path, change: Callable[[str], str], message: str
) -> None:
    rows.write_text(change(rows.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        judge(divided, tmp_path / "runs", ["longer"], settings=Settings(trained_on=str(rows)))
    assert not (tmp_path / "runs").exists()
