"""The sentences that notebooks end with: tables in, the answer to the notebook's question out.

Every number in them is one that a table of `mrb_lib.analyze` or `mrb_lib.bootstrap` has; nothing is computed anew but
counts of rows. A judge counts as different where an interval leaves out the value it is compared with.
"""

from __future__ import annotations

import html

import pandas as pd

from mrb_lib.report.notebook.one_judge import cell
from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.phrases import number, of_judges, of_judges_towards, on, opening, percent, points, some
from mrb_lib.stats.tables.jury import against_one
from mrb_lib.stats.tables.ranking import most_alike

_KRIPPENDORFF = "krippendorff_alpha"
_TESTS = {
    "mcnemar_exact": "exact McNemar test",
    "permutation": "paired permutation test",
    "permutation_cluster": "paired permutation test by clusters",
}


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
        f" The accuracy of the median judge {on(dimension)} is known to within {_points(narrow, 'median_half_width')} "
        f"points on {narrow['subfield'].iloc[0]}, and to within {_points(wide, 'median_half_width')} on "
        f"{wide['subfield'].iloc[0]}."
    )


def agreement(table: pd.DataFrame, unanimous: pd.DataFrame, *, dimension: str) -> str:
    """How far annotators agree, and how much more often judges are right where they do."""
    row = table[table["dimension"] == dimension].iloc[0]
    first, last = (
        rows["dimension"].iloc[0] for rows in (table.nlargest(1, _KRIPPENDORFF), table.nsmallest(1, _KRIPPENDORFF))
    )
    said = (
        f"{opening(dimension)}, the annotators' agreement has a Krippendorff's alpha of "
        f"{number(row, _KRIPPENDORFF)}, at {percent(row, 'percent_agreement')} agreement."
    )
    if len(table) > 1:
        said += f" Of the {len(table)} dimensions they agree most on {first} and least on {last}."
    gains = unanimous["accuracy_unanimous"] - unanimous["accuracy"]
    return f"{said} Where they are unanimous, the median judge gains {100 * gains.median():+.0f} points of accuracy."


def leaderboard(accuracy: pd.DataFrame, ceiling: pd.DataFrame, letters: pd.DataFrame, *, dimension: str) -> str:
    """Who is most accurate, and not distinguishable from it; how many judges reach the level of one annotator."""
    table = accuracy[accuracy["dimension"] == dimension]
    here = table[table["kind"] == "judge"].sort_values(["rank", "judge"])
    human = ceiling[
        (ceiling["dimension"] == dimension) & ceiling["accuracy"].notna() & ceiling["representative"].eq(True)
    ]
    best = here.iloc[0]
    said = (
        f"{best_group(letters, dimension=dimension)} "
        f"First by decisive accuracy {on(dimension)} is {best['judge']}, with {percent(best, 'decisive_accuracy')} (a "
        f"constant has 50%); its accuracy is {percent(best, 'accuracy', 'low', 'high')}. "
        f"{_beside_constants(table, here)}"
    ).strip()
    if human.empty:
        return f"{said} How near that is to people is not known: it takes three annotators, and enough cases."
    level = human.iloc[0]
    near = int((here["high"] >= level["low"]).sum())
    what = (
        f"an accuracy {on(dimension)} whose interval reaches that of the mean annotator, "
        f"{percent(level, 'accuracy', 'low', 'high')}, who is scored on fewer cases and other labels; notebook 09 "
        "compares them on the same"
    )
    return f"{said} {of_judges(near, len(here), what, ('has', 'have'))}."


def groups(table: pd.DataFrame, *, dimension: str) -> str:
    """Which groups of judges are shown to differ, as the text of the table `groups` begins."""
    here = table[table["dimension"] == dimension]
    return TABLES["groups"].says(here) if len(here) else "The judges are of fewer than two groups."


def gains(table: pd.DataFrame, *, dimension: str) -> str:
    """Which judges are shown to be better than the one they were trained from, as the text of the table begins."""
    here = table[table["dimension"] == dimension]
    return TABLES["gains"].says(here) if len(here) else "No judge here is known to be trained further from another."


