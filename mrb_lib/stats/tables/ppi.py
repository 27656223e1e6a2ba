"""How many of the annotators' labels do the verdicts save?"""

from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, score_test
from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, Quantity, Sampling, divide, estimate, mean
from mrb_lib.stats.methods.comparisons import NO_RESPONDERS, Responders, from_labels, from_verdicts, responders, shares
from mrb_lib.stats.multiplicity import adjust_rows
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, percent

ESTIMATE, WHAT_IF = "estimate", "what_if"
KEPT: Final = 0.2
"""The share of the labelled clusters that a what-if keeps."""
NO_LABELS: Final = "fewer than two labelled cases have a verdict"
ALIKE: Final = "correlation is undefined: the verdicts, or the labels, are all alike or missing"
_COUNTS: Final = ["n_labelled", "n_undecided", "n_unlabelled", "n_excluded"]
_PPI = "Angelopoulos et al. 2023, arXiv 2311.01453"
_SUMS, _NO_SPREAD = 8, 1e-9


def sentence(rows: pd.DataFrame) -> str:
    """Say how many labels the verdicts save, where their correlation with the labels is significantly above 0."""
    whole, where = main_rows(rows), opening(main_dimension(rows))
    whole = whole[whole["responder"].isna()]
    real = whole[whole["part"] == ESTIMATE]
    known = (whole if real.empty else real).dropna(subset="expected_label_saving")
    useful = known[(known["p_adjusted"] <= ALPHA) & (known["correlation"] > 0)]
    if useful.empty:
        return (
            f"{where}, cannot tell whether verdicts would save any of the annotators' labels: "
            f"none of {len(known)} judges correlates significantly with them."
        )
    best = useful.nlargest(1, "expected_label_saving").iloc[0]
    condition = f"with labels on {KEPT:.0%} of these cases, " if real.empty else ""
    most = f"; {len(useful)} of {len(known)} judges save significantly more than none" if len(known) > 1 else ""
    return (
        f"{where}, {condition}the verdicts of {best['judge']} save about {percent(best, 'expected_label_saving')} of "
        f"the labels that equally precise win rates need without verdicts{most}."
    )


@table(
    "ppi",
    question="how many of the annotators' labels do the verdicts save",
    columns=[
        Column("part", "estimate, or what_if: had only a fifth of the labels been made", "text"),
        shared("dimension", "judge"),
        Column("responder", "model that wrote the responses; null: all together", "text"),
        shared("policy"),
        Column("n_labelled", "cases with a verdict that annotators decided", "cases"),
        Column("n_undecided", "cases with a verdict that they saw and did not decide", "cases"),
        Column("n_unlabelled", "cases with a verdict that they did not see", "cases"),
        Column("n_excluded", "other cases of the responder", "cases"),
        Column("n_unpaired", "cases that do not name two different responders", "cases"),
        shared("clusters"),
        Column("estimate", "win rate by labels and verdicts; a tie is half a win", "share 0-1", _PPI, ("low", "high")),
        Column("classical_estimate", "win rate by labels alone", "share 0-1", ends=("classical_low", "classical_high")),
        Column("full_estimate", "win rate by all labels, those hidden too", "share 0-1"),
        Column("lambda", "weight given to the judge", "share 0-1", _PPI),
        estimated("expected_label_saving", "saving to expect of the correlation and the numbers of cases"),
        Column("correlation", "of verdicts and labels, over all labelled cases", "coefficient", "Pearson", (), ALIKE),
        shared("tests"),
    ],
    sentence=sentence,
    headline=("estimate", "expected_label_saving", "p_adjusted"),
    uses=("policy", "dimension", "gold", "cluster", "seed", "correction", "family"),
)
def ppi(analysis: Analysis) -> pd.DataFrame:
    """Estimate each responder's win rate by annotators from few of their labels and a judge's many verdicts.

    Rows "estimate" are of judges with verdicts on cases that annotators did not see. Rows "what_if" keep a random fifth
    of the labelled clusters and hide what annotators said of the others. A row with `responder` null is of all
    responders together: variances and covariances are summed over them.

    Notes
    -----
    See `powered_mean`. Estimates are valid however wrong the judge is, if the cases seen are a random sample of all.
    `expected_label_saving` = r^2 N / (n + N) with n cases seen and N not seen; few labels do not flatter it, but a
    judge that knows nothing has a correlation r that is not exactly 0, and the best of several a larger one: the test
    is of r = 0, corrected over judges. Coverage: tests/simulation/test_ppi.py; published values:
    tests/stats/tables/test_ppi.py.
    """
    verdicts, who = analysis.verdicts, responders(analysis.cases)
    if not who.paired.any():
        return pd.DataFrame([{"n": 0, "reason": NO_RESPONDERS}])
    judged = (verdicts.total() > 0).any(axis=0)
    said = shares(from_verdicts(verdicts, analysis.policy))[..., 0]
    score = shares(from_labels(analysis.labels.T))[..., 0]
    gold = analysis.gold.reindex(columns=["case_id", "dimension", "n_annotators"])
    asked = gold.pivot(index="case_id", columns="dimension", values="n_annotators").reindex(analysis.cases["case_id"])
    seen = np.isfinite(score) | (asked.reindex(columns=analysis.names).fillna(0).to_numpy(np.float64).T > 0)
    frames = []
    for d, name in enumerate(analysis.names):
        own = np.flatnonzero(judged & (verdicts.dimension == d))
        if len(own) and np.isfinite(score[d, who.paired]).sum() >= 2:
            rows = _of_dimension(score[d], said[own].T, seen[d], who, analysis)
            rows["judge"] = verdicts.cells["judge"].to_numpy()[own][rows["judge"]]
        else:
            rows = pd.DataFrame({"n": [0], "reason": NO_LABELS, "part": None, "p_value": np.nan, "kept": True})
        frames.append(rows.assign(dimension=name))
    rows = pd.concat(frames, ignore_index=True)
    rows = adjust_rows(rows, analysis, ("dimension",), "part")
    rows["family"] = rows["family"].where(rows["p_value"].notna())
    return rows[rows["kept"].astype(bool)].assign(n_unpaired=int((~who.paired).sum()))


