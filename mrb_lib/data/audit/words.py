"""The texts of the cases as sets of words, in which displaced texts are looked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

TEXTS = ("question", "response_a", "response_b")
_WORD = r"(?u)\b\w\w\w+\b"


class Words:
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


def word_sets(cases: pd.DataFrame) -> Words | None:
    """The words of a cases table: runs of three or more word characters; None where no text has any."""
    vectorizer = CountVectorizer(binary=True, token_pattern=_WORD, dtype=np.float32, min_df=2)
    texts = pd.concat([cases[name].fillna("") for name in TEXTS])
    try:
        matrix = sparse.csr_array(vectorizer.fit_transform(texts))
    except ValueError:  # scikit-learn's word for "no words at all"
        return None
    n = len(cases)
    sets = {name: matrix[i * n : (i + 1) * n] for i, name in enumerate(TEXTS)}
    return Words(vectorizer.get_feature_names_out(), sets)
