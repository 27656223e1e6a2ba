"""Is a judge weak in a subfield, beyond the subfield being hard (differential item functioning)?"""

from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.clusters import MOST_OF_ONE
from mrb_lib.stats.columns import DOMINATED, Column, Option, shared, table
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.estimation import FloatArray, average
from mrb_lib.stats.methods.mantel_haenszel import ETS_PER_LOG_ODDS, discriminations, ets_class, ets_tail, match
from mrb_lib.stats.multiplicity import adjust_rows
from mrb_lib.stats.phrases import main_dimension, opening
from mrb_lib.stats.subfields import columns_of, subfield_values

DEFAULT_BY: Final = "department"
NO_SUBFIELDS: Final = "no subfields: the cases have no department; name a column with by"
NO_OTHERS: Final = "matching by difficulty needs two judges or more"
NO_ODDS: Final = "no finite odds ratio: at equal difficulty all scores of the judge are alike, on one side at least"
TOO_FEW: Final = "there are too few clusters inside or outside the subfield"
UNWEIGHTED: Final = "matched by the unweighted number of judges that are right: discriminations cannot be estimated"
CROSSED: Final = "two columns of clusters cross"
UNCLEAR: Final = "half of the judges or more stand out here, so that which of them do cannot be told: matched by all"


def weakest(rows: pd.DataFrame) -> str:
    """Say in which subfields judges are significantly weaker than the difficulty of the cases explains."""
    main, where = rows[rows["dimension"].eq(main_dimension(rows))], opening(main_dimension(rows))
    known = main.dropna(subset=["excess", "p_adjusted"])
    weak = known[(known["p_adjusted"] <= ALPHA) & (known["excess"] < 0)]
    said = f"{where}, in {len(weak):,} of {len(known):,} pairs of judge and subfield the judge is significantly weaker"
    if weak.empty:
        return f"{said} than the cases' difficulty explains; cannot tell."
    worst = weak.nsmallest(1, "excess").iloc[0]
    return f"{said} than the cases' difficulty explains, most of all {worst['judge']} in {worst['subfield']}."


