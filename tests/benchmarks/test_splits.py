"""A split is fair: nothing that belongs together is cut, the parts are alike, and it is kept whole or not at all."""

import hashlib
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrb_lib.benchmarks.audit.splits import check_split
from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.splits import split, split_digest, split_units, write_split
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import SPLITS

from .near_copies import bench, drawing, sentence, stored, stored_again

ORGANS = ("eye", "heart", "lung", "brain")


def many(n: int = 400, **columns: Callable[[int], object]) -> Benchmark:
    """Cases of four organs, unequally frequent, without texts in common."""
    organ = np.random.default_rng(n).choice(ORGANS, n, p=(0.4, 0.3, 0.2, 0.1))
    rows = [{"organ": organ[i], **{name: value(i) for name, value in columns.items()}} for i in range(n)]
    made = bench(rows)
    votes = pd.DataFrame({"case_id": made.cases["case_id"], "annotator": "r", "dimension": "overall"}, dtype="str")
    choice = np.random.default_rng(n + 1).choice(["A", "B", "tie"], n, p=(0.5, 0.4, 0.1))
    return Benchmark(made.meta, made.cases, votes.assign(choice=pd.Series(choice, dtype="str")))


def sides(cases: pd.DataFrame, column: str) -> pd.Series:
    """How many parts each value of a column stands in."""
    return cases.groupby(column)["split"].nunique()


@pytest.mark.slow
@settings(max_examples=20)
@given(
    st.lists(st.integers(0, 12), min_size=40, max_size=90),
    st.lists(st.integers(0, 40), min_size=40, max_size=90),
    st.sampled_from([(0.2, 0.1), (0.3, 0.3), (0.25, 0.0), (0.0, 0.2)]),
    st.integers(0, 99),
)
def test_no_unit_stands_on_two_sides(
    patients: list[int], images: list[int], shares: tuple[float, float], seed: int
) -> None:
    rows = [
        {"patient": f"p{patient}", "images": [f"{image}.png"]} for patient, image in zip(patients, images, strict=False)
    ]
    benchmark = bench(rows)
    units = split_units(benchmark, "patient")
    test, validation = shares
    if units.n < sum(share > 0 for share in (1, test, validation)):
        with pytest.raises(InputError, match="leaves"):
            split(benchmark, by="patient", test=test, validation=validation, seed=seed)
        return
    made = split(benchmark, by="patient", test=test, validation=validation, seed=seed)
    cases = made.benchmark.cases
    assert sides(cases, "patient").max() == 1
    assert sides(cases.assign(image=cases["images"].str[0]), "image").max() == 1
    assert set(cases["split"]) == {n for n, share in zip(SPLITS, (1, validation, test), strict=True) if share > 0}
    check_split(made.benchmark)
    again = split(benchmark, by="patient", test=test, validation=validation, seed=seed).benchmark.cases
    pd.testing.assert_frame_equal(cases, again)


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_have_their_shares_and_are_alike_in_organ_and_gold(seed: int) -> None:
    benchmark = many()
    made = split(benchmark, test=0.2, validation=0.1, seed=seed)
    cases = made.benchmark.cases
    assert cases["split"].value_counts().to_dict() == {"train": 280, "test": 80, "validation": 40}
    gold = benchmark.annotations.set_index("case_id")["choice"]
    for values in (cases["organ"], cases["case_id"].map(gold)):
        part = pd.crosstab(cases["split"], values, normalize="index")
        whole = values.value_counts(normalize=True)
        n = cases["split"].value_counts()
        assert ((part - whole).abs().mul(n, axis=0) <= 2.5).all(axis=None), "no stratum is off by three cases"
    balance = made.balance().set_index("split")
    assert balance.loc["all", "n_cases"] == 400
    assert balance.loc["test", "eye"] == pytest.approx(cases.loc[cases["split"] == "test", "organ"].eq("eye").mean())


