"""Which criteria of a rubric decide a judge's errors?"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import NO_CASES, TESTED, Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, corrected, t_test
from mrb_lib.stats.detection import weighted
from mrb_lib.stats.estimation import FloatArray, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points
from mrb_lib.stats.scoring import score
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.rubrics import counted, read_rubric
from mrb_lib.tables.schema import ORDERS

FEWEST, _EQUAL, _SHOWN = 10, 1e-9, 60


def most_harmful(rows: pd.DataFrame) -> str:
    """Say which criterion does significant harm, and how much."""
    known, where = main_rows(rows).dropna(subset=["criterion", "p_adjusted"]), opening(main_dimension(rows))
    worse = known[(known["p_adjusted"] <= ALPHA) & (known["difference"] > 0)]
    if worse.empty:
        return f"{where}, cannot tell that a criterion does harm: none of {len(known):,} tests is significant."
    most = worse.nlargest(1, "difference").iloc[0]
    said = f"{where}, the criterion {most['criterion'][:_SHOWN]!r} does most harm: without it the accuracy"
    return f"{said} of {most['judge']} changes by {points(most, 'difference')}."


@table(
    "criteria",
    question="which criteria of a rubric decide a judge's errors",
    columns=[
        shared("judge", "dimension", "subfields", "policy", "n", "clusters"),
        Column("criterion", "text of the criterion; null: all criteria of fewer than ten cases", "text"),
        Column("coverage", "share of verdicts in which both responses were decided", "share 0-1"),
        estimated("met_share", "share of responses that meet it, or mean probability"),
        estimated("agreement", "share of its points that gold gets; 1/2: chance", null="it never separates responses"),
        estimated("decisive_share", "share of wrong verdicts that it decides", null="no verdict is wrong"),
        Column("difference", "accuracy without it less accuracy", "difference", ends=("low", "high"), null=NO_CASES),
        shared("tests"),
    ],
    sentence=most_harmful,
    headline=("criterion", "n", "agreement", "decisive_share", "difference", "low", "high", "p_adjusted"),
    uses=tuple(name for name in TESTED if name not in ("resamples", "seed")),
    reads=("criteria",),
    nothing="no verdict contains decisions on a rubric: `mrb judge --judge NAME+rubric` keeps them",
)
def criteria(analysis: Analysis) -> pd.DataFrame:
    """Estimate how a judge decides each criterion, and what its verdicts would be without it.

    A case counts once, by the mean over its verdicts. A criterion decides a wrong verdict if the gold response had more
    points with the criterion decided the other way (p becomes 1 - p) for one response or both. In verdicts without a
    criterion equal points are a tie, or no choice where the benchmark has no tie; where another criterion is undecided,
    the verdict stays as it is. `difference` is paired by case and tested by t over clusters. Criteria in the rubrics of
    fewer than ten cases share a row.

    Notes
    -----
    A criterion of great weight decides many errors whether or not it is decided well: read `decisive_share` beside
    `agreement` and `difference`. Validated by plain loops and by tests/simulation/test_rubrics.py.
    """
    v, made = analysis.verdicts, decisions(analysis)
    if made.empty:
        return made
    rare = made.groupby(["cell", "criterion"])["case"].transform("nunique") < FEWEST
    made["criterion"] = made["criterion"].mask(rare)
    made["row"] = made.groupby(["cell", "criterion"], sort=False, dropna=False).ngroup()
    names = made.drop_duplicates("row").join(v.cells, on="cell")[["judge", "dimension", "criterion"]]
    verdict, case, weight, a, b = (made[name].to_numpy() for name in ("verdict", "case", "weight", "a", "b"))
    decided, pull, kept = np.isfinite(a - b), np.nan_to_num(weight * (a - b)), v.choice[verdict]
    made = made.assign(open=~decided, pull=pull, span=_EQUAL * np.abs(weight))
    sums, equal = ["open", "pull", "span"], v.tie if "tie" in analysis.meta.choices else -1
    total, own = (made.groupby(keys)[sums].transform("sum") for keys in ("verdict", ["row", "verdict"]))
    left, span = total["pull"] - own["pull"], total["span"]
    made["without"] = np.select([total["open"] > own["open"], left > span, left < -span], [kept, 0, 1], equal)
    gain = np.full((v.n_cases, len(names)), np.nan)
    for row, (_, one) in enumerate(made.groupby("row")):
        choice, here = v.choice.copy(), np.asarray(v.cells.index == one["cell"].iloc[0])
        choice[one["verdict"]] = one["without"]
        after = score(replace(v, choice=choice).of_cells(here), analysis.labels, analysis.policy).score
        gain[one["case"], row] = (after - analysis.scores.score[:, here])[one["case"], 0]

    side = np.array([1.0, -1.0, 0.0, 0.0])[v.gold(analysis.labels)[verdict]]  # of gold: A, B, tie, or none
    wrong = decided & (side != 0) & (kept >= 0) & (kept != (side < 0))
    most = np.maximum(np.abs(weight * (1 - a - b)), -side * pull)  # that gold can have by another decision
    righted = wrong & (side * (total["pull"] - pull) + most > span)
    place, rated = case * len(names) + made["row"], v.where(np.unique(verdict)).total()[case, made["cell"]]

    def by_case(values: FloatArray) -> FloatArray:
        return np.bincount(place, values / rated, gain.size).reshape(gain.shape).astype(np.float64)

    shares = {
        "coverage": (None, decided, np.ones(len(made))),
        "met_share": (intervals.proportion, np.nan_to_num((a + b) / 2), decided),
        "agreement": (intervals.proportion, np.maximum(side * pull, 0.0), np.abs(side * pull)),
        "decisive_share": (intervals.proportion, righted, wrong),
    }
    measures = {name: Measure(weighted(*map(by_case, pair)), rule) for name, (rule, *pair) in shares.items()}
    rows, estimates = grid(analysis, names, measures | {"difference": Measure(mean(gain), intervals.t)})
    rows["p_value"] = np.concatenate([t_test(e) for e in estimates["difference"]])
    return corrected(rows[rows["n"] > 0], analysis).rename(columns={"difference_low": "low", "difference_high": "high"})


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
    v, cases, entries = analysis.verdicts, analysis.cases.reindex(columns=["case_id", "rubric"]), []
    cases["rubric"] = cases["rubric"].map(lambda text: read_rubric(text) if isinstance(text, str) else ())
    stated = analysis.panel.criteria if analysis.panel else None
    known = v.cells[["judge", "dimension"]].iloc[v.cell].assign(cell=v.cell, case=v.case, verdict=range(len(v.case)))
    known = known.join(cases, on="case").assign(order=np.array(ORDERS)[v.order], repeat=v.repeat)
    for row in [] if stated is None else known.merge(stated.drop(columns="probe")).to_dict("records"):
        rubric, at = row["rubric"], (row["verdict"], row["cell"], row["case"])
        try:
            sides = json.loads(row["criteria"])
            a, b = (np.array(sides[name], dtype=np.float64).reshape(len(rubric)) for name in ("a", "b"))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            fault = f"the rubric of case {row['case_id']} has {len(rubric)} criteria, and decisions on it do not fit"
            raise InputError(f"verdicts: {fault}; judge it again, or restore the rubric.") from error
        entries += [(*at, rubric[i].text, rubric[i].weight, a[i], b[i]) for i in counted(rubric, row["dimension"])]
    return pd.DataFrame(entries, columns=["verdict", "cell", "case", "criterion", "weight", "a", "b"])
