"""How many of the annotators' labels do the verdicts save?"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.comparisons import NO_RESPONDERS, A, Responders, from_verdicts, responders
from mrb_lib.stats.contrasts import ALPHA, score_test
from mrb_lib.stats.estimation import BoolArray, FloatArray, Sampling, divide, estimate
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.options import code
from mrb_lib.stats.panel import TIE
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, percent
from mrb_lib.stats.prediction_powered import correlation, powered_mean

ESTIMATE, WHAT_IF = "estimate", "what_if"
SHARES: Final = (None, 0.1, 0.2, 0.5)
"""The shares of the labelled clusters that are kept; None keeps all."""
KEPT: Final = 0.2
"""The share that the sentence speaks of."""
NO_LABELS: Final = "fewer than two labelled cases have a verdict"
NO_VERDICTS: Final = "there is no verdict"
ALL_LABELLED: Final = "no case without a label has a verdict: the estimate is the classical one"
NO_HIDDEN: Final = "no label is hidden"
_COUNTS: Final = ("n_labelled", "n_undecided", "n_unlabelled", "n_excluded")
_PPI = "Angelopoulos et al. 2023, arXiv 2311.01453"


def sentence(rows: pd.DataFrame) -> str:
    """Say how many labels the verdicts save, where their correlation with the labels is significantly above 0."""
    own, where = main_rows(rows), opening(main_dimension(rows))
    whole = own[own["responder"].isna()]
    real = whole[whole["part"] == ESTIMATE]
    known = (whole[whole["label_share"] == KEPT] if real.empty else real).dropna(subset="expected_label_saving")
    if known.empty:
        return f"{where}, cannot tell how many of the annotators' labels verdicts would save."
    useful = known[(known["p_adjusted"] <= ALPHA) & (known["correlation"] > 0)]
    if useful.empty:
        none = "the judge's verdicts are not" if len(known) == 1 else f"none of the {len(known)} judges' verdicts are"
        return (
            f"{where}, cannot tell whether verdicts would save any of the annotators' labels: {none} significantly "
            "correlated with the labels."
        )
    best = useful.nlargest(1, "expected_label_saving").iloc[0]
    condition = f"with {KEPT:.0%} of the labelled cases labelled, " if real.empty else ""
    most = f"; {len(useful)} of {len(known)} judges save significantly more than none" if len(known) > 1 else ""
    return (
        f"{where}, {condition}the verdicts of {best['judge']} save about {percent(best, 'expected_label_saving')} of "
        f"the labels that equally exact win rates need without verdicts{most}."
    )


@table(
    "ppi",
    question="how many of the annotators' labels do the verdicts save",
    columns=[
        Column("part", "estimate, or what_if: had only some labels been made", "text"),
        shared("dimension", "judge"),
        Column("responder", "model that wrote the responses; null: all together", "text"),
        Column("label_share", "share of the annotated clusters whose labels are kept", "share 0-1"),
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
        Column("effective_n", "labels that the classical interval would need to be as narrow"),
        Column("label_saving", "share of these labels that the verdicts save, in this very sample"),
        estimated("expected_label_saving", "saving to expect of the correlation and the numbers of cases"),
        Column("correlation", "of verdicts and labels, over all labelled cases", "coefficient", "Pearson 1895"),
        shared("tests"),
    ],
    sentence=sentence,
    headline=("estimate", "expected_label_saving", "p_adjusted"),
    uses=("policy", "dimension", "gold", "cluster", "seed", "correction", "family"),
)
def ppi(analysis: Analysis) -> pd.DataFrame:
    """Estimate each responder's win rate by annotators from few of their labels and a judge's many verdicts.

    Rows "estimate" are of judges with verdicts on cases that annotators did not see. Rows "what_if" keep a random share
    `label_share` of the labelled clusters and hide what annotators said of the others. A row with `responder` null is
    of all responders together: variances and covariances are summed over them.

    Notes
    -----
    See `mrb_lib.stats.prediction_powered`. Estimates are valid however wrong the judge is, if the cases seen are a
    random sample of all. `expected_label_saving` = r^2 N / (n + N) with n cases seen and N not seen; few labels do not
    flatter it, but a judge that knows nothing has a correlation r that is not exactly 0, and the best of several a
    larger one: the test is of r = 0, corrected over judges. Coverage: tests/simulation/test_ppi.py; published values:
    tests/published/test_ppi.py.
    """
    panel, who = analysis.panel, responders(analysis.cases)
    if panel is None or not who.names:
        return pd.DataFrame([{"n": 0, "reason": NO_VERDICTS if panel is None else NO_RESPONDERS}])
    choices, judged = from_verdicts(panel, analysis.policy), np.asarray(panel.judged().any(axis=2))
    said = np.where(choices.sum(axis=3) > 0, choices[..., A] + choices[..., TIE] / 2, np.nan)
    score = np.where(analysis.labels < 0, np.nan, np.array([1.0, 0.0, 0.5])[analysis.labels])
    undecided = _undecided(analysis)
    frames = []
    for d, name in enumerate(analysis.names):
        own, seen = np.flatnonzero(judged[:, d]), np.isfinite(score[:, d]) | undecided[:, d]
        judges = [panel.judges[j] for j in own]
        if not len(own) or np.isfinite(score[who.paired, d]).sum() < 2:
            frames.append(pd.DataFrame([{"n": 0, "reason": NO_LABELS if len(own) else NO_VERDICTS, "dimension": name}]))
            continue
        data = _sides(score[:, d], said[own, d].T, seen, who)
        whole = _correlations(data, analysis.sampling)
        for share in SHARES:
            single = _win_rates(data, share, analysis.sampling, analysis.seed)
            rows = pd.concat([single, _together(single)], ignore_index=True)
            rows = rows.merge(whole, on=["judge", "responder"], how="left").sort_values("judge", kind="stable")
            frames.append(_with_savings(rows, judges, who.names).assign(dimension=name, label_share=share))
    rows = pd.concat(frames, ignore_index=True).assign(n_unpaired=int((~who.paired).sum()))
    return _corrected(rows, analysis)


class _Sides(NamedTuple):
    """Labels and predictions of one dimension from the side of each of r responders, for n cases and j judges.

    Attributes
    ----------
    y : shape (n, 1, r), the labels
    f : shape (n, j, r), what the judges say
    has : shape (n, j, r), whether the case is of the responder and there is a verdict
    of : shape (n, r), whether the case is of the responder
    decided, seen : shape (n,), whether there is a label, and whether annotators saw the case
    """

    y: FloatArray
    f: FloatArray
    has: BoolArray
    of: BoolArray
    decided: BoolArray
    seen: BoolArray


def _sides(score: FloatArray, said: FloatArray, seen: BoolArray, who: Responders) -> _Sides:
    names = np.arange(len(who.names))
    side = np.where(who.paired[:, None], (who.a[:, None] == names) * 1.0 - (who.b[:, None] == names), 0.0)
    y, f = (np.nan_to_num(values, nan=0.5)[:, :, None] - 0.5 for values in (score[:, None], said))
    has = (side != 0)[:, None] & np.isfinite(said)[:, :, None]
    return _Sides(0.5 + side[:, None] * y, 0.5 + side[:, None] * f, has, side != 0, np.isfinite(score), seen)


def _correlations(data: _Sides, sampling: Sampling) -> pd.DataFrame:
    """Return the correlation of verdicts and labels, a row a judge (position) and responder; -1 for all together."""
    n, j, r = data.f.shape
    y, labelled = np.broadcast_to(data.y, data.f.shape), data.has & data.decided[:, None, None]
    arrays = y, data.f, labelled, data.has & data.seen[:, None, None]
    judge, responder = np.divmod(np.arange(j * r), r)
    frames = []
    for shape, names in (((n, j * r, 1), (judge, responder)), ((n, j, r), (np.arange(j), np.full(j, -1)))):
        e = estimate(correlation(*(each.reshape(shape) for each in arrays)), sampling)
        ends, columns = intervals.t(e), dict(zip(("judge", "responder"), names, strict=True))
        made = {"correlation": e.value, "r_low": ends.low, "r_high": ends.high, "p_value": score_test(e)}
        frames.append(pd.DataFrame(columns | made))
    frames[0]["p_value"] = np.nan
    return pd.concat(frames, ignore_index=True)


def _win_rates(data: _Sides, share: float | None, sampling: Sampling, seed: int) -> pd.DataFrame:
    """Return the estimates from a share of the labels, a row a judge and responder (positions)."""
    keep, hidden = data.seen, ~data.seen
    if share is not None:
        order = np.random.default_rng(seed).permutation(int(sampling.codes.max(initial=-1)) + 1)
        own = order[np.isin(order, sampling.codes[data.seen & data.of.any(axis=1)])]
        keep = data.seen & np.isin(sampling.codes, own[: max(1, round(share * len(own)))])
        hidden = data.seen & ~keep
    frames = []
    for r in range(data.of.shape[1]):
        at = np.flatnonzero(data.of[:, r])
        y, f, has, clusters = data.y[at, :, r], data.f[at, :, r], data.has[at, :, r], sampling.take(at)
        labelled, every, seen, unseen = (
            has & mask[at, None] for mask in (data.decided & keep, data.decided, keep, hidden)
        )
        made = powered_mean(y, f, labelled, seen, unseen, clusters)
        n, n_seen, n_unseen = (mask.sum(axis=0) for mask in (labelled, seen, unseen))
        columns = {
            "judge": np.arange(f.shape[1]),
            "responder": r,
            "n_labelled": n,
            "n_undecided": n_seen - n,
            "n_unlabelled": n_unseen,
            "n_excluded": len(at) - n_seen - n_unseen,
            "n_clusters": made.helped.clusters,
            "largest": made.helped.largest,
            "full_estimate": np.nan if share is None else divide((y * every).sum(axis=0), every.sum(axis=0)),
            "lambda": made.power,
            "reason": [None if count >= 2 else NO_LABELS for count in n],
        }
        for name, e in (("", made.helped), ("classical_", made.classical)):
            low, high, _ = intervals.t(e, 0.0)
            of_name = {"estimate": e.value, "low": low, "high": high, "variance": e.error**2}
            columns |= {f"{name}{column}": values for column, values in of_name.items()}
        frames.append(pd.DataFrame(columns))
    rows = pd.concat(frames, ignore_index=True).assign(part=ESTIMATE if share is None else WHAT_IF)
    none = rows["reason"].isna() & (rows["n_unlabelled"] == 0)
    rows["reason"] = rows["reason"].mask(none, ALL_LABELLED if share is None else NO_HIDDEN)
    return rows


def _together(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row a judge, of all responders: variances are added, and a case counts once."""
    known = rows.assign(**{name: rows[name].fillna(0.0) for name in ("variance", "classical_variance")})
    sums = known.groupby(["part", "judge"], as_index=False)[[*_COUNTS, "variance", "classical_variance"]].sum()
    sums[list(_COUNTS)] //= 2
    return sums.assign(responder=-1)


