"""Leaks that were planted between the parts of a split are found, and a split that was tampered with is noticed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.audit.splits import check_split, split_findings
from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.splits import split, write_split
from mrb_lib.tables.errors import InputError

from ..near_copies import bench, drawing, sentence, stored, stored_again

PICTURES = {f"{i}.png": stored(drawing(i)) for i in range(12)}
SIDES = ["train"] * 6 + ["validation"] * 3 + ["test"] * 3


def planted(change: Callable[[list[dict[str, object]]], object] = lambda rows: None) -> Benchmark:
    """Twelve cases with an image each, split by hand, with what `change` plants."""
    rows: list[dict[str, object]] = [{"images": [f"{i}.png"], "split": side} for i, side in enumerate(SIDES)]
    images = PICTURES | {"again.jpg": stored_again(drawing(2)), "copy.png": PICTURES["2.png"]}
    change(rows)
    return bench(rows, images)


def same(*rows: int, **values: object) -> Callable[[list[dict[str, object]]], object]:
    def change(table: list[dict[str, object]]) -> None:
        for row in rows:
            table[row] |= values

    return change


LEAKS = {
    "one image": (same(2, 10, images=["2.png"]), 11, "shares the same image with case c2 (train)"),
    "a copy of an image": (same(10, images=["copy.png"]), 11, "shares the same image with case c2 (train)"),
    "an image stored again": (same(10, images=["again.jpg"]), 11, "shares nearly the same image with case c2 (train)"),
    "the same texts": (
        same(5, 6, question=sentence(70), response_a=sentence(71), response_b=sentence(72), images=[]),
        7,
        "shares nearly the same question and responses with case c5 (train)",
    ),
    "one cluster": (same(1, 9, cluster="patient 7"), 10, "with case c1 (train)"),
    "one item": (same(1, 9, item="i7"), 10, "with case c1 (train)"),
    "a chain through a case of no part": (
        lambda rows: [same(2, 7, images=["2.png"])(rows), same(7, 11, cluster="k")(rows), same(7, split=None)(rows)],
        12,
        "with case c2 (train)",
    ),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_found_and_refused(leak: str) -> None:
    change, row, words = LEAKS[leak]
    benchmark = planted(change)
    [finding] = split_findings(benchmark)
    assert (finding.severity, finding.file, finding.row, finding.column) == ("error", "cases.parquet", row, "split")
    assert words in finding.problem
    assert "mrb split BENCH --overwrite" in finding.cure
    with pytest.raises(InputError) as caught:
        check_split(benchmark)
    assert f"case c{row - 1} (" in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_same_texts_about_different_images_are_a_warning() -> None:
    benchmark = planted(same(5, 6, question=sentence(70), response_a=sentence(71), response_b=sentence(72)))
    [finding] = split_findings(benchmark)
    assert (finding.severity, finding.column) == ("warning", "split")
    assert finding.problem.startswith("1 pairs of cases about different images have nearly the same texts")
    check_split(benchmark)


def test_what_stays_on_one_side_or_off_the_training_set_is_no_leak() -> None:
    for change in (same(0, 1, images=["0.png"]), same(6, 7, cluster="k"), same(7, 10, images=["7.png"]), same()):
        benchmark = planted(change)
        assert split_findings(benchmark) == []
        check_split(benchmark)


def test_all_leaks_are_counted() -> None:
    benchmark = planted(same(0, 6, 7, 10, cluster="k"))
    assert [finding.row for finding in split_findings(benchmark)] == [7, 8, 11]
    with pytest.raises(InputError, match=r"case c6 \(validation\).*case c0 \(train\), one of 3 such cases"):
        check_split(benchmark)


def test_a_unit_in_two_folds_is_a_leak() -> None:
    def folds(rows: list[dict[str, object]]) -> None:
        for i, row in enumerate(rows):
            row["fold"] = "eye" if i % 2 else "lung"

    assert split_findings(planted(folds)) == []
    benchmark = planted(lambda rows: [folds(rows), same(1, 4, cluster="k")(rows)])
    [finding] = split_findings(benchmark)
    assert (finding.row, finding.column) == (5, "fold")
    assert "case c4 (fold lung)" in finding.problem
    assert "case c1 (fold eye)" in finding.problem


def test_cases_without_a_split_are_refused_for_training_and_no_finding() -> None:
    for benchmark in (planted(lambda rows: [row.pop("split") for row in rows]), planted(same(*range(12), split=None))):
        assert split_findings(benchmark) == []
        with pytest.raises(InputError, match="are not split; run `mrb split"):
            check_split(benchmark)


def test_an_unknown_name_of_a_split_is_named() -> None:
    benchmark = planted(same(3, split="dev"))
    [finding] = split_findings(benchmark)
    assert (finding.severity, finding.row, finding.column) == ("warning", 4, "split")
    assert "in split 'dev', which is not known" in str(finding)
    with pytest.raises(InputError, match="case c3 is in split 'dev'"):
        check_split(benchmark)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    save(planted(lambda rows: [row.pop("split") for row in rows]), tmp_path / "b")
    write_split(split(load(tmp_path / "b"), test=0.3, validation=0.2).benchmark)
    return tmp_path / "b"


def test_a_case_moved_by_hand_is_noticed(made: Path) -> None:
    assert [finding for finding in audit(made) if finding.column == "split"] == []
    check_split(load(made))
    cases = pd.read_parquet(made / "cases.parquet")
    test = int((cases["split"] == "test").to_numpy().nonzero()[0][0])
    cases.loc[test, "split"] = "train"
    cases.to_parquet(made / "cases.parquet")
    [finding] = [finding for finding in audit(made) if finding.column == "split"]
    assert (finding.severity, finding.file) == ("error", "benchmark.toml")
    assert "digest" in finding.problem
    with pytest.raises(InputError, match=r"otherwise than benchmark\.toml says"):
        check_split(load(made))
    cases.drop(index=0).to_parquet(made / "cases.parquet")
    with pytest.raises(InputError, match=r"otherwise than benchmark\.toml says"):
        check_split(load(made))


def test_a_unit_is_that_of_the_rule(made: Path) -> None:
    benchmark = load(made)
    rule = {**benchmark.meta.extra["split"], "by": "ward"}  # type: ignore[dict-item]  # a table, as written above
    wards = benchmark.cases.assign(ward=["w"] * len(benchmark.cases))
    by_ward = replace(benchmark, cases=wards, meta=replace(benchmark.meta, extra={"split": rule}))
    assert split_findings(benchmark) == []
    assert len(split_findings(by_ward)) == int(benchmark.cases["split"].ne("train").sum())
