"""What differences between judges can these cases show, and how many cases would others take?"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, shared, table
from mrb_lib.stats.contrasts import BY_T, named_tests, pairs_of_cells
from mrb_lib.stats.estimation import mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.multiplicity import single_level
from mrb_lib.stats.phrases import main_dimension, main_rows, opening
from mrb_lib.stats.power import ALPHA, POWER, Pairs, cases_needed, detectable, power_at

SUMMARY, PAIR, JUDGE, CASES, CURVE = "summary", "pair", "judge", "cases_needed", "curve"
STATED = (0.01, 0.02, 0.03, 0.05, 0.10)
OF_CURVE = tuple(round(0.005 * i, 3) for i in range(31))
ONE_JUDGE = "a comparison takes two judges"
FEW_CLUSTERS = "fewer than two clusters of cases are scored for both"
NEVER_DIFFER = "the difference is the same on every case (or in every cluster), so that its variance is unknown"
NEVER_FOUND = "no difference is known to be found: clusters, or cases scored differently, are too few for the level"
TOO_LARGE = "the smallest difference exceeds the share of cases scored differently: at this variance none is as large"
IMPOSSIBLE = "the judges of the {} pair differ on too few cases for this difference"
_NO_SPREAD, _ROUNDING = 1e-9, 1e-12
_GROUP = ("dimension", "by", "subfield")
_TEST = ("test", "correction", "family", "family_scope", "alpha_adjusted", "power")
_WHOSE = (*_GROUP, "n_unassigned", *_TEST, "judge_1", "judge_2", "n", "n_excluded", "n_clusters", "standard_error")


def smallest(rows: pd.DataFrame) -> str:
    """Say the smallest difference between two judges that the cases can show."""
    where, known = opening(main_dimension(rows)), main_rows(rows, part=SUMMARY)
    known = known.dropna(subset="minimum_detectable_difference")
    if known.empty:
        return f"{where}, cannot tell what difference between two judges these cases can show."
    row = known.iloc[0]
    many = row["correction"] != "none" and row["family"] > 1
    corrected = f", corrected for {int(row['family']):,} tests" if many else ""
    return (
        f"{where}, {int(row['n']):,} cases show a true difference of "
        f"{100 * row['minimum_detectable_difference']:.1f} points between two typical judges with {POWER:.0%} "
        f"probability{corrected}. Smaller differences are missed more often."
    )


@table(
    "power",
    question="what difference can these cases show, and how many would another take",
    columns=[
        Column("part", "summary, pair, judge, cases_needed (for a difference) or curve (of power)", "text"),
        shared("judge_1", "judge_2", "dimension", "subfields", "policy", "n", "n_excluded", "clusters"),
        Column("n_pairs", "pairs of judges that the summary is of", "count"),
        Column("difference", "difference of two accuracies, found or stated", "difference"),
        Column("accuracy", "mean score of the judge, in rows of one judge", "share 0-1"),
        Column(
            "standard_error", "standard error of the estimate, robust to clusters", source="Bell and McCaffrey 2002"
        ),
        Column(
            "minimum_detectable_difference",
            "true difference that the test finds with the power",
            "difference",
            "Hoeffding 1952, doi:10.1214/aoms/1177729436",
        ),
        Column("discordance", "share of the cases that are scored differently", "share 0-1"),
        Column("test", "test that significance makes of the pair; t for one judge", "text"),
        Column("alpha", "level that the correction keeps over the family", "p 0-1"),
        Column("correction", "correction for the number of tests", "text"),
        Column("family", "number of tests corrected together", "count"),
        Column("family_scope", "tests corrected together: those of one dimension and subfield, or all", "text"),
        Column("alpha_adjusted", "what p must not exceed if no other test is significant", "p 0-1", "Holm 1979"),
        Column("power", "probability that the test finds the difference", "share 0-1"),
        Column("n_needed", "cases that find the difference with the power", "cases"),
        Column("worst_judge_1", "first judge of the pair with the largest standard error", "text"),
        Column("worst_judge_2", "second judge of that pair", "text"),
        Column("worst_minimum_detectable_difference", "detectable difference of that pair", "difference"),
        Column("worst_power", "power for that pair", "share 0-1"),
        Column("worst_n_needed", "cases needed for that pair", "cases"),
    ],
    sentence=smallest,
    headline=("minimum_detectable_difference", "power", "n_needed"),
    uses=tuple(name for name in TESTED if name not in ("resamples", "seed")),
    why_no_ratings="",
)
def power(analysis: Analysis) -> pd.DataFrame:
    """Say what the tests of `significance` can find at the variance found, and how many cases would find more.

    A summary is of the pair with the median standard error (the lower of two middle ones), beside the pair with the
    largest. A judge alone is compared with a fixed value, by a t test at alpha.

    Notes
    -----
    The level is that of the worst case, that no other test of the family is significant (`single_level`). The variance
    is itself uncertain where clusters are few. Simulated in tests/simulation/test_power.py.
    """
    cells, scores = analysis.verdicts.cells, analysis.scores.score
    of_dimension = cells.groupby("dimension", sort=False).indices
    pairs = [pair for members in of_dimension.values() for pair in combinations(members, 2)]
    found = _compared(analysis, pairs)
    whole = found[found["subfield"].isna()]
    judges, _ = grid(analysis, cells.rename(columns={"judge": "judge_1"}), {"accuracy": Measure(mean(scores))})
    no_family = {"correction": None, "family_scope": None, "alpha_adjusted": ALPHA, "test": BY_T}
    judges = judges[judges["subfield"].isna()].assign(part=JUDGE, discordance=np.nan, **no_family)
    lone = judges[judges["dimension"].isin([name for name, members in of_dimension.items() if len(members) < 2])]
    summaries = [_summary(own) for _, own in found.groupby(list(_GROUP), dropna=False, sort=False)]
    stated = [row for _, own in whole.groupby("dimension", sort=False) for row in _stated(own)]
    frames = [
        lone[["dimension", "n", "n_excluded"]].assign(part=SUMMARY, n_pairs=0, reason=ONE_JUDGE),
        pd.DataFrame(summaries),
        whole,
        _with_detectable(judges),
        pd.DataFrame(stated),
    ]
    return pd.concat([frame for frame in frames if len(frame)], ignore_index=True).assign(alpha=ALPHA)


def _compared(analysis: Analysis, pairs: list[tuple[int, int]]) -> pd.DataFrame:
    """The rows of every two judges, over all cases and in each subfield."""
    contrast = pairs_of_cells(analysis, analysis.scores.score, pairs)
    gain = contrast.first - contrast.second
    differ = np.where(np.isnan(gain), np.nan, np.abs(gain) > _ROUNDING)
    measures = {"difference": Measure(mean(gain)), "discordance": Measure(mean(differ))}
    rows, made = grid(analysis, contrast.names, measures)
    tests = np.concatenate([named_tests(e, analysis.policy) for e in made["difference"]])
    tested = rows["n_clusters"] >= 2
    within = [rows[name] for name in _GROUP]
    size = tested.groupby(within, dropna=False).transform("sum") if analysis.family == "dimension" else tested.sum()
    correction = analysis.correction or "holm"
    level = [single_level(n, correction, ALPHA) for n in np.broadcast_to(size, len(rows)).tolist()]
    scope = {"correction": correction, "family": size, "family_scope": analysis.family, "alpha_adjusted": level}
    return _with_detectable(rows.assign(part=PAIR, test=tests, **scope))


def _with_detectable(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the smallest difference that each finds, and why there is none."""
    out = rows.reset_index(drop=True).assign(power=POWER, minimum_detectable_difference=np.nan)
    varies = out["standard_error"] > _NO_SPREAD
    out["standard_error"] = out["standard_error"].where(varies)
    least = out["minimum_detectable_difference"]
    for test, level in out.loc[varies, ["test", "alpha_adjusted"]].drop_duplicates().itertuples(index=False):
        own = varies & (out["test"] == test) & (out["alpha_adjusted"] == level)
        least[own] = detectable(_pairs(out[own]), test, level)
    out["minimum_detectable_difference"] = least
    whys = [out["n_clusters"] < 2, ~varies, least.isna(), least > out["discordance"] + _ROUNDING]
    return out.assign(reason=np.select(whys, [FEW_CLUSTERS, NEVER_DIFFER, NEVER_FOUND, TOO_LARGE], ""))