def best_group(letters: pd.DataFrame, *, dimension: str) -> str:
    """Which judges are not shown to differ from the most accurate one, and by which test."""
    here = letters[(letters["dimension"] == dimension) & letters["accuracy"].notna()]
    if here.empty:
        return ""
    best = here.iloc[0]
    level = percent(best, "accuracy", "low", "high")
    if len(here) == 1:
        return f"The only judge {on(dimension)} is {best['judge']}, with an accuracy of {level}, n = {best['n']:,}."
    said = f"The most accurate judge {on(dimension)} is {best['judge']}, with {level}, n = {best['n']:,}"
    others = here.iloc[1:]
    same = others.loc[others["with_best"].eq(True), "judge"].tolist()
    alone = "every other judge is shown to be less accurate" if others["with_best"].eq(False).all() else ""
    alone = alone or "no other judge could be tested against it"
    shown = f"not distinguishable from it: {', '.join(same)}" if same else alone
    return f"{said}; {shown} ({tested_by(here)})."


def tested_by(letters: pd.DataFrame) -> str:
    """The test behind the letters of one dimension, its correction and for how many pairs, within a sentence."""
    if letters["test"].isna().all():
        return "not tested"
    row = letters.iloc[0]
    test, correction = str(row["test"]), str(row["correction"])
    adjusted = "not adjusted" if correction == "none" else f"{correction.title()}-adjusted over {int(row['family']):,}"
    return f"{_TESTS.get(test, test)} of each pair, {adjusted}, level {ALPHA:g}"


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
    """How many pairs of judges differ, are equivalent, or neither; and the two that are first by decisive accuracy.

    Parameters
    ----------
    margin : the one that was stated; 0 where none was, and nobody is called equivalent
    """
    differ, same = pairs["p_adjusted"] <= ALPHA, pairs["equivalence_p_adjusted"] <= ALPHA
    within = f"equivalent within {100 * margin:.0f} points"
    if len(pairs) == 1:
        said = f"The only pair of judges {on(dimension)} is {'' if differ.any() else 'not '}shown to differ"
        said += f", and {'' if same.any() else 'not '}to be {within}." if margin else "."
    else:
        n = int(differ.sum())
        said = f"Of {len(pairs):,} pairs of judges {on(dimension)}, {n:,} {'is' if n == 1 else 'are'} shown to differ"
        neither = int((pairs["p_adjusted"].notna() & ~differ & ~same).sum())
        said += f", {int(same.sum()):,} to be {within}, and {neither:,} neither." if margin else "."
    first = pairs[pairs["judge_1"].isin(order[:2]) & pairs["judge_2"].isin(order[:2])]
    if first.empty:
        return said
    row = first.iloc[0]
    if not row["p_adjusted"] <= ALPHA:
        names = f"{order[0]} and {order[1]}"
        return f"{said} The two judges first by decisive accuracy, {names}, are not shown to differ in accuracy."
    sign = 1 if row["difference"] > 0 else -1
    better, worse = (row["judge_1"], row["judge_2"])[::sign]
    low, high = sorted([sign * row["low"], sign * row["high"]])
    by = points(pd.Series({"by": sign * row["difference"], "low": low, "high": high}), "by")
    said += f" Of the two judges first by decisive accuracy, {better} is shown to be more accurate than {worse}"
    return f"{said}: {by}."


def subfields(*tables: pd.DataFrame, dimension: str) -> str:
    """The weakest cell of judge and subfield against its judge over all cases, and how many lie wholly below that."""
    overall = tables[0][tables[0]["subfield"].isna()].set_index("judge")["accuracy"]
    parts = pd.concat([table[table["subfield"].notna()] for table in tables], ignore_index=True)
    below = parts[parts["high"] < parts["judge"].map(overall)]
    best = str(overall.index[0])
    said = _weakest(parts, below, overall)
    said += (
        f"Of {len(parts):,} cells of judge and subfield {on(dimension)}, {len(below):,} "
        f"{'lies' if len(below) == 1 else 'lie'} wholly below the judge's accuracy over all cases; one in "
        "forty would by chance."
    )
    weak = below.loc[below["judge"] == best, "subfield"].astype("str").drop_duplicates().tolist()
    where = f"is weaker than that in {', '.join(weak)}" if weak else "is not shown to be weaker anywhere"
    return f"{said} The judge first by decisive accuracy, {best}, {where}."


