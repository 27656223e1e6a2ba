"""What the words of two responses alone tell about which one wins: a baseline for judges that were trained."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.sparse import vstack
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
    learnt from both sides (so `C` is half of 0.1), which needs no case where B wins. Validated by
    tests/stats/tables/test_word_baseline.py.
    """
    texts = [cases[f"response_{side}"].fillna("") for side in "ab"]
    words, known = CountVectorizer(binary=True), pd.concat([side.iloc[learnt] for side in texts])
    nothing = np.array([], dtype=np.float64)
    if not any(map(words.build_analyzer(), known)):
        return nothing
    words.fit(known)
    difference = words.transform(texts[0]) - words.transform(texts[1])
    shown = difference[learnt]
    if not shown.count_nonzero():
        return nothing
    model = LogisticRegression(C=0.05, max_iter=1000, fit_intercept=False)
    weights = None if weight is None else np.tile(weight, 2)
    model.fit(vstack([shown, -shown]), np.concatenate([a_wins, 1 - a_wins]), sample_weight=weights)
    return np.asarray((1 + np.sign(model.decision_function(difference))) / 2)
