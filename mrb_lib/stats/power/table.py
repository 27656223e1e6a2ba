"""What differences between judges these cases show, how many cases others take, and what the intervals are worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.core.options import typed
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.subfields import By, groups
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.power import reading
from mrb_lib.stats.power.formulas import MeanDifferences
from mrb_lib.stats.power.rows import (
    Rows,
    Slice,
    alone,
    compared,
    coverage_rows,
    curve_rows,
    detectable_rows,
    needed_rows,
    pair_rows,
    ranked,
    summary_row,
)
from mrb_lib.stats.resampling.resample import cluster_codes, n_clusters

PARTS = ("summary", "pair", "judge", "cases_needed", "curve", "coverage")
COLUMNS = [
    "part", "dimension", "subfield", "by", "policy", "judge_1", "judge_2", "n", "n_excluded", "n_unassigned",
    "n_clusters", "n_pairs", "difference", "standard_error", "minimum_detectable_difference", "discordance", "alpha",
    "power", "worst_judge_1", "worst_judge_2", "worst_standard_error", "worst_minimum_detectable_difference",
    "worst_power", "n_needed", "worst_n_needed", "mcnemar_minimum_detectable_difference", "mcnemar_power",
    "mcnemar_n_needed", "quantity", "estimate", "nominal", "coverage", "monte_carlo_error", "too_low", "too_high",
    "n_studies", "n_resamples", "data_kind", "reason",
]  # fmt: skip
MORE = (
    "worst_standard_error", "mcnemar_minimum_detectable_difference", "mcnemar_power", "mcnemar_n_needed", "too_low",
    "too_high",
)  # fmt: skip


@register_table(
    "power",
    question="what difference can these cases show, and how many would another take",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    meanings=reading.MEANINGS,
    headline=("minimum_detectable_difference", "power", "n_needed"),
    sentence=reading.sentence,
)
def power(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """The smallest differences between judges that these cases show, and what it takes to show others.

    Parameters
    ----------
    verdicts : the verdicts table, of one probe, or its panel
    gold : `case_id, dimension, choice`; a case without a row, or with a null, has no label
    cases : the cases table
    policy : a scoring policy, see `mrb_lib.stats.core.scoring.score`
    by : a cases column to break down by, or `model_pair`; or several, see `mrb_lib.stats.core.subfields.groups`
    dimensions : the dimensions to report, in order; None reports all that were judged
    cluster : the cases column to resample by, see `mrb_lib.stats.resampling.clusters.resampling_unit`
    resamples : 0 leaves out the simulated studies; any other number has them make intervals from 1,001 resamples
    seed : of the simulated studies

    Returns
    -------
    DataFrame
        `part` says of what kind a row is; columns that do not belong to it are null.
        `summary`, one row a dimension, overall (`subfield` null) and by subfield: of the `n_pairs` pairs of judges,
        `judge_1` and `judge_2` are the one with the median standard error (the lower of two middle ones), and
        `worst_judge_1`, `worst_judge_2` the one with the largest. For the median pair: `n` cases scored for both,
        `n_excluded` that are not, in `n_clusters`; `difference` of accuracy as it was found, its cluster-robust
        `standard_error`, `minimum_detectable_difference`: the true difference that a two-sided test at `alpha` .05
        finds with `power` .8 at this very variance; `discordance`: share of the cases scored differently. Of the
        worst pair `worst_standard_error` and `worst_minimum_detectable_difference`. Under a policy of right or wrong,
        where clusters are cases, `mcnemar_minimum_detectable_difference` is the same by McNemar's
        test at this discordance and `mcnemar_power` the power of that test at the former difference; else null.
        A difference cannot exceed the discordance: where the detectable one does, the true one is larger still.
        `pair`, one row a dimension and pair of judges, overall: the same of each.
        `judge`, one row a dimension and judge (`judge_2` null), overall: the same of an accuracy against a fixed value.
        `cases_needed`, one row a dimension and stated `difference`: `n_needed` cases for it by the median pair's
        variance, `worst_n_needed` by the worst pair's, `mcnemar_n_needed` by Connor's formula; null where the
        difference exceeds the discordance of the pair.
        `curve`, one row a dimension and `difference` from 0 to .15: `power` and `worst_power` with the cases at hand,
        null likewise.
        `coverage`, one row a dimension, `quantity` (`accuracy` of the judges of median and of best accuracy,
        `difference` of the median pair) and, with `by`, subfield (without the best judge): in `n_studies` SIMULATED
        studies (`data_kind`), the `coverage` of the `nominal` 95% percentile interval from `n_resamples` resamples,
        with `monte_carlo_error` its standard error; `too_low` and `too_high` are the shares of intervals that lie
        below and above `estimate`, the truth they are to cover.
        `reason` says why something is null.

    Raises
    ------
    InputError
        An option is unknown, `by` or `cluster` cannot be used, a verdict is about an unknown case, or verdicts of
        several probes are mixed.

    Notes
    -----
    The detectable difference is a multiple of the standard error, the sum of two quantiles of t with a degree of
    freedom less than clusters (Bloom 1995, doi:10.1177/0193841X9501900504). A study is simulated by drawing as many
    clusters as there are, with replacement, from those at hand, whose values are then the truth: it shows what the
    interval is worth for data like these, not that these data are representative. McNemar: Connor (1987),
    doi:10.2307/2531961; published examples in `tests/published/test_power.py`. Power at the detectable
    difference: `tests/simulation/test_power.py`.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    scores = score(panel, encode_gold(gold, cases["case_id"], panel.dimensions), policy)
    codes, judged = cluster_codes(cases, cluster), np.asarray(scores.judged.any(axis=2))
    made: dict[str, list[Rows]] = {name: [] for name in PARTS}
    subsets = groups(cases, by)
    pieces: list[list[tuple[Slice, MeanDifferences]]] = [[] for _ in subsets]
    for i, dimension in enumerate(panel.dimensions):
        who = np.flatnonzero(judged[:, i])
        names, (first, second) = [panel.judges[j] for j in who], np.triu_indices(len(who), k=1)
        for subset, those in zip(subsets, pieces, strict=True):
            if names:
                value = scores.score[:, i][np.ix_(who, subset.cases)]
                piece = Slice(dimension, subset, names, value, codes[subset.cases], policy, first, second)
                those.append((piece, compared(piece)))
                _add(made, *those[-1])
    if resamples and pieces[0]:
        result = [coverage_rows(those, n_clusters(codes), seed) for those in pieces]
        made["coverage"] = [rows for of_dimension in zip(*result, strict=True) for rows in of_dimension]
    frames = [pd.DataFrame(columns=COLUMNS), *(_frame(name, several) for name, several in made.items() if several)]
    return typed(pd.concat(frames, ignore_index=True), COLUMNS, counts="Int64", n_needed="float64")


def _add(made: dict[str, list[Rows]], piece: Slice, result: MeanDifferences) -> None:
    made["summary"].append(summary_row(piece, result))
    if piece.subset.subfield is not None:
        return
    first, second = ([piece.judges[i] for i in side] for side in (piece.first, piece.second))
    made["pair"].append(pair_rows(piece, result, first, second))
    made["judge"].append(detectable_rows(piece, alone(piece), piece.judges, [None] * len(piece.judges)))
    if len(ranked(result)):
        made["cases_needed"].append(needed_rows(piece, result))
        made["curve"].append(curve_rows(piece, result))


def _frame(name: str, several: list[Rows]) -> pd.DataFrame:
    """Rows of one kind, every value as an object, so that kinds with other columns can be put below each other."""
    frames = [pd.DataFrame(dict(rows)).astype(object) for rows in several]
    return pd.concat(frames, ignore_index=True).assign(part=name)
