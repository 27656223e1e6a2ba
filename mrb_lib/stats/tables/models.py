"""Why is a verdict right: the judge, the subfield, the order, the longer response, or knowing the answer?"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.clusters import MOST_OF_ONE
from mrb_lib.stats.columns import DOMINATED, TESTED, Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.estimation import FloatArray
from mrb_lib.stats.interactions import interaction
from mrb_lib.stats.knowledge import KNOWLEDGE, knowledge_rows
from mrb_lib.stats.marginal import Effect, Fit, derivative, fit, probabilities
from mrb_lib.stats.multiplicity import CORRECTIONS, FAMILIES, adjust_families
from mrb_lib.stats.options import check_choice, check_policy
from mrb_lib.stats.phrases import main_dimension, main_rows, of_judges, on, opening, points
from mrb_lib.stats.subfields import columns_of, subfield_values

ALL, ONE, INTERACTION = "all judges", "one judge", "interaction"
DEFAULT_BY: Final = "department"
FACTORS, LENGTH = ("judge", "subfield"), "length_difference"
LEVELS: Final = {"order": "BA", "gold_first": "yes", LENGTH: None}
FEWEST_CLUSTERS: Final = 5
NO_VERDICTS: Final = "no verdict on a case with a decisive gold label"
ALWAYS_RIGHT: Final = "always right: the log odds are infinite"
ALWAYS_WRONG: Final = "always wrong: the log odds are infinite"
UNSEEN: Final = "no verdict"
ALIASED: Final = "not identified: a linear combination of the other terms"
ONE_LEVEL: Final = "nothing to compare: no other level has enough clusters"
FEW_CLUSTERS: Final = f"fewer than {FEWEST_CLUSTERS} clusters"
FEW_FOR_MODEL: Final = "no more clusters than covariates of cases"
NO_VARIATION: Final = "clusters do not differ in it"
NO_EFFECT: Final = "no marginal effect: the intercept is a level, not a change"
NUISANCE: Final = "it is a part of the model"
NO_PAIRS: Final = "no estimate: too few cases have several verdicts"
CROSSED: Final = "no test: two columns of clusters cross"
UNINFORMATIVE: Final = "{:,} verdicts are uninformative: always right or wrong whatever the term does"
_ALIASED, _NO_SPREAD = 1e-8, 1e-9
_LOG = logging.getLogger(__name__)


def effects(rows: pd.DataFrame) -> str:
    """Say what order and length have to do with being right, and who judges better what its model can answer."""
    said = f"{opening(main_dimension(rows))}, other things equal, {_of_terms(rows)}."
    return f"{said} {_of_knowledge(rows)}" if rows["part"].eq(KNOWLEDGE).any() else said


def _of_terms(rows: pd.DataFrame) -> str:
    own = main_rows(rows, part=ALL)
    tested = own.dropna(subset="p_adjusted")
    if not rows["term"].isin(["gold_first", LENGTH]).any():
        judges = tested[(tested["term"] == "judge") & (tested["p_adjusted"] <= ALPHA)]
        if judges.empty:
            return "no judge is right significantly more or less often than the mean judge; cannot tell"
        best = judges.loc[[judges["marginal_effect"].abs().idxmax()]].iloc[0]
        return f"{best['level']} differs most from the mean judge: {points(best, 'marginal_effect')}"
    ways = {
        "gold_first": ("showing the better response first changes the chance of a right verdict", "order"),
        LENGTH: (
            "a better response longer by one standard deviation goes with a change in the chance of a right verdict",
            "length",
        ),
    }
    said, unclear = list[str](), list[str]()
    for term, (way, about) in ways.items():
        row = tested[tested["term"] == term]
        if len(row) and row["p_adjusted"].iloc[0] <= ALPHA:
            said.append(f"{way}: {points(row.iloc[0], 'marginal_effect')}")
        elif len(row):
            unclear.append(f"{about} ({points(row.iloc[0], 'marginal_effect')})")
        else:
            unclear.append(about)
    if unclear:
        said.append(f"cannot tell whether {' and '.join(unclear)} matter{'s' if len(unclear) == 1 else ''}")
    return "; ".join(said)


def _of_knowledge(rows: pd.DataFrame) -> str:
    own, dimension = main_rows(rows, part=KNOWLEDGE), main_dimension(rows)
    tested = own.dropna(subset="p_adjusted")
    better = tested[(tested["p_adjusted"] <= ALPHA) & (tested["difference"] > 0)].sort_values("difference")
    if better.empty:
        return f"Cannot tell {on(dimension)} whether judges judge better what their own model can answer."
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
        Column("by", "column of the cases that makes the term subfield", "text"),
        Column("policy", "of knowledge: how verdicts become scores", "text"),
        Column("n", "verdicts that the row rests on; of knowledge, cases", "count"),
        shared("clusters"),
        Column("n_excluded", "cases without decisive label, verdict, subfield or response", "cases"),
        Column("n_gold_tie", "excluded cases with a tie as label", "cases"),
        Column("n_right", "cases whose item the judge's own model answered right", "cases"),
        Column("n_wrong", "cases whose item it answered wrong", "cases"),
        Column("n_unscored", "excluded cases with a marked item but no score", "cases"),
        Column("n_seen", "excluded cases that the judge was trained on", "cases"),
        Column(
            "estimate",
            "log odds ratio of being right",
            "log odds",
            "Liang and Zeger 1986, doi:10.1093/biomet/73.1.13",
            ends=("low", "high"),
        ),
        estimated("marginal_effect", "the same contrast as a difference of probabilities", "difference"),
        estimated("accuracy_right", "accuracy where the judge's model answered the item right"),
        estimated("accuracy_wrong", "accuracy where it answered the item wrong"),
        estimated("difference", "accuracy_right minus accuracy_wrong, over other cases", "difference"),
        Column("statistic", "of the interaction: 1 on average by chance"),
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
    of the log length ratio by which the better response is the longer one. Marginal effects are averages over the
    verdicts as they are, their intervals by the delta method; t has as many degrees of freedom as there are clusters
    minus the covariates that only cases have. A row "subfield" of one judge mixes how hard the subfield is with how the
    judge does there (see table `dif`); "knowledge" mixes knowing an answer with the item being easy. Simulated in
    tests/simulation/test_models.py and, of knowledge, tests/stats/tables/test_knowledge.py.
    """
    check_choice("correction", analysis.correction or "holm", CORRECTIONS)
    check_choice("family", analysis.family, FAMILIES)
    check_policy(analysis.policy)
    cases = analysis.cases
    has_default = DEFAULT_BY in cases and cases[DEFAULT_BY].notna().any()
    columns: list[str | None] = [*columns_of(analysis.by)] or [DEFAULT_BY if has_default else None]
    rows = list[dict[str, Any]]()
    for column in columns:
        for number, dimension in enumerate(analysis.names):
            _LOG.info("models: %s by %s", dimension, column or "no subfield")
            rows += [{"dimension": dimension, "by": column} | row for row in _regressions(analysis, number, column)]
    frame = pd.DataFrame(rows).assign(policy=None)
    if analysis.marks is not None:
        frame = pd.concat([frame, knowledge_rows(analysis, analysis.marks)], ignore_index=True)
    frame = frame.reindex(columns=[*dict.fromkeys([*frame, "p_value", "low", "lacks", "reason"])])
    within = ["part", *(["by", "dimension"] if analysis.family == "dimension" else [])]
    families = np.asarray(frame.groupby(within, dropna=False).ngroup(), dtype=np.int64)
    p = frame["p_value"].to_numpy(np.float64)
    adjusted, size = adjust_families(p, families, analysis.correction or "holm")
    return frame.assign(p_adjusted=adjusted, family=size)


