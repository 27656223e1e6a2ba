"""Which criteria of a rubric decide a judge's errors?"""

from __future__ import annotations

import json
import textwrap
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.clusters import MOST_OF_ONE
from mrb_lib.stats.columns import DOMINATED, NO_CASES, TESTED, Column, Option, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, corrected, t_test
from mrb_lib.stats.detection import weighted
from mrb_lib.stats.estimation import BoolArray, FloatArray, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points
from mrb_lib.stats.scoring import score
from mrb_lib.stats.verdicts import Verdicts
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.rubrics import counted, read_rubric
from mrb_lib.tables.schema import ORDERS

NO_CRITERIA = "no verdict contains decisions on a rubric: `mrb judge --judge NAME+rubric` keeps them"
NEVER_SEPARATES = "agreement is undefined: it never separates two responses of which gold prefers one"
NONE_WRONG = "decisive_share is undefined: no verdict is wrong"
NO_SPREAD = "fewer than two clusters count there, or they are alike"
_EQUAL, _SHOWN = 1e-9, 60


def harmful(rows: pd.DataFrame) -> str:
    """Say in how many tests a criterion does significant harm, and which does most."""
    known, where = main_rows(rows), opening(main_dimension(rows))
    if not rows["n"].any():
        return f"There is nothing to compare: {NO_CRITERIA}."
    known = known[known["criterion"].notna()].dropna(subset="difference")
    if known.empty:
        return f"{where}, cannot tell which criteria do harm: no verdict without one of them can be scored."
    criteria, judges = known["criterion"].nunique(), known["judge"].nunique()
    said = f"{where}, {criteria} {_of(criteria, 'criterion', 'criteria')} of {judges} {_of(judges, 'judge', 'judges')}"
    worse = known[(known["p_adjusted"] <= ALPHA) & (known["difference"] > 0)]
    if worse.empty:
        return f"{said}: cannot tell that any does harm, since no test is significant after correction."
    most = worse.nlargest(1, "difference").iloc[0]
    return (
        f"{said}: in {len(worse)} of {len(known)} tests a criterion does significant harm. Without "
        f"{textwrap.shorten(most['criterion'], _SHOWN, placeholder='...')!r} the accuracy of {most['judge']} changes "
        f"most, by {points(most, 'difference')}."
    )


def _of(count: int, one: str, more: str) -> str:
    return one if count == 1 else more


