"""What a change touches is made again, and nothing else; so it is with the copy under version control."""

from typing import Any

import pytest

from mrb_lib.report import pipeline, provenance
from mrb_lib.review.records.marks import Adjudication, CaseTag
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import sha256_of
from tests.report.conftest import ids_of, index_of


def test_nothing_changed_means_nothing_run_and_nothing_written(two: Any) -> None:
    two.report(figures=two.folder / "mirror")
    before = two.states(two.folder)
    result = two.report(figures=two.folder / "mirror")
    assert result.skipped == ("one", "two")
    assert result.executed == ()
    assert two.states(two.folder) == before


def test_a_failed_notebook_runs_again_and_its_old_figures_are_gone_meanwhile(two: Any, publish: str) -> None:
    mirror = two.folder / "mirror"
    two.report(figures=mirror)
    two.notebook("two", publish + 'publish_figure("second")\n1 / 0')
    failed = two.report(figures=mirror)
    assert (failed.skipped, len(failed.failed)) == (("one",), 1)
    assert not (two.out / "figures" / "second.png").exists()
    assert not (mirror / "second.png").exists()
    two.notebook("two", publish + 'publish_figure("second")')
    mended = two.report(figures=mirror)
    assert (mended.executed, mended.skipped, mended.failed) == (("two",), ("one",), ())
    assert ids_of(mirror) == ["first", "second"]


