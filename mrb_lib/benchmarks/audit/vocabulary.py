"""The texts of the cases as sets of words, and the texts whose words belong to another organ than their case."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from mrb_lib.benchmarks.audit.report import case_finding
from mrb_lib.tables.validation import Finding

TEXTS = ("question", "response_a", "response_b")
_WORD = r"(?u)\b\w\w\w+\b"
MARK_SHARE = 0.6  # of the cases with a word that are of one organ, for the word to mark it
MARK_CASES = 5  # cases of that organ with the word
MIN_MARKS = 3  # words of another organ that a text needs to be foreign
MARK_RATIO = 4  # and as many times those of its own organ
USUAL_MARKS = 2  # words of their own organ that the texts of an organ have, in the median, for a lack to mean anything
_SHOWN_WORDS = 4


class WordSets:
    """Word sets of the three texts of every case.

    Attributes
    ----------
    names : array of str with shape (W,), the words that occur in at least two texts
    weight : array with shape (W,), the words' inverse document frequency over cases
        (Sparck Jones 1972, doi:10.1108/eb026526)
    """

    def __init__(self, names: np.ndarray, sets: dict[str, sparse.csr_array]) -> None:
        self.names = names
        self._sets = sets
        n = sets["question"].shape[0]
        df = np.asarray(self.union(TEXTS).sum(axis=0)).ravel()
        self.weight = np.log((1 + n) / (1 + df)).astype(np.float32)

    def union(self, columns: tuple[str, ...]) -> sparse.csr_array:
        """The words of several texts of each case together, 0 or 1, with shape (cases, W)."""
        total = sum((self._sets[name] for name in columns[1:]), start=self._sets[columns[0]]).copy()
        total.data[:] = 1
        return total

    def unit_rows(self, columns: tuple[str, ...]) -> sparse.csr_array:
        """The same, weighted and scaled to length one, so that products are cosines."""
        return sparse.csr_array(normalize(self.union(columns) * self.weight[None, :]))


def word_sets(cases: pd.DataFrame) -> WordSets | None:
    """The words of a cases table: runs of three or more word characters; None where no text has any."""
    vectorizer = CountVectorizer(binary=True, token_pattern=_WORD, dtype=np.float32, min_df=2)
    texts = pd.concat([cases[name].fillna("") for name in TEXTS])
    try:
        matrix = sparse.csr_array(vectorizer.fit_transform(texts))
    except ValueError:  # scikit-learn's word for "no words at all"
        return None
    n = len(cases)
    sets = {name: matrix[i * n : (i + 1) * n] for i, name in enumerate(TEXTS)}
    return WordSets(vectorizer.get_feature_names_out(), sets)


def vocabulary_findings(cases: pd.DataFrame, words: WordSets, displaced: set[int]) -> list[Finding]:
    """Find questions and responses that belong to a case of another organ.

    The words that mark an organ are learned from the benchmark itself: those whose cases are mostly of
    that organ. A text is foreign when it holds words of one other organ and (next
    to) none of its own. This finds texts that were exchanged between organs even
    where many cases resemble each other, as `mrb_lib.benchmarks.audit.pairing` cannot.

    Parameters
    ----------
    cases : the cases table with its required columns, a row a case
    words : the word sets of these cases
    displaced : rows (from 0) whose texts are known to be displaced, and are not reported again

    Returns
    -------
    list of Finding
        At most one a case. None where there is no `organ`, or where its organs have no words of their own.

    Notes
    -----
    Tested by tests/benchmarks/audit/test_audit_vocabulary.py.
    """
    if "organ" not in cases.columns or cases["organ"].nunique() < 2:
        return []
    organ, names = pd.factorize(cases["organ"], sort=True)
    marks = _marks(words, organ, len(names))
    foreign = {text: _foreign(words.union((text,)), organ, marks) for text in TEXTS}
    some = np.flatnonzero(np.logical_or.reduce([other >= 0 for other in foreign.values()]))
    findings: list[Finding] = []
    for i in (int(i) for i in some if int(i) not in displaced):
        texts = [text for text in TEXTS if foreign[text][i] >= 0]
        other = int(foreign[texts[0]][i])
        texts = [text for text in texts if foreign[text][i] == other]
        used = words.union(tuple(texts))[[i]].indices
        marking = ", ".join(words.names[w] for w in used[marks[other, used] > 0][:_SHOWN_WORDS])
        column, cure = _column_and_cure(texts)
        what = " and ".join(texts)
        problem = f"{what} of this case speak{'' if len(texts) > 1 else 's'} of {names[other]} ({marking})"
        problem += f", but its organ is {names[organ[i]]}"
        findings.append(case_finding(cases, i, column, problem, cure))
    return findings


def _column_and_cure(texts: list[str]) -> tuple[str, str]:
    """The column to blame: the organ if all texts agree against it, the question if it or both responses moved."""
    if len(texts) == len(TEXTS):
        return "organ", "correct the organ"
    column = texts[0] if len(texts) == 1 else "question"
    return column, "put each text back into its case, or correct the organ"


def _marks(words: WordSets, organ: np.ndarray, n_organs: int) -> np.ndarray:
    """Which words mark which organ, 0 or 1, with shape (organs, W)."""
    texts = words.union(TEXTS)
    rows = np.flatnonzero(organ >= 0)
    membership = sparse.csr_array((np.ones(len(rows)), (organ[rows], rows)), shape=(n_organs, len(organ)))
    count = (membership @ texts).toarray()
    share = count / np.maximum(count.sum(axis=0), 1)
    return np.asarray((share >= MARK_SHARE) & (count >= MARK_CASES), dtype=np.float32)


def _foreign(texts: sparse.csr_array, organ: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """The other organ that each text is about, or -1."""
    hits = np.asarray(texts @ marks.T)
    rows = np.arange(len(organ))
    own_organ = np.where(organ >= 0, hits[rows, organ], np.inf)
    usual = pd.Series(own_organ).groupby(organ).transform("median").to_numpy()
    hits[rows[organ >= 0], organ[organ >= 0]] = 0
    foreign = (hits.max(axis=1) >= np.maximum(MIN_MARKS, MARK_RATIO * own_organ)) & (usual >= USUAL_MARKS)
    return np.where(foreign, hits.argmax(axis=1), -1)


def displaced_rows(findings: list[Finding]) -> Iterator[int]:
    """The rows, from 0, of the warnings among findings of displaced texts."""
    yield from (finding.row - 1 for finding in findings if finding.severity == "warning" and finding.row is not None)
