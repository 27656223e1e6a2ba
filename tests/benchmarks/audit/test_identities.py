"""Columns that may identify a patient are named."""

from pathlib import Path

from typer.testing import CliRunner

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.cli.app import app

NAMED = ["Patientenname", "PatientID", "MRN", "date of birth", "Geburtsdatum", "last_name"]


def test_columns_that_may_identify_a_patient_are_named_at_import_and_by_check(tmp_path: Path) -> None:
    columns = ",".join([*NAMED, "impatience"])
    rows = f"case_id,question,response_a,response_b,annotator,overall,{columns}\n1,q,a,b,r,A,{'x,' * len(NAMED)}y\n"
    (tmp_path / "one.csv").write_text(rows)
    done = CliRunner().invoke(app, ["import", "table", str(tmp_path / "one.csv"), str(tmp_path / "bench")])
    for name in NAMED[:5]:  # an import prints the first of a kind
        assert f"column {name}: the name suggests" in done.stderr
    named = [each.column for each in audit(tmp_path / "bench") if "identify a patient" in each.problem]
    assert named == NAMED
