"""Columns that may identify a patient are named."""

from pathlib import Path

import pytest

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.cli.main import main


@pytest.mark.parametrize("column", ["Patientenname", "PatientID", "MRN", "date of birth", "Geburtsdatum", "last_name"])
def test_a_column_that_may_identify_a_patient_is_named_at_import_and_by_check(
    column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = f"case_id,question,response_a,response_b,annotator,overall,{column},impatience\n1,q,a,b,r,A,x,y\n"
    (tmp_path / "one.csv").write_text(rows)
    monkeypatch.setattr("sys.argv", ["mrb", "import", "table", str(tmp_path / "one.csv"), str(tmp_path / "bench")])
    with pytest.raises(SystemExit):
        main()
    assert f"column {column}: the name suggests" in capsys.readouterr().err
    named = [each.column for each in audit(tmp_path / "bench") if "identify a patient" in each.problem]
    assert named == [column]