def test_units_of_unequal_size_fill_their_shares() -> None:
    made = split(many(ward=lambda i: f"w{int(i**0.75)}"), by="ward")
    shares = made.benchmark.cases["split"].value_counts(normalize=True)
    assert shares.to_dict() == pytest.approx({"train": 0.7, "test": 0.2, "validation": 0.1}, abs=0.02)
    assert split(many(), by="organ").balance()["n_units"].tolist() == [2, 1, 1, 4]


def test_the_unit_is_the_cluster_else_the_item() -> None:
    rows = [
        {"cluster": "k", "item": "i"},
        {"cluster": "k", "item": None},
        {"cluster": None, "item": "i"},
        {"cluster": None, "item": None},
    ]
    clustered = bench(rows)
    assert (split_units(clustered).by, split_units(clustered).codes.tolist()) == ("cluster", [0, 0, 1, 2])
    assert split_units(clustered, "item").codes.tolist() == [0, 0, 0, 1], "clusters stay whole beside any other unit"
    cases = clustered.cases.drop(columns="cluster")
    itemised = Benchmark(clustered.meta, cases, clustered.annotations)
    assert (split_units(itemised).by, split_units(itemised).codes.tolist()) == ("item", [0, 1, 0, 2])
    asked = Benchmark(
        itemised.meta, cases.drop(columns="item").assign(question=["q", "q ", "r", "r"]), itemised.annotations
    )
    assert split_units(asked).codes.tolist() == [0, 0, 1, 1]
    assert split_units(asked).statement == "by item: 4 cases in 2 units"


@pytest.mark.slow
def test_near_duplicates_stay_together_beside_any_unit() -> None:
    pictures = {f"{i}.png": stored(drawing(i)) for i in range(30)} | {"again.jpg": stored_again(drawing(3))}
    rows: list[dict[str, object]] = [{"images": [name], "dataset": f"d{i}"} for i, name in enumerate(pictures)]
    rows[9] |= {"question": sentence(1000), "response_a": sentence(1001), "images": []}
    rows[20] |= {"question": sentence(1000), "response_a": "Just so.", "response_b": sentence(1001), "images": []}
    for seed in range(3):
        made = split(bench(rows, pictures), by="dataset", seed=seed)
        named = made.benchmark.cases["split"].tolist()
        assert (named[3], named[9]) == (named[30], named[20])
        assert made.statements[0].endswith("; 2 pairs of near-duplicates stay together")


def films_with_one_question(patients: bool = False) -> Benchmark:
    """Forty films that share their question and answers, two of each patient."""
    texts = {"question": sentence(7), "response_a": sentence(8), "response_b": sentence(9)}
    rows = [{"images": [f"{i}.png"], **texts, **({"patient_id": f"p{i // 2}"} if patients else {})} for i in range(40)]
    return bench(rows, {f"{i}.png": stored(drawing(i)) for i in range(40)})


def test_one_text_about_many_images_joins_no_cases_but_is_said() -> None:
    benchmark = films_with_one_question()
    made = split(benchmark)
    assert made.units.n == 40
    assert made.benchmark.cases["split"].value_counts().to_dict() == {"train": 28, "test": 8, "validation": 4}
    assert "39 more have nearly the same texts about different images" in made.statements[0]
    with pytest.raises(InputError, match="one unit holds all cases"):
        split(benchmark, join_texts=True)


def test_patients_are_clusters_and_their_neglect_is_said() -> None:
    benchmark = films_with_one_question(patients=True)
    made = split(benchmark)
    assert (made.units.by, made.units.n) == ("patient_id", 20)
    assert made.benchmark.cases.groupby("patient_id")["split"].nunique().max() == 1
    assert "20 values of patient_id are in several units" in split(benchmark, by="item").statements[0]


