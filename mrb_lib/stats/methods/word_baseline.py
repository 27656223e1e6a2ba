"""What the words of two responses alone tell about which one wins: a baseline for judges that were trained."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray


def prefers_a(cases: pd.DataFrame, learnt: IntArray, a_wins: FloatArray, weight: FloatArray | None = None) -> BoolArray:
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
    array of bool, shape (cases,); empty where `a_wins` is all alike, or no response to learn from holds a word

    Notes
    -----
    Swapping the responses swaps the prediction: the features are differences, and there is no intercept. Validated by
    tests/stats/tables/test_word_baseline.py.
    """
    texts = [cases[f"response_{side}"].fillna("") for side in "ab"]
    words, known = CountVectorizer(binary=True), pd.concat([side.iloc[learnt] for side in texts])
    if len(np.unique(a_wins)) < 2 or not any(map(words.build_analyzer(), known)):
        return np.array([], dtype=bool)
    words.fit(known)
    difference = words.transform(texts[0]) - words.transform(texts[1])
    model = LogisticRegression(C=0.1, max_iter=1000, fit_intercept=False)
    model.fit(difference[learnt], a_wins, sample_weight=weight)
    return np.asarray(model.predict(difference) == 1)
