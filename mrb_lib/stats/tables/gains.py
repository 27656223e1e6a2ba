"""Is a judge that was trained further better than its base, at what price, and what contributed?"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, Option, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, Contrast, contrasts, corrected, pairs_of_cells
from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, IntArray, divide, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.methods import recipes
from mrb_lib.stats.methods.response_traits import length_difference
from mrb_lib.stats.methods.word_baseline import prefers_a
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, percent, points
from mrb_lib.stats.scoring import read_by
from mrb_lib.stats.scoring import score as scores_of
from mrb_lib.stats.subfields import subfield_values
from mrb_lib.stats.tables.groups import contrast as crossed_contrast
from mrb_lib.stats.verdicts import REFERENCE, TIE
from mrb_lib.tables.schema import CHOICES

A, B = CHOICES.index("A"), CHOICES.index("B")
ACCURACY, INGREDIENT = "accuracy", "ingredient"
SIZE, TRAINED, OUT_OF_DOMAIN = "size", "trained", "out_of_domain"
NAMES: Final = {"difference": "gain", "judge_1": "tuned", "judge_2": "base"} | {
    f"value_{i}{end}": f"value_{side}{end}" for i, side in ((1, "tuned"), (2, "base")) for end in ("", "_low", "_high")
}
"""Names in this table of the columns of `contrasts`."""
NOT_BOTH: Final = {
    ACCURACY: "no case is scored for both judges",
    "consistency": "no case is answered in both orders by both judges",
    "first_rate": "no case is answered in both orders by both judges",
    "brier": "no case whose gold label is A or B has a probability of both judges",
    "longer_rate": "no case with responses of different length is answered by both judges",
}
"""The quantities, and why one may be null for a pair."""
NO_PAIR: Final = "no case is scored for a judge trained without its domain and for one trained with it"
NO_WORDS: Final = "accuracy_words: no word of training cases among these cases tells A from B"
NO_RECORD: Final = "n_seen is not known: there is no record of the training"
FEWEST_RUNS: Final = 2
ONE_RUN: Final = f"one run of a recipe cannot tell chance from the ingredient: that takes {FEWEST_RUNS} runs of each"
ONE_TRAINING: Final = "the interval is over test cases: it does not hold what another training would change"


def better_than_base(rows: pd.DataFrame) -> str:
    """Say how many judges differ significantly from their bases, and what ingredients and more cases contribute."""
    where, pairs = opening(main_dimension(rows)), main_rows(rows, part=ACCURACY)
    known = pairs.dropna(subset="p_adjusted")
    significant = known[known["p_adjusted"] <= ALPHA].sort_values("gain", ascending=False)
    n, up = len(known), int((significant["gain"] > 0).sum())
    said = []
    if significant.empty and len(pairs):
        none = f"no significant difference in accuracy between a trained judge and its base ({n} compared)"
        said.append(f"{where}, {none}; cannot tell.")
    elif n == 1:
        row = significant.iloc[0]
        more = f"significantly {'more' if up else 'less'} accurate than {row['base']}"
        said.append(f"{where}, {row['tuned']} is {more} ({points(row, 'gain')}).")
    elif n:
        down, rest = len(significant) - up, n - len(significant)
        more = f"{up} {'is' if up == 1 else 'are'} significantly more accurate than the base and {down} less"
        unclear = f"; cannot tell for {rest}" if rest else ""
        said.append(f"{where}, of {n} judges that were trained further, {more}{unclear}.")
        if up:
            most = significant.iloc[0]
            said.append(f"{most['tuned']} gains most, {points(most, 'gain')} over {most['base']}.")
    for _, row in pairs.dropna(subset="accuracy_words").nlargest(1, "value_tuned").iterrows():
        words = f"trained on its training cases here, scores {percent(row, 'accuracy_words')}"
        said.append(f"{row['tuned']} scores {percent(row, 'value_tuned')}; a bag-of-words baseline, {words}.")
    said += [*_of_ingredients(rows), *_of_sizes(rows)]
    return " ".join(said) or f"{where}, no judge here is known to be trained further from another."


def _of_ingredients(rows: pd.DataFrame) -> list[str]:
    """Say which ingredients of training change accuracy significantly, where two recipes can be compared."""
    own = main_rows(rows, part=INGREDIENT)
    if own.empty:
        return []
    tested = own[own["quantity"] == ACCURACY].dropna(subset="p_adjusted")
    significant = tested[tested["p_adjusted"] <= ALPHA].sort_values("gain", key=abs)
    if significant.empty:
        compared = f"{len(tested)} compared, which takes {FEWEST_RUNS} runs of each recipe"
        return [f"Cannot tell what an ingredient of training contributes ({compared})."]
    row = significant.iloc[-1]
    what = f"{row['ingredient']} {row['setting_tuned']} against {row['setting_base']}: {points(row, 'gain')}"
    return [f"{len(significant)} of {len(tested)} ingredients change accuracy significantly, most {what}."]


def _of_sizes(rows: pd.DataFrame) -> list[str]:
    """Say the accuracies after the fewest and the most training cases of the first series, where there is one."""
    own = main_rows(rows, part=SIZE)
    if own.empty or own["value_tuned"].isna().any():
        return []
    recipe = own["recipe"].iloc[0]
    ends = own[own["recipe"] == recipe].iloc[[0, -1]]
    few, most = (f"{percent(row, 'value_tuned')} after {int(row['n_training']):,}" for _, row in ends.iterrows())
    return [
        f"Accuracy is {few} training cases and {most} ({recipe}).",
        "The intervals are over test cases; cannot tell how much another training would change.",
    ]


@table(
    "gains",
    question="is a judge that was trained further better than its base, at what price, and what contributed",
    columns=[
        Column("part", "quantity, ingredient, size, trained or out_of_domain", "text"),
        Column("quantity", "accuracy, consistency, first_rate, brier (lower is better) or longer_rate", "text"),
        Column("base", "judge that the other was trained from, or is compared with", "text"),
        Column("tuned", "judge that was trained further", "text"),
        shared("dimension", "subfields"),
        Column("policy", "scoring policy, where the quantity depends on one", "text"),
        shared("n", "n_excluded"),
        Column("n_seen", "excluded cases that either was trained on", "cases", null=NO_RECORD, parts=(*NOT_BOTH,)),
        shared("clusters"),
        Column("accuracy_base", "mean score of the base, in rows of part accuracy", "share 0-1"),
        Column("accuracy_tuned", "mean score of the tuned judge, same cases", "share 0-1"),
        estimated(
            "accuracy_words", "score of words learnt from its training cases here", null=NO_WORDS, parts=(ACCURACY,)
        ),
        estimated("value_base", "quantity of the base, mean over these cases"),
        estimated("value_tuned", "quantity of the tuned judge"),
        Column("gain", "value_tuned minus value_base", "difference", ends=("low", "high")),
        shared("errors"),
        Column("test", "permutation (sign flips), mcnemar_exact, or t", "text"),
        shared("tests", "equivalence"),
        Column("ingredient", "the only entry in which the two recipes differ", "text"),
        Column("setting_base", "its value in the recipe of the base", "text"),
        Column("setting_tuned", "its value in the recipe of the tuned judge", "text"),
        Column("trained_on", "domains that the judge was trained on", "text"),
        Column("in_training", "whether the judge was trained on this domain", "yes/no"),
        Column("recipe", "how the judges of a series were trained, but for the size", "text"),
        Column("n_training", "training cases of the judge", "count"),
    ],
    sentence=better_than_base,
    headline=("gain", "low", "high", "p_adjusted", "n", "n_seen", "value_base", "value_tuned"),
    uses=(*TESTED, "groups", "training", "records", "pairs"),
    reads=("p_a",),
    why_no_ratings="",
    nothing="no run says that a judge was trained (`mrb train`)",
    options={"margin": Option("gains and losses of accuracy below it count as none", least=0, below=1)},
)
def gains(analysis: Analysis, *, margin: float | None = None) -> pd.DataFrame:
    """Compare judges with those they were trained from, recipes that differ in one entry, and sizes of training sets.

    Pairs are those of `pairs`, or those that `records` and `judge_groups` tell. Of recorded pairs the other quantities
    are compared as well. Parts `trained` and `out_of_domain` are of judges that were trained without a value of a
    column, on that value, against judges of the same recipe that were trained with it (`value_base`); part `size` of
    judges that differ in the number of training cases alone, on the cases that are scored for all of them. Cases that
    either judge was trained on are left out. Each quantity is corrected by itself. `accuracy_words` is what
    `mrb_lib.stats.methods.word_baseline` gets after learning from the gold labels of the cases that the tuned judge was
    trained on, as far as these are among the cases.

    Parameters
    ----------
    margin : adds two one-sided tests of equivalence of accuracy; None makes none

    Notes
    -----
    An ingredient is tested where each recipe has at least two runs (seeds), which are draws as cases are
    (`mrb_lib.stats.tables.groups.contrast`); one run each cannot tell, since another seed would move it as well.
    """
    records, judges = analysis.records, analysis.verdicts.cells["judge"].unique().tolist()
    pairs, values = recipes.judge_pairs(analysis, judges), case_quantities(analysis)
    recorded = [pair for pair in pairs if pair in recipes.recorded_pairs(records)]
    frames = [_of_pairs(analysis, ACCURACY, values[ACCURACY], pairs, margin)]
    frames += [_of_pairs(analysis, name, values[name], recorded) for name in NOT_BOTH if name != ACCURACY]
    if records is not None:
        made = recipes.recipe_contrasts(records, judges)
        frames += [_ingredients(analysis, name, each, made) for name, each in values.items()]
        for series in recipes.size_series(records, judges):
            frames += _sizes(analysis, series)
        frames += _trained_rows(analysis, records)
    rows = pd.concat(frames, ignore_index=True)
    of_accuracy, quantity = rows["part"].eq(ACCURACY), rows["quantity"].fillna(ACCURACY)
    return rows.assign(
        quantity=quantity,
        policy=pd.Series(analysis.policy, rows.index).where(quantity.isin([ACCURACY, "longer_rate"])),
        accuracy_base=rows["value_base"].where(of_accuracy),
        accuracy_tuned=rows["value_tuned"].where(of_accuracy),
    )


def case_quantities(analysis: Analysis) -> dict[str, FloatArray]:
    """Return the quantities of `NOT_BOTH`, each of shape (cases, cells), 0 to 1; NaN where undefined.

    `consistency` is 1 where the choice is the same in both orders; `first_rate` the share choosing the response shown
    first (a tie, and two orders that agree, being a half); `brier` the squared error of the probability where gold is A
    or B; `longer_rate` the share choosing the response with more characters (ties a half). Each is a mean over the
    verdicts on a case. Ratings of one response have accuracy only.
    """
    verdicts, score = analysis.verdicts, analysis.scores.score
    if verdicts.tie < 0:
        return dict.fromkeys(NOT_BOTH, np.full(score.shape, np.nan)) | {ACCURACY: score}
    both = verdicts.both_orders().query("ab >= 0 and ba >= 0")
    lean = ((both["ab"] == A) * 1.0 - (both["ba"] == A) + (both["ba"] == B) - (both["ab"] == B)) / 2
    orders = both.assign(consistency=(both["ab"] == both["ba"]) * 1.0, first_rate=(1 + lean) / 2)
    means = orders.groupby(["case", "cell"])[["consistency", "first_rate"]].mean()
    every = pd.MultiIndex.from_product([range(score.shape[0]), range(score.shape[1])])
    out = {str(name): each.to_numpy().reshape(score.shape) for name, each in means.reindex(every).items()}
    gold = verdicts.gold(analysis.labels)
    squares = (verdicts.p_a - np.select([gold == A, gold == B], [1.0, 0.0], np.nan)) ** 2
    brier = divide(verdicts.total(np.nan_to_num(squares)), verdicts.total(np.isfinite(squares)))
    difference = length_difference(analysis.cases)[:, None]
    read = read_by(verdicts, analysis.policy)
    for_a = divide(read.total(read.choice == A) + 0.5 * read.total(read.choice == TIE), read.total(read.choice >= 0))
    longer = np.select([difference > 0, difference < 0], [for_a, 1 - for_a], np.nan)
    return {ACCURACY: score, **out, "brier": brier, "longer_rate": longer}


def _of_pairs(
    analysis: Analysis, quantity: str, values: FloatArray, pairs: list[tuple[str, str]], margin: float | None = None
) -> pd.DataFrame:
    """Compare one quantity between pairs (base, tuned), in all dimensions that both judged."""
    cells = analysis.verdicts.cells
    place = {key: i for i, key in enumerate(zip(cells["judge"], cells["dimension"], strict=True))}
    keys = [((tuned, name), (base, name)) for base, tuned in pairs for name in analysis.names]
    both = [(place[one], place[other]) for one, other in keys if one in place and other in place]
    first, second = np.array(both, dtype=np.int64).reshape(-1, 2).T
    whole, seen = analysis, analysis.verdicts.seen
    if analysis.panel is not None and seen.any():
        whole = replace(analysis, probes={analysis.probe: analysis.panel.with_seen()})
    scored = np.isfinite(whole.scores.score)
    seen = (seen[:, first] | seen[:, second]) & scored[:, first] & scored[:, second]
    contrast = pairs_of_cells(analysis, values, both)._replace(seen=seen)
    graded = analysis if quantity == ACCURACY else replace(analysis, policy="balanced")  # others are not 0 or 1
    rows = corrected(contrasts(graded, contrast, intervals.proportion), graded, margin).rename(columns=NAMES)
    if quantity == ACCURACY:
        by_words = mean(np.where(np.isnan(contrast.first - contrast.second), np.nan, _words(analysis, contrast.names)))
        made, _ = grid(analysis, contrast.names, {"accuracy_words": Measure(by_words, intervals.proportion)})
        ends = {f"accuracy_words_{end}": made[end].to_numpy() for end in ("low", "high")}
        rows = rows.assign(accuracy_words=made["accuracy_words"].to_numpy(), **ends)
    has_record = rows["tuned"].isin([] if analysis.training is None else analysis.training["judge"])
    why = np.where(rows["n"] == 0, NOT_BOTH[quantity], "")
    n_seen = rows["n_seen"].astype("Int64").mask(~has_record)
    return rows.assign(part=quantity, quantity=quantity, n_seen=n_seen, reason=why)


def _words(analysis: Analysis, pairs: pd.DataFrame) -> FloatArray:
    """Score a bag-of-words baseline with each tuned judge's training cases, shape (cases, pairs); NaN without any."""
    cases, training, verdicts = analysis.cases, analysis.training, analysis.verdicts
    if training is None or verdicts.tie < 0 or not {"response_a", "response_b"} <= {*cases}:
        return np.full((len(cases), len(pairs)), np.nan)
    known = training[training["use"].eq("training")] if "use" in training else training
    picks = dict[str, tuple[IntArray, list[None]]]()
    for judge in pairs["judge_1"].unique():
        own = cases["case_id"].isin(known.loc[known["judge"].eq(judge), "case_id"]).to_numpy()
        pick = np.full(analysis.labels.shape, -1)
        for dimension, gold in enumerate(analysis.labels.T):
            learnt = np.flatnonzero(own & np.isin(gold, (A, B)))
            for_a = prefers_a(cases, learnt, (gold[learnt] == A) * 1.0)
            pick[: len(for_a), dimension] = np.select([for_a == 1, for_a == 0], [A, B], TIE)
        picks[judge] = pick, [None] * len(analysis.names)
    with_words = verdicts.with_constants(picks)
    worth = scores_of(with_words, analysis.labels, analysis.policy)
    worth.score[with_words.total(with_words.choice >= 0) == 0] = np.nan
    is_words = with_words.cells["kind"].eq(REFERENCE)
    place = with_words.cells[is_words].reset_index(names="cell").set_index(["judge", "dimension"])["cell"]
    return worth.score[:, place[pd.MultiIndex.from_frame(pairs[["judge_1", "dimension"]])]]


