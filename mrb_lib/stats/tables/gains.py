"""Is a judge that was trained further better than its base, at what price, and what contributed?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals, left_out
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, Option, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, Contrast, contrasts, corrected
from mrb_lib.stats.estimation import BoolArray, FloatArray
from mrb_lib.stats.learning_curves import CURVE, series_rows
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points
from mrb_lib.stats.recipes import check_pairs, known_pairs, recorded_pairs, size_series
from mrb_lib.stats.recipes import contrasts as recipe_contrasts
from mrb_lib.stats.scoring import read_by, score
from mrb_lib.stats.tables.groups import contrast as crossed_contrast
from mrb_lib.stats.verdicts import TIE, Verdicts, share
from mrb_lib.tables.schema import CHOICES

A, B = CHOICES.index("A"), CHOICES.index("B")
ACCURACY, INGREDIENT = "accuracy", "ingredient"
NOT_BOTH: Final = {
    "consistency": "no case is answered in both orders by both judges",
    "first_rate": "no case is answered in both orders by both judges",
    "brier": "no case whose gold label is A or B has a probability of both judges",
    "longer_rate": "no case with responses of different length is answered by both judges",
}
"""The quantities besides accuracy, and why one may be null for a pair."""
OF_CHOICES: Final = "{} is of choices between two responses, not of ratings"
NO_SHARED: Final = "no case is scored for both judges"
NO_RECORD: Final = "n_seen is not known: there is no record of the training"
FEWEST_RUNS: Final = 2
ONE_RUN: Final = f"one run of a recipe cannot tell chance from the ingredient: that takes {FEWEST_RUNS} runs of each"
_NAMES: Final = {
    "difference": "gain",
    "judge_1": "tuned",
    "judge_2": "base",
    "only_1": "only_tuned",
    "only_2": "only_base",
}
_VALUES: Final = {
    f"value_{i}{end}": f"value_{side}{end}" for i, side in ((1, "tuned"), (2, "base")) for end in ("", "_low", "_high")
}


def better_than_base(rows: pd.DataFrame) -> str:
    """Say how many judges differ significantly from their bases, and what ingredients and more cases contribute."""
    pairs, where = main_rows(rows, part=ACCURACY), opening(main_dimension(rows))
    known = pairs.dropna(subset="p_adjusted")
    significant = known[known["p_adjusted"] <= ALPHA]
    if known.empty:
        said = f"{where}, no judge can be compared with its base on the same cases." if len(pairs) else ""
    elif significant.empty:
        only = f"{known.iloc[0]['tuned']} and {known.iloc[0]['base']}: {points(known.iloc[0], 'gain')}"
        what = only if len(known) == 1 else f"{len(known)} compared"
        said = (
            f"{where}, no significant difference in accuracy between a trained judge and its base ({what}); "
            "cannot tell."
        )
    elif len(known) == 1:
        row = significant.iloc[0]
        more = "more" if row["gain"] > 0 else "less"
        said = f"{where}, {row['tuned']} is significantly {more} accurate than {row['base']} ({points(row, 'gain')})."
    else:
        up, down = (int((significant["gain"] * sign > 0).sum()) for sign in (1, -1))
        rest = len(known) - len(significant)
        said = (
            f"{where}, of {len(known)} judges that were trained further, {up} {'is' if up == 1 else 'are'} "
            f"significantly more accurate than the base and {down} less"
        ) + (f"; cannot tell for {rest}." if rest else ".")
        if up:
            most = significant.nlargest(1, "gain").iloc[0]
            said += f" {most['tuned']} gains most, {points(most, 'gain')} over {most['base']}."
    return " ".join(filter(None, (said, of_ingredients(rows), of_curve(rows)))) or (
        f"{where}, no judge here is known to be trained further from another."
    )


def of_ingredients(rows: pd.DataFrame) -> str:
    """Say which ingredients of training change accuracy significantly; empty where no two recipes can be compared."""
    own = main_rows(rows, part=INGREDIENT, quantity=ACCURACY) if "quantity" in rows else rows.iloc[:0]
    tested = own.dropna(subset="p_adjusted")
    significant = tested[tested["p_adjusted"] <= ALPHA]
    if own.empty:
        return ""
    if tested.empty:
        return f"Cannot tell what an ingredient of training contributes: that takes {FEWEST_RUNS} runs of each recipe."
    if significant.empty:
        return f"No ingredient of training changes accuracy significantly ({len(tested)} compared); cannot tell."
    row = significant.iloc[int(significant["gain"].abs().to_numpy().argmax())]
    return (
        f"{len(significant)} of {len(tested)} ingredients change accuracy significantly, most {row['ingredient']} "
        f"{row['setting_tuned']} against {row['setting_base']}: {points(row, 'gain')}."
    )


def of_curve(rows: pd.DataFrame) -> str:
    """Say what twice the training cases would give, by the learning curve; empty without one."""
    curves = main_rows(rows, part=CURVE)
    curves = curves.dropna(subset="value_tuned") if "value_tuned" in curves else curves.iloc[:0]
    if curves.empty:
        return ""
    row = curves.iloc[0]
    low, high = row["value_tuned_low"], row["value_tuned_high"]
    ends = "" if pd.isna(low) else f" [{100 * low:.0f}, {100 * high:.0f}]"
    said = (
        f"By the learning curve, {int(row['n_training']):,} training cases, twice the most there were, would give an "
        f"accuracy of {row['value_tuned']:.0%}{ends} ({row['recipe']})"
    )
    if pd.notna(row["cases_needed"]):
        said += f"; {row['target']:.0%} takes {row['cases_needed']:,.0f}"
    return f"{said}. The interval is over test cases; cannot tell how much another training would change."


@table(
    "gains",
    question="is a judge that was trained further better than its base, at what price, and what contributed",
    columns=[
        Column("part", "quantity, ingredient, size, curve, fit, trained, out_of_domain or benchmark", "text"),
        Column("quantity", "accuracy, consistency, first_rate, brier (lower is better) or longer_rate", "text"),
        Column("base", "judge that the other was trained from, or is compared with", "text"),
        Column("tuned", "judge that was trained further", "text"),
        Column("group_base", "group of the base, such as open", "text"),
        Column("group_tuned", "group of the tuned judge, such as medical", "text"),
        shared("dimension", "subfields"),
        Column("policy", "scoring policy, where the quantity depends on one", "text"),
        shared("n", "n_excluded"),
        Column("n_seen", "excluded cases that either was trained on; null: no record", "cases"),
        shared("clusters"),
        Column("accuracy_base", "mean score of the base, in rows of part accuracy", "share 0-1"),
        Column("accuracy_tuned", "mean score of the tuned judge, same cases", "share 0-1"),
        estimated("value_base", "quantity of the base, mean over these cases"),
        estimated("value_tuned", "quantity of the tuned judge, or of the curve"),
        Column("gain", "value_tuned minus value_base", "difference", ends=("low", "high")),
        shared("errors"),
        Column("only_base", "cases on which the base has the higher value", "cases"),
        Column("only_tuned", "cases on which the tuned judge has the higher value", "cases"),
        Column("test", "permutation (sign flips), mcnemar_exact, or t", "text"),
        shared("tests"),
        Column("margin", "largest gain or loss that does not matter, stated beforehand"),
        Column("equivalence_p", "p of a difference larger than the margin", "p 0-1", "Schuirmann 1987"),
        Column("equivalence_p_adjusted", "equivalence_p corrected for the number of tests", "p 0-1"),
        Column("equivalent", "whether the two differ by less than the margin (adjusted, at .05)", "yes/no"),
        Column("ingredient", "the only entry in which the two recipes differ", "text"),
        Column("setting_base", "its value in the recipe of the base", "text"),
        Column("setting_tuned", "its value in the recipe of the tuned judge", "text"),
        Column("n_runs_base", "judges trained by the recipe of the base", "count"),
        Column("n_runs_tuned", "judges trained by the recipe of the tuned judge", "count"),
        Column("method", "how the judge was trained: sft, dpo or reward", "text"),
        Column("trained_on", "domains, or the benchmark, that the judge was trained on", "text"),
        Column("tested_on", "domain, or benchmark, that value_tuned is of", "text"),
        Column("in_training", "whether the judge was trained on this domain", "yes/no"),
        Column("recipe", "how the judges of a series were trained, but for the size", "text"),
        Column("n_training", "training cases; of the curve, twice the most", "count"),
        Column("n_sizes", "different numbers of training cases in the series", "count"),
        estimated("limit", "accuracy that no number of training cases exceeds", source="Hestness et al. 2017"),
        estimated("exponent", "tenfold cases divide the error above the limit by 10^exponent", "number"),
        Column("residual", "root mean square of what the curve does not explain"),
        Column("target", "wanted accuracy, if one is stated", "share 0-1"),
        estimated("cases_needed", "training cases that give the wanted accuracy, by the curve", "number"),
    ],
    sentence=better_than_base,
    headline=("gain", "low", "high", "p_adjusted", "n", "n_seen", "value_base", "value_tuned"),
    uses=(*TESTED, "groups", "training", "records", "pairs"),
    reads=("p_a",),
    why_no_ratings="",
    options={
        "margin": Option("gains and losses of accuracy below it count as none", least=0, below=1),
        "target": Option("the accuracy whose number of training cases is wanted", least=0, below=1),
    },
)
def gains(analysis: Analysis, *, margin: float | None = None, target: float | None = None) -> pd.DataFrame:
    """Compare judges with those they were trained from, recipes that differ in one entry, and sizes of training sets.

    Pairs are those of `pairs`, or those that `records` and `judge_groups` tell. Of recorded pairs the other quantities
    are compared as well. Parts `trained` and `out_of_domain` are of judges that were trained without a value of a
    column, on that value, against judges of the same recipe that were trained with it (`value_base`); part `benchmark`
    is of all judges with a record, on this benchmark. Cases that either judge was trained on are left out. Each
    quantity is corrected by itself.

    Parameters
    ----------
    margin : adds two one-sided tests of equivalence of accuracy; None makes none
    target : a wanted accuracy, for `cases_needed`; None asks for none

    Notes
    -----
    An ingredient is tested where each recipe has at least two runs (seeds), which are draws as cases are
    (`mrb_lib.stats.tables.groups.contrast`); one run each cannot tell, since another seed would move it as well.
    """
    if analysis.panel is None:
        return pd.DataFrame()
    judges, values = analysis.panel.judges, case_quantities(analysis)
    named = (
        known_pairs(analysis.judge_groups, judges, analysis.records)
        if analysis.pairs is None
        else check_pairs(analysis.pairs, judges)
    )
    recorded = [pair for pair in named if pair in recorded_pairs(analysis.records)]
    frames = [
        _compared(analysis, quantity, each, named if quantity == ACCURACY else recorded, margin)
        for quantity, each in values.items()
        if (named if quantity == ACCURACY else recorded)
    ]
    if analysis.records is not None:
        frames += _ingredients(analysis, values) + _sizes(analysis, target)
        frames += left_out.trained_rows(analysis, analysis.records)
        frames += left_out.benchmark_rows(analysis, analysis.records)
    if not frames:
        return pd.DataFrame()
    rows = pd.concat(frames, ignore_index=True)
    rows = rows.reindex(columns=list(dict.fromkeys(("base", "tuned", "quantity", *rows.columns))))
    group = analysis.judge_groups.drop_duplicates("judge").set_index("judge")["group"]
    return rows.assign(
        quantity=rows["quantity"].astype("str").fillna(ACCURACY),
        group_base=rows["base"].map(group),
        group_tuned=rows["tuned"].map(group),
    )


def case_quantities(analysis: Analysis) -> dict[str, FloatArray]:
    """Return accuracy and the quantities of `NOT_BOTH`, each of shape (cases, cells), 0 to 1; NaN where undefined.

    `consistency` is 1 where the choice is the same in both orders; `first_rate` the share choosing the response shown
    first (a tie, and two orders that agree, being a half); `brier` the squared error of the probability where gold is A
    or B; `longer_rate` the share choosing the response with more characters (ties a half). Each is a mean over the
    verdicts on a case. Ratings of one response have accuracy only.
    """
    verdicts, cases = analysis.verdicts, analysis.cases
    none = np.full((verdicts.n_cases, len(verdicts.cells)), np.nan)
    if verdicts.tie < 0:
        return {ACCURACY: analysis.scores.score, **dict.fromkeys(NOT_BOTH, none)}
    both = verdicts.both_orders()
    both = both[(both["ab"] >= 0) & (both["ba"] >= 0)]
    lean = ((both["ab"] == A) * 1.0 - (both["ba"] == A) + (both["ba"] == B) - (both["ab"] == B)) / 2
    orders = {"consistency": (both["ab"] == both["ba"]) * 1.0, "first_rate": (1 + lean) / 2}
    out = {ACCURACY: analysis.scores.score}
    for name, each in orders.items():
        means = each.groupby([both["case"], both["cell"]]).mean()
        out[name] = none.copy()
        out[name][means.index.get_level_values(0), means.index.get_level_values(1)] = means
    outcome = np.select([verdicts.gold(analysis.labels) == A, verdicts.gold(analysis.labels) == B], [1.0, 0.0], np.nan)
    squares = (verdicts.p_a - outcome) ** 2
    out["brier"] = share(verdicts.total(np.nan_to_num(squares)), verdicts.total(np.isfinite(squares)))
    longer = none[:, 0] if none.shape[1] else np.full(verdicts.n_cases, np.nan)
    if {"response_a", "response_b"} <= set(cases.columns):
        a, b = (cases[name].str.strip().str.len().to_numpy(np.float64) for name in ("response_a", "response_b"))
        longer = np.sign(a - b)
    read = read_by(verdicts, analysis.policy)
    for_a = read.total(read.choice == A) + 0.5 * read.total(read.choice == TIE)
    preferred = share(for_a, read.total(read.choice >= 0))
    side = longer[:, None]
    out["longer_rate"] = np.where(side > 0, preferred, np.where(side < 0, 1 - preferred, np.nan))
    return out


def _why_none(analysis: Analysis, quantity: str) -> str:
    if quantity == ACCURACY:
        return NO_SHARED
    return NOT_BOTH[quantity] if analysis.verdicts.tie >= 0 else OF_CHOICES.format(quantity)


def _graded(analysis: Analysis, quantity: str) -> Analysis:
    """Return the analysis whose tests are of graded values, but for accuracy."""
    return analysis if quantity == ACCURACY else replace(analysis, policy="balanced")


def _stated_policy(analysis: Analysis, quantity: str) -> str | None:
    return analysis.policy if quantity in (ACCURACY, "longer_rate") else None


def _seen(analysis: Analysis, first: list[int], second: list[int]) -> BoolArray:
    """Return the cases that would be scored for both of a pair if neither had been trained on them."""
    panel, seen = analysis.panel, analysis.verdicts.seen
    if panel is None or not seen.any():
        return np.zeros((len(seen), len(first)), dtype=bool)
    scored = np.isfinite(score(Verdicts.of(panel.with_seen()), analysis.labels, analysis.policy).score)
    return np.asarray((seen[:, first] | seen[:, second]) & scored[:, first] & scored[:, second], dtype=bool)


def _compared(
    analysis: Analysis, quantity: str, values: FloatArray, pairs: list[tuple[str, str]], margin: float | None
) -> pd.DataFrame:
    """Return the rows of one quantity of pairs (base, tuned), in all dimensions that both judged."""
    cells = analysis.verdicts.cells
    place = {key: i for i, key in enumerate(zip(cells["judge"], cells["dimension"], strict=True))}
    both = [
        (place[tuned, name], place[base, name])
        for base, tuned in pairs
        for name in analysis.names
        if (tuned, name) in place and (base, name) in place
    ]
    if not both:
        return pd.DataFrame({"base": [], "tuned": []})
    first, second = (list(side) for side in zip(*both, strict=True))
    names = cells.loc[first, ["judge", "dimension"]].rename(columns={"judge": "judge_1"}).reset_index(drop=True)
    names["judge_2"] = cells["judge"].to_numpy()[second]
    contrast = Contrast(names, values[:, first], values[:, second], _seen(analysis, first, second))
    rows = contrasts(
        _graded(analysis, quantity),
        contrast,
        margin=margin if quantity == ACCURACY else None,
        of_values=intervals.proportion,
    )
    rows = rows.rename(columns={**_NAMES, **_VALUES})
    has_record = rows["tuned"].isin(set() if analysis.training is None else set(analysis.training["judge"]))
    why = np.where(rows["n"] == 0, _why_none(analysis, quantity), "")
    rows["reason"] = [
        "; ".join(filter(None, (text, "" if known else NO_RECORD))) for text, known in zip(why, has_record, strict=True)
    ]
    rows["n_seen"] = rows["n_seen"].astype("Int64").mask(~has_record)
    if quantity == ACCURACY:
        rows = rows.assign(accuracy_base=rows["value_base"], accuracy_tuned=rows["value_tuned"])
    return rows.assign(part=quantity, quantity=quantity, policy=_stated_policy(analysis, quantity))


def _ingredients(analysis: Analysis, values: dict[str, FloatArray]) -> list[pd.DataFrame]:
    """Return the rows of recipes that differ in one entry, a frame per quantity."""
    panel, cells = analysis.panel, analysis.verdicts.cells
    pairs = recipe_contrasts(analysis.records, panel.judges) if panel and analysis.records is not None else []
    frames = []
    for quantity, each in values.items() if pairs else ():
        rows: list[dict[str, Any]] = []
        for pair in pairs:
            for name in analysis.names:
                sides = [
                    each[:, np.flatnonzero(cells["judge"].isin(runs) & cells["dimension"].eq(name))]
                    for runs in (pair.tuned, pair.base)
                ]
                if all(side.shape[1] for side in sides):
                    row = _recipes(analysis, sides, _why_none(analysis, quantity))
                    runs = {"tuned": ", ".join(pair.tuned), "base": ", ".join(pair.base)}
                    stated = {key: getattr(pair, key) for key in ("ingredient", "setting_tuned", "setting_base")}
                    reason = "; ".join(filter(None, (row.pop("reason", ""), pair.note)))
                    rows.append({**row, **runs, **stated, "dimension": name, "reason": reason})
        made = pd.DataFrame(rows).assign(by=None, subfield=None, n_unassigned=0)
        tested = corrected(made, analysis).rename(columns={"difference": "gain"}).drop(columns="margin")
        stated_policy = _stated_policy(analysis, quantity)
        frames.append(tested.assign(part=INGREDIENT, quantity=quantity, policy=stated_policy, interval="t", test="t"))
    return frames


def _recipes(analysis: Analysis, sides: list[FloatArray], none: str) -> dict[str, Any]:
    """Compare the runs of two recipes on the cases that all of them are scored on, shape (cases, runs) each."""
    together = np.asarray(np.isfinite(np.column_stack(sides)).all(axis=1), dtype=bool)
    n_runs = {f"n_runs_{side}": each.shape[1] for side, each in zip(("tuned", "base"), sides, strict=True)}
    n = {"n": int(together.sum()), "n_excluded": int((~together).sum())}
    missing = dict.fromkeys(("difference", "low", "high", "standard_error", "df", "p_value"), np.nan)
    if not together.any():
        return {**n, **n_runs, **missing, "n_clusters": 0, "reason": none}
    kept = [np.where(together[:, None], each, np.nan) for each in sides]
    found = crossed_contrast(kept, analysis.sampling)
    row = {**found, **n, **n_runs, "lacks": None}
    if min(n_runs.values()) < FEWEST_RUNS:
        row |= {**missing, "difference": found["difference"], "lacks": ONE_RUN}
    return row


def _sizes(analysis: Analysis, target: float | None) -> list[pd.DataFrame]:
    """Return the rows of judges that differ in the number of training cases alone, with their learning curve."""
    panel, cells = analysis.panel, analysis.verdicts.cells
    frames = []
    for series in size_series(analysis.records, panel.judges) if panel and analysis.records is not None else ():
        for name in analysis.names:
            own = cells[cells["dimension"] == name].reset_index(names="cell").set_index("judge")["cell"]
            if not set(series.judges) <= set(own.index):
                continue
            score_of = analysis.scores.score[:, own.loc[series.judges].to_numpy()]
            rows = series_rows(series, score_of, analysis.sampling, target)
            shared = {"dimension": name, "policy": analysis.policy, "correction": None, "family_scope": None}
            frames.append(pd.DataFrame(rows).assign(quantity=ACCURACY, **shared))
    return frames