def _with_savings(rows: pd.DataFrame, judges: list[str], names: list[str]) -> pd.DataFrame:
    """Add what verdicts save, and put names for positions; leave out estimates of judges with nothing unlabelled."""
    ratio = divide(rows["variance"].to_numpy(), rows["classical_variance"].to_numpy())
    total = rows[["n_labelled", "n_undecided", "n_unlabelled"]].sum(axis=1).to_numpy()
    share = divide(rows["n_unlabelled"].to_numpy(), total)
    saved = {
        f"expected_label_saving{end}": np.clip(rows[of], 0.0, None) ** 2 * share
        for end, of in (("", "correlation"), ("_low", "r_low"), ("_high", "r_high"))
    }
    rows = rows.assign(effective_n=divide(rows["n_labelled"].to_numpy(), ratio), label_saving=1 - ratio, **saved)
    helps = rows.groupby("judge")["n_unlabelled"].transform("sum") > 0
    rows = rows[helps | (rows["part"] == WHAT_IF)]
    responder = pd.Series([*names, None], dtype=object).iloc[rows["responder"]].to_numpy()
    return rows.assign(judge=np.array(judges, dtype=object)[rows["judge"]], responder=responder)


def _corrected(rows: pd.DataFrame, analysis: Analysis) -> pd.DataFrame:
    """Correct the test of each judge over all judges; it is the same in all rows of the judge."""
    if "p_value" not in rows:
        return rows
    keys = ["dimension", "judge"]
    tests = rows[rows["p_value"].notna()].drop_duplicates(keys)
    numbers = pd.factorize(tests["dimension"])[0] * (analysis.family == "dimension")
    p, size = adjust_families(tests["p_value"].to_numpy(), numbers, analysis.correction or "holm")
    rows = rows.merge(tests[keys].assign(p_adjusted=p, family=size), on=keys, how="left")
    rows[["p_adjusted", "family"]] = rows[["p_adjusted", "family"]].where(rows["p_value"].notna())
    return rows


def _undecided(analysis: Analysis) -> BoolArray:
    """Return the cases that annotators saw and did not decide, shape (cases, dimensions)."""
    gold, out = analysis.gold, np.zeros(analysis.labels.shape, dtype=bool)
    if "n_annotators" in gold:
        rows = gold[gold["choice"].isna() & (gold["n_annotators"] > 0) & gold["dimension"].isin(analysis.names)]
        cases = code(rows["case_id"], analysis.cases["case_id"], "case_id")
        out[cases, code(rows["dimension"], analysis.names, "dimension")] = True
    return out