def _weakest(parts: pd.DataFrame, below: pd.DataFrame, overall: pd.Series) -> str:
    """The cell furthest below its judge's accuracy over all cases, and of how many it is the furthest."""
    shown = below if len(below) else parts
    gaps = (shown["judge"].map(overall) - shown["accuracy"]).dropna()
    if gaps.empty:
        return ""
    row = shown.loc[gaps.index].iloc[int(gaps.argmax())]
    own = parts[(parts["judge"] == row["judge"]) & (parts["by"] == row["by"]) & parts["accuracy"].notna()]
    lowest = "the lowest of its" if row["accuracy"] == own["accuracy"].min() else "one of its"
    place = f"{lowest} {len(own)} values of {row['by']}, and " if len(own) > 1 else ""
    weak = "is weak" if len(below) else "is not shown to be weak anywhere; it is lowest"
    return (
        f"{row['judge']} {weak} on {cell(row)}, against {100 * overall[row['judge']]:.0f}% over all cases: {place}the "
        f"widest such gap of {len(parts):,} cells, so that part of it is chance. "
    )


def consistency(table: pd.DataFrame, *, dimension: str) -> str:
    """Say how many judges have a position bias, and which judge is the most consistent."""
    said: str = TABLES["consistency"].says(table[table["dimension"] == dimension])
    return said


