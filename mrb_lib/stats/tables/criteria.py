"""Which criteria of a rubric decide a judge's errors?"""

import json
from dataclasses import replace

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import NO_CASES, TESTED, Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, corrected, t_test
from mrb_lib.stats.estimation import FloatArray, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.methods.detection import weighted
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points
from mrb_lib.stats.scoring import score
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.rubrics import counted, read_rubric
from mrb_lib.tables.schema import ORDERS

FEWEST, _EQUAL, _SHOWN = 10, 1e-9, 60
NO_RUBRIC = "no verdict contains decisions on a rubric: `mrb judge --judge NAME+rubric` keeps them"


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
    v = analysis.verdicts
    made = decisions(analysis)
    if made.empty:
        return pd.DataFrame([{"n": 0, "reason": NO_RUBRIC}])
    n_cases = made.groupby(["cell", "criterion"])["case"].transform("nunique")
    made = made.assign(criterion=made["criterion"].where(n_cases >= FEWEST), kept=v.choice[made["verdict"]])
    made["row"] = made.groupby(["cell", "criterion"], sort=False, dropna=False).ngroup()
    names = made.drop_duplicates("row").join(v.cells, on="cell")[["judge", "dimension", "criterion"]]
    pull = made["weight"] * (made["a"] - made["b"])
    made = made.assign(open=pull.isna(), pull=pull.fillna(0.0), span=_EQUAL * made["weight"].abs())
    sums = ["open", "pull", "span"]
    total = made.groupby("verdict")[sums].transform("sum")
    left = total - made.groupby(["row", "verdict"])[sums].transform("sum")
    further = [left["open"] > 0, left["pull"] > total["span"], left["pull"] < -total["span"]]
    made["without"] = np.select(further, [made["kept"], 0, 1], v.tie if "tie" in analysis.meta.choices else -1)
    gain = np.full((v.n_cases, len(names)), np.nan)
    for row, (_, one) in enumerate(made.groupby("row")):
        choice = v.choice.copy()
        choice[one["verdict"]] = one["without"]
        own = v.cells.index.to_numpy() == one["cell"].iloc[0]
        after = score(replace(v, choice=choice).of_cells(own), analysis.labels, analysis.policy).score
        gain[one["case"], row] = (after - analysis.scores.score[:, own])[one["case"], 0]

    side = np.array([1.0, -1.0, 0.0, 0.0])[v.gold(analysis.labels)[made["verdict"]]]  # of gold: A, B, tie, or none
    wrong = ~made["open"] & (side != 0) & (made["kept"] >= 0) & (made["kept"] != (side < 0))
    most = np.maximum((made["weight"] * (1 - made["a"] - made["b"])).abs(), -side * made["pull"])  # by another decision
    righted = wrong & (side * (total["pull"] - made["pull"]) + most > total["span"])
    place = made["case"] * len(names) + made["row"]
    verdicts = v.where(made["verdict"].unique()).total()[made["case"], made["cell"]]

    def by_case(values: pd.Series) -> FloatArray:
        return np.bincount(place, values / verdicts, gain.size).reshape(gain.shape).astype(np.float64)

    shares = {
        "coverage": (None, ~made["open"], made["weight"].notna()),
        "met_share": (intervals.proportion, ((made["a"] + made["b"]) / 2).fillna(0.0), ~made["open"]),
        "agreement": (intervals.proportion, (side * made["pull"]).clip(lower=0.0), (side * made["pull"]).abs()),
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
    v = analysis.verdicts
    if analysis.panel is None or analysis.panel.criteria is None:
        return pd.DataFrame()
    cases = analysis.cases.reindex(columns=["case_id", "rubric"])
    cases["rubric"] = cases["rubric"].map(lambda text: read_rubric(text) if isinstance(text, str) else ())
    known = v.cells[["judge", "dimension"]].iloc[v.cell].assign(cell=v.cell, case=v.case, verdict=range(len(v.case)))
    known = known.join(cases, on="case").assign(order=np.array(ORDERS)[v.order], repeat=v.repeat)
    entries = []
    for row in known.merge(analysis.panel.criteria.drop(columns="probe")).to_dict("records"):
        rubric = row["rubric"]
        try:
            sides = json.loads(row["criteria"])
            a, b = (np.array(sides[name], dtype=np.float64).reshape(len(rubric)) for name in ("a", "b"))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            fault = f"the rubric of case {row['case_id']} has {len(rubric)} criteria, and decisions on it do not fit"
            raise InputError(f"verdicts: {fault}; judge it again, or restore the rubric.") from error
        at = row["verdict"], row["cell"], row["case"]
        entries += [(*at, rubric[i].text, rubric[i].weight, a[i], b[i]) for i in counted(rubric, row["dimension"])]
    return pd.DataFrame(entries, columns=["verdict", "cell", "case", "criterion", "weight", "a", "b"])
