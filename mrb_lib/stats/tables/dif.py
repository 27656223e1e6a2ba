"""Is a judge weak in a subfield, beyond the subfield being hard (differential item functioning)?"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.clusters import MOST_OF_ONE
from mrb_lib.stats.columns import DOMINATED, Column, Option, shared, table
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.difficulty.mantel_haenszel import FEWEST_CLUSTERS, ets_class, ets_delta
from mrb_lib.stats.difficulty.matching import Matched, discriminations, match
from mrb_lib.stats.estimation import FloatArray, IntArray, divide
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.phrases import WHOLE, main_dimension, opening
from mrb_lib.stats.subfields import columns_of, subfield_values

DEFAULT_BY: Final = "department"
NO_SUBFIELDS: Final = "no subfields: the cases have no department; name a column with by"
NO_CASES: Final = "no case of the subfield is scored"
NO_OTHERS: Final = "matching by difficulty needs two judges or more"
NOTHING_TO_COMPARE: Final = (
    "within every level of difficulty the judge is always right, always wrong, or the cases are all on one side"
)
NO_VARIANCE: Final = (
    "no interval and no test: so few clusters estimate a variance of the odds ratio that is not positive"
)
UNWEIGHTED: Final = (
    "matched by the unweighted number of judges that are right: their discriminations cannot be estimated"
)
NO_ODDS: Final = "no finite odds ratio: matched cases are right or wrong on one side only"
FEW_CLUSTERS: Final = f"no test: fewer than {FEWEST_CLUSTERS} clusters inside or outside the subfield"
CROSSED: Final = "no test: two columns of clusters cross"
UNCLEAR: Final = "half of the judges or more stand out here, so that which of them do cannot be told: matched by all"
_TESTED = ("low", "high", "p_value", "p_small")


def weakest(rows: pd.DataFrame) -> str:
    """Say in which subfields judges are significantly weaker than the difficulty of the cases explains."""
    main = rows[rows["dimension"].eq(main_dimension(rows))]
    where, known = opening(main_dimension(rows)), main.dropna(subset=["excess", "p_adjusted"])
    if known.empty:
        return f"{where}, cannot tell whether judges are weak in a subfield: none can be compared at equal difficulty."
    weak = known[(known["p_adjusted"] <= ALPHA) & (known["excess"] < 0)]
    total = f"{len(known):,} combinations of judge and subfield"
    if weak.empty:
        return f"{where}, no judge is significantly weaker in a subfield than its difficulty explains ({total})."
    worst = weak.nsmallest(1, "excess").iloc[0]
    verb, most = ("is", "") if len(weak) == 1 else ("are", "most of all ")
    return (
        f"{where}, {len(weak):,} of {total} {verb} significantly weaker than the difficulty of the cases explains, "
        f"{most}{worst['judge']} in {worst['subfield']}: an accuracy of {worst['accuracy_inside']:.0%}, where "
        f"{worst['expected']:.0%} is expected."
    )


@table(
    "dif",
    question="is a judge weak in a subfield, beyond the subfield being hard",
    columns=[
        shared("judge", "dimension", "subfields", "policy", "n"),
        Column("n_inside", "cases of n inside the subfield", "cases"),
        shared("n_excluded"),
        Column("n_strata", "levels of difficulty with cases inside and outside", "count"),
        Column("n_matching", "judges that cases are matched by", "count"),
        shared("clusters"),
        Column("accuracy_inside", "mean score inside the subfield", "share 0-1"),
        Column("accuracy_outside", "mean score outside", "share 0-1"),
        Column("expected", "mean score inside, if as outside on equally hard cases", "share 0-1"),
        Column("excess", "accuracy inside minus expected, at matched difficulty", "difference", "Dorans & Kulick 1986"),
        Column(
            "mh_odds_ratio",
            "odds of being right, inside over outside, at equal difficulty",
            "odds ratio",
            "Mantel & Haenszel 1959",
        ),
        Column("low", "lower end of the 95% interval of mh_odds_ratio", "odds ratio"),
        Column("high", "upper end of the 95% interval of mh_odds_ratio", "odds ratio"),
        shared("p_value", "p_adjusted", "correction", "family"),
        Column("ets_delta", "2.35 times the log odds ratio; negative: weaker inside", source="Holland & Thayer 1988"),
        Column("ets_class", "A negligible, B moderate, C large", "text", "Zieky 1993"),
    ],
    sentence=weakest,
    headline=("accuracy_inside", "expected", "excess", "ets_class"),
    uses=("policy", "by", "dimension", "gold", "cluster", "correction", "family"),
    why_no_ratings="",
    options={"every_dimension": Option("all dimensions (1), or the main one alone (0)", is_switch=True)},
)
def dif(analysis: Analysis, *, every_dimension: float = 0) -> pd.DataFrame:
    """Compare each judge inside and outside each subfield, on cases that are equally hard for all judges together.

    Of several dimensions only the main one ("overall", or else the first) is compared, unless `every_dimension` is 1.

    Notes
    -----
    A judge is what educational testing calls an item, and a case what it calls a person. Cases are matched by how many
    judges are right, each counted by its discrimination (`mrb_lib.stats.difficulty.matching.discriminations`): of
    judges counted alike a coin looks strong where cases are hard (a third of 1,000 cases harder by 1 in log odds: 80%
    of its tests reject; weighted, 5%). The number includes the judge in question: leaving it out finds differences
    where subfields differ in difficulty (Holland and Thayer 1988, in Wainer and Braun, Test Validity). Judges in class
    B or C leave the matching of the others (`mrb_lib.stats.difficulty.matching.match`): with one of eight weak by 1.2
    in log odds in 1,000 cases, 5% of the others have p below .05; with three, 8%. With fewer than about five judges a
    difference is only one between them. Scores between 0 and 1 are matched to the nearest half.

    `expected` and `excess` are the standardised difference of Dorans and Kulick over the levels of difficulty with
    cases of both sides; the test is Mantel and Haenszel's without continuity correction, Wald's over clusters where
    cases come in them. Two subfields are one comparison and count once among the tests. p is corrected by Benjamini and
    Hochberg unless asked otherwise. Published values: `tests/published/test_mantel_haenszel.py`; size and planted
    differences: `tests/simulation/test_dif.py`.
    """
    verdicts, cases = analysis.verdicts, analysis.cases
    columns = columns_of(analysis.by)
    cells = verdicts.cells[["judge", "dimension"]]
    dimensions = range(len(verdicts.dimensions))
    if not every_dimension and len(verdicts.dimensions) > 1:
        main = verdicts.dimensions.index(WHOLE) if WHOLE in verdicts.dimensions else 0
        dimensions = range(main, main + 1)
    if not columns and not (DEFAULT_BY in cases and cases[DEFAULT_BY].notna().any()):
        none = cells[np.isin(verdicts.dimension, list(dimensions))]
        return none.assign(n=0, n_excluded=len(cases), reason=NO_SUBFIELDS)
    frames = []
    for column in columns or [DEFAULT_BY]:
        codes, names = pd.factorize(subfield_values(cases, column), sort=True)
        for d in dimensions:
            own = verdicts.dimension == d
            value = analysis.scores.score[:, own].T
            if own.any():
                made = _rows(analysis, value, codes.astype(np.int64), [str(name) for name in names])
                made = made.assign(judge=cells["judge"].to_numpy()[own][made["judge"]], by=column)
                frames.append(made.assign(dimension=verdicts.dimensions[d]))
    if not frames:
        return pd.DataFrame(columns=["judge", "n"])
    rows = pd.concat(frames, ignore_index=True)
    within: IntArray = np.asarray(rows.groupby(["by", "dimension"], sort=False).ngroup(), dtype=np.int64)
    families = np.zeros_like(within) if analysis.family == "all" else within
    correction = analysis.correction or "bh"
    adjusted = {}
    for name in ("p_value", "p_small"):
        p = rows[name].to_numpy(np.float64)
        adjusted[name], size = adjust_families(np.where(rows["counts"], p, np.nan), families, correction)
        again = np.flatnonzero(~rows["counts"].to_numpy(np.bool_))
        adjusted[name][again] = adjusted[name][again - 1]
        rows["family"] = size
    classes = ets_class(rows["ets_delta"].to_numpy(np.float64), adjusted["p_value"], adjusted["p_small"])
    return rows.assign(p_adjusted=adjusted["p_value"], ets_class=classes, correction=correction)


def _rows(analysis: Analysis, value: FloatArray, codes: IntArray, names: list[str]) -> pd.DataFrame:
    """Return a row per judge (by its position) and subfield, from scores of shape (J, N) and the subfield of each case.

    `counts` is False for the second of two subfields, which repeats the comparison of the first.
    """
    sampling, weights = analysis.sampling, discriminations(value)
    clusters = None if sampling.is_independent else sampling.codes
    alike = np.ones(len(value)) if weights is None else weights
    used = np.isfinite(value) & (codes >= 0)
    sizes = sampling.sums(used.T)
    known = np.isfinite(value).any(axis=1).sum() >= 2
    dominated = (sizes.max(axis=0, initial=0.0) > MOST_OF_ONE * used.sum(axis=1)) & (clusters is not None)
    frames = []
    for s, name in enumerate(names):
        matched = match(value, np.where(codes < 0, -1, (codes != s).astype(np.int64)), alike, clusters)
        made = pd.DataFrame(_columns(matched)).assign(judge=np.arange(len(value)), subfield=name)
        if sampling.crossed is not None:
            made.loc[:, list(_TESTED)] = np.nan
        made.loc[dominated, list(_TESTED)] = np.nan
        if not known:
            made.loc[:, ["expected", "excess", "mh_odds_ratio", "ets_delta", *_TESTED]] = np.nan
        flaws = [UNWEIGHTED if weights is None else ""]
        made["reason"] = [
            _reason(row, known, matched.unclear, is_dominated, sampling.crossed is not None, flaws)
            for (_, row), is_dominated in zip(made.iterrows(), dominated, strict=True)
        ]
        frames.append(made.assign(n_clusters=(sizes > 0).sum(axis=0), counts=len(names) != 2 or s == 0))
    rows = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["judge", "n", "subfield"])
    rows["n_excluded"] = len(codes) - rows["n"]
    return rows.sort_values("judge", kind="stable").assign(n_unassigned=int((codes < 0).sum()))


def _columns(matched: Matched) -> dict[str, Any]:
    n, sums, _ = matched.groups
    both = (n > 0).all(axis=1)
    weight, rates = np.where(both, n[:, 0], 0.0), np.nan_to_num(divide(sums, n))
    observed, expected = (divide((weight * rates[:, i]).sum(axis=1), weight.sum(axis=1)) for i in (0, 1))
    test, ets = matched.test, ets_delta(matched.test.odds_ratio, matched.test.log_se, matched.test.df)
    total, accuracy = n.sum(axis=2), divide(sums.sum(axis=2), n.sum(axis=2))
    return {
        "n": total.sum(axis=1).astype(np.int64),
        "n_inside": total[:, 0].astype(np.int64),
        "n_strata": both.sum(axis=1),
        "n_matching": matched.anchors.sum() + ~matched.anchors,
        "accuracy_inside": accuracy[:, 0],
        "accuracy_outside": accuracy[:, 1],
        "expected": expected,
        "excess": observed - expected,
        "mh_odds_ratio": test.odds_ratio,
        "low": test.low,
        "high": test.high,
        "p_value": test.p_value,
        "p_small": ets.p_small,
        "ets_delta": ets.delta,
        "df": test.df,
    }


def _reason(row: pd.Series, known: bool, unclear: bool, dominated: bool, crossed: bool, alike: list[str]) -> str:
    if not known:
        return NO_OTHERS
    if row["n_inside"] == 0:
        return NO_CASES
    if np.isnan(row["df"]):
        said = [FEW_CLUSTERS]
    elif np.isnan(row["p_value"]) and np.isnan(row["mh_odds_ratio"]):
        said = [NOTHING_TO_COMPARE]
    else:
        untested = DOMINATED if dominated else CROSSED if crossed else NO_VARIANCE
        said = [untested if np.isnan(row["p_value"]) else "", UNCLEAR if unclear else ""]
        said.append(NO_ODDS if np.isnan(row["mh_odds_ratio"]) else "")
    return "; ".join(filter(None, [*said, *alike]))
