"""The sentences that notebooks end with: tables in, the answer to the notebook's question out.

Every number in them is one that a table of `mrb_lib.analyze` or `mrb_lib.bootstrap` has; nothing is computed anew but
counts of rows. A judge counts as different where an interval leaves out the value it is compared with.
"""

from __future__ import annotations

import html

import pandas as pd

from mrb_lib.stats.core.phrases import number, of_judges, percent, points, some
from mrb_lib.stats.selective.answers import CLINICIAN

_ALPHA = "krippendorff_alpha"
_LEVEL = 0.05


class Conclusion:
    """The last cell of a notebook, as text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<p><strong>Conclusion.</strong> {html.escape(self.text)}</p>"


def composition(cases: pd.DataFrame, exactness: pd.DataFrame, *, by: str, dimension: str) -> str:
    """How the cases are spread over the values of a column, and how exactly a judge is measured on these."""
    counts = cases[by].value_counts()
    first, last = counts.index[0], counts.index[-1]
    wide, narrow = exactness.nlargest(1, "median_half_width"), exactness.nsmallest(1, "median_half_width")
    said = (
        f"The {len(cases):,} cases are of {len(counts)} values of {by}: {first} has the most ({counts.iloc[0]:,}), "
        f"{last} the fewest ({counts.iloc[-1]:,})."
    )
    if wide.empty or wide["median_half_width"].isna().all():
        return said
    return said + (
        f" The accuracy of the median judge on {dimension} is known to within {_points(narrow, 'median_half_width')} "
        f"points on {narrow['subfield'].iloc[0]}, and to within {_points(wide, 'median_half_width')} on "
        f"{wide['subfield'].iloc[0]}."
    )


def agreement(table: pd.DataFrame, unanimous: pd.DataFrame, *, dimension: str) -> str:
    """How far annotators agree, and how much more often judges are right where they do."""
    row = table[table["dimension"] == dimension].iloc[0]
    first, last = (rows["dimension"].iloc[0] for rows in (table.nlargest(1, _ALPHA), table.nsmallest(1, _ALPHA)))
    said = (
        f"On {dimension}, the annotators' agreement has a Krippendorff's alpha of "
        f"{number(row, _ALPHA)}, at {percent(row, 'percent_agreement')} agreement."
    )
    if len(table) > 1:
        said += f" Of the {len(table)} dimensions they agree most on {first} and least on {last}."
    gains = unanimous["accuracy_unanimous"] - unanimous["accuracy"]
    return f"{said} Where they are unanimous, the median judge is right {100 * gains.median():+.0f} points more often."


def leaderboard(accuracy: pd.DataFrame, ceiling: pd.DataFrame, *, dimension: str) -> str:
    """How many judges reach the level of one annotator against the others, which is the best, and what constants do."""
    table = accuracy[accuracy["dimension"] == dimension]
    here = table[table["kind"] == "judge"].sort_values(["rank", "judge"])
    human = ceiling[(ceiling["dimension"] == dimension) & ceiling["accuracy"].notna()]
    best = here.iloc[0]
    said = (
        f"The best judge on {dimension} is {best['judge']}: of the cases where gold names a winner, it names that "
        f"response on {percent(best, 'decisive_accuracy')} (a tie counts half; a constant has 50%); its accuracy is "
        f"{percent(best, 'accuracy', 'low', 'high')}. {_beside_constants(table, here)}"
    ).strip()
    if human.empty:
        return f"{said} Whether that is near to people is not known: it takes three annotators."
    level = human.iloc[0]
    near = int((here["high"] >= level["low"]).sum())
    what = f"an interval that reaches the human level on {dimension}, {percent(level, 'accuracy', 'low', 'high')}"
    return f"{of_judges(near, len(here), what, ('has', 'have'))}. {said}"


def _beside_constants(table: pd.DataFrame, judges: pd.DataFrame) -> str:
    """How many judges are shown to be above the best constant, and which tie more often than the annotators do."""
    said = []
    constant = table[table["judge"].eq("best constant") & table["kind"].eq("reference")]
    if len(constant):
        above = int((judges["above_constant_low"] > 0).sum())
        row = constant.iloc[0]
        what = f"shown to be above the best constant, always {row['label']} ({percent(row, 'accuracy', 'low', 'high')})"
        said.append(f"{of_judges(above, len(judges), what)}.")
    shy = judges[judges["reason"].str.contains("of its choices a tie", na=False)]
    said += [
        f"{row['judge']} calls {row['tie_share']:.0%} of its choices a tie, the annotators "
        f"{row['annotator_tie_share']:.0%} of their labels."
        for _, row in shy.iterrows()
    ]
    return " ".join(said)


def significance(pairs: pd.DataFrame, order: list[str], *, margin: float, dimension: str) -> str:
    """How many pairs of judges differ, are equivalent, or neither; and the two best."""
    differ = pairs["p_adjusted"] <= 0.05
    same = pairs["equivalence_p_adjusted"] <= 0.05
    top = pairs[pairs["judge_1"].isin(order[:2]) & pairs["judge_2"].isin(order[:2])]
    said = (
        f"Of {len(pairs):,} pairs of judges on {dimension}, {int(differ.sum()):,} "
        f"{'is' if differ.sum() == 1 else 'are'} shown to differ, {int(same.sum()):,} to be equivalent "
        f"within {100 * margin:g} points, and {int((~differ & ~same).sum()):,} neither."
    )
    if top.empty:
        return said
    shown = "is" if bool(differ[top.index[0]]) else "is not"
    return f"{said} That {order[0]} is better than {order[1]}, the two best, {shown} shown."


def subfields(*tables: pd.DataFrame, dimension: str) -> str:
    """How many cells lie wholly below the judge's accuracy over all cases, and the first judge's weakest parts."""
    overall = tables[0][tables[0]["subfield"].isna()].set_index("judge")["accuracy"]
    parts = pd.concat([table[table["subfield"].notna()] for table in tables], ignore_index=True)
    below = parts[parts["high"] < parts["judge"].map(overall)]
    best = str(overall.index[0])
    said = (
        f"Of {len(parts):,} cells of judge and subfield on {dimension}, {len(below):,} "
        f"{'lies' if len(below) == 1 else 'lie'} wholly below the judge's accuracy over all cases; one in "
        "forty would by chance."
    )
    weak = below.loc[below["judge"] == best, "subfield"].astype("str").drop_duplicates().tolist()
    where = f"is weaker than that in {', '.join(weak)}" if weak else "is not shown to be weaker anywhere"
    return f"{said} The best judge, {best}, {where}."


def consistency(table: pd.DataFrame, *, dimension: str) -> str:
    """How many judges lean to a place, and which is the most consistent."""
    known = table[table["consistency"].notna()]
    if known.empty:
        return f"No judge was asked in both orders about the same case on {dimension}."
    leaning = known[(known["position_bias_low"] > 0) | (known["position_bias_high"] < 0)]
    best, worst = known.nlargest(1, "consistency").iloc[0], known.nsmallest(1, "consistency").iloc[0]
    what = f"shown to prefer a place, first or second, on {dimension}"
    return (
        f"{of_judges(len(leaning), len(known), what)}. The most consistent is {best['judge']}, with "
        f"{percent(best, 'consistency')} equal choices in both orders; the least, {worst['judge']}, with "
        f"{percent(worst, 'consistency')}."
    )


def failures(shares: pd.DataFrame, ranked: pd.DataFrame, *, dimension: str) -> str:
    """How often every judge is wrong, and the most that choosing judges could gain."""
    whole = shares[shares["subfield"].isna()]
    wrong, mean, best = (
        percent(whole[whole["quantity"] == name].iloc[0], "estimate", "low", "high")
        for name in ("every_judge_wrong", "mean_judge", "best_judge")
    )
    return (
        f"On {wrong} of the {len(ranked):,} cases scored on {dimension} no judge has any credit. The mean judge has "
        f"{mean}; the right judge for each case would have {best}."
    )


def judging(compared: pd.DataFrame, *, dimension: str, note: str) -> str:
    """Which way of asking could be read, and survives the other order."""
    ways = []
    for _, row in compared.iterrows():
        same = f"was consistent on {percent(row, 'consistency')}"
        if pd.isna(row["consistency"]):
            same = "gave no two verdicts to compare"
        ways.append(f"{row['judge']} could be read on {100 * row['coverage']:.0f}% of the cases and {same}")
    return f"{note} On {dimension}: {'; '.join(ways)}.".strip()


def ceiling(table: pd.DataFrame, *, dimension: str, epsilon: float) -> str:
    """How many judges are within the human range, and how many pass the alternative annotator test."""
    here = table[table["dimension"] == dimension]
    judges, tests = here[here["part"] == "judge"], here[here["part"] == "alt_test"]
    human = here[(here["part"] == "annotator") & (here["annotator"] == "mean") & here["accuracy"].notna()]
    if human.empty:
        return f"What one annotator achieves on {dimension} is not known."
    said = f"The mean annotator names the others' majority on {percent(human.iloc[0], 'accuracy', 'low', 'high')}."
    known = judges[judges["verdict"].notna()]
    if known.empty:
        return said
    within = int((known["verdict"] != "below").sum())
    what = f"within the human range on {dimension}"
    passing = tests.loc[tests["passes"].fillna(False), "judge"]
    below = int(passing.isin(known.loc[known["verdict"] == "below", "judge"]).sum())
    return (
        f"{of_judges(within, len(known), what)}: the interval of the distance to the mean annotator reaches zero. "
        f"{said} {len(passing)} of {len(tests)} pass the alternative annotator test at epsilon {epsilon:g}, which lets "
        f"a judge be worse than an annotator by less than that; {below} of them lie wholly below the mean annotator."
    )


def gold(rules: pd.DataFrame, *, dimension: str) -> str:
    """How many labels the model finds wrong, and whether the ranking hangs on the rule."""
    taus = rules[(rules["part"] == "ranking") & rules["kendall_tau"].notna()]
    wrong = rules.loc[(rules["part"] == "corrected") & rules["label_error"].notna(), "label_error"]
    out = rules[(rules["part"] == "left_out") & rules["kendall_tau"].notna()]
    said = []
    if len(wrong):
        said.append(
            f"By the model of independent errors, {100 * wrong.median():.0f}% of the majority's labels on {dimension} "
            "are wrong."
        )
        corrected = rules[rules["part"] == "corrected"]
        alike = int(((corrected["dependence_high"] < 0) | (corrected["dependence_low"] > 0)).sum())
        what = "shown to find the same cases hard as the annotators, so that their accuracy is not corrected"
        said.append(f"{of_judges(alike, len(wrong), what)}.")
    if len(taus):
        low = taus.nsmallest(1, "kendall_tau").iloc[0]
        said.append(
            f"The ranking of the judges changes most under the rule {low['rule']}: Kendall's tau with the majority's "
            f"is {low['kendall_tau']:.2f}."
        )
    if len(out):
        said.append(f"Leaving out any one annotator, it is {out['kendall_tau'].min():.2f} or more.")
    return " ".join(said) or f"Neither the labels' errors nor the ranking can be estimated on {dimension}."


def models(effects: pd.DataFrame, matched: pd.DataFrame, cases: pd.DataFrame, *, dimension: str) -> str:
    """What order and length do to being right, how many cells are weak beyond difficulty, and labels to review."""
    together = effects[
        (effects["part"] == "all judges") & (effects["model"] == "gee") & effects["marginal_effect"].notna()
    ]
    said = []
    for term, name in (("gold_first", "Showing the better response first"), ("length_advantage", "Its being longer")):
        row = together[together["term"] == term]
        if len(row):
            said.append(f"{name} changes the probability of being right by {points(row.iloc[0], 'marginal_effect')}.")
    flagged = int(matched["ets_class"].isin(["B", "C"]).sum()) if "ets_class" in matched else 0
    large = some(flagged, "cell", "cells", "of judge and subfield ")
    said.append(f"{large} weak or strong beyond difficulty on {dimension}.")
    suspect = int((cases["suspicion"] >= 0.5).sum())
    said.append(f"{some(suspect, 'gold label', 'gold labels')} more probably wrong than right by the judges' verdicts.")
    return " ".join(said)


def bias(here: pd.DataFrame, by_length: pd.DataFrame, *, dimension: str) -> str:
    """How many judges are pulled by length beyond quality, or err towards longer responses where that is not known."""
    length = here[(here["bias"] == "length") & (here["measure"] == "beyond_quality") & here["estimate"].notna()]
    if len(length):
        pulled = length["p_adjusted"] <= _LEVEL
        longer, shorter = (int((pulled & (sign * length["estimate"] > 0)).sum()) for sign in (1, -1))
        what = f"shown to be pulled towards longer responses on {dimension} beyond their quality, {shorter} to shorter"
        said = of_judges(longer, len(length), what)
    else:
        known = here[(here["bias"] == "verbosity") & here["estimate"].notna()]
        longer, shorter = int((known["low"] > 0).sum()), int((known["high"] < 0).sum())
        what = f"seen to err towards longer responses on {dimension}, {shorter} towards shorter"
        said = (
            of_judges(longer, len(known), what) + ", which is an association: these labels cannot tell it from quality"
        )
    wide = by_length[by_length["subfield"].notna()].pivot(index="judge", columns="subfield", values="estimate")
    if {"is longer", "is shorter"} <= set(wide.columns):
        gap = (wide["is longer"] - wide["is shorter"]).abs()
        widest = wide[gap == gap.max()].head(1)
        said += (
            f". The largest gap is that of {widest.index[0]}: right on {_points(widest, 'is longer')}% where the "
            f"better response is longer, on {_points(widest, 'is shorter')}% where it is shorter"
        )
    return said + "."


def calibration(own: pd.DataFrame, answers: pd.DataFrame, *, dimension: str, target: float, delta: float) -> str:
    """How many judges are too sure, and which may answer most cases at a promised agreement."""
    if own.empty:
        return f"No judge gives a probability that can be checked on {dimension}."
    sure = int((own["overconfidence_low"] > 0).sum())
    what = f"too sure on {dimension}: mean confidence above accuracy"
    return f"{of_judges(sure, len(own), what)}. {_promise(answers, target, delta)}"


def ranking(agreed: pd.DataFrame, saving: pd.DataFrame, *, dimension: str) -> str:
    """Which judge ranks the responders most like the clinicians, and how many labels verdicts save."""
    known = agreed[(agreed["dimension"] == dimension) & agreed["kendall"].notna()]
    if known.empty:
        return f"The responders cannot be ranked on {dimension}."
    best = known.sort_values(["kendall", "judge"], ascending=[False, True]).iloc[0]
    said = (
        f"Of {len(known)} judges, {best['judge']} ranks the responders most like the clinicians on {dimension}: "
        f"Kendall's tau {number(best, 'kendall')}."
    )
    share = saving["expected_label_saving"].max()
    return said if pd.isna(share) else f"{said} The most that verdicts would save is {100 * share:.0f}% of the labels."


def transfer(table: pd.DataFrame, *, by: str, dimension: str) -> str:
    """What to expect of the best judge in a new domain."""
    known = table[(table["part"] == "summary") & table["accuracy"].notna()]
    if known.empty:
        return f"Accuracy by {by} cannot be summarised on {dimension}."
    best = known.sort_values(["accuracy", "judge"], ascending=[False, True]).iloc[0]
    expected = percent(best, "accuracy", "prediction_low", "prediction_high")
    return (
        f"In a new {by}, the accuracy of {best['judge']}, the best judge on {dimension}, is expected at {expected}; "
        f"over the mean of all {by}s it is {percent(best, 'accuracy', 'low', 'high')}."
    )


def juries(table: pd.DataFrame, *, dimension: str) -> str:
    """Whether a jury is better than the judge that is best on other cases."""
    known = table[(table["kind"] != "best_single") & table["accuracy"].notna()]
    if known.empty:
        return f"No jury can be scored on {dimension}."
    best = known.sort_values("accuracy", ascending=False, kind="stable").iloc[0]
    low, high = best["crossfit_difference_low"], best["crossfit_difference_high"]
    shown = "better than" if low > 0 else "worse than" if high < 0 else "not shown to differ from"
    return (
        f"The best jury of all {int(best['size'])} judges on {dimension} ({best['kind'].replace('_', ' ')}) is right "
        f"on {percent(best, 'accuracy', 'low', 'high')}. It is {shown} the judge that is best on other cases: "
        f"{points(best, 'crossfit_difference')}."
    )


def power(table: pd.DataFrame, *, dimension: str) -> str:
    """The smallest difference that the cases can show, over all and in the subfield with the fewest."""
    known = table[(table["part"] == "summary") & table["minimum_detectable_difference"].notna()]
    whole, parts = known[known["subfield"].isna()], known[known["subfield"].notna()]
    if whole.empty:
        return f"No difference can be computed on {dimension}."
    said = (
        f"With {int(whole['n'].max()):,} cases, a difference between two judges on {dimension} is found with power "
        f"80%, corrected for the number of pairs, from {_points(whole, 'minimum_detectable_difference')} points on, "
        "for the median pair"
    )
    if parts.empty:
        return f"{said}."
    worst = parts.nlargest(1, "minimum_detectable_difference")
    return f"{said}; in {worst['subfield'].iloc[0]} from {_points(worst, 'minimum_detectable_difference')} on."


def adjudication(moves: pd.DataFrame, *, dimension: str, note: str) -> str:
    """How many labels reviewers changed, and whether the ranking moved."""
    first = moves.iloc[0]
    what = "shown to be scored differently by the corrected labels"
    moved = int(((moves["difference_low"] > 0) | (moves["difference_high"] < 0)).sum())
    ranks = int((moves["rank"] != moves["adjudicated_rank"]).sum())
    return (
        f"{note} Of {int(first['n_adjudicated']):,} labels reviewed on {dimension}, {int(first['n_changed']):,} became "
        f"another label and {int(first['n_removed']):,} none. {of_judges(moved, len(moves), what)}; {ranks} "
        f"{'changes its' if ranks == 1 else 'change their'} rank."
    ).strip()


def sways(orders: pd.DataFrame, biases: pd.DataFrame) -> pd.DataFrame:
    """What sways a judge besides quality, one row each: `what`, `n`, `value`, `low`, `high`."""
    order = orders[orders["subfield"].isna()].iloc[0]
    whole = biases[biases["subfield"].isna()]
    pulls = whole[(whole["measure"] == "beyond_quality") & (whole["bias"] != "style")]
    whole = whole[whole["measure"] == "error_asymmetry"]
    rows = [
        ("same choice in both orders", order["n"], *(order[f"consistency{end}"] for end in ("", "_low", "_high"))),
        ("first less second shown", order["n"], *(order[f"position_bias{end}"] for end in ("", "_low", "_high"))),
    ]
    names = {"verbosity": "errors towards longer less towards shorter responses"}
    properties = {"length": "longer responses (one standard deviation)", "self_preference": "its own responses"}
    properties["family_preference"] = "its family's responses"
    rows += [
        (names.get(row["bias"], f"errors towards {row['bias']}"), row["n"], row["estimate"], row["low"], row["high"])
        for _, row in whole.iterrows()
    ]
    rows += [
        (f"log-odds for {properties[row['bias']]} beyond quality", row["n"], row["estimate"], row["low"], row["high"])
        for _, row in pulls.iterrows()
    ]
    return pd.DataFrame(rows, columns=["what", "n", "value", "low", "high"])


def verdict(
    judge: str,
    accuracy: pd.DataFrame,
    human: pd.DataFrame,
    parts: pd.DataFrame,
    orders: pd.DataFrame,
    biases: pd.DataFrame,
    answers: pd.DataFrame,
    *,
    dimension: str,
    by: str,
    target: float,
) -> str:
    """Whether one judge can be trusted, for what, where not, and at which share of cases."""
    here = accuracy[accuracy["dimension"] == dimension].iloc[0]
    said = [f"{judge} names the clinicians' choice on {dimension} in {percent(here, 'accuracy', 'low', 'high')}."]
    distance = human[(human["part"] == "judge") & (human["dimension"] == dimension) & human["verdict"].notna()]
    if len(distance):
        far = distance.iloc[0]
        near = "short of one clinician" if far["verdict"] == "below" else "within the range of one clinician"
        said.append(f"By the labels that one clinician is held to, it is {near} ({points(far, 'difference')}).")
    else:
        said.append("How near that is to one clinician is not known.")
    cells = parts[parts["subfield"].notna()]
    weak = cells.loc[cells["high"] < here["accuracy"], "subfield"].astype("str").tolist()
    said.append(f"It is weaker than that in {', '.join(weak)}." if weak else f"No {by} is shown to be weaker.")
    order = orders[orders["subfield"].isna()].iloc[0]
    if pd.notna(order["consistency"]):
        said.append(f"It gives the same verdict in both orders on {percent(order, 'consistency')}.")
    length = biases[biases["subfield"].isna() & (biases["measure"] == "beyond_quality") & (biases["bias"] == "length")]
    if len(length) and length["p_adjusted"].iloc[0] <= _LEVEL and length["estimate"].iloc[0] > 0:
        said.append("It is pulled towards longer responses beyond their quality.")
    said.append(_promise(answers[answers["dimension"] == dimension], target, 0.1))
    return " ".join(said)


def _promise(answers: pd.DataFrame, target: float, delta: float) -> str:
    """At which share of cases a judge may answer alone."""
    overall = answers[answers["subfield"].isna() & (answers["reference"] != CLINICIAN)]
    reference = overall["reference"].iloc[0] if len(overall) else "majority"
    promised = overall[(overall["part"] == "guarantee") & (overall["delta"] == delta)]
    promised = promised[promised["threshold"].notna() & promised["coverage"].notna() & (promised["coverage"] > 0)]
    wanted = f"{100 * target:.0f}% agreement with the clinicians' {reference} label can be promised at "
    wanted += f"{100 * (1 - delta):.0f}% confidence, over all cases that a judge answers"
    if promised.empty:
        everywhere = overall.loc[(overall["part"] == "summary") & overall["human_level"].notna(), "human_level"]
        human = f" One clinician agrees with the others on {100 * everywhere.iloc[0]:.0f}%." if len(everywhere) else ""
        return f"At no threshold of confidence {wanted}, so that none may answer alone.{human}"
    best = promised.sort_values(["coverage", "judge"], ascending=[False, True]).iloc[0]
    said = f"{wanted}, where {best['judge']} is sure, which is on {percent(best, 'coverage')} of the cases."
    if pd.isna(best["human_level"]):
        return said
    return (
        f"{said} There one clinician agrees with the others' majority on {100 * best['human_level']:.0f}%, and the "
        f"judge with that majority on {100 * best['judge_level']:.0f}%."
    )


def _points(rows: pd.DataFrame, column: str) -> str:
    return f"{100 * rows[column].iloc[0]:.0f}"