def test_only_what_is_affected_by_a_change_runs_again(two: Any, publish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two.report()
    two.notebook("two", publish + 'publish_figure("other")')
    result = two.report()
    assert (result.executed, result.skipped) == (("two",), ("one",))
    assert not (two.out / "figures" / "second.png").exists(), "what it published before is gone"
    (two.notebooks / "one.ipynb").unlink()
    assert two.report().skipped == ("two",)
    assert ids_of(two.out / "figures") == ["other"]
    assert not (two.out / "tables" / "scores.csv").exists()
    assert not (two.out / "pages" / "one.html").exists()


def test_everything_that_shapes_a_figure_is_part_of_the_key(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def key(own: dict[str, Any] | None = None, **options: Any) -> str:
        chosen = {"policy": "balanced", "dimension": "overall", "seed": 0, **options}
        made_from = provenance.provenance(two.bench, two.bench / "runs", **chosen)
        return pipeline._key(two.notebooks / "one.ipynb", made_from, chosen | (own or {}), two.bench)

    keys = [key(), key(policy="strict"), key(dimension="clarity"), key(seed=1), key({"resamples": 100})]
    two.benchmark(judge="longer")
    keys.append(key())
    two.benchmark(name="renamed")
    keys.append(key())
    monkeypatch.setattr(provenance, "code_hash", lambda: "other code")
    keys.append(key())
    monkeypatch.setattr(provenance, "versions", lambda: {"pandas": "0"})
    keys.append(key())
    assert len(set(keys)) == len(keys)
    assert key() == keys[-1]


def test_a_file_that_is_missing_or_altered_is_made_again(lab: Any, publish: str, quickly: None) -> None:
    lab.notebook("one", publish + 'publish_figure("first")')
    lab.report()
    png, record = lab.out / "figures" / "first.png", lab.out / ".cache" / "one.json"
    whole = sha256_of(png)
    for damage in (png.unlink, lambda: png.write_bytes(b"x"), lambda: record.write_text("{")):
        damage()
        assert lab.report().executed == ("one",)
        assert sha256_of(png) == whole


def test_a_page_that_is_missing_is_written_without_running_a_notebook(two: Any) -> None:
    two.report()
    before = two.states()
    (two.out / "pages" / "one.html").unlink()
    (two.out / "index.html").write_text("altered")
    assert two.report().skipped == ("one", "two")
    after = two.states()
    assert {name: content for name, (_, content) in after.items()} == {n: content for n, (_, content) in before.items()}


def test_case_pages_follow_the_number_that_was_asked_for(lab: Any, publish: str, quickly: None) -> None:
    lab.notebook("one", publish + 'publish_table("failures", "case_id,n\\nc4,1\\n")')
    lab.report()
    assert {path.name for path in (lab.out / "cases").iterdir()} == {"c2.html", "c4.html"}
    assert 'href="../cases/c4.html"' in (lab.out / "pages" / "one.html").read_text()
    assert 'href="cases/c2.html"' in (lab.out / "index.html").read_text()
    lab.report(cases=1)
    assert {path.name for path in (lab.out / "cases").iterdir()} == {"c4.html"}
    lab.report(cases=0)
    assert not list((lab.out / "cases").iterdir())
    assert '<li id="case-1" ' in (lab.out / "index.html").read_text()
    assert 'href="../index.html#case-1"' in (lab.out / "pages" / "one.html").read_text()
    with pytest.raises(InputError, match="cases -1"):
        lab.report(cases=-1)


def test_a_notebook_about_reviews_runs_again_when_someone_reviewed(
    lab: Any, publish: str, quickly: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MRB_STORE", raising=False)
    lab.notebook("one", publish)
    lab.notebook("two", publish + "asked = 'adjudication'")
    lab.report()
    assert lab.report().skipped == ("one", "two")
    with open_store(lab.bench / "reviews.sqlite") as store:
        store.add(Adjudication("small", "c1", "Dr A", "ambiguous"))
    assert lab.report().executed == ("two",)
    assert lab.report().skipped == ("one", "two")
    asking = {"parameters": {"where": "not tag == 'artefact'"}}
    assert lab.report(**asking).executed == ("one", "two")
    assert lab.report(**asking).skipped == ("one", "two")
    with open_store(lab.bench / "reviews.sqlite") as store:
        store.add(CaseTag("small", "c1", "artefact", "Dr A"))
    assert lab.report(**asking).executed == ("one", "two"), "what the filter of one asks for has changed"
    assert lab.report().executed == ("one", "two")
    (lab.bench / "reviews.sqlite").write_text("no database at all")
    assert lab.report().executed == ("two",), "which says what is wrong with it"


def test_the_mirror_keeps_what_it_did_not_write(two: Any) -> None:
    mirror = two.folder / "mirror"
    (mirror / "tables").mkdir(parents=True)
    (mirror / "mine.txt").write_text("mine")
    two.report(figures=mirror)
    assert (mirror / "mine.txt").read_text() == "mine"
    assert set(two.states(mirror)) == {
        "mine.txt", "index.json", "tables/scores.csv", "tables/scores.tex",
        *(f"{name}.{kind}" for name in ("first", "second") for kind in ("png", "svg", "csv")),
    }  # fmt: skip
    for entry in [*index_of(mirror)["figures"], *index_of(mirror)["tables"]]:
        assert all((mirror / name).is_file() for name in entry["files"].values())
    (two.notebooks / "one.ipynb").unlink()
    two.report(figures=mirror)
    assert set(two.states(mirror)) == {"mine.txt", "index.json", "second.png", "second.svg", "second.csv"}


def test_the_mirror_refuses_to_write_over_a_file_of_yours(lab: Any, publish: str, quickly: None) -> None:
    lab.notebook("one", publish + 'publish_figure("first")')
    mirror = lab.folder / "mirror"
    mirror.mkdir()
    (mirror / "first.csv").write_text("my own notes")
    with pytest.raises(InputError, match=r"first\.csv"):
        lab.report(figures=mirror)
    assert [path.name for path in mirror.iterdir()] == ["first.csv"]


def test_the_mirror_does_not_change_when_the_same_report_is_made_again(two: Any) -> None:
    mirror = two.folder / "mirror"
    two.report(figures=mirror)
    before = two.states(mirror)
    assert two.report(figures=mirror, force=True).executed == ("one", "two")
    assert two.states(mirror) == before
    assert "created" not in (mirror / "index.json").read_text()
