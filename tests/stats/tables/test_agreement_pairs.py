from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from mrb_lib.tables.schema import CHOICES
from tests.stats.small_tables import agreement, annotations_of, annotator_pairs, cases_of


def incomplete(n: int = 60, annotators: int = 9, seed: int = 0) -> pd.DataFrame:
    """Annotators who each saw about half of the cases, at random."""
    generator = np.random.default_rng(seed)
    truth = generator.choice(list("AABT"), n)
    by_annotator = {}
    for i in range(annotators):
        given = np.where(generator.random(n) < 0.6, truth, generator.choice(list("ABT"), n))
        by_annotator[f"a{i}"] = "".join(np.where(generator.random(n) < 0.5, given, "-"))
    return annotations_of(by_annotator)


def test_every_pair_equals_scikit_learn_on_the_cases_they_share() -> None:
    annotations = incomplete()
    wide = annotations.pivot_table(index="case_id", columns="annotator", values="choice", aggfunc="first")
    rows = annotator_pairs(annotations, cases_of(60), resamples=0).set_index(["annotator_1", "annotator_2"])
    assert list(rows.index) == list(combinations(wide.columns, 2))
    for first, second in rows.index:
        both = wide[[first, second]].dropna()
        row = rows.loc[(first, second)]
        assert row["n_cases"] == len(both)
        assert row["percent_agreement"] == pytest.approx((both[first] == both[second]).mean())
        assert row["cohen_kappa"] == pytest.approx(cohen_kappa_score(both[first], both[second], labels=list(CHOICES)))


def test_pairs_that_cannot_be_compared_are_counted_and_left_out_of_the_mean() -> None:
    annotations = annotations_of({"a": "AABBAB", "b": "AABBBA", "c": "A-----", "d": "----AA", "e": "----AA"})
    pairs = annotator_pairs(annotations, cases_of(6), resamples=100).set_index(["annotator_1", "annotator_2"])
    assert pairs.loc[("a", "c"), "n_cases"] == 1
    assert pairs.loc[("a", "c"), ["percent_agreement", "cohen_kappa"]].isna().all()
    assert "fewer than two" in pairs.loc[("a", "c"), "reason"]
    assert pairs.loc[("d", "e"), "percent_agreement"] == 1
    assert np.isnan(pairs.loc[("d", "e"), "cohen_kappa"])
    assert "one category" in pairs.loc[("d", "e"), "reason"]
    row = agreement(annotations, cases_of(6), resamples=100).iloc[0]
    assert row["n_pairs_undefined"] == pairs["cohen_kappa"].isna().sum()
    assert row["cohen_kappa"] == pytest.approx(pairs["cohen_kappa"].mean())
