"""Why is a verdict right: the judge, the subfield, the order, the longer response, or knowing the answer?"""

import logging
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.clusters import MOST_OF_ONE
from mrb_lib.stats.columns import DOMINATED, TESTED, Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.estimation import FloatArray, IntArray, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.methods.marginal import Fit, derivative, fit, interaction, probabilities
from mrb_lib.stats.methods.response_traits import length_difference, standardised
from mrb_lib.stats.methods.welch import unpaired
from mrb_lib.stats.multiplicity import adjust_rows
from mrb_lib.stats.phrases import main_dimension, main_rows, of_judges, on, opening, points
from mrb_lib.stats.subfields import columns_of, subfield_values
from mrb_lib.tables.errors import InputError

ALL, ONE, INTERACTION, KNOWLEDGE = "all judges", "one judge", "interaction", "knowledge"
DEFAULT_BY: Final = "department"
FACTORS, LENGTH = ("judge", "subfield"), "length_difference"
LEVELS: Final = {"order": "BA", "gold_first": "yes", LENGTH: None}
WAYS: Final = {
    "gold_first": ("showing the better response first changes the chance of a right verdict by", "order"),
    LENGTH: ("a better response longer by one SD goes with a change in the chance of a right verdict of", "length"),
}
FEWEST_CLUSTERS: Final = 5
NO_VERDICTS: Final = "no verdict on a case with a decisive gold label"
ALWAYS: Final = {0.0: "always wrong: the log odds are infinite", 1.0: "always right: the log odds are infinite"}
UNSEEN: Final = "no verdict"
ALIASED: Final = "not identified: a linear combination of the other terms"
ONE_LEVEL: Final = "nothing to compare: no other level has enough clusters"
FEW_CLUSTERS: Final = f"fewer than {FEWEST_CLUSTERS} clusters"
FEW_FOR_MODEL: Final = "no more clusters than covariates of cases"
NO_VARIATION: Final = "clusters do not differ in it"
CROSSED: Final = "no test: two columns of clusters cross"
NO_ITEM: Final = "no marks: the cases do not name their items"
NO_MODEL: Final = "no marks: the judge's model did not answer the items"
NO_CASES: Final = "no case that can be scored is about an item that the model answered"
ONE_SIDE: Final = "no difference: the model answered every item {}"
NO_SPREAD: Final = "on one side there are fewer than two clusters, or the judge is as accurate on every case"
_ALIASED, _NO_SPREAD = 1e-8, 1e-9
_LOG = logging.getLogger(__name__)


def effects(rows: pd.DataFrame) -> str:
    """Say what order and length have to do with being right, and who judges better what its model can answer."""
    own, said = main_rows(rows, part=ALL).sort_values("p_adjusted", kind="stable"), list[str]()
    for _, row in own[own["term"].isin(list(WAYS))].drop_duplicates("term").iterrows():
        way, about = WAYS[row["term"]]
        known, effect = row["p_adjusted"] <= ALPHA, points(row, "marginal_effect")
        said.append(f"{way} {effect}" if known else f"cannot tell whether {about} ({effect}) matters")
    judges = own[own["term"].eq("judge") & (own["p_adjusted"] <= ALPHA)].sort_values("marginal_effect", key=abs)
    for _, most in judges.tail(0 if said else 1).iterrows():
        said.append(f"{most['level']} differs most from the mean judge: {points(most, 'marginal_effect')}")
    found = "; ".join(said) or "no judge is right significantly more or less often than the mean judge; cannot tell"
    text = f"{opening(main_dimension(rows))}, other things equal, {found}."
    return f"{text} {_of_knowledge(rows)}" if rows["part"].eq(KNOWLEDGE).any() else text


def _of_knowledge(rows: pd.DataFrame) -> str:
    tested = main_rows(rows, part=KNOWLEDGE).dropna(subset="p_adjusted")
    better = tested[(tested["p_adjusted"] <= ALPHA) & (tested["difference"] > 0)].sort_values("difference")
    if better.empty:
        return f"Cannot tell {on(main_dimension(rows))} whether judges judge better what their own model can answer."
    said = of_judges(len(better), len(tested), "significantly more accurate where their own model can answer")
    return f"{said}, {better['judge'].iloc[-1]} most: {points(better.iloc[-1], 'difference')}."


