"""What differences between judges these cases show, how many cases others take, and what the intervals are worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.multiplicity import CORRECTIONS, FAMILIES
from mrb_lib.stats.options import check_choice, typed
from mrb_lib.stats.power import reading
from mrb_lib.stats.power.formulas import MeanDifferences
from mrb_lib.stats.power.rows import (
    Rows,
    Slice,
    compared,
    coverage_rows,
    curve_rows,
    judge_rows,
    needed_rows,
    pair_rows,
    ranked,
    summary_row,
)
from mrb_lib.stats.resampling.resample import cluster_codes, n_clusters
from mrb_lib.stats.subfields import By, groups

PARTS = ("summary", "pair", "judge", "cases_needed", "curve", "coverage")
COLUMNS = [
    "part", "dimension", "subfield", "by", "policy", "judge_1", "judge_2", "n", "n_excluded", "n_unassigned",
    "n_clusters", "n_pairs", "quantity", "difference", "standard_error", "minimum_detectable_difference", "discordance",
    "test", "alpha", "correction", "family", "family_scope", "alpha_adjusted", "power", "worst_judge_1",
    "worst_judge_2", "worst_standard_error", "worst_minimum_detectable_difference", "worst_power", "n_needed",
    "worst_n_needed", "estimate", "nominal", "coverage", "monte_carlo_error", "too_low", "too_high", "n_studies",
    "n_resamples", "data_kind", "reason",
]  # fmt: skip
MORE = ("worst_standard_error", "too_low", "too_high")


@register_table(
    "power",
    question="what difference can these cases show, and how many would another take",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    meanings=reading.MEANINGS,
    headline=("minimum_detectable_difference", "power", "n_needed"),
    sentence=reading.sentence,
    why_no_ratings="",
)
def power(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    correction: str = "holm",
    family: str = "dimension",
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
    correction, family : of the tests of pairs, as in `mrb_lib.stats.significance.significance`
    by : a cases column to break down by, or `model_pair`; or several, see `mrb_lib.stats.subfields.groups`
    dimensions : the dimensions to report, in order; None reports all that were judged
    cluster : the cases column to resample by, see `mrb_lib.stats.clusters.resampling_unit`
    resamples : 0 leaves out the simulated studies; any other number has them make intervals from 1,001 resamples
    seed : of the simulated studies

    Returns
    -------
    DataFrame
        `part` says of what kind a row is; columns that do not belong to it are null.
        `quantity` is what a row is about, `difference` of two judges' mean scores or `accuracy` of one. `test` is the
        one that the table `significance` makes of such a pair, "permutation", "permutation_cluster" or
        "mcnemar_exact"; `alpha` (.05) the level of the `family` of so many tests (`family_scope`) that `correction`
        keeps, and `alpha_adjusted` what the p of one of them must not exceed in the worst case, that no other is
        rejected: alpha over the number of tests for Holm's, Hochberg's, Bonferroni's and Benjamini and Hochberg's.
        `summary`, one row a dimension, overall (`subfield` null) and by subfield: of the `n_pairs` pairs of judges,
        `judge_1` and `judge_2` are the one with the median standard error (the lower of two middle ones), and
        `worst_judge_1`, `worst_judge_2` the one with the largest. For the median pair: `n` cases scored for both,
        `n_excluded` that are not, in `n_clusters`; `difference` of accuracy as it was found, its cluster-robust
        `standard_error`, `minimum_detectable_difference`: the true difference that `test` finds at `alpha_adjusted`
        with `power` .8 at this very variance; `discordance`: share of the cases scored differently. Of the
        worst pair `worst_standard_error` and `worst_minimum_detectable_difference`.
        A difference cannot exceed the discordance: where the detectable one does, the true one is larger still.
        `pair`, one row a dimension and pair of judges, overall: the same of each.
        `judge`, one row a dimension and judge (`judge_2` null), overall: the same of an accuracy against a fixed value,
        by a t test at alpha, since it is in no family.
        `cases_needed`, one row a dimension and stated `difference`: `n_needed` cases for it by the median pair's
        variance, `worst_n_needed` by the worst pair's, with the same test and level; null where the
        difference exceeds the discordance of the pair.
        `curve`, one row a dimension and `difference` from 0 to .15: `power` and `worst_power` with the cases at hand,
        null likewise.
        `coverage`, one row a dimension, `quantity` (`accuracy` of the judges of median and of best accuracy,
        `difference` of the median pair) and, with `by`, subfield (without the best judge): in `n_studies` SIMULATED
        studies (`data_kind`), the `coverage` of the `nominal` 95% interval that the tables `accuracy` and
        `significance` recommend (percentiles, where they do, from `n_resamples` resamples), with `monte_carlo_error`
        its standard error; `too_low` and `too_high` are the shares of intervals that lie below and above `estimate`,
        the truth they are to cover.
        `reason` says why something is null.

    Raises
    ------
    InputError
        An option is unknown, `by` or `cluster` cannot be used, a verdict is about an unknown case, or verdicts of
        several probes are mixed.

    Notes
    -----
    The power of flips of signs is that of a t test of the clusters' sums at the level that so many clusters attain
    (`mrb_lib.stats.power.formulas.found`); that of McNemar's exact test is exact
    (`mrb_lib.stats.power.mcnemar.exact_power`). Both take the variance, or the share of cases that one judge has right,
    as it was found, which is itself uncertain where clusters are few. `tests/simulation/test_power.py` makes the tests
    themselves at the detectable difference, and finds it in .77 to .83 of simulated studies; published examples:
    `tests/published/test_power.py`. A study of `coverage` is simulated by drawing as many
    clusters as there are, with replacement, from those at hand, whose values are then the truth: it shows what the
    interval is worth for data like these, not that these data are representative.
    """
    check_choice("correction", correction, CORRECTIONS)
    check_choice("family", family, FAMILIES)
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    scores = score(panel, encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories), policy)
    codes, judged = cluster_codes(cases, cluster), panel.takes_part()
    subsets = groups(cases, by)
    pieces: list[list[tuple[Slice, MeanDifferences]]] = [[] for _ in subsets]
    for i, dimension in enumerate(panel.dimensions):
        who = np.flatnonzero(judged[:, i])
        names, (first, second) = [panel.judges[j] for j in who], np.triu_indices(len(who), k=1)
        for subset, those in zip(subsets, pieces, strict=True):
            if names:
                value = scores.score[:, i][np.ix_(who, subset.cases)]
                own = codes[subset.cases]
                piece = Slice(dimension, subset, names, value, own, policy, first, second, correction, family)
                those.append((piece, compared(piece)))
    pieces = _with_families(pieces, family)
    made: dict[str, list[Rows]] = {name: [] for name in PARTS}
    for of_dimension in zip(*pieces, strict=True):
        for piece, result in of_dimension:
            _add(made, piece, result)
    if resamples and pieces[0]:
        covered = [coverage_rows(those, n_clusters(codes), seed) for those in pieces]
        made["coverage"] = [rows for of_dimension in zip(*covered, strict=True) for rows in of_dimension]
    frames = [pd.DataFrame(columns=COLUMNS), *(_frame(name, several) for name, several in made.items() if several)]
    whole = pd.concat(frames, ignore_index=True)
    return typed(whole, COLUMNS, counts="Int64", n_needed="float64", family_scope="str")