def _regressions(analysis: Analysis, number: int, by: str | None) -> list[dict[str, Any]]:
    """Make the rows of one dimension: of all judges, of each judge, and of what differs between judges."""
    verdicts, label = analysis.verdicts, analysis.labels[:, number]
    subfields = None if by is None else subfield_values(analysis.cases, by)
    decisive = (label >= 0) & ((label != verdicts.tie) | (verdicts.tie < 0))
    sign, longer = np.where(label == 0, 1.0, -1.0), length_ratio(analysis.cases)
    has_lengths = verdicts.tie >= 0 and bool(np.isfinite(longer).any())
    usable = decisive if subfields is None else decisive & subfields.notna().to_numpy()
    usable = usable & np.isfinite(longer) if has_lengths else usable
    own = verdicts.where((verdicts.dimension[verdicts.cell] == number) & usable[verdicts.case])
    kept, case = np.unique(own.case, return_inverse=True)
    n_ties = int((label == verdicts.tie).sum()) if verdicts.tie >= 0 else 0
    excluded = {"n_excluded": len(label) - len(kept), "n_gold_tie": n_ties}
    if not len(kept):
        return [{"part": ALL, "n": 0, "n_clusters": 0, **excluded, "reason": NO_VERDICTS}]
    data: dict[str, Any] = {"case": case, "right": (own.choice == label[own.case]) * 1.0}
    names = verdicts.cells["judge"]
    data["judge"] = pd.Categorical(names.iloc[own.cell], names[verdicts.dimension == number])
    if subfields is not None:
        data["subfield"] = pd.Categorical(subfields.iloc[own.case], sorted(subfields.dropna().unique()))
    if verdicts.tie >= 0:
        data |= {"order": own.order - 0.5, "gold_first": (0.5 - own.order) * sign[own.case]}
    if has_lengths:
        data[LENGTH] = (longer * sign)[own.case]
    sampling = analysis.sampling.take(kept)
    data["cluster"] = sampling.codes[case]
    if sampling.crossed is not None:
        data["crossed"] = sampling.crossed[case]
    frame = pd.DataFrame(data)
    rows = [{"part": ALL} | row for row in _model(frame, exchangeable=True)]
    for judge, verdicts_of_judge in frame.groupby("judge", observed=True, sort=False):
        alone = _model(verdicts_of_judge.drop(columns="judge"), exchangeable=False)
        rows += [{"part": ONE, "judge": judge} | row for row in alone]
    return [row | excluded for row in (*rows, *_interactions(frame))]