@table(
    "models",
    question="what does correctness depend on: judge, subfield, order, length, knowing the answer",
    columns=[
        shared("dimension"),
        Column("part", "all judges (one model), one judge, interaction (judge by term), or knowledge", "text"),
        Column("judge", "judge of the model; null: all judges", "text"),
        Column("answered_by", "the model behind the judge, among those that answered the items", "text"),
        Column("term", "what correctness may depend on", "text"),
        Column("level", "value of the term, against the mean value or the other value", "text"),
        Column("by", "column of the cases that defines the term subfield", "text"),
        Column("policy", "of knowledge: how verdicts become scores", "text"),
        Column("n", "verdicts that the row rests on; of knowledge, cases", "count"),
        shared("clusters"),
        Column("n_excluded", "cases without decisive label, verdict, subfield or response", "cases"),
        Column("n_right", "cases whose item the judge's own model answered right", "cases"),
        Column("n_wrong", "cases whose item it answered wrong", "cases"),
        Column("n_seen", "excluded cases that the judge was trained on", "cases"),
        Column("estimate", "log odds ratio of being right", "log odds", "Liang and Zeger 1986", ends=("low", "high")),
        estimated("marginal_effect", "the same contrast as a difference of probabilities", "difference"),
        estimated("accuracy_right", "accuracy where the judge's model answered the item right"),
        estimated("accuracy_wrong", "accuracy where it answered the item wrong"),
        estimated("difference", "accuracy_right minus accuracy_wrong, over other cases", "difference"),
        Column("df", "contrasts of the interaction; degrees of freedom of the difference"),
        shared("tests"),
    ],
    sentence=effects,
    headline=("marginal_effect", "difference", "accuracy_right", "accuracy_wrong"),
    uses=(*TESTED, "groups", "marks"),
    why_no_ratings="",
    with_marks=("groups", "policy", "resamples", "seed"),
)
def models(analysis: Analysis) -> pd.DataFrame:
    """Regress the correctness of every verdict on judge, subfield, order and length; compare what its model knows.

    A verdict is right if its choice is the gold label; a tie or a missing choice is wrong. Cases whose gold label is a
    tie are left out: neither order nor length can favour a tie.

    Notes
    -----
    Part "all judges" is one marginal model with an exchangeable working correlation within a case, "one judge" the
    model of each, which is the model of all with every interaction with the judge, "interaction" the tests of these.
    Levels of judge and subfield are compared with the mean of all levels that have five clusters or more. "gold_first"
    is position bias: the better response shown first rather than second. "length_difference" is per standard deviation
    of the difference of log length by which the better response is the longer one, as in table `bias`. Marginal effects
    are averages over the verdicts as they are, their intervals by the delta method; t has as many degrees of freedom as
    there are clusters minus the covariates that only cases have. A row "subfield" of one judge mixes how hard the
    subfield is with how the judge does there (see table `dif`); "knowledge" mixes knowing an answer with the item being
    easy. Simulated in
    tests/simulation/test_models.py and, of knowledge, tests/stats/tables/test_knowledge.py.
    """
    cases, frames = analysis.cases, list[pd.DataFrame]()
    has_default = DEFAULT_BY in cases and cases[DEFAULT_BY].notna().any()
    columns: list[str | None] = [*columns_of(analysis.by)] or [DEFAULT_BY if has_default else None]
    for by in columns:
        for number, dimension in enumerate(analysis.names):
            _LOG.info("models: %s by %s", dimension, by or "no subfield")
            frames.append(_regressions(analysis, number, by).assign(dimension=dimension, by=by, policy=None))
    if analysis.marks is not None:
        frames.append(knowledge_rows(analysis, analysis.marks))
    rows = pd.concat(frames, ignore_index=True)
    return adjust_rows(rows, analysis, ("by", "dimension"), "part")


