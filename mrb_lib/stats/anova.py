"""One-way repeated-measures analysis of variance: do the judges' mean scores on the same cases differ?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from mrb_lib.stats.options import FloatArray

NO_ERROR = "no F: the differences between judges are the same on every case"


class Anova(NamedTuple):
    """A repeated-measures analysis of variance.

    Attributes
    ----------
    f, df, df_error : F and its degrees of freedom where the differences between judges are all equally variable
    p_value : the p of F under that condition (sphericity)
    epsilon : Greenhouse and Geisser's estimate of how far the condition fails: 1 where it holds,
        1 / (judges - 1) at the least
    p_gg : the p of F with both degrees of freedom multiplied by epsilon
    """

    f: float
    df: float
    df_error: float
    p_value: float
    epsilon: float
    p_gg: float


def repeated_measures(scores: FloatArray) -> Anova | None:
    """Analyse complete scores of shape (cases, judges), two of each at least; None where there is no error.

    Notes
    -----
    F is the mean square of judges over that of judges x cases; epsilon is
    tr(S)^2 / ((k - 1) tr(S^2)) with S the covariance of the scores of the k judges, centred
    by rows and columns: Greenhouse and Geisser (1959), doi:10.1007/BF02289823. The
    analysis takes cases as independent. Scores of a case are few and bounded, so that the
    normal theory behind F is an approximation; its size is simulated in
    `tests/simulation/test_size.py`. `tests/stats/test_anova.py` compares with statsmodels
    and pingouin.
    """
    n, k = scores.shape
    within = scores - scores.mean(axis=1, keepdims=True)
    effect = within.mean(axis=0)
    residual = within - effect
    between, error = n * (effect**2).sum(), (residual**2).sum()
    if error <= 1e-12 * max(1.0, float((within**2).sum())):
        return None
    df, df_error = float(k - 1), float((k - 1) * (n - 1))
    f = float(between / df / (error / df_error))
    covariance = residual.T @ residual
    epsilon = float(np.trace(covariance) ** 2 / (df * (covariance**2).sum()))
    return Anova(
        f,
        df,
        df_error,
        float(fdtrc(df, df_error, f)),
        epsilon,
        float(fdtrc(epsilon * df, epsilon * df_error, f)),
    )
