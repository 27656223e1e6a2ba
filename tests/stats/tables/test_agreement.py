from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats.table import read
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import analyze
from mrb_lib.stats.intervals import wilson
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import agreement, annotations_of, annotator_pairs, cases_of

COEFFICIENTS = ["percent_agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1"]


def of_units(units: list[str]) -> pd.DataFrame:
    """Annotations from one word a case, one letter an annotator."""
    return annotations_of({f"r{i}": "".join(column) for i, column in enumerate(zip(*units, strict=True))})


def test_categories_of_ac1_are_those_in_use_anywhere_in_the_benchmark() -> None:
    annotations = annotations_of({"a": "AABBAATT", "b": "AABBABTT"})
    cases = cases_of(8, organ=["eye"] * 6 + ["lung"] * 2)
    rows = agreement(annotations, cases, by="organ", resamples=0).set_index(pd.Index(["all", "eye", "lung"]))
    eye = rows.loc["eye"]
    chance = (7 / 12 * 5 / 12) * 2 / 2
    assert eye["gwet_ac1"] == pytest.approx((5 / 6 - chance) / (1 - chance))
    assert rows.loc["lung", "gwet_ac1"] == 1
    assert rows.loc["lung", ["cohen_kappa", "fleiss_kappa", "krippendorff_alpha"]].isna().all()
    assert "one category" in rows.loc["lung", "reason"]


@pytest.mark.parametrize(
    ("by_annotator", "defined", "reason"),
    [
        ({"a": "AAA", "b": "AAA"}, ["percent_agreement"], "one category"),
        ({"a": "A--", "b": "B--"}, [], "fewer than two cases"),
        ({"a": "AB-", "b": "--A"}, [], "no case has two annotators"),
        ({"consensus": "AAB"}, [], "only consensus labels"),
    ],
)
def test_what_is_undefined_is_null_with_a_reason(by_annotator: dict[str, str], defined: list[str], reason: str) -> None:
    row = agreement(annotations_of(by_annotator), cases_of(3), resamples=100).iloc[0]
    assert [name for name in COEFFICIENTS if not np.isnan(row[name])] == defined
    assert reason in row["reason"]


def test_a_dimension_without_annotations_is_reported_as_such() -> None:
    annotations = annotations_of({"a": "AB", "b": "AA"})
    rows = agreement(annotations, cases_of(2), dimensions=["overall", "accuracy"], resamples=0)
    assert rows["dimension"].tolist() == ["overall", "accuracy"]
    assert rows["reason"].tolist()[1] == "there are no annotations"
    nothing = agreement(annotations.iloc[:0], cases_of(2), resamples=0)
    assert len(nothing) == 0
    assert "krippendorff_alpha" in nothing.columns
    assert annotator_pairs(annotations.iloc[:0], cases_of(2)).empty


def test_consensus_beside_annotators_is_nobodys_vote() -> None:
    people = {"a": "AABTA", "b": "AABBB"}
    first = agreement(annotations_of(people), cases_of(5), resamples=50)
    second = agreement(annotations_of({**people, "consensus": "AABAA"}), cases_of(5), resamples=50)
    pd.testing.assert_frame_equal(first, second)


letters = st.sampled_from("ABT-")
units = st.lists(st.tuples(letters, letters, letters, letters), min_size=3, max_size=9)


@given(units)
@settings(max_examples=20, deadline=None)
def test_a_unanimous_case_never_lowers_percent_agreement(table: list[tuple[str, ...]]) -> None:
    before = agreement(of_units(["".join(unit) for unit in table]), cases_of(len(table)), resamples=0)
    after = agreement(of_units(["".join(unit) for unit in [*table, "AAAA"]]), cases_of(len(table) + 1), resamples=0)
    if len(before) and not np.isnan(before["percent_agreement"].iloc[0]):
        assert after["percent_agreement"].iloc[0] >= before["percent_agreement"].iloc[0] - 1e-12