def _regressions(analysis: Analysis, number: int, by: str | None) -> pd.DataFrame:
    """Make the rows of one dimension: of all judges, of each judge, and of what differs between judges."""
    verdicts, label, sampling = analysis.verdicts, analysis.labels[:, number], analysis.sampling
    sign, longer = np.where(label == 0, 1.0, -1.0), standardised(length_difference(analysis.cases))
    of_case = pd.DataFrame({"label": label, "sign": sign, "cluster": sampling.codes})
    if by is not None:
        of_case["subfield"] = subfield_values(analysis.cases, by).astype("category")
    if verdicts.tie >= 0 and np.isfinite(longer).any():
        of_case[LENGTH] = longer * sign
    if sampling.crossed is not None:
        of_case["crossed"] = sampling.crossed
        of_case["both"] = of_case.groupby(["cluster", "crossed"]).ngroup()
    usable = (label >= 0) & (label != verdicts.tie) & of_case.notna().all(axis=1).to_numpy()
    own = verdicts.where((verdicts.dimension[verdicts.cell] == number) & usable[verdicts.case])
    data = of_case.iloc[own.case].rename_axis("case").reset_index()
    excluded = len(label) - data["case"].nunique()
    if data.empty:
        none: dict[str, Any] = {"part": ALL, "n": 0, "n_clusters": 0, "p_value": np.nan, "reason": NO_VERDICTS}
        return pd.DataFrame([none | {"n_excluded": excluded}])
    names = verdicts.cells["judge"]
    data["judge"] = pd.Categorical(names.iloc[own.cell], names[verdicts.dimension == number])
    data["right"] = (own.choice == data["label"]) * 1.0
    if verdicts.tie >= 0:
        data["order"] = own.order - 0.5
        data["gold_first"] = -data["order"] * data["sign"]
    frames = [_model(data, exchangeable=True).assign(part=ALL)]
    for judge, alone in data.groupby("judge", observed=True, sort=False):
        frames.append(_model(alone.drop(columns="judge"), exchangeable=False).assign(part=ONE, judge=judge))
    return pd.concat([*frames, _interactions(data)]).assign(n_excluded=excluded)


def _model(data: pd.DataFrame, *, exchangeable: bool) -> pd.DataFrame:
    """Fit one model to verdicts; return a row per term and level.

    Levels that are always right or wrong are left out, since their log odds are infinite, and so are terms that are not
    identified given those before them.
    """
    factors, absent = [name for name in FACTORS if name in data], list[dict[str, Any]]()
    while lost := [
        (f, v, s) for f in factors for v, s in data.groupby(f, observed=False)["right"].mean().items() if not 0 < s < 1
    ]:
        for f, v, share in lost:
            absent.append({"term": f, "level": v, "n": 0, "n_clusters": 0, "reason": ALWAYS.get(share, UNSEEN)})
            data = data[data[f] != v]
            data[f] = data[f].cat.remove_categories([v])
    if data.empty:
        return pd.DataFrame(absent)
    data = data.sort_values("case", kind="stable").reset_index(drop=True)
    x, places = _design(data, factors)
    codes = [data[name].to_numpy() for name in ("cluster", "crossed", "both") if name in data]
    made = fit(x, data["right"].to_numpy(), data["case"].to_numpy(), codes, exchangeable=exchangeable)
    of_verdicts = {"order", "gold_first", *(["judge"] if "judge" in data and data["judge"].nunique() > 1 else [])}
    of_cases = sum(place.stop - place.start for term, place in places.items() if term not in of_verdicts)
    df = min(len(np.unique(each)) for each in codes) - of_cases
    terms = [term for term in (*factors, *LEVELS) if term in data]
    frames = [pd.DataFrame(absent), *(_contrasts(data, term, x, made, places.get(term), df) for term in terms)]
    return pd.concat(frames)


