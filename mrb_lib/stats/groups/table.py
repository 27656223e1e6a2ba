"""Contrasts between groups of judges, and medical models against the models they were trained from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.judges.roster.groups import JURY, MEDICAL, MODEL_GROUPS, OTHER
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.groups import reading
from mrb_lib.stats.groups.contrast import Contrast, JudgeMeans, contrast, judge_means
from mrb_lib.stats.multiplicity import CORRECTIONS, FAMILIES, adjust_families
from mrb_lib.stats.options import FloatArray, IntArray, check_choice, mean_of_defined, typed
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.significance.paired import ALPHA, check_margin, equivalence, noninferiority
from mrb_lib.stats.subfields import By
from mrb_lib.stats.subfields import groups as parts_of

CONTRAST, DESCENDANTS, BASE = "contrast", "descendants", "base"
HEURISTIC: Final = "heuristic"
ONE_JUDGE = "no interval: a group of one judge does not say how much its judges differ"
NO_JUDGE = "no judge of the group is scored here"
ONE_CLUSTER = "no interval: fewer than two clusters of cases"
ALIKE = "no interval: neither judges nor cases vary"
COLUMNS = [
    "part", "group_1", "group_2", "dimension", "subfield", "by", "policy", "n_judges_1", "n_judges_2", "n",
    "n_excluded", "n_unassigned", "n_clusters", "quantity", "accuracy_1", "accuracy_2", "difference", "low", "high",
    "standard_error", "df", "judge_sd_1", "judge_sd_2", "p_value", "p_adjusted", "correction", "family",
    "family_scope", "margin", "equivalence_p", "equivalence_p_adjusted", "equivalent", "reason",
]  # fmt: skip


class _Model(NamedTuple):
    """One model among the judges: the positions of those that ask it, by whatever engine or run."""

    name: str
    group: str
    base: str | None
    judges: IntArray


@register_table(
    "groups",
    question="are some groups of judges (open, proprietary, medical, critic) more accurate than others",
    columns=COLUMNS,
    options={"margin": Option("differences of accuracy below it count as none", least=0, below=1)},
    meanings=reading.MEANINGS,
    headline=("difference", "low", "high", "p_adjusted", "n_judges_1", "n_judges_2", "accuracy_1", "accuracy_2"),
    sentence=reading.sentence,
    why_no_ratings="",
)
def groups(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    judge_groups: pd.DataFrame,
    *,
    policy: str = "balanced",
    correction: str = "holm",
    family: str = "dimension",
    margin: float | None = None,
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
) -> pd.DataFrame:
    """Compare groups of judges, of which those at hand are draws, on cases that are draws as well.

    Parameters
    ----------
    verdicts, gold, cases, policy, by, dimensions, cluster : as in `mrb_lib.stats.accuracy.accuracy`
    judge_groups : `judge`, `group`, and, as far as it has these columns, `model` (the judges of one model count as one,
        by the mean of their scores) and `base` (for the descendants); see
        `mrb_lib.judges.roster.groups.judge_groups`. A judge without a row is in no group
    correction : for the number of tests, see `mrb_lib.stats.multiplicity.adjust`
    family : which tests are corrected together: those of one part, dimension and subfield ("dimension"), or all of a
        part ("all")
    margin : the largest difference of accuracy that does not matter, as a fraction, stated beforehand; without one,
        what is tested against it is null

    Returns
    -------
    DataFrame
        `part` "contrast", one row for every two groups that are there, each dimension and subfield (null: overall):

        - `n_judges_1`, `n_judges_2` judges with a score, one a model; `n` cases that are scored for one of them, in
          `n_clusters` clusters; `n_excluded` the others
        - `quantity` "difference": what interval and tests are about, `accuracy_1` less `accuracy_2`, each the mean over
          the judges of a group of their mean score by the policy, over the cases scored for each. `difference`
          estimates it, with the 95% interval `low`, `high`, `standard_error` and `df` of
          `mrb_lib.stats.groups.contrast.contrast`
        - `judge_sd_1`, `judge_sd_2` how much judges of a group differ, the noise of the cases taken off
        - `p_value` two-sided, `p_adjusted`, `correction`, `family` (the number of tests corrected together)
        - `equivalence_p` of the two one-sided tests against `margin`, its `_adjusted`, and the verdict `equivalent`

        `part` "descendants", one row a dimension and subfield where medical models and the models they were trained
        from are both there: `difference` is the mean gain of a medical model over its base on the cases scored for
        both, over `n_judges_2` bases as draws (several descendants of one base count as their mean); `judge_sd_1` is
        the spread of the gains. The pairs one by one are the rows of the table `gains`.

        `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, `by` or `cluster` cannot be used, or a verdict is about an unknown case.

    Notes
    -----
    The question is of judges like these, not of these judges: with judges as fixed, three of a group against three of
    another would "differ" for which three were taken. So few judges give wide intervals, however many cases there are.
    Models are taken as independent draws; medical ones that descend from open ones at hand are more alike than that,
    which makes the contrast conservative, and the part "descendants" pairs them.
    Juries are made of the other judges' verdicts and take no part; nor do judges in no group. Judges that are built in
    (group "heuristic") take part only where there are fewer than two other groups.
    Validated in `tests/stats/groups/` against a plain loop and in `tests/simulation/test_groups.py`.
    """
    check_choice("correction", correction, CORRECTIONS)
    check_choice("family", family, FAMILIES)
    if margin is not None:
        check_margin(margin)
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    scores = score(panel, encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories), policy).score
    codes = cluster_codes(cases, cluster)
    models = _models(panel.judges, judge_groups)
    rows = [
        {"dimension": dimension, **part.label(), **row}
        for part in parts_of(cases, by)
        for i, dimension in enumerate(panel.dimensions)
        for row in _rows(models, scores[:, i][:, part.cases], codes[part.cases])
    ]
    return _tested(pd.DataFrame(rows, columns=COLUMNS).assign(policy=policy), correction, family, margin)


def contrasted(names: Sequence[str]) -> list[str]:
    """The groups that take part, in the order to show them: those of models first, then a user's own."""
    present = set(names) - {JURY, OTHER}
    if len(present - {HEURISTIC}) >= 2:
        present -= {HEURISTIC}
    return [*(name for name in MODEL_GROUPS if name in present), *sorted(present - set(MODEL_GROUPS))]


def _models(judges: list[str], judge_groups: pd.DataFrame) -> list[_Model]:
    """The models among some judges; a judge of which nothing is said is a model in no group."""
    stated = judge_groups.drop_duplicates("judge").set_index("judge").reindex(judges)
    stated = stated.reindex(columns=["group", "model", "base"]).astype("object")
    rows = stated.assign(judge=judges, model=stated["model"].fillna(pd.Series(judges, index=judges)))
    return [
        _Model(str(name), str(group), next(iter(of["base"].dropna()), None), np.flatnonzero(rows.index.isin(of.index)))
        for (name, group), of in rows.groupby(["model", "group"], sort=True)
    ]


def _rows(models: list[_Model], score_of: FloatArray, codes: IntArray) -> Iterator[dict[str, object]]:
    """All rows of some cases, from scores of shape (judges, cases)."""
    scored = [(model, mean_defined(score_of[model.judges])) for model in models]
    for one, other in combinations(contrasted([model.group for model in models]), 2):
        first, second = (
            [mean for model, mean in scored if model.group == group and np.isfinite(mean).any()]
            for group in (one, other)
        )
        row: dict[str, object] = {"part": CONTRAST, "group_1": one, "group_2": other}
        row |= {"n_judges_1": len(first), "n_judges_2": len(second), "n": 0, "n_excluded": len(codes), "n_clusters": 0}
        if not (first and second):
            yield row | {"reason": NO_JUDGE}
            continue
        means = judge_means(np.stack(first), codes), judge_means(np.stack(second), codes)
        yield row | _accuracies(*means) | _estimate(contrast(*means), min(len(first), len(second)), len(codes))
    base_of = {model.name: mean for model, mean in scored}
    pairs = [
        (model.base, mean, base_of[model.base])
        for model, mean in scored
        if model.group == MEDICAL and model.base in base_of
    ]
    if pairs:
        yield _descendants(pairs, codes)


def _descendants(pairs: list[tuple[str, FloatArray, FloatArray]], codes: IntArray) -> dict[str, object]:
    """Medical models less the models they were trained from; those of one base are one draw, by their mean.

    Parameters
    ----------
    pairs : the name of the base, the scores of the medical model and those of the base
    """
    both: dict[str, list[tuple[FloatArray, FloatArray]]] = {}
    for name, mine, base in pairs:
        scored = np.isfinite(mine - base)
        if scored.any():
            pair = np.where(scored, mine, np.nan), np.where(scored, base, np.nan)
            both.setdefault(name, []).append(pair)
    row: dict[str, object] = {"part": DESCENDANTS, "group_1": MEDICAL, "group_2": BASE}
    row |= {"n_judges_1": sum(map(len, both.values())), "n_judges_2": len(both)}
    if not both:
        return row | {"n": 0, "n_excluded": len(codes), "n_clusters": 0, "reason": NO_JUDGE}
    of_tuned, of_base = (
        np.stack([mean_defined(np.stack([pair[side] for pair in each])) for each in both.values()]) for side in (0, 1)
    )
    accuracies = _accuracies(judge_means(of_tuned, codes), judge_means(of_base, codes))
    return row | accuracies | _estimate(contrast(judge_means(of_tuned - of_base, codes)), len(both), len(codes))


def mean_defined(values: FloatArray) -> FloatArray:
    """The mean of each column over its entries that are not NaN, shape (m, n) to (n,); NaN where none is."""
    return mean_of_defined(values.T)[:, 0]


def _accuracies(first: JudgeMeans, second: JudgeMeans) -> dict[str, object]:
    return {"accuracy_1": first.mean.mean(), "accuracy_2": second.mean.mean()}


def _estimate(estimate: Contrast, judges: int, n_cases: int) -> dict[str, object]:
    """The columns of an estimate over so many judges, in the smaller of the groups."""
    reason = None
    if np.isnan(estimate.error):
        reason = ONE_JUDGE if judges < 2 else ONE_CLUSTER if estimate.clusters < 2 else ALIKE
    spread = (*estimate.spread, np.nan)
    return {
        "n": estimate.n, "n_excluded": n_cases - estimate.n, "n_clusters": estimate.clusters,
        "difference": estimate.value, "low": estimate.low, "high": estimate.high, "standard_error": estimate.error,
        "df": estimate.df, "judge_sd_1": spread[0], "judge_sd_2": spread[1], "p_value": estimate.p_value,
        "reason": reason,
    }  # fmt: skip


def _tested(rows: pd.DataFrame, correction: str, family: str, stated: float | None) -> pd.DataFrame:
    """The rows with corrected p values and the test against the margin, if one is stated."""
    margin = np.nan if stated is None else stated
    kept_apart = ["part"] if family == "all" else ["part", "by", "subfield", "dimension"]
    families = np.asarray(rows.groupby(kept_apart, dropna=False, sort=False).ngroup(), dtype=np.int64)
    value, error, df, p_value = (
        rows[name].to_numpy(np.float64) for name in ("difference", "standard_error", "df", "p_value")
    )
    out = rows.assign(quantity="difference", correction=correction, family_scope=family, margin=margin)
    out["p_adjusted"], out["family"] = adjust_families(p_value, families, correction)
    out["equivalence_p"] = equivalence(*(noninferiority(side * value, error, df, margin) for side in (1.0, -1.0)))
    adjusted, _ = adjust_families(out["equivalence_p"].to_numpy(), families, correction)
    out["equivalence_p_adjusted"] = adjusted
    flag = pd.Series(adjusted <= ALPHA, index=out.index, dtype="boolean").mask(np.isnan(adjusted))
    texts = dict.fromkeys(("part", "group_1", "group_2", "family_scope"), "str")
    return typed(out.assign(equivalent=flag), COLUMNS, equivalent="boolean", **texts)
