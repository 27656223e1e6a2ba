"""Juries of judges: how good they are, what each member adds, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import ABSENT, COST_COLUMNS, Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.juries import reading
from mrb_lib.stats.juries.rows import DECISIVE, Rows, costs, dimension_rows
from mrb_lib.stats.juries.scores import KINDS, chosen_on, scores_of, with_juries
from mrb_lib.stats.juries.votes import folds
from mrb_lib.stats.options import check_policy
from mrb_lib.stats.resampling.resample import cluster_codes

COLUMNS = [
    "part", "dimension", "policy", "kind", "judge", "order", "size", "n", "n_excluded", "accuracy", "low", "high",
    *DECISIVE, "best_judge", "difference", "difference_low", "difference_high", "n_difference", "crossfit_difference",
    "crossfit_difference_low", "crossfit_difference_high", "n_crossfit_difference", "leave_one_out",
    "leave_one_out_low", "leave_one_out_high", "shapley", "shapley_low", "shapley_high", "monte_carlo_error",
    "n_orderings", "seconds", "tokens", "pareto_seconds", "pareto_tokens", "reason",
]  # fmt: skip
_TEXT = ("part", "dimension", "policy", "kind", "judge", "order", "best_judge", "reason")
_COUNTS = ("size", "n", "n_excluded", "n_difference", "n_crossfit_difference", "n_orderings")


@register_table(
    "jury",
    question="is a panel of judges better than its best member, and what is each member worth",
    columns=COLUMNS,
    reads=COST_COLUMNS,
    meanings=reading.MEANINGS,
    headline=("accuracy", "crossfit_difference", "shapley"),
    sentence=reading.sentence,
    why_no_ratings="",
)
def jury(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    level: str = "nominal",
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Juries of all judges: accuracy, each member's part in it, accuracy by size, and cost.

    Parameters
    ----------
    verdicts : the verdicts table, of one probe, or its panel
    gold : `case_id, dimension, choice`; a case without a row, or with a null, has no label
    cases : the cases table
    policy : a scoring policy, see `mrb_lib.stats.core.scoring.score`; juries are scored by it like any judge
    level : of measurement of the categories of ratings; above "nominal" there are juries by median and by mean
    dimensions : the dimensions to report, in order; None reports all that were judged
    cluster : the cases column to resample by, see `mrb_lib.stats.clusters.resampling_unit`; folds keep
        clusters whole
    resamples : of the cluster bootstrap; 0 gives no intervals
    seed : of the bootstrap, of the five folds and of the orders of joining

    Returns
    -------
    DataFrame
        `part` says of what kind a row is; columns that do not belong to it are null. `n` is the number of cases
        scored, `n_excluded` of those that are not. Of every dimension:
        `jury`, a row a `kind` of the jury of all judges (`size`): `majority`; `weighted` by log odds that the other
        folds give; `dawid_skene`, which sees no gold label; of ratings by ordered categories `median` and `mean`, the
        category nearest to that of the members' places (level interval: numbers), the lower one halfway; and
        `best_single`, the judge that is best in the other folds, fold by fold. `accuracy` with its 95% interval `low`,
        `high`; `decisive_accuracy`, in which every constant has one half, with its interval, see
        `mrb_lib.stats.accuracy.decisive.decisive` (null for ratings); `difference` to
        `best_judge`, the judge that is best over all cases and so flattered by having been chosen on them;
        `crossfit_difference` to `best_single`, which is not; both paired, over the `n_difference` and
        `n_crossfit_difference` cases that are scored for both.
        `single`, a row a `judge`, to compare with.
        `member`, a row a `judge`: `leave_one_out`, accuracy of the majority less that of the majority without it;
        `shapley`, what it adds on joining, averaged over `n_orderings` orders: all there are of up to 12 judges, of
        more a random choice, whose standard error `monte_carlo_error` is allowed for in the interval. A jury of nobody
        scores what a coin earns under the policy (A, B and, where gold has ties, tie are equally probable; of ratings
        all categories), so that the
        values of `shapley` sum to the accuracy of the majority less that of a coin: a judge that guesses as the coin
        does is worth nothing, and less where it outvotes others. Values are in the policy's own scores: where gold has
        ties and the policy pays half for a tie (`balanced`, `answered`), a member that says tie, whatever it is shown,
        adds to a jury of judges that guess.
        `curve`, a row a `size` and `order`: the mean of `random` juries, all `n_orderings` of the size where there are
        up to 12 judges, and `greedy` ones to which the judge is added
        that helps most in the other folds. Juries of even size are tied more often.
        `seconds` and `tokens` a case, summed over the members (a random or greedy jury: the mean over those formed;
        `best_single`: over the cases), of the verdicts of that dimension that are compared; null where one is
        unknown. `pareto_seconds` is 1 where no other of the rows `single`, `jury` and
        greedy `curve` of the dimension is as cheap and as accurate, and better in one of the two; 0 elsewhere;
        `pareto_tokens` likewise. They compare estimates, whose intervals may overlap. `reason` says why a value
        is null.

    Raises
    ------
    InputError
        An option is unknown, `cluster` cannot be used, a verdict speaks of an unknown case, or verdicts of several
        probes are mixed.

    Notes
    -----
    Juries and single judges are read in the orders and repeats that every judge has (in any, where none is common),
    so that all are compared on the same; a judge with more of them has another accuracy in the table `accuracy`. A
    member without a verdict or a choice abstains; where the categories of ratings with most votes are several, the
    jury has none; on a case of which no member has a verdict a jury is not scored, and
    its accuracy is that on the others. Judges that copy each other, or juries among
    the judges, count as often as they stand in the table. Nothing is chosen or weighted on the cluster that is scored:
    where all cases are in one, that is null. Weights: Nitzan and Paroush (1982),
    doi:10.2307/2526438. Shapley (1953), doi:10.1515/9781400881970-018; by sampled orders: Castro, Gomez and
    Tejada (2009), doi:10.1016/j.cor.2008.04.004. Validated in `tests/simulation/test_jury.py`: Condorcet's
    accuracies of independent judges, and coverage. `monte_carlo_error` of each member is the spread over seeds in
    `tests/stats/juries/test_jury.py`. Intervals of the majority, of random juries and of what members add
    hold the truth in 93 to 97 of 100 benchmarks. Those of what is chosen or weighted (`weighted`, `dawid_skene`,
    `best_single`, `greedy`, and `crossfit_difference`) are about the very judges and weights that were found, not
    about the choice made anew: with 100 cases they hold it in 91 to 93 of 100, with 1,000 in 93 to 97, but in 91 where
    two choices are equally good.
    """
    check_policy(policy)
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    codes = cluster_codes(cases, cluster)
    judged = np.asarray(panel.judged().any(axis=2))
    together = [tuple(np.flatnonzero(judged[:, i]).tolist()) for i in range(len(panel.dimensions))]
    made: dict[int, list[Rows]] = {}
    for who in dict.fromkeys(filter(None, together)):
        those = [i for i, others in enumerate(together) if others == who]
        part = _part(panel, list(who), those)
        scored = scores_of(part, labels[those], policy, folds(codes, seed), codes, seed, level)
        cost = costs(part, policy)
        for i, whole in enumerate(those):
            made[whole] = dimension_rows(part, i, scored, cost[..., i], codes, resamples=resamples, seed=seed)
    return _frame(
        [{**rows, "dimension": panel.dimensions[i], "policy": policy} for i in sorted(made) for rows in made[i]]
    )