def _design(data: pd.DataFrame, factors: list[str]) -> tuple[FloatArray, dict[str, slice]]:
    """Return the covariates of the terms that are no linear combination of those before them, and their columns."""
    import patsy  # takes half a second to import

    terms = [*factors, *(name for name in LEVELS if name in data)]
    design = patsy.dmatrix(" + ".join(["0" if factors else "1", *terms]), data)
    whole = np.asarray(design)
    scaled = whole / np.maximum(np.linalg.norm(whole, axis=0), 1e-150)
    gram, places, columns = scaled.T @ scaled, dict[str, slice](), list[int]()
    for term, place in design.design_info.term_name_slices.items():
        trial = [*columns, *range(place.start, place.stop)]
        if np.linalg.matrix_rank(gram[np.ix_(trial, trial)], tol=_ALIASED, hermitian=True) == len(trial):
            places[term], columns = slice(len(columns), len(trial)), trial
    return np.ascontiguousarray(whole[:, columns]), places


def _counts(members: list[IntArray]) -> dict[str, Any]:
    """Count verdicts and clusters, and the share of the largest cluster, from the clusters of the verdicts of rows."""
    sizes = [np.unique(clusters, return_counts=True)[1] for clusters in members]
    n, largest = np.array([size.sum() for size in sizes]), np.array([size.max() for size in sizes])
    return {"n": n, "n_clusters": np.array([len(size) for size in sizes]), "largest": largest / n}


def _contrasts(data: pd.DataFrame, term: str, x: FloatArray, made: Fit, place: slice | None, df: int) -> pd.DataFrame:
    """Make the rows of a term: each level against the mean of all that have enough clusters, or a change by one.

    Log odds and marginal effects have an interval, or the reason why not. Of the length the effect is a derivative.
    """
    levels: list[Any] = [LEVELS[term]] if term in LEVELS else list(data[term].cat.categories)
    own = [np.arange(len(data))] if term in LEVELS else [np.flatnonzero(data[term] == level) for level in levels]
    rows = _counts([data["cluster"].to_numpy()[each] for each in own]) | {"term": term, "level": levels}
    if place is None:
        return pd.DataFrame(rows | {"reason": ALIASED})
    few = rows["n_clusters"] < FEWEST_CLUSTERS
    settings, weights = np.array([[0.5], [-0.5]]), np.array([[1.0, -1.0]])
    if term not in LEVELS:
        settings, compared = x[[each[0] for each in own], place], few if few.all() else ~few
        weights = np.eye(len(levels)) - compared / compared.sum()
    alone = ~weights.any(axis=1)
    rows["reason"] = np.where(alone, ONE_LEVEL, made.flaw)
    if made.flaw:
        return pd.DataFrame(rows)
    contrast = np.zeros((len(levels), x.shape[1]))
    contrast[:, place] = weights @ settings
    effect, gradient = (weights @ each for each in probabilities(x, made.beta, place, settings))
    if term == LENGTH:
        effect, gradient = derivative(x, made.beta, place.start)
    error = made.error(contrast)
    why = [few, rows["largest"] > MOST_OF_ONE, np.full(len(levels), df < 1), error < _NO_SPREAD]
    rows["lacks"] = np.select(why, [FEW_CLUSTERS, DOMINATED, FEW_FOR_MODEL, NO_VARIATION], "")
    reach = np.where(rows["lacks"] == "", stdtrit(df, 0.975), np.nan)
    for name, value, spread, of in (
        ("estimate", contrast @ made.beta, error, ""),
        ("marginal_effect", effect, made.error(gradient), "marginal_effect_"),
    ):
        rows[name] = np.where(alone, np.nan, value)
        rows[f"{of}low"], rows[f"{of}high"] = rows[name] - reach * spread, rows[name] + reach * spread
    p = 2 * stdtr(df, -np.abs(rows["estimate"]) / np.maximum(error, _NO_SPREAD))
    return pd.DataFrame(rows | {"p_value": np.where(np.isnan(rows["low"]), np.nan, p)})