def _ingredients(analysis: Analysis, quantity: str, values: FloatArray, pairs: list[dict[str, Any]]) -> pd.DataFrame:
    """Compare one quantity between recipes that differ in one entry, on the cases that all their runs are scored on."""
    cells, rows = analysis.verdicts.cells, list[dict[str, Any]]()
    for pair, name in product(pairs, analysis.names):
        of_name = cells["dimension"].eq(name)
        sides = [values[:, (cells["judge"].isin(runs) & of_name).to_numpy()] for runs in (pair["tuned"], pair["base"])]
        if all(side.size for side in sides):
            scored = np.isfinite(np.column_stack(sides)).all(axis=1, keepdims=True)
            sides = [np.where(scored, side, np.nan) for side in sides]
            found = crossed_contrast(sides, analysis.sampling, FEWEST_RUNS, ONE_RUN)
            row = pair | found | {side: ", ".join(pair[side]) for side in ("tuned", "base")}
            why = filter(None, ("" if found["n"] else NOT_BOTH[quantity], pair["note"]))
            rows.append(row | {"dimension": name, "reason": "; ".join(why)})
    if not rows:
        return pd.DataFrame()
    made = corrected(pd.DataFrame(rows).assign(by=None, subfield=None, n_unassigned=0), analysis)
    method = pd.Series("t", made.index).where(made["low"].notna())
    made = made.rename(columns=NAMES).drop(columns="margin")
    return made.assign(part=INGREDIENT, quantity=quantity, interval=method, test="t")


