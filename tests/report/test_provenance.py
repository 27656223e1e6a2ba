"""Provenance names what a report was made from, and what version control keeps of it does not change by itself."""

import json
from pathlib import Path
from typing import Any

import mrb_lib
from mrb_lib.benchmarks.benchmark import load
from mrb_lib.report import provenance as module
from mrb_lib.report.provenance import Provenance, provenance


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


def test_a_run_over_other_cases_is_found(lab: Any) -> None:
    manifest = next((lab.bench / "runs").glob("*/manifest.json"))
    raw = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**raw, "benchmark_fingerprint": "other"}))
    assert _of(lab).runs[0]["same_cases"] is False
    manifest.write_text(json.dumps({**raw, "benchmark_fingerprint": _of(lab).benchmark["case_fingerprint"]}))
    assert _of(lab).runs[0]["same_cases"] is True


def test_what_is_kept_under_version_control_holds_no_time_place_or_commit(lab: Any) -> None:
    def at(moment: str, commit: str, device: str) -> str:
        manifest = next((lab.bench / "runs").glob("*/manifest.json"))
        raw = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**raw, "created": moment, "git_commit": commit, "device": device}))
        return json.dumps(_of(lab).stable())

    assert at("2026-01-01", "abc", "cpu") == at("2027-01-01", "def", "cuda")
    assert str(lab.folder) not in json.dumps(_of(lab).key())


def test_the_code_hash_covers_every_module_but_not_the_sites_look(lab: Any, tmp_path: Path, monkeypatch: Any) -> None:
    package = tmp_path / "package"
    (package / "report" / "html" / "templates").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "report" / "site.py").write_text("a = 1")
    (package / "report" / "html" / "templates" / "style.css").write_text("p {}")
    monkeypatch.undo()
    monkeypatch.setattr(mrb_lib, "__file__", str(package / "__init__.py"))
    code, look = module.code_hash(), module.template_hash()
    (package / "report" / "html" / "templates" / "style.css").write_text("p { color: red }")
    assert (module.code_hash() == code, module.template_hash() == look) == (True, False)
    (package / "report" / "site.py").write_text("a = 2")
    assert module.code_hash() != code
    code = module.code_hash()
    for room in ("assets", "case", "explorer"):
        (package / "review" / room).mkdir(parents=True)
    (package / "review" / "case" / "case.css").write_text("p {}")
    assert module.code_hash() != code, "notebooks show cases in this style"
    look = module.template_hash()
    for name in ("assets/tokens.css", "case/case.css", "case/case.js", "case/overlay.js", "case/picture.js"):
        (package / "review" / name).write_text("p { color: blue }")
        assert module.template_hash() != look, "pages are drawn with it"
        look = module.template_hash()
    (package / "review" / "explorer" / "explorer.css").write_text("p {}")
    assert module.template_hash() == look, "no page is drawn with it"


def test_the_look_of_the_site_is_where_its_hash_looks() -> None:
    package = Path(mrb_lib.__file__).parent
    for pattern in module.LOOK:
        assert any(path.is_file() for path in package.glob(pattern)), pattern