def _pairs(rows: pd.DataFrame) -> Pairs:
    clusters = rows["n_clusters"].where(rows["test"] != BY_T, rows["df"] + 1)
    columns = rows["n"], clusters, rows["standard_error"], rows["discordance"]
    return Pairs(*(each.to_numpy(np.float64) for each in columns))


def _typical(own: pd.DataFrame) -> pd.DataFrame:
    """The pair with the median standard error and the one with the largest; no rows where none has one."""
    usable = own.dropna(subset="standard_error")
    usable = usable.loc[usable["standard_error"].round(12).sort_values(kind="stable").index]
    return usable.iloc[[(len(usable) - 1) // 2, -1]] if len(usable) else usable


def _summary(own: pd.DataFrame) -> dict[str, Any]:
    shared = {"part": SUMMARY, "n_pairs": len(own)}
    two = _typical(own)
    if two.empty:
        return {**own.nlargest(1, "n").iloc[0], **shared, "judge_1": None, "judge_2": None, "difference": np.nan}
    median, worst = two.iloc[0], two.iloc[1]
    names = ("judge_1", "judge_2", "minimum_detectable_difference")
    return {**median, **shared, **{f"worst_{name}": worst[name] for name in names}}


def _stated(own: pd.DataFrame) -> list[dict[str, Any]]:
    """The cases that stated differences take, and the power to find others, for the median and the worst pair."""
    two = _typical(own)
    if two.empty:
        return []
    each = [two.iloc[[i]] for i in (0, 1)]
    (_, median), (_, worst) = two.iterrows()
    shared = {**median[list(_WHOSE)], "worst_judge_1": worst["judge_1"], "worst_judge_2": worst["judge_2"]}
    test, level = median["test"], median["alpha_adjusted"]
    rows = []
    for difference in STATED:
        needed = [cases_needed(difference, _pairs(pair), test, level) for pair in each]
        rows.append({"part": CASES, "difference": difference, "n_needed": needed[0], "worst_n_needed": needed[1]})
    for difference, *powers in zip(OF_CURVE, *power_at(np.array(OF_CURVE), _pairs(two), test, level), strict=True):
        rows.append({"part": CURVE, "difference": difference, "power": powers[0], "worst_power": powers[1]})
    for row in rows:
        beyond = two["discordance"] + _ROUNDING < row["difference"]
        row["reason"] = "; ".join(
            IMPOSSIBLE.format(w) for w, is_so in zip(("median", "worst"), beyond, strict=True) if is_so
        )
    return [shared | row for row in rows]