@given(units, st.permutations(range(4)), st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_who_annotated_and_in_which_order_means_nothing(
    table: list[tuple[str, ...]], annotators: list[int], random: object
) -> None:
    first = agreement(of_units(["".join(unit) for unit in table]), cases_of(len(table)), resamples=0)
    mixed = [tuple(unit[i] for i in annotators) for unit in table]
    random.shuffle(mixed)
    second = agreement(of_units(["".join(unit) for unit in mixed]), cases_of(len(table)), resamples=0)
    pd.testing.assert_frame_equal(first, second, rtol=1e-9)


def test_bad_input_is_refused() -> None:
    annotations = annotations_of({"a": "AB", "b": "AA"})
    with pytest.raises(InputError, match="column choice: 'B' is not one of"):
        agreement(annotations, cases_of(2), categories=["A", "C"])
    with pytest.raises(InputError, match="column case_id: 'c1' is not one of"):
        agreement(annotations, cases_of(1))


def test_where_all_agree_percent_agreement_alone_has_an_interval() -> None:
    """A coefficient of 1 has no error, which is not certainty; a share has Wilson's interval."""
    row = agreement(annotations_of(dict.fromkeys("abc", "AABBT" * 8)), cases_of(40)).iloc[0]
    low, high = wilson(np.array([1.0]), np.array([40.0]))
    assert row[["percent_agreement", "percent_agreement_low"]].tolist() == pytest.approx([1, low[0]])
    assert row["percent_agreement_high"] == high[0] == 1
    for name in COEFFICIENTS[1:]:
        assert row[name] == 1
        assert row[[f"{name}_low", f"{name}_high"]].isna().all()
    assert (
        "no interval of cohen_kappa, fleiss_kappa, krippendorff_alpha, gwet_ac1: the cases do not differ"
        in (row["reason"])
    )


def scores(folder: Path, toml: str = "") -> Benchmark:
    """Import scores from 1 to 10 by three annotators who are at most one apart from the truth."""
    generator, rows = np.random.default_rng(3), ["case_id,annotator,dimension,choice"]
    for i in range(60):
        truth = generator.integers(1, 11)
        rows += [f"c{i},{p},quality,{int(np.clip(truth + generator.integers(-1, 2), 1, 10))}" for p in "xyz"]
    folder.mkdir()
    cases = [f"c{i},Q {i}?,a{i},b{i}" for i in range(60)]
    (folder / "cases.csv").write_text("\n".join(["case_id,question,response_a,response_b", *cases]))
    (folder / "annotations.csv").write_text("\n".join(rows))
    if toml:
        (folder / "benchmark.toml").write_text(f'name = "s"\nkind = "general"\ndimensions = ["quality"]\n{toml}\n')
    return read(folder).benchmark


def test_labels_that_are_numbers_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    """As text, "10" came before "2", and the ordinal alpha of these scores was .56."""
    with pytest.raises(InputError, match="name all categories with --categories"):
        scores(tmp_path / "plain")
    rising = ", ".join(f'"{i}"' for i in range(1, 11))
    as_text = ", ".join(f'"{i}"' for i in sorted(map(str, range(1, 11))))
    listed, text = (scores(tmp_path / str(i), f"categories = [{each}]") for i, each in enumerate((rising, as_text)))
    row = analyze(listed, None, "agreement", level="ordinal", resamples=0).iloc[0]
    assert row["krippendorff_alpha"] == pytest.approx(0.938, abs=5e-4)
    with pytest.raises(InputError, match="categor"):
        analyze(text, None, "agreement", level="ordinal", resamples=0)


def test_an_order_that_nobody_stated_is_refused_with_the_cure() -> None:
    labels = {"x": ["mild", "none", "severe"] * 4, "y": ["mild", "none", "mild"] * 4}
    rows = [(f"c{i}", name, "overall", label) for name, own in labels.items() for i, label in enumerate(own)]
    annotations = pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"])
    words = ("mild", "none", "severe")
    unordered = Benchmark(BenchmarkMeta("pain", "general", ("overall",), words), cases_of(12), annotations)
    assert analyze(unordered, None, "agreement", resamples=0)["percent_agreement"].iloc[0] == pytest.approx(2 / 3)
    with pytest.raises(
        InputError, match=r"order of the labels of pain \(mild, none, severe\) is not known; write them"
    ):
        analyze(unordered, None, "agreement", level="ordinal", resamples=0)
    stated = BenchmarkMeta("pain", "general", ("overall",), ("none", "mild", "severe"), "ordinal")
    row = analyze(Benchmark(stated, cases_of(12), annotations), None, "agreement", resamples=0).iloc[0]
    assert np.isfinite(row["quadratic_kappa"])