@table(
    "dif",
    question="is a judge weak in a subfield, beyond the subfield being hard",
    columns=[
        shared("judge", "dimension", "subfields", "policy", "n"),
        Column("n_inside", "cases of n inside the subfield", "cases"),
        shared("n_excluded"),
        Column("n_matching", "judges that cases are matched by", "count"),
        shared("clusters"),
        Column("accuracy_inside", "mean score inside the subfield", "share 0-1"),
        Column("accuracy_outside", "mean score outside", "share 0-1"),
        Column("excess", "accuracy inside less that of equally hard cases", "difference", "Dorans & Kulick 1986"),
        Column(
            "mh_odds_ratio",
            "odds of being right, inside over outside",
            "odds ratio",
            "Mantel & Haenszel 1959",
            ("low", "high"),
        ),
        shared("p_value", "p_adjusted", "correction", "family"),
        Column("ets_delta", "2.35 times the log odds ratio; negative: weaker inside", source="Holland & Thayer 1988"),
        Column("ets_class", "A negligible, B moderate, C large", "text", "Zieky 1993"),
    ],
    sentence=weakest,
    headline=("accuracy_inside", "excess", "ets_delta", "ets_class"),
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
    judges are right, each counted by its discrimination (`stats.methods.mantel_haenszel.discriminations`): of
    judges counted alike a coin looks strong where cases are hard (a third of 1,000 cases harder by 1 in log odds: 80%
    of its tests reject; weighted, 5%). The number includes the judge in question: leaving it out finds differences
    where subfields differ in difficulty (Holland and Thayer 1988, in Wainer and Braun, Test Validity). Judges in class
    B or C leave the matching of the others (`stats.methods.mantel_haenszel.match`): with one of eight weak by 1.2
    in log odds in 1,000 cases, 5% of the others have p below .05; with three, 8%. With fewer than about five judges a
    difference is only one between them. Scores between 0 and 1 are matched to the nearest half.

    `excess` is the standardised difference of Dorans and Kulick over the levels of difficulty with cases of both sides;
    the test is Mantel and Haenszel's without continuity correction, Wald's over clusters where cases come in them. Two
    subfields are one comparison and count once among the tests. p is corrected by Benjamini and Hochberg unless asked
    otherwise. Published values: `tests/published/test_mantel_haenszel.py`; size and planted differences:
    `tests/simulation/test_dif.py`.
    """
    cells, columns = analysis.verdicts.cells, columns_of(analysis.by)
    if not columns and analysis.cases.reindex(columns=[DEFAULT_BY])[DEFAULT_BY].isna().all():
        return pd.DataFrame([{"n": 0, "reason": NO_SUBFIELDS}])
    if not every_dimension:
        cells = cells[cells["dimension"] == main_dimension(cells)]
    if cells.empty:
        return pd.DataFrame(columns=["judge", "n"])
    is_scored = np.asarray(np.isfinite(analysis.scores.score[:, cells.index]).any(axis=0))
    if cells["judge"][is_scored].nunique() < 2:
        return pd.DataFrame([{"n": 0, "reason": NO_OTHERS}])
    frames = []
    for column in columns or [DEFAULT_BY]:
        subfields = subfield_values(analysis.cases, column)
        for dimension, own in cells.groupby("dimension", sort=False):
            rows = _rows(analysis, analysis.scores.score[:, own.index].T, subfields, own["judge"].to_numpy())
            frames.append(rows.assign(by=column, dimension=dimension))
    rows = pd.concat(frames, ignore_index=True)
    asked, adjusted = replace(analysis, correction=analysis.correction or "bh"), []
    for name in ("p_value", "p_small"):
        tests = adjust_rows(rows.assign(p_value=rows[name].mask(rows["mirrors"])), asked, ("by", "dimension"))
        adjusted.append(tests["p_adjusted"].mask(rows["mirrors"], tests["p_adjusted"].shift()).to_numpy())
    rows["ets_class"] = ets_class(rows["ets_delta"].to_numpy(), *adjusted)
    return rows.assign(p_adjusted=adjusted[0], family=tests["family"], correction=asked.correction)


def _rows(analysis: Analysis, value: FloatArray, subfields: pd.Series, judges: np.ndarray) -> pd.DataFrame:
    """Return a row per judge and subfield, from scores of shape (J, N) and the subfield of each case.

    `mirrors` is true of the second of two subfields, which repeats the comparison of the first, the row before.
    """
    sampling, weights = analysis.sampling, discriminations(value)
    clusters = None if sampling.is_independent else sampling.codes
    alike = np.ones(len(value)) if weights is None else weights
    names, has_subfield, seen = subfields.dropna().unique(), subfields.notna().to_numpy(), np.isfinite(value)
    sizes = sampling.sums((seen & has_subfield).T)
    dominated = sizes.max(axis=0, initial=0.0) > MOST_OF_ONE * sizes.sum(axis=0)
    no_test = (clusters is not None) & (dominated | (sampling.crossed is not None))
    frames = []
    for name in sorted(names):
        inside = (subfields == name).to_numpy()
        made = match(value, np.select([inside, has_subfield], [0, 1], -1), alike, clusters)
        made.loc[no_test, ["se", "p_value"]] = np.nan
        log_odds, se, df = (made[column].to_numpy(np.float64) for column in ("log_odds", "se", "df"))
        half = stdtrit(df, 0.975) * se
        said = np.select([np.isnan(log_odds), made["unclear"]], [NO_ODDS, UNCLEAR], "")
        rows = made.assign(
            judge=judges,
            subfield=name,
            mirrors=len(names) == 2 and name == max(names),
            n=(seen & has_subfield).sum(axis=1),
            n_inside=(seen & inside).sum(axis=1),
            accuracy_inside=average(value[:, inside], axis=1),
            accuracy_outside=average(value[:, has_subfield & ~inside], axis=1),
            mh_odds_ratio=np.exp(log_odds),
            low=np.exp(log_odds - half),
            high=np.exp(log_odds + half),
            ets_delta=ETS_PER_LOG_ODDS * log_odds,
            p_small=ets_tail(log_odds, se, df, 1.0),
            reason=["; ".join(filter(None, [text, UNWEIGHTED if weights is None else ""])) for text in said],
        )
        frames.append(rows)
    out = pd.concat(frames).sort_index(kind="stable")
    lacks = np.select([dominated & no_test, no_test], [DOMINATED, CROSSED], TOO_FEW)
    more = {"n_clusters": (sizes > 0).sum(axis=0)[out.index], "lacks": lacks[out.index]}
    return out.assign(n_unassigned=int((~has_subfield).sum()), n_excluded=len(subfields) - out["n"], **more)
