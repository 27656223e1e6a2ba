"""A judge that learned from exported rows elsewhere is not scored on their cases."""

import json
import shutil
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.formats import WRITERS
from mrb_lib.benchmarks.splits import split
from mrb_lib.judges.roster.source import provenance_of
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import empty_verdicts
from mrb_lib.verdicts.training import read_record, training_cases, with_record

N_TRAIN = 20


@pytest.fixture
def divided(little: Benchmark, tmp_path: Path) -> Benchmark:
    """The little benchmark with half of its cases to train on, in a folder of its own."""
    save(split(little, test=0.5, validation=0.0, seed=0).benchmark, tmp_path / "divided")
    return load(tmp_path / "divided")


@pytest.fixture(params=["reward", "sft", "dpo"])
def rows(request: pytest.FixtureRequest, divided: Benchmark, tmp_path: Path) -> Path:
    """The file that tells which cases exported rows are of."""
    (tmp_path / "rows").mkdir()
    WRITERS[request.param].convert(divided, empty_verdicts(), tmp_path / "rows")
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
    divided: Benchmark, rows: Path, tmp_path: Path, change: object, message: str
) -> None:
    rows.write_text(change(rows.read_text(encoding="utf-8")), encoding="utf-8")  # type: ignore[operator]
    with pytest.raises(InputError, match=message):
        judge(divided, tmp_path / "runs", ["longer"], settings=Settings(trained_on=str(rows)))
    assert not (tmp_path / "runs").exists()
