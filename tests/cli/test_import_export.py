"""`mrb import`, `mrb export`, `mrb check` and `mrb split`: formats, renamed columns, edited tables, splits."""

import shutil
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.benchmarks.formats import READERS, WRITERS
from mrb_lib.demo import write_demo
from mrb_lib.verdicts.store import load_verdicts

from .conftest import Mrb


@pytest.mark.parametrize(("command", "formats"), [("import", READERS), ("export", WRITERS)])
def test_help_lists_the_formats_and_their_options(mrb: Mrb, command: str, formats: object) -> None:
    text = mrb(command, "--help").out
    assert all(f"\n  {name} " in text for name in formats)
    assert ("--normalize-names" in text, "--file-format" in text) == (command == "import", command == "export")


def test_the_file_format_of_an_export_is_an_option(mrb: Mrb, tables: Path, tmp_path: Path) -> None:
    assert mrb("import", "table", tables, tmp_path / "bench").code == 0
    done = mrb("export", "table", tmp_path / "bench", "-", tmp_path / "out", "--file-format", "parquet")
    assert (done.code, (tmp_path / "out" / "cases.parquet").is_file()) == (0, True)
    refused = mrb("export", "official", tmp_path / "bench", "-", tmp_path / "o", "--file-format", "csv")
    assert (refused.code, refused.err) == (2, "mrb: --file-format: export official has no such option; leave it out.\n")


def test_columns_of_an_import_can_be_renamed(mrb: Mrb, tables: Path, tmp_path: Path) -> None:
    cases = tables / "cases.csv"
    cases.write_text(cases.read_text().replace("case_id,question", "number,prompt", 1))
    renamed = ("--map", "number=case_id", "--map", "prompt=question")
    assert mrb("import", "table", tables, tmp_path / "bench", *renamed).code == 0
    meta = tomllib.loads((tmp_path / "bench" / "benchmark.toml").read_text())
    assert meta["import"] == {"format": "table", "columns": {"number": "case_id", "prompt": "question"}}
    assert mrb("import", "table", tables, tmp_path / "bench").code == 2


FILE = "id,question,response_a,response_b,reader,winner\n1,q1,a,b,Dr Lee,model_a\n2,q2,c,d,Dr Lee,tie\n"
NAMES = ["--map", "id=case_id", "--map", "reader=annotator", "--map", "winner=choice"]


def test_a_dry_run_prints_what_is_understood_and_writes_nothing(mrb: Mrb, tmp_path: Path) -> None:
    (tmp_path / "study.csv").write_text(FILE)
    before = sorted(tmp_path.iterdir())
    done = mrb("import", "table", tmp_path / "study.csv", tmp_path / "out", *NAMES, "--dry-run").ok
    assert "study.csv: CSV, commas, UTF-8, 2 rows" in done.out
    assert "annotations: 2 by Dr Lee (2); on overall (2)" in done.out
    assert sorted(tmp_path.iterdir()) == before
    whole = mrb("import", "table", tmp_path / "study.csv", tmp_path / "out", *NAMES)
    assert whole.out.startswith(done.out)
    assert (tmp_path / "out" / "cases.parquet").is_file()


def test_judges_that_look_alike_are_warned_of(mrb: Mrb, tables: Path, tmp_path: Path) -> None:
    verdicts = (tables / "verdicts.csv").read_text()
    assert "\nj," in verdicts
    (tables / "verdicts.csv").write_text(verdicts.replace("\nj,", "\nj ,", 1))
    mrb("import", "table", tables, tmp_path / "bench")
    assert "'j' and 'j' followed by U+0020 differ by case" in mrb("check", tmp_path / "bench").err


def test_annotators_that_look_alike_are_refused(mrb: Mrb, tables: Path, tmp_path: Path) -> None:
    mrb("import", "table", tables, tmp_path / "bench")
    assert "'Kim' and 'KIM' look alike" in mrb("annotate", tmp_path / "bench", "--annotators", "Kim,KIM").refusal
    assert mrb("annotate", tmp_path / "bench", "--annotators", "Dr Kim", "--assign-only").code == 0
    done = mrb("annotate", tmp_path / "bench", "--annotators", "Lee,dr  kim", "--assign-only")
    assert "'Dr Kim' and 'dr  kim' look alike" in done.refusal


def test_a_rating_goes_through_import_check_export_and_back(ratings: Path, mrb: Mrb, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert mrb("import", "table", ratings, out).code == 0
    benchmark = load(out)
    assert (benchmark.meta.is_rating, benchmark.meta.acceptable) == (True, ("no risk",))
    assert benchmark.cases["response_b"].eq("").all()
    assert mrb("check", out).code == 0
    assert load_verdicts(out / "runs", benchmark.cases)["choice"].tolist() == ["no risk", "high risk", "low risk"]
    assert mrb("export", "table", out, out / "runs", tmp_path / "back").code == 0
    assert mrb("import", "table", tmp_path / "back", tmp_path / "again").code == 0
    again = load(tmp_path / "again")
    pd.testing.assert_frame_equal(again.cases, benchmark.cases)
    assert again.meta == benchmark.meta


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty SIMULATED cases, which are split already."""
    folder = tmp_path_factory.mktemp("written") / "d"
    write_demo(folder, cases=60)
    return folder


@pytest.fixture
def demo(written: Path, tmp_path: Path) -> Path:
    """A copy of them, to be changed."""
    return shutil.copytree(written, tmp_path / "d")


def test_a_split_is_drawn_written_checked_and_replaced_only_when_asked(mrb: Mrb, demo: Path) -> None:
    before = (demo / "cases.parquet").read_bytes()
    refused = mrb("split", demo)
    assert "the cases are split already" in refused.refusal
    assert "pass --overwrite" in refused.err
    assert (demo / "cases.parquet").read_bytes() == before
    made = mrb("split", demo, "--overwrite", "--seed", "4").ok
    lines = made.out.splitlines()
    assert lines[0] == "split by item: 60 cases in 60 units"
    assert lines[1].split() == ["train", "validation", "test", "all"]
    assert lines[2].split() == ["cases", "42", "6", "12", "60"]
    assert load(demo).cases["split"].value_counts().to_dict() == {"train": 42, "validation": 6, "test": 12}
    assert "0 errors" in mrb("check", demo).out
    cases = pd.read_parquet(demo / "cases.parquet")
    cases.assign(split=cases["split"].sample(frac=1, random_state=1).to_numpy()).to_parquet(demo / "cases.parquet")
    tampered = mrb("check", demo)
    assert (tampered.code, "benchmark.toml, column split: the cases are split otherwise" in tampered.err) == (2, True)


def test_rows_to_train_on_are_written_with_or_without_runs(mrb: Mrb, demo: Path, tmp_path: Path) -> None:
    listed = mrb("export", "--help").out
    assert all(f"\n  {name} " in listed for name in ("sft", "dpo", "reward"))
    written = mrb("export", "sft", demo, tmp_path / "rows", "--dimension", "overall", "--dimension", "accuracy")
    assert (written.code, written.out) == (0, f"{tmp_path / 'rows'} (SIMULATED): {demo} in format sft\n")
    assert "rows of" in written.err
    assert mrb("export", "dpo", demo, "-", tmp_path / "pairs", "--no-swap", "--ties", "drop").code == 0
    assert mrb("export", "reward", demo, tmp_path / "rewards").code == 0
    assert mrb("export", "table", demo, tmp_path / "tables").code == 0
    assert not (tmp_path / "tables" / "verdicts.csv").exists()
