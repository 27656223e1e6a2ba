"""Agreement of two raters on a scale, as functions of sums over cases, so that the cluster bootstrap can weight them.

x is the judge's number of a case and y the clinicians'; sums may be weighted, which is the same as repeating cases.
Compared with scikit-learn, pingouin and scipy in `tests/stats/ratings/test_coefficients.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.options import TINY, FloatArray, IntArray, divide

N_MOMENTS = 6


class Moments(NamedTuple):
    """The moments of x and y about their means, divided by the number of cases; every array has shape (b,)."""

    n: FloatArray
    mean_x: FloatArray
    mean_y: FloatArray
    var_x: FloatArray
    var_y: FloatArray
    cov: FloatArray

    @classmethod
    def of(cls, sums: FloatArray) -> Moments:
        """From sums of `moment_sums`, shape (b, 6).

        Where x or y does not vary nothing can be said about agreement beyond chance: the covariance is NaN.
        """
        n, x, y, xx, yy, xy = sums.T
        mean_x, mean_y = divide(x, n), divide(y, n)
        var_x, var_y = divide(xx, n) - mean_x**2, divide(yy, n) - mean_y**2
        varies = (var_x > TINY) & (var_y > TINY)
        return cls(n, mean_x, mean_y, var_x, var_y, np.where(varies, divide(xy, n) - mean_x * mean_y, np.nan))

    @property
    def difference(self) -> FloatArray:
        """The mean of x less that of y."""
        return self.mean_x - self.mean_y

    @property
    def concordance(self) -> FloatArray:
        """2 cov / (var x + var y + (mean x - mean y)^2).

        Of places 1, 2, ... this is Cohen's kappa with quadratic weights (1968, doi:10.1037/h0026256; Fleiss and Cohen
        1973, doi:10.1177/001316447303300309).
        """
        return divide(2 * self.cov, self.var_x + self.var_y + self.difference**2)

    @property
    def icc_agreement(self) -> FloatArray:
        """ICC(2,1) of two raters: absolute agreement, raters a random sample (Shrout and Fleiss 1979)."""
        apart = self.difference**2
        rest = divide(self.var_x + self.var_y - 2 * self.cov + apart, self.n)
        return divide(2 * self.cov, self.var_x + self.var_y + apart - rest)

    @property
    def icc_consistency(self) -> FloatArray:
        """ICC(3,1) of two raters: consistency, a constant distance between them forgiven (Shrout and Fleiss 1979)."""
        return divide(2 * self.cov, self.var_x + self.var_y)

    @property
    def pearson(self) -> FloatArray:
        """The product-moment correlation."""
        return divide(self.cov, np.sqrt(np.maximum(self.var_x * self.var_y, 0.0)))


def moment_sums(x: FloatArray, y: FloatArray, counted: FloatArray, square: FloatArray | None = None) -> FloatArray:
    """What each case adds to the sums of `Moments`, shape (n, 6): 1, x, y, x^2, y^2, xy.

    Parameters
    ----------
    x, y, counted : shape (n,); a case counts where `counted` is 1, else 0
    square : the mean of x^2 of a case, where x is a mean over several verdicts that are to count singly
    """
    columns = (np.ones_like(x), x, y, x**2 if square is None else square, y**2, x * y)
    return np.where(counted[:, None] > 0, np.stack(columns, axis=1), 0.0)


def spearman(tables: FloatArray) -> FloatArray:
    """Spearman's rank correlation, mean ranks for ties, shape (b,); NaN where x or y does not vary.

    Parameters
    ----------
    tables : shape (b, U, V), how many cases have the u-th smallest x and the v-th smallest y
    """
    ranks = []
    for axis in (2, 1):
        count = tables.sum(axis=axis)
        ranks.append(np.cumsum(count, axis=1) - count / 2 - count.sum(axis=1, keepdims=True) / 2)
    first, second = ranks
    var_x, var_y = ((tables.sum(axis=axis) * rank**2).sum(axis=1) for axis, rank in ((2, first), (1, second)))
    cov = np.einsum("buv,bu,bv->b", tables, first, second)
    return np.where((var_x > TINY) & (var_y > TINY), divide(cov, np.sqrt(np.maximum(var_x * var_y, 0.0))), np.nan)


def table_cells(x: FloatArray, y: FloatArray, counted: FloatArray) -> tuple[FloatArray, tuple[int, int]]:
    """What each case adds to a table of `spearman`, shape (n, U * V), and its shape.

    Values are told apart to nine decimals, since they are means.
    """
    kept = counted > 0
    codes: list[IntArray] = []
    for values in (x, y):
        code = np.zeros(len(values), dtype=np.int64)
        code[kept] = np.unique(values[kept].round(9), return_inverse=True)[1].reshape(-1)
        codes.append(code)
    first, second = (int(code.max(initial=0)) + 1 for code in codes)
    out = np.zeros((len(x), first * second))
    out[np.flatnonzero(kept), (codes[0] * second + codes[1])[kept]] = 1.0
    return out, (first, second)
