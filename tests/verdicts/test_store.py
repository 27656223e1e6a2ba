import errno
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.validation import conform
from mrb_lib.verdicts.manifest import FILE_NAME, Manifest, now, read_manifest, write_manifest
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import append_part, empty_verdicts, iter_verdicts, load_verdicts, save_imported


def _verdicts(judge: str = "j", cases: int = 3, **more: object) -> pd.DataFrame:
    ids = [str(i) for i in range(cases)]
    frame = pd.DataFrame({"judge": judge, "case_id": ids, "dimension": "overall", "order": "AB", "choice": "A", **more})
    return conform(frame, "verdicts", "test")


def _saved(runs: Path, **more: object) -> list[Path]:
    return save_imported(_verdicts(**more), runs, benchmark="b", kind="general", source="s")


def test_parts_are_numbered_and_read_back_in_order_with_extra_columns(tmp_path: Path) -> None:
    run = tmp_path / "r"
    run.mkdir()
    write_manifest(run, Manifest("r", "j"))
    append_part(run, _verdicts(reply="because", mine=1.5))
    append_part(run, _verdicts(cases=1).assign(case_id="9"))
    assert [path.name for path in part_paths(run)] == ["part-00000.parquet", "part-00001.parquet"]
    found = load_verdicts(tmp_path, replies=True)
    assert found["case_id"].tolist() == ["0", "1", "2", "9"]
    assert found["reply"].fillna("-").tolist() == ["because"] * 3 + ["-"]
    assert found["mine"].tolist()[:3] == [1.5] * 3
    assert "reply" not in load_verdicts(tmp_path).columns


def test_imported_verdicts_become_one_run_a_judge_whatever_their_names(tmp_path: Path) -> None:
    hostile = "../../etc/passwd"
    frame = pd.concat([_verdicts("MBZUAI/MedMO-8B"), _verdicts(hostile), _verdicts("plain")])
    save_imported(frame, tmp_path / "runs", benchmark="b", kind="clinical", source="official")
    assert set(load_verdicts(tmp_path / "runs")["judge"]) == {"MBZUAI/MedMO-8B", hostile, "plain"}
    assert {path.parent for path in (tmp_path / "runs").iterdir()} == {tmp_path / "runs"}
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}


def test_an_empty_folder_of_runs_has_no_verdicts_but_all_columns(tmp_path: Path) -> None:
    assert load_verdicts(tmp_path).columns.tolist() == empty_verdicts().columns.tolist()
    with pytest.raises(InputError, match="no such folder"):
        load_verdicts(tmp_path / "nowhere")


@pytest.mark.parametrize("damage", [{"resumed": None}, {"resumed": [1]}, {"spec": "x"}, {"seed": "0"}, {"judge": None}])
def test_a_manifest_of_wrong_types_is_damaged_and_says_how_to_keep_the_verdicts(
    tmp_path: Path, damage: dict[str, object]
) -> None:
    [run] = _saved(tmp_path / "runs")
    values = json.loads((run / FILE_NAME).read_text())
    (run / FILE_NAME).write_text(json.dumps({**values, **damage}))
    with pytest.raises(InputError, match=r"damaged.*remove this file alone.*keeps the verdicts"):
        read_manifest(run)


def test_a_full_disk_is_named_with_the_file_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    run = tmp_path / "r"
    run.mkdir()
    append_part(run, _verdicts())
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RunError, match=r"part-00001\.parquet: cannot be written \(No space left.*run the same command"):
        append_part(run, _verdicts())
    assert [path.name for path in part_paths(run)] == ["part-00000.parquet"]


def test_a_manifest_survives_its_file_and_unknown_keys(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path.name, "j", {"members": ["ä", "b"], "t": 0.5}, seed=3, created=now())
    write_manifest(tmp_path, manifest)
    assert read_manifest(tmp_path) == manifest
    text = (tmp_path / FILE_NAME).read_text(encoding="utf-8")
    (tmp_path / FILE_NAME).write_text(text.replace("{", '{"later": 1,', 1), encoding="utf-8")
    assert read_manifest(tmp_path) == manifest


def test_runs_come_one_at_a_time_with_the_same_rows_and_names(tmp_path: Path) -> None:
    rows = [("c1", "AB", "A"), ("c2", "BA", None)]
    frame = pd.DataFrame(rows, columns=["case_id", "order", "choice"]).assign(judge="j", dimension="overall")
    for name, judge in (("first", "j"), ("second", "j"), ("third", "k")):
        folder = tmp_path / name
        [made] = save_imported(frame.assign(judge=judge), folder, benchmark="b", kind="general", source="s")
        write_manifest(made, replace(read_manifest(made), run_id=name))
        made.rename(tmp_path / f"run-{name}")
    cases = pd.DataFrame({"case_id": ["c1", "c2"]})
    columns = ["judge", "case_id", "choice"]
    parts = list(iter_verdicts(tmp_path, cases, columns))
    assert [list(part.columns) for part in parts] == [columns] * 3
    together = pd.concat([part.astype("str") for part in parts], ignore_index=True)
    pd.testing.assert_frame_equal(together, load_verdicts(tmp_path, cases)[columns].astype("str"))
    assert together["judge"].nunique() == 3, "two runs of one judge are told apart"
    with pytest.raises(InputError, match=r"row 2.*the case 'c2' does not exist"):
        list(iter_verdicts(tmp_path, cases.head(1)))