def _interactions(data: pd.DataFrame) -> pd.DataFrame:
    """Test whether each term differs between judges, a row per term."""
    keys = ["case", *(["order"] if "order" in data else [])]
    settings = data.drop_duplicates(keys).sort_values(keys)
    verdicts = data.groupby([*keys, "judge"], observed=True)["right"].agg(["sum", "size"])
    right, trials = (verdicts[name].unstack("judge", fill_value=0).to_numpy(np.float64).T for name in verdicts)
    constant, cluster = np.ones((len(settings), 1)), settings["cluster"].to_numpy()
    tested = others = {name: settings[[name]].to_numpy(np.float64) for name in LEVELS if name in data}
    kinds = constant
    if "subfield" in data:
        kinds = pd.get_dummies(settings["subfield"]).to_numpy(np.float64)
        tested = {"subfield": kinds} | others
    rows = list[dict[str, Any]]()
    for term, columns in tested.items():
        own = [constant if term == "subfield" else kinds, *(each for name, each in others.items() if name != term)]
        made = interaction(np.hstack(own), columns, right, trials, cluster)
        if "crossed" in data:
            made |= {"df": np.nan, "p_value": np.nan, "reason": CROSSED}
        rows.append({"part": INTERACTION, "term": f"judge:{term}", **made})
    return pd.DataFrame(rows)


def knowledge_rows(analysis: Analysis, marks: pd.DataFrame) -> pd.DataFrame:
    """Compare each judge's accuracy on items that its own model answers right with that on items it answers wrong.

    An item counts as right where more than half of the model's marked answers are, as wrong where fewer are, and as
    neither at just half.
    """
    verdicts, score, cases = analysis.verdicts, analysis.scores.score, analysis.cases
    cells, has_items = verdicts.cells, "item" in cases
    if not marks["correct"].dropna().isin([0, 1]).all():
        raise InputError("marks: must be 1 for right and 0 for wrong, or null; correct the column correct.")
    shares = marks.pivot_table("correct", "item_id", "model")
    models_of = {judge: _model_of(judge, analysis.judge_groups, marks) for judge in cells["judge"].unique()}
    answered_by = cells["judge"].map(models_of)
    of_case = shares.reindex(cases.reindex(columns=["item"])["item"], columns=answered_by).to_numpy(np.float64)
    known, unknown = (np.where(side, score, np.nan) for side in (of_case > 0.5, of_case < 0.5))
    used = np.isfinite(known) | np.isfinite(unknown)
    measures = {
        "used": Measure(mean(np.where(used, score, np.nan))),
        "accuracy_right": Measure(mean(known), intervals.share),
        "accuracy_wrong": Measure(mean(unknown), intervals.share),
    }
    tallies = {"n_right": np.isfinite(known), "n_wrong": np.isfinite(unknown)}
    names = cells[["judge", "dimension"]].assign(part=KNOWLEDGE, policy=analysis.policy, answered_by=answered_by)
    rows, _ = grid(replace(analysis, by=None), names, measures, verdicts.seen & ~used, tallies)
    gap = unpaired(known, unknown, analysis.sampling)
    rows = rows.assign(difference=gap.value, df=gap.df, p_value=t_test(gap))
    rows["difference_low"], rows["difference_high"], _ = intervals.t(gap)
    why = [rows["answered_by"].isna(), rows["n"] == 0, rows["n_wrong"] == 0, rows["n_right"] == 0]
    texts = [NO_MODEL, NO_CASES, ONE_SIDE.format("right"), ONE_SIDE.format("wrong")]
    rows["reason"] = np.select(why, texts, "") if has_items else NO_ITEM
    bare = rows["difference"].notna() & rows["difference_low"].isna()
    return rows.assign(lacks=pd.Series(NO_SPREAD, rows.index).where(bare))


def _model_of(judge: str, judge_groups: pd.DataFrame, marks: pd.DataFrame) -> str | None:
    """Return the model behind a judge, of those that answered; None where it is none of them."""
    known = set(marks["model"])
    stated = judge_groups.loc[judge_groups["judge"] == judge, "model"].tolist() if "model" in judge_groups else []
    plain = judge.partition("@")[0]
    named = [*map(str, stated), judge, plain, plain.rpartition("+")[0]]
    return next((name for name in named if name in known), None)