def _sizes(analysis: Analysis, series: pd.DataFrame) -> list[pd.DataFrame]:
    """Make the rows of judges that differ in the number of training cases alone, on the cases scored for all."""
    whole, frames = replace(analysis, by=None), []
    cells = analysis.verdicts.cells[["judge", "dimension"]].reset_index(names="cell")
    for name in analysis.names:
        own = series.merge(cells[cells["dimension"] == name], left_on="tuned", right_on="judge").set_index("cell")
        if len(own) == len(series):
            score = analysis.scores.score[:, own.index]
            score = np.where(np.isfinite(score).all(axis=1, keepdims=True), score, np.nan)
            rows = _accuracies(whole, own, score, intervals.share)
            frames.append(rows.assign(part=SIZE, reason=np.where(rows["n"] > 0, ONE_TRAINING, "")))
    return frames


def _trained_rows(analysis: Analysis, records: pd.DataFrame) -> list[pd.DataFrame]:
    """Make the rows of parts "trained" and "out_of_domain": of judges that were trained without a domain.

    Domains are the folds of a split where judges were trained without one of these.
    """
    cases, frames = analysis.cases, []
    cells = analysis.verdicts.cells[["judge", "dimension"]].assign(tuned=analysis.verdicts.cells["judge"])
    for column, left_out in _families(records, cells["judge"].unique().tolist()):
        folds = set(cases["fold"].dropna().astype("str")) if "fold" in cases else set()
        domain = "fold" if set(left_out.values()) - {None} <= folds else column
        if domain in cases and cases[domain].notna().any():
            inside = replace(analysis, by=domain)
            own = cells[cells["judge"].isin(list(left_out))]
            rows = _accuracies(inside, own, analysis.scores.score[:, own.index], intervals.proportion)
            rows = rows.dropna(subset="subfield")
            without = rows["tuned"].map(left_out)
            trained_on = ["all" if pd.isna(value) else f"all but {value}" for value in without]
            in_training = rows["subfield"].ne(without)
            frames.append(rows.assign(part=TRAINED, trained_on=trained_on, in_training=in_training, by=column))
            frames.append(_losses(inside, left_out, domain).assign(by=column))
    return frames


