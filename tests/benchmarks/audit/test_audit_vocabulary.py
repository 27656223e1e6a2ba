"""Texts that speak of another organ: found among cases that resemble each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.audit.vocabulary import vocabulary_findings, word_sets
from mrb_lib.tables.validation import Finding

from .sound_benchmark import places

VOCABULARY = {
    "heart": ["ventricle", "atrium", "septum", "valve", "myocardium", "pericardium", "aorta", "apex"],
    "eye": ["retina", "macula", "cornea", "iris", "vitreous", "fundus", "optic", "lens"],
    "brain": ["cortex", "thalamus", "cerebellum", "gyrus", "sulcus", "callosum", "brainstem", "meninges"],
}
SENTENCE = "the image shows that further study may help while nothing else seems certain today"
FILLER = SENTENCE.split()


def alike(seed: int = 0, per_organ: int = 30) -> pd.DataFrame:
    """Cases whose texts draw on their organ's eight words, so that no two organs mix and no case is unique."""
    rng = np.random.default_rng(seed)

    def text(words: list[str], k: int) -> str:
        return " ".join([*rng.choice(words, k, replace=False), *rng.choice(FILLER, 8)])

    rows = [
        {
            "case_id": f"{organ}-{i}",
            "question": text(words, 4),
            "response_a": text(words, 5),
            "response_b": text(words, 5),
            "organ": organ,
        }
        for i in range(per_organ)
        for organ, words in VOCABULARY.items()
    ]
    return pd.DataFrame(rows)


def audited(cases: pd.DataFrame, known: set[int] | None = None) -> list[Finding]:
    words = word_sets(cases)
    assert words is not None
    return vocabulary_findings(cases, words, known or set())


def test_cases_in_their_place_give_nothing() -> None:
    assert audited(alike()) == []


@pytest.mark.parametrize(
    ("columns", "blamed"),
    [
        (["response_a"], "response_a"),
        (["response_b"], "response_b"),
        (["question"], "question"),
        (["response_a", "response_b"], "question"),
        (["question", "response_a", "response_b"], "organ"),
    ],
)
def test_texts_exchanged_between_organs(columns: list[str], blamed: str) -> None:
    cases = alike()
    cases.loc[[3, 7], columns] = cases.loc[[7, 3], columns].to_numpy()
    first, second = audited(cases)
    assert places([first, second]) == [("warning", "cases.parquet", row, blamed) for row in (4, 8)]
    assert first.case_id == "heart-1" and "of eye" in first.problem and "its organ is heart" in first.problem
    assert any(word in first.problem for word in VOCABULARY["eye"])


def test_a_text_that_mentions_another_organ_beside_its_own_is_in_place() -> None:
    cases = alike()
    cases.loc[3, "response_a"] += " retina macula cornea iris"
    assert audited(cases) == []


def test_an_evasive_text_is_in_place() -> None:
    cases = alike()
    cases.loc[3, "response_a"] = "nothing certain may help today"
    assert audited(cases) == []


def test_what_is_known_is_not_reported_again() -> None:
    cases = alike()
    cases.loc[[3, 7], "response_a"] = cases.loc[[7, 3], "response_a"].to_numpy()
    assert [finding.row for finding in audited(cases, {3})] == [8]


def test_without_organs_there_is_nothing_to_say() -> None:
    assert audited(alike().drop(columns="organ")) == []
    assert audited(alike().assign(organ="heart")) == []
    assert audited(alike().assign(organ=None)) == []


def test_missing_organs_are_left_out() -> None:
    cases = alike()
    cases.loc[[3, 7], "response_a"] = cases.loc[[7, 3], "response_a"].to_numpy()
    cases.loc[3, "organ"] = None
    assert [finding.row for finding in audited(cases)] == [8]
