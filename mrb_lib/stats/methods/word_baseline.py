"""A baseline for trained judges: predict the better response from the words of the two alone."""

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, vstack
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from mrb_lib.stats.estimation import FloatArray, IntArray


def prefers_a(
    cases: pd.DataFrame, learnt: IntArray, a_wins: FloatArray, weight: FloatArray | None = None
) -> FloatArray:
    """Predict for each case whether response A wins, by a logistic regression on which words the two responses hold.

    It knows neither the question nor the images: a judge that is not better has learnt no more than words.

    Parameters
    ----------
    cases : with `response_a` and `response_b`
    learnt : positions of the cases to learn from; one that occurs twice counts twice
    a_wins : of each of these, 1 where A wins and 0 where B does
    weight : of each of these; None weights them alike

    Returns
    -------
    array, shape (cases,): 1 for A, 0 for B, 1/2 where the words say nothing; empty where nothing can be
    learnt, since the two responses hold the same words in every case of `learnt`

    Notes
    -----
    Swapping the responses swaps the prediction: the features are differences, and there is no intercept. Each case is
    learnt from both sides (so `C` is half of 0.1), which needs no case where B wins. Words of other
    cases weigh nothing. Validated by tests/stats/tables/test_word_baseline.py.
    """
    words, n = CountVectorizer(binary=True), len(cases)
    texts = pd.concat([cases[f"response_{side}"].fillna("") for side in "ab"])
    held = words.fit_transform(texts) if any(map(words.build_analyzer(), texts)) else csr_array((2 * n, 1))
    difference = held[:n] - held[n:]
    shown = difference[learnt]
    if not shown.count_nonzero():
        return np.array([], dtype=np.float64)
    model = LogisticRegression(C=0.05, max_iter=1000, fit_intercept=False)
    weights = None if weight is None else np.tile(weight, 2)
    model.fit(vstack([shown, -shown]), np.concatenate([a_wins, 1 - a_wins]), sample_weight=weights)
    return np.asarray((1 + np.sign(model.decision_function(difference))) / 2)