def failures(shares: pd.DataFrame, ranked: pd.DataFrame, *, dimension: str) -> str:
    """How often every judge is wrong, and the most that choosing judges could gain."""
    whole = shares[shares["subfield"].isna()]
    wrong, mean, best = (
        percent(whole[whole["quantity"] == name].iloc[0], "estimate", "low", "high")
        for name in ("every_judge_wrong", "mean_judge", "best_judge")
    )
    return (
        f"On {wrong} of the {len(ranked):,} cases scored {on(dimension)} no judge has any credit. The mean judge has "
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
    return f"{note} {opening(dimension)}: {'; '.join(ways)}.".strip()


def ceiling(table: pd.DataFrame, *, dimension: str, epsilon: float) -> str:
    """Say how many judges differ from an average annotator, and how many pass the alternative annotator test."""
    here = table[table["dimension"] == dimension]
    judges, tests = here[here["part"] == "judge"], here[here["part"] == "alt_test"]
    human = here[(here["part"] == "annotator") & (here["annotator"] == "mean") & here["accuracy"].notna()]
    if human.empty:
        return f"The accuracy of one annotator {on(dimension)} is not known."
    level = percent(human.iloc[0], "accuracy", "low", "high")
    said = f"An average annotator has an accuracy of {level} against the majority of the others."
    known = judges[judges["verdict"].notna()]
    if known.empty:
        return said
    passing = tests.loc[tests["passes"].fillna(False), "judge"]
    short = known.loc[known["verdict"] == "below", "judge"]
    above, unclear = (int((known["verdict"] == each).sum()) for each in ("above", "cannot tell"))
    what = f"significantly below an average annotator {on(dimension)}"
    placed = of_judges(len(short), len(known), what)
    if len(known) > 1:
        placed += f", {above or 'none'} above"
    if unclear:
        placed += f"; we cannot tell for {unclear if len(known) > 1 else 'it'}"
    return (
        f"{placed} (corrected over all judges). {said} {len(passing)} of {len(tests)} pass the alternative annotator "
        f"test at epsilon {epsilon:g}, which allows a judge to be worse than an annotator by less than that; "
        f"{int(passing.isin(short).sum())} of these are significantly below an average annotator."
    )


def gold(rules: pd.DataFrame, *, dimension: str) -> str:
    """Say how many majority labels are wrong, how the rule changes the ranking, and which annotators stand apart."""
    taus = rules[(rules["part"] == "ranking") & (rules["rule"] != "majority") & rules["kendall_tau"].notna()]
    errors, out = rules["label_error"].dropna(), rules.loc[rules["part"] == "left_out", "kendall_tau"].dropna()
    people = rules[(rules["part"] == "annotator") & rules["p_adjusted"].notna()]
    said = []
    if len(errors):
        said.append(
            f"If annotators err independently, {100 * errors.median():.0f}% of the majority's labels "
            f"{on(dimension)} are wrong."
        )
    if len(taus):
        low, same = taus.nsmallest(1, "kendall_tau").iloc[0], ", ".join(taus["rule"]).replace("_", " ")
        said.append(
            f"The ranking of the judges is the same by the majority and the rules {same}."
            if low["kendall_tau"] > 1 - 1e-9
            else f"The ranking of the judges changes most under the rule {low['rule'].replace('_', ' ')}: Kendall's "
            f"tau with the majority's is {low['kendall_tau']:.2f}."
        )
    if len(out):
        said.append(f"Leaving out any one annotator, tau is at least {out.min():.2f}.")
    if len(people):
        apart = int(((people["p_adjusted"] <= ALPHA) & (people["peer_gap"] < 0)).sum())
        said.append(
            f"Of {len(people)} annotators, {apart} agree{'s' if apart == 1 else ''} significantly less with the others "
            "than those with each other."
            if apart
            else "We cannot tell that any annotator agrees less with the others than those with each other."
        )
    return " ".join(said) or f"Neither the labels' errors nor the ranking can be estimated {on(dimension)}."


def models(effects: pd.DataFrame, matched: pd.DataFrame, cases: pd.DataFrame, *, dimension: str) -> str:
    """How order and length go with being right, how many cells are weak beyond difficulty, and labels to review."""
    together = effects[(effects["part"] == "all judges") & effects["marginal_effect"].notna()]
    ways = {
        "gold_first": "Showing the better response first changes the probability of being right by",
        "length_difference": "The better response being longer by one standard deviation goes with a probability of "
        "being right that differs by",
    }
    about = {"gold_first": "order", "length_difference": "length"}
    said, unclear = list[str](), list[str]()
    for term, way in ways.items():
        row = together[together["term"] == term]
        if len(row) and row["p_adjusted"].iloc[0] <= ALPHA:
            said.append(f"{way} {points(row.iloc[0], 'marginal_effect')}.")
        elif len(row):
            unclear.append(about[term])
    if unclear:
        matter = "matters" if len(unclear) == 1 else "matter"
        said.append(f"Cannot tell whether {' and '.join(unclear)} {matter} {on(dimension)}.")
    flagged = int(matched["ets_class"].isin(["B", "C"]).sum()) if "ets_class" in matched else 0
    large = some(flagged, "cell", "cells", "of judge and subfield ")
    said.append(f"{large} weak or strong beyond difficulty {on(dimension)}.")
    suspect = int((cases["suspicion"] >= 0.5).sum())
    said.append(f"{some(suspect, 'gold label', 'gold labels')} more probably wrong than right by the judges' verdicts.")
    return " ".join(said)


def bias(here: pd.DataFrame, by_length: pd.DataFrame, *, dimension: str) -> str:
    """How many judges are pulled by length beyond quality, or err towards longer responses where that is not known."""
    rows = here[here["bias"] == "length"]
    length = rows[rows["estimate"].notna()]
    if len(length):
        pulled = length["p_adjusted"] <= ALPHA
        longer, shorter = (int((pulled & (sign * length["estimate"] > 0)).sum()) for sign in (1, -1))
        what = f"shown to favour {{}} responses {on(dimension)} beyond their quality"
        said = of_judges_towards(longer, shorter, len(length), what)
    else:
        known = rows[rows["error_asymmetry"].notna()]
        longer = int((known["error_asymmetry_low"] > 0).sum())
        shorter = int((known["error_asymmetry_high"] < 0).sum())
        said = of_judges_towards(
            longer, shorter, len(known), f"seen to favour {{}} responses when wrong {on(dimension)}"
        )
        said += ", which is an association: these labels cannot tell it from quality"
    wide = by_length[by_length["subfield"].notna()].pivot(index="judge", columns="subfield", values="estimate")
    if {"is longer", "is shorter"} <= set(wide.columns):
        gap = (wide["is longer"] - wide["is shorter"]).abs()
        widest = wide[gap == gap.max()].head(1)
        said += (
            f". The largest gap is that of {widest.index[0]}: an accuracy of {_points(widest, 'is longer')}% where "
            f"the better response is longer, of {_points(widest, 'is shorter')}% where it is shorter"
        )
    return said + "."


def calibration(own: pd.DataFrame, answers: pd.DataFrame, *, dimension: str) -> str:
    """Say how many judges are overconfident, and which may answer most cases at a promised agreement."""
    if own.empty:
        return f"No judge gives a probability that can be checked {on(dimension)}."
    return f"{TABLES['calibration'].says(own)} {TABLES['selective'].says(answers)}"


def ranking(agreed: pd.DataFrame, saving: pd.DataFrame, *, dimension: str) -> str:
    """Say which judge ranks the responders most like the annotators, if any does, and how many labels verdicts save."""
    known = agreed[(agreed["dimension"] == dimension) & agreed["kendall"].notna()]
    if known.empty:
        return f"The responders cannot be ranked {on(dimension)}."
    said = most_alike(known, f"the responders {on(dimension)}")
    saving = saving.dropna(subset="expected_label_saving")
    if saving.empty:
        return said
    most = saving.nlargest(1, "expected_label_saving").iloc[0]
    return (
        f"{said} With {most['label_share']:.0%} of the labels kept, the verdicts of {most['judge']} would save "
        f"{most['expected_label_saving']:.0%} of the labels that equally exact win rates take without them"
        f"{', the most of all judges' if len(saving) > 1 else ''}."
    )


def transfer(table: pd.DataFrame, *, by: str, dimension: str) -> str:
    """Say what to expect of the judge that ranks first in a new domain."""
    known = table[(table["part"] == "summary") & table["accuracy"].notna()]
    if known.empty:
        return f"Accuracy by {by} cannot be summarised {on(dimension)}."
    return str(TABLES["transfer"].says(table))


def juries(table: pd.DataFrame, *, dimension: str) -> str:
    """Whether a jury is better than the judge that is best on other cases."""
    known = table[(table["kind"] != "best_single") & table["accuracy"].notna()]
    if known.empty:
        return f"No jury can be scored {on(dimension)}."
    best = known.sort_values("rank", kind="stable").iloc[0]
    if not best["decisive_accuracy_low"] > 0.5:
        return f"No jury of all {int(best['size'])} judges is shown to be better than a constant {on(dimension)}."
    return (
        f"The best jury of all {int(best['size'])} judges {on(dimension)} by decisive accuracy "
        f"({best['kind'].replace('_', ' ')}) has {percent(best, 'decisive_accuracy')} (a constant has 50%); its "
        f"accuracy is {percent(best, 'accuracy', 'low', 'high')}. It is {against_one(best, table)} the judge that is "
        f"best on other cases: {points(best, 'crossfit_difference')}."
    )


def power(table: pd.DataFrame, *, dimension: str) -> str:
    """The smallest difference that the cases can show, over all and in the subfield with the fewest."""
    rows = table[table["part"] == "summary"]
    known = rows[rows["minimum_detectable_difference"].notna()]
    whole, parts = known[known["subfield"].isna()], known[known["subfield"].notna()]
    if whole.empty:
        return f"No difference can be computed {on(dimension)}."
    row = whole.iloc[0]
    corrected = ", corrected for the number of pairs," if row["correction"] != "none" and row["family"] > 1 else ""
    said = (
        f"With {int(row['n']):,} cases, a difference between two judges {on(dimension)} is found with power 80%"
        f"{corrected} from {_points(whole, 'minimum_detectable_difference')} "
        "points on, for the median pair"
    )
    if len(parts):
        worst = parts.nlargest(1, "minimum_detectable_difference")
        said += f"; in {worst['subfield'].iloc[0]} from {_points(worst, 'minimum_detectable_difference')} on"
    lost = rows.loc[rows["minimum_detectable_difference"].isna() & rows["subfield"].notna(), "subfield"].tolist()
    if lost:
        said += f"; in {', '.join(lost)} no difference can be shown"
    return f"{said}."


def adjudication(moves: pd.DataFrame, *, dimension: str, note: str) -> str:
    """Say how many labels reviewers changed, and how that changes the accuracy and the rank of judges."""
    if moves.empty:
        return f"{note} No label {on(dimension)} was reviewed.".strip()
    first, ranked = moves.iloc[0], moves.dropna(subset=["rank", "majority_rank"])
    changed = int((moves["p_adjusted"] <= ALPHA).sum())
    ranks = int((ranked["rank"] != ranked["majority_rank"]).sum())
    what = "scored significantly differently by the corrected labels"
    said = (
        f"{note} Of {int(first['n_adjudicated']):,} labels reviewed {on(dimension)}, {int(first['n_changed']):,} "
        f"became another label and {int(first['n_removed']):,} none. {of_judges(changed, len(moves), what)}"
    ).strip()
    if len(moves) == 1:
        return f"{said}."
    return f"{said}; {ranks or 'none'} {'changes its' if ranks < 2 else 'change their'} rank."


def _points(rows: pd.DataFrame, column: str) -> str:
    return f"{100 * rows[column].iloc[0]:.0f}"
