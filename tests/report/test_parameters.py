"""Notebooks are given the parameters that they take; provenance names what a report was made from."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import mrb_lib
from mrb_lib.benchmarks.benchmark import load
from mrb_lib.cli.app import app
from mrb_lib.report import provenance as module
from mrb_lib.report.provenance import Provenance, provenance
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import run_folders
from tests.report.conftest import PARAMETERS, ids_of, index_of


@pytest.fixture
def lab_of_two(two: Any, publish: str) -> Any:
    """Notebook `one` takes a number of its own, `two` does not; each publishes what it was given."""
    given = "judges, resamples = DEFAULTS.get('judges', ''), DEFAULTS.get('resamples', 2000)\n"
    data = 'data=f"judges,resamples,margin\\n{judges!r},{resamples!r},{margin!r}\\n"'
    two.notebook("one", publish + given + f"publish_figure('first', {data})", parameters=PARAMETERS + "margin = 0.05\n")
    return two


def given(lab: Any) -> str:
    return str((lab.out / "figures" / "first.csv").read_text().splitlines()[1])


def test_a_parameter_reaches_the_notebooks_that_take_it_in_their_type(lab_of_two: Any) -> None:
    lab_of_two.report()
    assert given(lab_of_two) == "'',2000,0.05"
    result = lab_of_two.report(parameters={"judges": "first", "resamples": "60", "margin": "1"})
    assert result.executed == ("one", "two")
    assert given(lab_of_two) == "'first',60,1.0"
    assert index_of(lab_of_two.out / "figures")["provenance"]["parameters"] == {
        "judges": "first", "resamples": "60", "margin": "1"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"marjin": "0.1"}, "they take judges, by, where, gold, cluster, resamples, groups, dimension, margin"),
        ({"resamples": "many"}, "not a whole number"),
        ({"margin": "wide"}, "not a number"),
        ({"seed": "1"}, "the report sets it; use its own argument or option seed"),
    ],
)
def test_what_no_notebook_takes_is_refused_with_what_they_take(
    lab_of_two: Any, parameters: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        lab_of_two.report(parameters=parameters)
    assert not lab_of_two.out.exists()


def test_one_notebook_alone_leaves_the_pages_of_others_as_they_are(lab_of_two: Any) -> None:
    lab_of_two.report()
    result = lab_of_two.report(only=["one"], parameters={"resamples": "60"})
    assert (result.executed, result.skipped) == (("one",), ("two",))
    assert given(lab_of_two).startswith("'',60")
    assert (lab_of_two.out / "pages" / "two.html").is_file()
    assert ids_of(lab_of_two.out / "figures") == ["first", "second"]


def test_one_notebook_alone_in_a_new_folder_is_the_whole_report_but_for_a_copy_of_figures(lab_of_two: Any) -> None:
    assert lab_of_two.report(only=["two"]).executed == ("two",)
    assert ids_of(lab_of_two.out / "figures") == ["second"]
    with pytest.raises(InputError, match="use one of one, two"):
        lab_of_two.report(only=["three"])
    with pytest.raises(InputError, match="figures"):
        lab_of_two.report(only=["one"], figures=lab_of_two.folder / "mirror")


def test_the_command_takes_parameters_notebooks_and_judges(lab_of_two: Any) -> None:
    arguments = ["report", str(lab_of_two.bench), "--out", str(lab_of_two.out)]
    arguments += ["--notebooks", str(lab_of_two.notebooks), "--only", "one"]
    made = CliRunner().invoke(app, [*arguments, "--judges", "first", "-p", "margin=0.2", "-p", "resamples=50"])
    assert made.exit_code == 0, made.output
    assert given(lab_of_two) == "'first',50,0.2"
    assert CliRunner().invoke(app, [*arguments, "-p", "seed=3", "-p", "dimension=clarity"]).exit_code == 0
    made_by = index_of(lab_of_two.out / "figures")["provenance"]
    assert (made_by["seed"], made_by["dimension"]) == (3, "clarity")
    for wrong in ("marjin=1", "margin", "seed=-1"):
        refused = CliRunner().invoke(app, [*arguments, "-p", wrong])
        assert isinstance(refused.exception, InputError), refused.output  # which the console script makes exit 2


def test_a_conclusion_is_on_the_page_and_on_the_index_as_text(lab: Any) -> None:
    lab.notebook("one", "# A part\n\nWords.", "# Its heading", "x = 1")
    content = (lab.notebooks / "one.ipynb").read_text().replace('"tags": []', '"tags": ["conclusion"]')
    (lab.notebooks / "one.ipynb").write_text(content.replace('"x = 1"', "\"print('Three of <b> judges.')\""))
    lab.report()
    for page in (lab.out / "pages" / "one.html", lab.out / "index.html"):
        text = page.read_text()
        assert text.count("Finding.</strong> Three of &lt;b&gt; judges.") == 1, page.name
    page = (lab.out / "pages" / "one.html").read_text()
    assert page.index("Finding.") < page.index("A part"), "it is read first"
    assert "Its heading" not in page, "a heading stands above nothing"


def test_verdicts_made_in_a_report_are_kept_outside_of_what_it_reads_and_writes(two: Any, publish: str) -> None:
    data = 'publish_figure("first", data=f"kept\\n{keep_runs.rpartition(chr(47))[2]}\\n")'
    code = "from pathlib import Path\nPath(keep_runs).mkdir(exist_ok=True)\nprint(keep_runs)\n" + data
    two.notebook("one", publish + code, parameters=PARAMETERS + 'keep_runs = ""\n')
    kept = two.folder / "kept"
    assert two.report(parameters={"keep_runs": str(kept)}).failed == ()
    assert kept.is_dir()
    assert index_of(two.out / "figures")["provenance"]["parameters"] == {"keep_runs": "kept"}, "no path is published"
    for folder in (two.out, two.out / "kept", two.bench / "runs"):
        with pytest.raises(InputError, match=r"parameter keep_runs: .* is read or written by the report; name another"):
            two.report(parameters={"keep_runs": str(folder)})


def test_a_file_of_groups_reaches_the_notebook_and_is_read_again_when_it_changes(
    two: Any, publish: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 'data="text\\n" + Path(groups).read_text()'
    two.notebook("one", publish + f"publish_figure('first', {read})", parameters=PARAMETERS + 'groups = ""\n')
    judge = read_manifest(run_folders(two.bench / "runs")[0]).judge
    file = tmp_path / "private" / "groups.csv"
    file.parent.mkdir()
    monkeypatch.chdir(file.parent)
    for group in ("ours", "theirs"):
        file.write_text(f"judge,group\n{judge},{group}\n", encoding="utf-8")
        assert "one" in two.report(parameters={"groups": "groups.csv"}).executed
        assert f"{judge},{group}" in (two.out / "figures" / "first.csv").read_text()
        assert two.report(parameters={"groups": "groups.csv"}).executed == ()
    assert index_of(two.out / "figures")["provenance"]["parameters"] == {"groups": "groups.csv"}
    pages = [path for path in two.out.rglob("*") if path.suffix in (".html", ".json", ".ipynb")]
    assert pages
    assert not [path for path in pages if str(file.parent) in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("text", ["judge,group\nnobody,ours\n", "judge,group\n", "who\nnobody\n"])
def test_a_file_of_groups_that_names_no_judge_is_refused_before_anything_is_written(
    two: Any, publish: str, tmp_path: Path, text: str
) -> None:
    two.notebook("one", publish, parameters=PARAMETERS + 'groups = ""\n')
    (tmp_path / "groups.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"groups\.csv") as caught:
        two.report(parameters={"groups": str(tmp_path / "groups.csv")})
    assert "\n" not in str(caught.value)
    assert not two.out.exists()


def _of(lab: Any) -> Provenance:
    return provenance(lab.bench, lab.bench / "runs", policy="balanced", dimension="overall", seed=0)


def test_it_names_the_benchmark_as_it_is_on_disk(lab: Any) -> None:
    facts = _of(lab).benchmark
    assert (facts["name"], facts["kind"], facts["n_cases"]) == ("small", "general", 4)
    assert facts["fingerprint"] == load(lab.bench).fingerprint()


def test_a_run_is_told_apart_by_any_change_to_its_files(lab: Any) -> None:
    before = _of(lab).runs[0]
    named = ("judge", "run_id", "source", "same_cases")
    assert [before[name] for name in named] == ["first", "first", "table", None]
    with next((lab.bench / "runs").glob("*/part-*.parquet")).open("ab") as stream:
        stream.write(b"x")
    assert _of(lab).runs[0]["sha256"] != before["sha256"]


def test_what_is_kept_under_version_control_holds_no_time_place_or_commit(lab: Any) -> None:
    def at(moment: str, commit: str, device: str) -> str:
        manifest = next((lab.bench / "runs").glob("*/manifest.json"))
        raw = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**raw, "created": moment, "git_commit": commit, "device": device}))
        return json.dumps(_of(lab).stable())

    assert at("2026-01-01", "abc", "cpu") == at("2027-01-01", "def", "cuda")
    assert str(lab.folder) not in json.dumps(_of(lab).key())


def test_the_code_hash_covers_every_module_but_not_the_sites_look(tmp_path: Path, monkeypatch: Any) -> None:
    package = tmp_path / "package"

    def hashes(changed: str = "__init__.py") -> tuple[str, str]:
        """Of the code and of the look, once this file has another line."""
        (package / changed).parent.mkdir(parents=True, exist_ok=True)
        with (package / changed).open("a") as stream:
            stream.write("\n")
        return module.code_hash(), module.template_hash()

    monkeypatch.undo()
    monkeypatch.setattr(mrb_lib, "__file__", str(package / "__init__.py"))
    for name, of_code, of_look in (
        ("report/site.py", True, False), ("report/html/templates/style.css", False, True),
        ("review/assets/tokens.css", True, True), ("review/case/case.css", True, True),
        ("review/explorer/explorer.css", True, False),
    ):  # fmt: skip
        before = hashes()
        after = hashes(name)
        assert [one != other for one, other in zip(before, after, strict=True)] == [of_code, of_look], name