def _with_families(
    pieces: list[list[tuple[Slice, MeanDifferences]]], family: str
) -> list[list[tuple[Slice, MeanDifferences]]]:
    """The slices with the number of tests that their pairs are corrected over, as in the table `significance`."""
    sizes = [[int((result.clusters >= 2).sum()) for _, result in those] for those in pieces]
    whole = sum(map(sum, sizes))
    return [
        [
            (piece._replace(family=whole if family == "all" else size), result)
            for (piece, result), size in zip(those, own, strict=True)
        ]
        for those, own in zip(pieces, sizes, strict=True)
    ]


def _add(made: dict[str, list[Rows]], piece: Slice, result: MeanDifferences) -> None:
    made["summary"].append(summary_row(piece, result))
    if piece.subset.subfield is not None:
        return
    first, second = ([piece.judges[i] for i in side] for side in (piece.first, piece.second))
    made["pair"].append(pair_rows(piece, result, first, second))
    made["judge"].append(judge_rows(piece))
    if len(ranked(result)):
        made["cases_needed"].append(needed_rows(piece, result))
        made["curve"].append(curve_rows(piece, result))


def _frame(name: str, several: list[Rows]) -> pd.DataFrame:
    """Rows of one kind, every value as an object, so that kinds with other columns can be put below each other."""
    frames = [pd.DataFrame(dict(rows)).astype(object) for rows in several]
    return pd.concat(frames, ignore_index=True).assign(part=name)