def length_ratio(cases: pd.DataFrame) -> FloatArray:
    """Return by how much response A is longer than B, in standard deviations about equal length, shape (cases,).

    The logarithm of the ratio of their lengths in characters (an empty response has length 1), divided by its root mean
    square over the benchmark: swapping A and B changes the sign and nothing else. NaN where a response is missing, 0
    where all are alike.
    """
    if not {"response_a", "response_b"} <= set(cases.columns):
        return np.full(len(cases), np.nan)
    a, b = (
        cases[name].str.len().clip(lower=1).to_numpy(dtype=np.float64, na_value=np.nan)
        for name in ("response_a", "response_b")
    )
    ratio = np.log(a) - np.log(b)
    spread = np.sqrt(np.nanmean(ratio**2)) if np.isfinite(ratio).any() else 0.0
    return np.asarray(ratio / spread if spread > 0 else ratio)


class _Model(NamedTuple):
    """A fitted model: its verdicts, covariates, and the columns of each identified term; `df` of its intervals."""

    data: pd.DataFrame
    x: FloatArray
    fit: Fit
    places: dict[str, slice]
    df: int


def _model(data: pd.DataFrame, *, exchangeable: bool) -> list[dict[str, Any]]:
    """Fit one model to verdicts; return a row per term and level.

    Levels that are always right or wrong are left out, since their log odds are infinite, and so are terms that are not
    identified given those before them.
    """
    factors = [name for name in FACTORS if name in data]
    absent = {(f, level): UNSEEN for f in factors for level in data[f].cat.categories if not (data[f] == level).any()}
    levels = {f: list(data[f].cat.categories) for f in factors}
    while True:
        shares = {f: data.groupby(f, observed=True)["right"].mean() for f in factors}
        pure = {(f, level): share for f in factors for level, share in shares[f].items() if share in (0.0, 1.0)}
        if not pure:
            break
        absent |= {key: ALWAYS_RIGHT if share else ALWAYS_WRONG for key, share in pure.items()}
        for f, level in pure:
            data = data[data[f] != level]
    rows = list[dict[str, Any]]()
    model = _fitted(data, factors, exchangeable=exchangeable) if len(data) else None
    references = {f: np.zeros(0) for f in factors}
    for f in factors:
        made = {} if model is None else dict(_levels(model, f, references))
        left_out = {"n": 0, "n_clusters": 0}
        rows += [{"term": f, "level": v} | (made.get(v) or left_out | {"reason": absent[f, v]}) for v in levels[f]]
    if model is None:
        return rows
    rows.insert(0, _intercept(model, references))
    rows += [{"term": f, "level": LEVELS[f]} | _number(model, f) for f in LEVELS if f in data]
    if exchangeable:
        why = model.fit.flaw or (NO_PAIRS if np.isnan(model.fit.correlation) else "")
        alone = {"term": "working_correlation", "estimate": model.fit.correlation, "lacks": NUISANCE, "reason": why}
        rows.append(alone | _counts(model.data))
    return rows