@table(
    "criteria",
    question="which criteria of a rubric decide a judge's errors",
    columns=[
        shared("judge", "dimension", "subfields"),
        Column("criterion", "text of the criterion; null: all criteria of few cases together", "text"),
        Column("n_criteria", "different criteria that the row is about", "count"),
        shared("policy", "n"),
        Column("n_scored", "cases of n that the policy can score", "cases"),
        shared("clusters"),
        Column("coverage", "share of verdicts in which both responses were decided", "share 0-1"),
        Column("weight", "mean points; below zero: points taken off", "number", "Arora et al. 2025, arXiv 2505.08775"),
        estimated("met_share", "share of responses that meet it, or mean probability"),
        Column("separation", "share of verdicts in which one response alone meets it", "share 0-1"),
        estimated("agreement", "share of its points that go to the gold response; 1/2: chance", null=NEVER_SEPARATES),
        Column("n_wrong", "cases with a wrong verdict against a gold A or B", "cases"),
        estimated("decisive_share", "share of wrong verdicts that another decision would make right", null=NONE_WRONG),
        Column("accuracy", "mean score of the verdicts as they are", "share 0-1", null=NO_CASES),
        Column("accuracy_without", "mean score of verdicts by all other criteria", "share 0-1"),
        Column("difference", "accuracy_without minus accuracy; above 0: harm", "difference", ends=("low", "high")),
        shared("tests"),
    ],
    sentence=harmful,
    headline=("criterion", "n", "weight", "agreement", "decisive_share", "difference", "low", "high", "p_adjusted"),
    uses=tuple(name for name in TESTED if name not in ("resamples", "seed")),
    reads=("criteria",),
    options={"least": Option("the fewest cases that give a criterion a row of its own", least=1)},
)
def criteria(analysis: Analysis, *, least: float = 10) -> pd.DataFrame:
    """Estimate what each criterion adds to a judge's verdicts, and what the verdicts would be without it.

    A case counts once, by the mean over its verdicts. A wrong verdict would be right by another decision if the gold
    response had more points with the criterion decided the other way (p becomes 1 - p) for one response or both. In
    verdicts without a criterion equal points are a tie, or no choice where the benchmark has no tie. `difference` is
    paired by case and tested by t over clusters.

    Parameters
    ----------
    least : criteria in the rubrics of fewer cases share a row, in which `criterion` is null

    Notes
    -----
    A criterion of great weight decides many errors whether or not it is decided well: read `decisive_share` beside
    `agreement` and `difference`. Validated by plain loops and by tests/simulation/test_rubrics.py.
    """
    made = decisions(analysis)
    if made.empty:
        return pd.DataFrame([{"n": 0, "n_criteria": 0, "reason": NO_CRITERIA}])
    v, n_cases = analysis.verdicts, analysis.verdicts.n_cases
    made["name"] = made["criterion"].where(made.groupby(["cell", "criterion"])["case"].transform("nunique") >= least)
    cells = made[["cell", "name"]].drop_duplicates().assign(rare=lambda each: each["name"].isna())
    cells = cells.sort_values(["cell", "rare"], kind="stable", ignore_index=True).rename_axis("row").reset_index()
    made = made.merge(cells, on=["cell", "name"])
    m, cell = len(cells), cells["cell"].to_numpy()
    verdict, row, weight, a, b = (made[name].to_numpy() for name in ("verdict", "row", "weight", "a", "b"))
    decided, pull = np.isfinite(a - b), np.nan_to_num(weight * (a - b))
    rated = v.where(np.unique(verdict)).total()[v.case[verdict], v.cell[verdict]]

    def by_case(values: FloatArray | BoolArray) -> FloatArray:
        sums = np.bincount(v.case[verdict] * m + row, values / rated, n_cases * m)
        return sums.reshape(n_cases, m).astype(np.float64)

    gold = v.gold(analysis.labels)
    own = np.select([gold == 0, gold == 1], [1.0, -1.0], 0.0)[verdict]
    total, span = _of_verdicts(made, v, pull)[verdict], _EQUAL * _of_verdicts(made, v, np.abs(weight))[verdict]
    others = [(1 - a, b), (a, 1 - b), (1 - a, 1 - b)]
    flipped = [(total - pull + np.nan_to_num(weight * (one - two))) * own for one, two in others]
    wrong = (v.choice[verdict] >= 0) & (own != 0) & (v.choice != gold)[verdict] & decided
    righted = wrong & (np.max(flipped, axis=0) > span)
    every = by_case(np.ones(len(made)))
    before, after = analysis.scores.score[:, cell], _scores_without(analysis, made, cells)
    both = (every > 0) & np.isfinite(before) & np.isfinite(after)
    before, after = np.where(both, before, np.nan), np.where(both, after, np.nan)
    measures = {
        "difference": Measure(mean(after - before), intervals.t),
        "accuracy": Measure(mean(before)),
        "accuracy_without": Measure(mean(after)),
        "coverage": Measure(weighted(by_case(decided), every), intervals.proportion),
        "weight": Measure(weighted(by_case(weight), every)),
        "separation": Measure(weighted(by_case(np.nan_to_num(np.abs(a - b))), by_case(decided))),
    }
    shares = {
        "met_share": (np.nan_to_num((a + b) / 2), decided),
        "agreement": (np.maximum(own * pull, 0.0), np.abs(own * pull)),
        "decisive_share": (righted, wrong),
    }
    for name, (part, whole) in shares.items():
        measures[name] = Measure(weighted(by_case(part), by_case(whole)), intervals.proportion)
    names = v.cells.iloc[cell][["judge", "dimension"]].assign(criterion=cells["name"].to_numpy())
    tallies = {"n_with": every > 0, "n_wrong": by_case(wrong) > 0}
    rows, estimates = grid(analysis, names, measures, None, tallies)
    rows["p_value"] = np.concatenate([t_test(e) for e in estimates["difference"]])
    rows = corrected(rows, analysis).rename(columns={"n": "n_scored", "n_with": "n"})
    rows["n_clusters"] = np.concatenate([e.clusters for e in estimates["coverage"]])
    rows["lacks"] = pd.Series(NO_SPREAD, rows.index, dtype=object).mask(rows["largest"] > MOST_OF_ONE, DOMINATED)
    here = [made[np.isin(made["case"], np.arange(n_cases)[part.cases])] for part in analysis.parts]
    different = [each.groupby("row")["criterion"].nunique().reindex(range(m), fill_value=0) for each in here]
    return rows.assign(n_criteria=np.concatenate(different))[rows["n"] > 0]