def missed_by_juries(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    dimension: str,
    policy: str = "balanced",
    cluster: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """The cases that the juries of all judges get wrong; parameters are those of `jury`.

    Returns
    -------
    DataFrame
        `kind` of `KINDS`; `n` cases scored, `n_half_right` and `n_wrong` of them, so that n (1 - `accuracy`) of the
        table is n_wrong + n_half_right / 2 where scores are 0, 1/2 and 1; `wrong`, their ids, scored below one half.
    """
    panel = as_panel(verdicts, cases["case_id"], [dimension])
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    codes = cluster_codes(cases, cluster)
    part = _part(panel, np.flatnonzero(np.asarray(panel.judged().any(axis=2))[:, 0]).tolist(), [0])
    fold = folds(codes, seed)
    together = with_juries(part, labels, fold, chosen_on(labels, fold))
    scored = score(together, labels, policy).score[len(part.judges) :, 0]
    ids = cases["case_id"].to_numpy()
    rows = [
        (kind, int(np.isfinite(own).sum()), int((own == 0.5).sum()), int((own < 0.5).sum()), tuple(ids[own < 0.5]))
        for kind, own in zip(KINDS, scored, strict=True)
    ]
    return pd.DataFrame(rows, columns=["kind", "n", "n_half_right", "n_wrong", "wrong"])


def _frame(several: Sequence[Rows]) -> pd.DataFrame:
    """Rows of all kinds below each other; what a kind does not have is null."""
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for rows in several:
        size = len(np.asarray(rows["n"]))
        for name, said in columns.items():
            values = rows.get(name)
            said.extend(values if isinstance(values, list | np.ndarray) else [values] * size)
    types = {name: "str" if name in _TEXT else "Int64" if name in _COUNTS else "float64" for name in COLUMNS}
    return pd.DataFrame({name: pd.Series(said, dtype=object) for name, said in columns.items()}).astype(types)


def _part(panel: Panel, who: Sequence[int], dimensions: Sequence[int]) -> Panel:
    """The judges and dimensions of a jury, and the orders and repeats that all of them have; all, if none is common."""
    choice = panel.choice[np.ix_(np.array(who), np.array(dimensions))]
    common = np.asarray((choice != ABSENT).any(axis=2).all(axis=(0, 1)))
    if common.any():
        choice[..., ~common] = ABSENT
    return replace(
        panel,
        judges=[panel.judges[i] for i in who],
        dimensions=[panel.dimensions[i] for i in dimensions],
        choice=choice,
        p_a=None,
    )