def test_a_fold_has_its_own_parts_and_a_unit_is_in_one_fold() -> None:
    benchmark = many(300, patient=lambda i: f"p{i % 140}")
    made = split(benchmark, by="patient", folds="organ")
    cases = made.benchmark.cases
    assert cases.groupby("patient")["fold"].nunique().max() == 1
    assert (cases.groupby("fold")["split"].nunique() == 3).all()
    moved = int((cases["fold"] != cases["organ"]).sum())
    assert 0 < moved < 150
    assert made.statements[1] == f"4 folds by organ; {moved} cases stand in the fold of most of their unit"
    assert "fold" not in split(made.benchmark).benchmark.cases
    check_split(made.benchmark)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"by": "nothing"}, "--by nothing: the cases have no column nothing"),
        ({"by": "modality"}, "--by modality: the column modality is empty"),
        ({"by": "whole"}, "--by whole: leaves validation empty, for one unit holds all cases"),
        ({"by": "halves"}, "for 2 units are too few"),
        ({"test": 1.0}, "--test 1 and --validation 0.1: are not shares"),
        ({"validation": -0.1}, "--validation -0.1: are not shares"),
        ({"test": 0.5, "validation": 0.5}, "leave nothing to train on"),
        ({"folds": "nothing"}, "--folds nothing: the cases have no column nothing"),
        ({"folds": "whole"}, "--folds whole: makes one fold of all cases"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(options: dict[str, object], part: str) -> None:
    benchmark = many(40, whole=lambda _: "1", halves=lambda i: str(i % 2), modality=lambda _: None)
    with pytest.raises(InputError) as caught:
        split(benchmark, **options)  # type: ignore[arg-type]  # each case its own
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def assigned(splits: dict[str, str | None]) -> pd.DataFrame:
    return pd.DataFrame({"case_id": list(splits), "split": list(splits.values())}, dtype="str")


def test_the_digest_is_that_of_the_contract() -> None:
    lines = "a\ttest\nb\ttrain"
    assert split_digest(assigned({"b": "train", "a": "test"})) == hashlib.sha256(lines.encode()).hexdigest()
    folded = assigned({"b": "train", "a": "test"}).assign(fold=["eye", "lung"])
    with_folds = "a\ttest\tlung\nb\ttrain\teye"
    assert split_digest(folded) == hashlib.sha256(with_folds.encode()).hexdigest()


@pytest.fixture
def written(tmp_path: Path) -> Path:
    save(many(60, note=lambda i: i if i % 2 else None), tmp_path / "b")
    (tmp_path / "b" / "images").mkdir(exist_ok=True)
    return tmp_path / "b"


def test_a_split_is_written_with_its_rule_and_changes_nothing_else(written: Path) -> None:
    before, folder = pq.read_table(written / "cases.parquet"), sorted(written.iterdir())
    made = split(load(written), seed=3, folds="organ")
    write_split(made.benchmark)
    after = pq.read_table(written / "cases.parquet")
    assert after.drop_columns(["split", "fold"]).equals(before)
    assert sorted(written.iterdir()) == folder
    pd.testing.assert_frame_equal(load(written).cases, made.benchmark.cases)
    rule = tomllib.loads((written / "benchmark.toml").read_text())["split"]
    n = made.benchmark.cases["split"].value_counts()
    assert rule == {
        "by": "item", "test": 0.2, "validation": 0.1, "seed": 3, "folds": "organ", "n_train": n["train"],
        "n_validation": n["validation"], "n_test": n["test"], "n_units": 60,
        "digest": split_digest(made.benchmark.cases),
    }  # fmt: skip
    write_split(split(load(written)).benchmark)
    assert pq.read_table(written / "cases.parquet").column_names == [*before.column_names, "split"]
    assert "folds" not in tomllib.loads((written / "benchmark.toml").read_text())["split"]


def test_a_split_that_cannot_be_written_leaves_the_cases_as_they_were(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, made = (written / "cases.parquet").read_bytes(), split(load(written))

    def full_disk(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mrb_lib.benchmarks.splits.write_atomic", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_split(made.benchmark)
    assert (written / "cases.parquet").read_bytes() == before
    with pytest.raises(InputError, match="not split"):
        check_split(load(written))
    monkeypatch.undo()
    write_split(made.benchmark)
    check_split(load(written))


def test_a_split_does_not_change_what_judges_were_shown(written: Path) -> None:
    benchmark = load(written)
    seen, whole = benchmark.case_fingerprint(), benchmark.fingerprint()
    write_split(split(benchmark, folds="organ").benchmark)
    assert load(written).case_fingerprint() == seen
    assert load(written).fingerprint() != whole