def _fitted(data: pd.DataFrame, factors: list[str], *, exchangeable: bool) -> _Model:
    import patsy  # takes half a second to import

    data = data.assign(**{f: data[f].cat.remove_unused_categories() for f in factors})
    data = data.sort_values("case", kind="stable").reset_index(drop=True)
    terms = [*(factors or ["Intercept"]), *(name for name in LEVELS if name in data)]
    design = patsy.dmatrix(" + ".join(["0" if factors else "1", *(t for t in terms if t != "Intercept")]), data)
    whole, slices = np.asarray(design), design.design_info.term_name_slices
    places, columns = _identified(whole, {term: slices[term] for term in terms})
    x = np.ascontiguousarray(whole[:, columns])
    clusters = [data["cluster"]]
    if "crossed" in data:
        clusters += [data["crossed"], data.groupby(["cluster", "crossed"]).ngroup()]
    case, *codes = (np.unique(each, return_inverse=True)[1].astype(np.int64) for each in (data["case"], *clusters))
    of_cases = {"Intercept", "subfield", LENGTH} | (
        {"judge"} if "judge" in data and data["judge"].nunique() == 1 else set()
    )
    least = min(int(each.max()) + 1 for each in codes[:2])
    df = least - sum(place.stop - place.start for term, place in places.items() if term in of_cases)
    return _Model(data, x, fit(x, data["right"].to_numpy(), case, codes, exchangeable=exchangeable), places, df)


def _identified(x: FloatArray, slices: dict[str, slice]) -> tuple[dict[str, slice], list[int]]:
    """Return the places of the terms that are no linear combination of those before them, and their old columns."""
    gram = x.T @ x
    scale = np.sqrt(np.diag(gram))
    gram /= np.maximum(np.outer(scale, scale), 1e-300)
    places, columns = dict[str, slice](), list[int]()
    for term, place in slices.items():
        trial = [*columns, *range(place.start, place.stop)]
        if np.linalg.matrix_rank(gram[np.ix_(trial, trial)], tol=_ALIASED, hermitian=True) == len(trial):
            places[term], columns = slice(len(columns), len(trial)), trial
    return places, columns


def _counts(data: pd.DataFrame) -> dict[str, Any]:
    """Count the verdicts and clusters that a row rests on, and the share of the verdicts in the largest cluster."""
    sizes = np.bincount(data["cluster"])
    return {"n": len(data), "n_clusters": int((sizes > 0).sum()), "largest": sizes.max() / len(data)}