def _of_verdicts(made: pd.DataFrame, verdicts: Verdicts, values: FloatArray) -> FloatArray:
    """Sum over the decisions behind each verdict."""
    return np.bincount(made["verdict"], values, len(verdicts.case)).astype(np.float64)


def _scores_without(analysis: Analysis, made: pd.DataFrame, cells: pd.DataFrame) -> FloatArray:
    """Score the verdicts by all criteria but those of each row, shape (cases, rows).

    Where another criterion is undecided, or the verdict has none of the row, the verdict stays as it is.
    """
    v = analysis.verdicts
    made = made.assign(pull=(made["weight"] * (made["a"] - made["b"])).fillna(0.0), open=made["a"] - made["b"])
    made = made.assign(open=made["open"].isna() * 1.0, span=_EQUAL * made["weight"].abs())
    sums = ["pull", "open", "span"]
    of_row = made.groupby(["verdict", "row"], as_index=False)[sums[:2]].sum()
    of_verdict = made.groupby("verdict", as_index=False)[sums].sum()
    each = pd.DataFrame({"verdict": np.arange(len(v.case)), "cell": v.cell}).merge(cells[["cell", "row"]], on="cell")
    each = each.merge(of_verdict, on="verdict", how="left").merge(
        of_row, on=["verdict", "row"], how="left", suffixes=("", "_row")
    )
    own = v.where(each["verdict"].to_numpy())
    left, is_decided = each["pull"] - each["pull_row"], each["open"] == each["open_row"]
    equal = v.tie if "tie" in analysis.offered else -1
    choice = np.select([left > each["span"], left < -each["span"]], [0, 1], equal)
    own = replace(
        own,
        cells=v.cells.iloc[cells["cell"]].reset_index(drop=True),
        dimension=v.dimension[cells["cell"]],
        seen=v.seen[:, cells["cell"]],
        cell=each["row"].to_numpy(),
        choice=np.where(is_decided, choice, own.choice),
    )
    return score(own, analysis.labels, analysis.policy).score


def decisions(analysis: Analysis) -> pd.DataFrame:
    """Return the decisions behind the verdicts, one row per verdict and criterion that counts for its dimension.

    Returns
    -------
    DataFrame
        `verdict` (position in the verdicts), its `cell` and `case`, `criterion`, `weight`, `a` and `b`: whether each
        response meets it, or the probability; NaN where nothing was decided

    Raises
    ------
    InputError
        The decisions are not on the rubric that the case has now.
    """
    v, cases = analysis.verdicts, analysis.cases
    columns = ["verdict", "cell", "case", "criterion", "weight", "a", "b"]
    stated = analysis.panel.criteria if analysis.panel else None
    if stated is None or "rubric" not in cases:
        return pd.DataFrame(columns=columns)
    keys = ["judge", "dimension", "case_id", "order", "repeat"]
    known = v.cells[["judge", "dimension"]].iloc[v.cell].reset_index(drop=True)
    known = known.assign(case_id=cases["case_id"].to_numpy()[v.case], order=np.array(ORDERS)[v.order], repeat=v.repeat)
    known = known.assign(verdict=known.index).astype({"case_id": object}).merge(stated[[*keys, "criteria"]], on=keys)
    rubrics, ids = cases["rubric"].tolist(), cases["case_id"].astype(str).tolist()
    entries = []
    for verdict, dimension, text in zip(known["verdict"], known["dimension"], known["criteria"], strict=True):
        case = v.case[verdict]
        rubric = _rubric(rubrics[case]) if isinstance(rubrics[case], str) else ()
        a, b = _sides(text, len(rubric), ids[case])
        entries += [
            (verdict, v.cell[verdict], case, rubric[i].text, rubric[i].weight, a[i], b[i])
            for i in counted(rubric, dimension)
        ]
    return pd.DataFrame(entries, columns=columns)


_rubric = lru_cache(maxsize=4096)(read_rubric)


@lru_cache(maxsize=65536)
def _sides(stated: str, n: int, case_id: str) -> tuple[list[float], list[float]]:
    """Return two lists of `n` numbers, NaN for null."""
    try:
        sides = json.loads(stated)
        a, b = ([np.nan if value is None else float(value) for value in sides[name]] for name in ("a", "b"))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"verdicts: the criteria of case {case_id} are not two lists of numbers; remove the run."
        ) from error
    if not len(a) == len(b) == n:
        raise InputError(
            f"verdicts: decisions are on {len(a)} criteria of case {case_id}, and its rubric has {n}; it was changed "
            "since, so judge it again or restore the rubric."
        )
    return a, b
