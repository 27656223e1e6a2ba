from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.validation import conform
from mrb_lib.verdicts.manifest import Manifest, write_manifest
from mrb_lib.verdicts.replies import FILE_NAME, Replies, lay_out, open_replies
from mrb_lib.verdicts.store import append_part, load_verdicts

CASES = pd.DataFrame({"case_id": ["c0", "c1", "c2"]})
HOSTILE = "<script>\u202e\x01 \U0001f9e0 " + "long " * 50_000


def _verdicts(judge: str, **more: object) -> pd.DataFrame:
    rows = [
        (judge, case, dimension, order, repeat)
        for dimension in ("accuracy", "overall")
        for order in ("BA", "AB")
        for case in ("c2", "c0")
        for repeat in (0, 1)
    ]
    frame = pd.DataFrame(rows, columns=["judge", "case_id", "dimension", "order", "repeat"])
    said = [("A", "ok"), (None, "unparsed"), ("tie", "repaired"), (None, "error")] * 4
    frame[["choice", "status"]] = pd.DataFrame(said)
    return conform(frame.assign(**more), "verdicts", "test")


def _run(runs: Path, name: str, judge: str, *parts: pd.DataFrame) -> None:
    folder = runs / name
    folder.mkdir(parents=True)
    write_manifest(folder, Manifest(name, judge))
    for part in parts:
        append_part(folder, part)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    one = _verdicts("one", reply=[HOSTILE, "same", "same", None] * 4, p_a=0.25, prompt_id="p", error="")
    two = _verdicts("two", probe="swapped", latency_s=1.5).assign(error=[None, "no answer"] * 8)
    _run(tmp_path / "runs", "1", "one", one.iloc[:5], one.iloc[5:])
    # In the order of the cases, as judges write them; the first writer knew no errors.
    two = two.sort_values("case_id", kind="stable", ignore_index=True)
    _run(tmp_path / "runs", "2", "two", two.iloc[:5].drop(columns="error"), two.iloc[5:9], two.iloc[9:])
    _run(tmp_path / "runs", "3", "three")
    return tmp_path / "runs"


def _laid_out(runs: Path, folder: Path) -> Replies:
    folder.mkdir()
    list(lay_out(runs, CASES, folder))
    return open_replies(folder, CASES["case_id"].tolist())


def test_a_case_has_the_verdicts_that_the_runs_hold(runs: Path, tmp_path: Path) -> None:
    laid_out = _laid_out(runs, tmp_path / "out")
    table = load_verdicts(runs, replies=True)
    for position, case in enumerate(CASES["case_id"]):
        verdicts = laid_out.of_case(position)
        expected = table[table["case_id"] == case].reset_index(drop=True)
        assert len(verdicts) == len(expected)
        pd.testing.assert_frame_equal(verdicts, expected[list(verdicts.columns)], check_dtype=False)
    assert laid_out.of_case(1).empty
    assert laid_out.of_case(2)["reply"].iloc[0] == HOSTILE


def test_a_text_that_answers_many_rows_is_kept_once(runs: Path, tmp_path: Path) -> None:
    _laid_out(runs, tmp_path / "out")
    n_bytes = len(HOSTILE.encode())
    assert n_bytes < (tmp_path / "out" / "00000.arrow").stat().st_size < 1.2 * n_bytes


def test_what_is_not_there_is_named(runs: Path, tmp_path: Path) -> None:
    laid_out = _laid_out(runs, tmp_path / "out")
    for position in (-1, 3):
        with pytest.raises(InputError, match="there are 3 cases"):
            laid_out.of_case(position)
    (tmp_path / "out" / "00001.arrow").unlink()
    with pytest.raises(InputError, match="cannot be opened"):
        open_replies(tmp_path / "out", ["c0"])
    (tmp_path / "out" / FILE_NAME).write_text("{")
    with pytest.raises(InputError, match="cannot be opened"):
        open_replies(tmp_path / "out", ["c0"])