def _of_dimension(
    score: FloatArray, said: FloatArray, seen: BoolArray, who: Responders, analysis: Analysis
) -> pd.DataFrame:
    """Return a row per part, judge (a position) and responder (null: all together).

    `kept` is False in rows of real estimates of judges that judged no unlabelled case.

    Parameters
    ----------
    score, said : shapes (n,) and (n, j), what A wins by the labels and by each judge; NaN where undecided
    seen : shape (n,), whether annotators saw the case
    """
    sampling, (n, j) = analysis.sampling, said.shape
    order = np.random.default_rng(analysis.seed).permutation(int(sampling.codes.max(initial=-1)) + 1)
    order = order[np.isin(order, sampling.codes[seen & who.paired])]
    is_kept = np.isin(sampling.codes, order[: max(1, round(KEPT * len(order)))])
    frames, adds = [], np.zeros((n, j, len(who.names), _SUMS))
    for i, responder in enumerate(who.names):
        cases = np.flatnonzero(who.paired & ((who.a == i) | (who.b == i)))
        clusters, turned = sampling.take(cases), (who.b == i)[cases, None]
        known, few = seen[cases, None], (seen & is_kept)[cases, None]
        y, f = (np.where(turned, 1 - values, values) for values in (score[cases, None], said[cases]))
        has, decided, f = np.isfinite(f), np.isfinite(f + y), np.nan_to_num(f)
        adds[cases, :, i] = _products(y, f, decided, has & known)
        whole = _correlations(adds[cases, :, i], clusters) | {"p_value": np.nan, "responder": responder}
        whole["full_estimate"] = divide(np.where(decided, y, 0.0).sum(axis=0), decided.sum(axis=0))
        for part, keep, hidden in ((ESTIMATE, known, ~known), (WHAT_IF, few, known & ~few)):
            unseen = has & hidden
            made = powered_mean(y, f, decided & keep, has & keep, unseen, clusters)
            counts = [mask.sum(axis=0) for mask in (decided & keep, has & keep & ~decided, unseen)]
            columns = whole | dict(zip(_COUNTS, [*counts, len(cases) - sum(counts)], strict=True))
            columns |= {"part": part, "judge": range(j), "lambda": made.power}
            columns |= {"n_clusters": made.helped.clusters, "largest": made.helped.largest}
            frames.append(pd.DataFrame(columns | _rate("", made.helped) | _rate("classical_", made.classical)))
    rows, keys = pd.concat(frames), ["part", "judge"]
    together = rows.groupby(keys, as_index=False)[_COUNTS].sum()
    together[_COUNTS] //= 2  # every case has two responders
    of_all = pd.DataFrame(_correlations(adds.reshape(n, j, -1), sampling))
    rows = pd.concat([rows, together.join(of_all, on="judge")], ignore_index=True).sort_values(keys, kind="stable")
    gain = rows["n_unlabelled"] / rows[_COUNTS[:3]].sum(axis=1)
    for end in ("", "_low", "_high"):
        rows[f"expected_label_saving{end}"] = rows[f"correlation{end}"].clip(lower=0) ** 2 * gain
    is_real = rows["part"] == ESTIMATE
    full = rows["full_estimate"].mask(is_real)
    return rows.assign(full_estimate=full, kept=~is_real | (rows.groupby(keys)["n_unlabelled"].transform("sum") > 0))