def _levels(model: _Model, factor: str, references: dict[str, FloatArray]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Make the rows of the levels of a factor, each against the mean of all that have enough clusters.

    The covariates of that mean are noted in `references`.
    """
    own = model.data[factor]
    counts = {level: _counts(model.data[own == level]) for level in own.cat.categories}
    enough = np.array([each["n_clusters"] >= FEWEST_CLUSTERS for each in counts.values()])
    reference = (enough if enough.any() else np.ones(len(enough), dtype=bool)) / max(enough.sum() or len(enough), 1)
    if factor not in model.places:
        yield from ((level, each | {"reason": ALIASED}) for level, each in counts.items())
        return
    place = model.places[factor]
    settings = model.x[[int(np.argmax(own == level)) for level in counts], place]
    references[factor] = reference @ settings
    effect = None if model.fit.flaw else probabilities(model.x, model.fit.beta, place, settings)
    for i, (level, count) in enumerate(counts.items()):
        weights = np.eye(len(counts))[i] - reference
        if not np.abs(weights).max() > 0:
            yield level, count | {"reason": ONE_LEVEL}
            continue
        contrast = np.zeros(model.x.shape[1])
        contrast[place] = weights @ settings
        own_effect = None if effect is None else Effect(effect.value @ weights, weights @ effect.gradient)
        yield level, _row(model, contrast, own_effect, count, few=not enough[i])


def _number(model: _Model, term: str) -> dict[str, Any]:
    """Make the row of a numeric term: a change from -1/2 to 1/2, of the length a derivative."""
    count = _counts(model.data)
    if term not in model.places:
        return count | {"reason": ALIASED}
    place, beta = model.places[term], model.fit.beta
    contrast = np.zeros(len(beta))
    contrast[place] = 1.0
    if model.fit.flaw:
        effect = None
    elif term == LENGTH:
        effect = derivative(model.x, beta, place.start)
    else:
        ends, change = probabilities(model.x, beta, place, np.array([[0.5], [-0.5]])), np.array([1.0, -1.0])
        effect = Effect(ends.value @ change, change @ ends.gradient)
    return _row(model, contrast, effect, count)


def _intercept(model: _Model, references: dict[str, FloatArray]) -> dict[str, Any]:
    """Make the row of the mean over the levels that others are compared with, at equal length and averaged orders."""
    contrast = np.zeros(model.x.shape[1])
    for term, covariates in ({"Intercept": np.ones(1)} | references).items():
        if term in model.places:
            contrast[model.places[term]] = covariates
    few = any(
        model.data.groupby(f, observed=True)["cluster"].nunique().max() < FEWEST_CLUSTERS for f in references
    )  # fmt: skip
    row = _row(model, contrast, None, _counts(model.data), few=few)
    row["p_value"] = np.nan  # a level is no hypothesis
    return {"term": "intercept", "level": None, "reason": NO_EFFECT} | row


def _row(
    model: _Model, contrast: FloatArray, effect: Effect | None, count: dict[str, Any], *, few: bool = False
) -> dict[str, Any]:
    """Estimate a contrast with its marginal effect, each with an interval, or say why not."""
    if model.fit.flaw:
        return count | {"reason": model.fit.flaw}
    estimate = float(contrast @ model.fit.beta)
    error = float(model.fit.error(contrast[None])[0])
    row = count | {"estimate": estimate}
    if effect is not None:
        row["marginal_effect"] = float(effect.value)
    few = few or count["n_clusters"] < FEWEST_CLUSTERS
    why = [(few, FEW_CLUSTERS), (count["largest"] > MOST_OF_ONE, DOMINATED), (model.df < 1, FEW_FOR_MODEL)]
    lacks = next((text for applies, text in [*why, (error < _NO_SPREAD, NO_VARIATION)] if applies), None)
    if lacks:
        return row | {"lacks": lacks}
    reach = float(stdtrit(model.df, 0.975))
    row |= {"low": estimate - reach * error, "high": estimate + reach * error}
    row["p_value"] = float(2 * stdtr(model.df, -abs(estimate) / error))
    if effect is not None:
        half = reach * float(model.fit.error(effect.gradient[None])[0])
        row |= {"marginal_effect_low": effect.value - half, "marginal_effect_high": effect.value + half}
    return row


def _interactions(data: pd.DataFrame) -> list[dict[str, Any]]:
    """Test whether each term differs between judges, a row per term."""
    judges = data["judge"].cat.remove_unused_categories()
    numbers = [name for name in LEVELS if name in data]
    keys = ["case", *(["order"] if "order" in data else [])]
    setting = data.groupby(keys).ngroup()
    settings = data.drop_duplicates(keys).iloc[np.argsort(setting[~data.duplicated(keys)])]
    shape = (len(judges.cat.categories), len(settings))
    place = judges.cat.codes.to_numpy(np.int64) * shape[1] + setting.to_numpy()
    right, trials = (
        np.bincount(place, each, shape[0] * shape[1]).reshape(shape) for each in (data["right"], data["right"] * 0 + 1)
    )
    constant = np.ones((shape[1], 1))
    one_hot = pd.get_dummies(settings["subfield"]).to_numpy(np.float64) if "subfield" in data else constant
    tested = {"subfield": one_hot} if "subfield" in data else {}
    tested |= {name: settings[[name]].to_numpy(np.float64) for name in numbers}
    cluster = np.unique(settings["cluster"], return_inverse=True)[1].astype(np.int64)
    rows = []
    for term, columns in tested.items():
        own = [constant if term == "subfield" else one_hot]
        own += [settings[[name]].to_numpy(np.float64) for name in numbers if name != term]
        made = interaction(np.hstack(own), columns, right.astype(np.float64), trials.astype(np.float64), cluster)
        said = [CROSSED] if "crossed" in data else [made.why_not] if made.why_not else []
        silent, less = int(trials.sum()) - made.n, int(trials.any(axis=1).sum()) - made.n_judges
        if silent:
            said.append(
                UNINFORMATIVE.format(silent) + (f", all of {less} judge{'s' * (less > 1)} among them" if less else "")
            )
        row: dict[str, Any] = {"part": INTERACTION, "term": f"judge:{term}", "level": None}
        row |= {"n": made.n, "n_clusters": made.n_clusters}
        if "crossed" not in data:
            row |= {"statistic": made.statistic, "df": made.df, "p_value": made.p_value}
        rows.append(row | {"reason": "; ".join(said)})
    return rows