def _families(records: pd.DataFrame, judges: list[str]) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield judges of one base, benchmark and recipe: the column, and the value that each was trained without.

    Judges that were trained on all, whose value is None, belong to each family of their recipe.
    """
    known = records[records["judge"].isin(judges)].sort_values("judge")
    differs = ("n_cases", "left_out", "seed")
    recipes = [{name: value for name, value in recipe.items() if name not in differs} for recipe in known["recipe"]]
    known["of_recipe"] = [json.dumps(recipe, sort_keys=True, default=str) for recipe in recipes]
    keys = ["base_revision", "benchmark", "method", "engine", "warm_up", "of_recipe"]
    for _, rows in known.groupby(keys, dropna=False):
        whole: dict[str, str | None] = dict.fromkeys(rows.loc[rows["left_out"].isna(), "judge"])
        for column, without in rows.dropna(subset=["left_out", "left_out_column"]).groupby("left_out_column"):
            yield str(column), dict(zip(without["judge"], without["left_out"], strict=True)) | whole


def _accuracies(
    analysis: Analysis, cells: pd.DataFrame, score: FloatArray, interval: Callable[[Estimate], intervals.Interval]
) -> pd.DataFrame:
    """Return the accuracy of some cells of the verdicts, by their numbers (the index), over all cases and subfields."""
    measures = {"value_tuned": Measure(mean(score), interval)}
    rows, _ = grid(analysis, cells, measures, analysis.verdicts.seen[:, cells.index])
    return rows.drop(columns=["low", "high"])


def _losses(analysis: Analysis, left_out: dict[str, str | None], column: str) -> pd.DataFrame:
    """Compare judges on the domain that they were trained without with those trained with it, on the same cases."""
    cells, score = analysis.verdicts.cells, analysis.scores.score
    domain = subfield_values(analysis.cases, column)
    is_member, of_cell = cells["judge"].isin(list(left_out)).to_numpy(), cells["judge"].map(left_out).to_numpy()
    without = is_member & (domain.to_numpy()[:, None] == of_cell)

    def means(kept: BoolArray) -> FloatArray:
        by_dimension = pd.DataFrame(np.where(kept, score, np.nan).T).groupby(cells["dimension"].to_numpy()).mean()
        return np.asarray(by_dimension.reindex(analysis.names).to_numpy().T)

    out, inside = means(without), means(is_member & domain.notna().to_numpy()[:, None] & ~without)
    none: BoolArray = np.zeros(out.shape, dtype=bool)
    pair = Contrast(pd.DataFrame({"dimension": analysis.names}), out, inside, none)
    rows = corrected(contrasts(replace(analysis, policy="balanced"), pair, intervals.proportion), analysis)
    names = pd.Series(list(left_out), list(left_out.values()))
    judges_of = names.groupby(level=0).agg(", ".join) if len(set(left_out.values())) > 1 else names.head(0)
    rows = rows[rows["subfield"].isna() | rows["subfield"].isin(judges_of.index)]
    why = np.where(rows["n"] == 0, NO_PAIR, "")
    rows = rows.rename(columns=NAMES).drop(columns="n_seen")
    return rows.assign(part=OUT_OF_DOMAIN, tuned=rows["subfield"].map(judges_of), reason=why)