def _rate(name: str, e: Estimate) -> dict[str, FloatArray]:
    low, high, _ = intervals.t(e, 0.0)
    return {f"{name}estimate": e.value, f"{name}low": low, f"{name}high": high}


class Powered(NamedTuple):
    """Means in m cells with the help of predictions and from the labels alone; `power` (lambda) weighs the help."""

    helped: Estimate
    classical: Estimate
    power: FloatArray


def powered_mean(
    score: FloatArray,
    predicted: FloatArray,
    labelled: BoolArray,
    seen: BoolArray,
    unseen: BoolArray,
    sampling: Sampling,
) -> Powered:
    """Estimate mean labels from the cases that annotators saw and predictions on these and the others.

    Parameters
    ----------
    score : shape (n, 1) or (n, m), the labels; read where labelled
    predicted : shape (n, m), read where seen or unseen
    labelled, seen, unseen : shape (n, m); a case that is seen and not labelled was not decided

    Notes
    -----
    Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453: the mean label plus lambda times the mean prediction on unseen
    cases less that on seen ones. Undecided cases have no label, but as many are among the unseen. lambda is the paper's
    plug-in, or with clusters of several cases the value of least variance over clusters; it is kept between 0 and 1 and
    taken as known. The part of the variance that the labels make is CR2's.
    """
    y = np.where(labelled, score, 0.0)
    columns = [y, labelled, predicted * seen, seen, predicted * unseen, unseen]
    adds = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=2)
    by_y, by_f = _moves(y, labelled), _moves(predicted, seen)
    change = _moves(predicted, unseen) - by_f
    n, more = seen.sum(axis=0), unseen.sum(axis=0)
    if sampling.is_independent:
        used = seen | unseen
        spread = divide((_moves(predicted, used) ** 2).sum(axis=0) * (n + more) ** 2, n + more - 1)
        power = divide((by_y * by_f).sum(axis=0) * n, (1 + divide(n, more)) * spread)
    else:
        of_y, of_change = sampling.sums(by_y), sampling.sums(change)
        power = divide(-(of_y * of_change).sum(axis=0), np.asarray((of_change**2).sum(axis=0)))
    power = np.where(more > 0, np.clip(np.nan_to_num(power), 0.0, 1.0), 0.0)

    def statistic(sums: NDArray[Any]) -> NDArray[Any]:
        label, of_seen, of_unseen = np.moveaxis(divide(sums[..., ::2], sums[..., 1::2]), -1, 0)
        return np.asarray(label + np.where(power > 0, power * (of_unseen - of_seen), 0.0))

    helped = estimate(Quantity(adds, statistic, labelled.astype(np.float64)), sampling)
    return Powered(helped, estimate(mean(np.where(labelled, score, np.nan)), sampling), power)


def _products(y: FloatArray, f: FloatArray, labelled: BoolArray, seen: BoolArray) -> FloatArray:
    """Return what `_correlation` sums, from arrays of shape (n, m) to (n, m, 8)."""
    y, f = np.where(labelled, y, 0.0), f * seen
    return np.stack([y, y**2, labelled, y * f, f * labelled, f, f**2, seen], axis=2)


def _correlation(sums: NDArray[Any]) -> NDArray[Any]:
    """Return the correlation of labels and predictions over the cases seen, (co)variances being summed over groups.

    An undecided case counts with the mean label; the spread of labels is that of a mean over the decided ones.
    """
    y, yy, n, yf, f_labelled, f, ff, seen = np.moveaxis(sums.reshape(*sums.shape[:-1], -1, _SUMS), -1, 0)
    mean_y, mean_f = divide(y, n), divide(f, seen)
    cross = divide(yf - mean_y * f_labelled, n)
    spread = divide(yy - mean_y * y, n) * divide(seen, n)
    predicted = divide(ff - mean_f * f, seen)
    total, first, second = (np.nan_to_num(each).sum(axis=-1) for each in (cross, spread, predicted))
    varies = (np.real(first) > _NO_SPREAD) & (np.real(second) > _NO_SPREAD)
    return divide(total, np.sqrt(np.where(varies, first * second, 0.0)))


def _correlations(adds: FloatArray, sampling: Sampling) -> dict[str, Any]:
    e = estimate(Quantity(adds, _correlation), sampling)
    low, high, _ = intervals.t(e)
    return {"correlation": e.value, "correlation_low": low, "correlation_high": high, "p_value": score_test(e)}


def _moves(values: FloatArray, counted: BoolArray) -> FloatArray:
    """Return how far each value that counts moves their mean; 0 for the others."""
    n = counted.sum(axis=0)
    centre = np.nan_to_num(divide((values * counted).sum(axis=0), n))
    return np.asarray(counted * (values - centre) / np.maximum(n, 1))
