"""Are some groups of judges better than others: medical than open ones, medical models than their bases?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from mrb_lib.judges.roster.groups import JURY, MEDICAL, MODEL_GROUPS, OTHER
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, Option, shared, table
from mrb_lib.stats.contrasts import ALPHA, corrected
from mrb_lib.stats.estimation import FloatArray, Sampling, by_influence, divide, estimate
from mrb_lib.stats.multiplicity import CORRECTIONS, FAMILIES
from mrb_lib.stats.options import check_choice
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points

CONTRAST, DESCENDANTS, BASE, HEURISTIC = "contrast", "descendants", "base", "heuristic"
FEWEST_FAMILIES: Final = 3
FEW_FAMILIES = f"a group has models of fewer than {FEWEST_FAMILIES} families, too few to tell chance from a difference"
NO_JUDGE = "no judge of a group is scored here"


def differences(rows: pd.DataFrame) -> str:
    """Say which groups differ significantly, and whether medical training helps."""
    own, where = main_rows(rows), opening(main_dimension(rows))
    tested = own[own["part"] == CONTRAST].dropna(subset="p_adjusted")
    significant = tested[tested["p_adjusted"] <= ALPHA]
    if tested.empty:
        said = f"{where}, cannot tell whether groups of judges differ: that takes {FEWEST_FAMILIES} families in each."
    elif significant.empty:
        said = f"{where}, no significant difference between groups of judges ({len(tested)} compared); cannot tell."
    else:
        named = [_better(row) for _, row in significant.iterrows()]
        rest = len(tested) - len(significant)
        said = f"{where}, {'; '.join(named)}" + (f"; cannot tell for the other {rest} compared." if rest else ".")
    descended = own[own["part"] == DESCENDANTS].dropna(subset="p_adjusted")
    if descended.empty:
        return said
    row = descended.iloc[0]
    if row["p_adjusted"] > ALPHA:
        return f"{said} Cannot tell whether medical models differ from their bases ({points(row, 'difference')})."
    return f"{said} Medical models differ significantly from their bases ({points(row, 'difference')})."


def _better(row: pd.Series) -> str:
    """Say which of the two groups of a row is more accurate, and by how much."""
    if row["difference"] > 0:
        return f"{row['group_1']} judges are more accurate than {row['group_2']} ones ({points(row, 'difference')})"
    turned = pd.Series({"difference": -row["difference"], "low": -row["high"], "high": -row["low"]})
    return f"{row['group_2']} judges are more accurate than {row['group_1']} ones ({points(turned, 'difference')})"


@table(
    "groups",
    question="are some groups of judges (open, proprietary, medical, critic) more accurate than others",
    columns=[
        Column("part", "contrast (of two groups) or descendants (medical models against their bases)", "text"),
        Column("group_1", "first group of judges", "text"),
        Column("group_2", "second group; base: the models that group_1 was trained from", "text"),
        shared("dimension", "subfields", "policy"),
        Column("n_judges_1", "models of group_1 with a score", "count"),
        Column("n_judges_2", "models of group_2 with a score; of descendants, different bases", "count"),
        Column("n_families_1", "families of those models, taken as draws", "count"),
        Column("n_families_2", "families of those models, taken as draws", "count"),
        shared("n", "n_excluded", "clusters"),
        Column("accuracy_1", "mean accuracy of the families of group_1", "share 0-1"),
        Column("accuracy_2", "mean accuracy of the families of group_2", "share 0-1"),
        Column(
            "difference",
            "accuracy_1 minus accuracy_2",
            "difference",
            "Cornfield and Tukey 1956, doi:10.1214/aoms/1177728067",
            ends=("low", "high"),
        ),
        shared("standard_error", "df"),
        Column("judge_sd_1", "spread of families in group_1, without noise; of descendants, of gains"),
        Column("judge_sd_2", "spread of families in group_2, without the noise of cases"),
        shared("tests"),
        Column("margin", "largest difference that does not matter, stated beforehand"),
        Column("equivalence_p", "p of a difference larger than the margin", "p 0-1", "Schuirmann 1987"),
        Column("equivalence_p_adjusted", "equivalence_p corrected for the number of tests", "p 0-1"),
        Column("equivalent", "whether the two differ by less than the margin (adjusted, at .05)", "yes/no"),
    ],
    sentence=differences,
    headline=("difference", "low", "high", "p_adjusted", "n_families_1", "n_families_2", "accuracy_1", "accuracy_2"),
    uses=(*(name for name in TESTED if name not in ("resamples", "seed")), "groups"),
    why_no_ratings="",
    options={"margin": Option("differences of accuracy below it count as none", least=0, below=1)},
)
def groups(analysis: Analysis, *, margin: float | None = None) -> pd.DataFrame:
    """Compare every two groups of judges, and medical models with their bases, on cases that are draws as well.

    The question is about judges like these, not these judges. Models of one family are alike, so that families are the
    draws: models count by the mean of their judges, families by that of their models. Juries and judges in no group
    take no part; those that are built in only where there are fewer than two other groups.

    Parameters
    ----------
    margin : adds two one-sided t tests of equivalence; None makes none
    """
    check_choice("correction", analysis.correction or "holm", CORRECTIONS)
    check_choice("family", analysis.family, FAMILIES)
    cells, score, rows = analysis.verdicts.cells, analysis.scores.score, list[dict[str, Any]]()
    for part in analysis.parts:
        for dimension, own in cells.groupby("dimension", sort=False).indices.items():
            models = _models(cells["judge"].iloc[own].tolist(), score[part.cases][:, own], analysis.judge_groups)
            sampling = analysis.sampling.take(part.cases)
            shared = {"dimension": dimension, **part.label(), "n_excluded": len(part.cases)}
            rows += [shared | row for row in _rows(models, sampling, len(part.cases))]
    frame = pd.DataFrame(rows)
    if frame.empty:
        return frame
    tested = frame["p_value"].notna()
    parts = [corrected(own, analysis, margin, ("part", "dimension")) for _, own in frame[tested].groupby("part")]
    out = pd.concat([*parts, frame[~tested]]).sort_index()
    return out.assign(margin=np.nan if margin is None else margin)


class _Model(NamedTuple):
    """A model, whatever the engines and runs of its judges: its group, family and base, and its score by case."""

    name: str
    group: str
    family: str
    base: str | None
    score: FloatArray


def contrasted(names: Sequence[str]) -> list[str]:
    """Return the groups that take part, in the order to show them: those of models first, then a user's own."""
    present = set(names) - {JURY, OTHER}
    if len(present - {HEURISTIC}) >= 2:
        present -= {HEURISTIC}
    return [*(name for name in MODEL_GROUPS if name in present), *sorted(present - set(MODEL_GROUPS))]


def _models(judges: list[str], scores: FloatArray, judge_groups: pd.DataFrame) -> list[_Model]:
    """Return the models among judges, from scores of shape (cases, judges)."""
    stated = judge_groups.drop_duplicates("judge").set_index("judge").reindex(judges)
    stated = stated.reindex(columns=["group", "model", "family", "base"]).astype(object).reset_index(names="judge")
    stated["model"] = stated["model"].fillna(stated["judge"])
    models = []
    for (name, group), own in stated.groupby(["model", "group"], sort=True):
        base = next(iter(own["base"].dropna()), None)
        family = next(iter(own["family"].dropna()), base or name)
        models.append(_Model(str(name), str(group), str(family), base, _mean(scores[:, own.index])))
    return models


def _mean(values: FloatArray) -> FloatArray:
    """Return the mean of each row over what is known, NaN where nothing is."""
    return divide(np.nansum(values, axis=1), np.isfinite(values).sum(axis=1))


def _by_family(members: Sequence[tuple[str, FloatArray]], n_cases: int) -> FloatArray:
    """Return the mean scores of families, shape (cases, families), from the family and the scores of each member."""
    members = [(family, score) for family, score in members if np.isfinite(score).any()]
    families = sorted({family for family, _ in members})
    means = [_mean(np.stack([score for name, score in members if name == family], axis=1)) for family in families]
    return np.stack(means, axis=1) if means else np.empty((n_cases, 0))


def _rows(models: list[_Model], sampling: Sampling, n_cases: int) -> Iterator[dict[str, Any]]:
    """Make the rows of one dimension and group of cases."""
    row: dict[str, Any]
    for one, other in combinations(contrasted([model.group for model in models]), 2):
        members = [[m for m in models if m.group == group and np.isfinite(m.score).any()] for group in (one, other)]
        sides = [_by_family([(m.family, m.score) for m in each], n_cases) for each in members]
        row = {"part": CONTRAST, "group_1": one, "group_2": other}
        row |= {"n_judges_1": len(members[0]), "n_judges_2": len(members[1])}
        yield row | _estimated(sides, sides, sampling)
    by_name = {model.name: model for model in models}
    pairs = []
    for model in models:
        if model.group == MEDICAL and model.base in by_name:
            base = by_name[model.base]
            gain = model.score - base.score
            pairs.append((base, gain, np.where(np.isnan(gain), np.nan, model.score)))
    if pairs:
        gains = _by_family([(base.family, gain) for base, gain, _ in pairs], n_cases)
        tuned = _by_family([(base.family, own) for base, _, own in pairs], n_cases)
        scored = [base.name for base, gain, _ in pairs if np.isfinite(gain).any()]
        row = {"part": DESCENDANTS, "group_1": MEDICAL, "group_2": BASE}
        row |= {"n_judges_1": len(scored), "n_judges_2": len(set(scored))}
        yield row | _estimated([gains], [tuned, tuned - gains], sampling)


def _estimated(sides: list[FloatArray], shown: list[FloatArray], sampling: Sampling) -> dict[str, Any]:
    """Return the columns of a contrast, from what is contrasted and the accuracies to show, (cases, families) each."""
    sizes = [side.shape[1] for side in shown]
    row: dict[str, Any] = {"n_families_1": sizes[0], "n_families_2": sizes[1], "n": 0, "p_value": np.nan}
    if min(sizes) == 0:
        return row | {"n_clusters": 0, "reason": NO_JUDGE}
    accuracies = [divide(np.nansum(side, axis=0), np.isfinite(side).sum(axis=0)).mean() for side in shown]
    row |= {"accuracy_1": accuracies[0], "accuracy_2": accuracies[1], **contrast(sides, sampling)}
    if min(sizes) < FEWEST_FAMILIES:
        row |= dict.fromkeys(("low", "high", "p_value", "standard_error", "df"), np.nan) | {"lacks": FEW_FAMILIES}
    return row


def contrast(sides: Sequence[FloatArray], sampling: Sampling) -> dict[str, float]:
    """Estimate the mean of the judges of one group, minus that of another's, where judges and cases are both draws.

    Parameters
    ----------
    sides : scores of each group (one or two), shape (cases, judges); NaN where a case is not scored

    Notes
    -----
    Every judge meets every case: crossed random effects. Let C be the variance over clusters with the judges as they
    are, J that of the judges' means over their number in each group, and E what both hold: the variance over clusters
    of the judges' deviations from their group. The variance is C + sum(J - E), and no less than half of C (Cornfield
    and Tukey 1956; of ratios it is the two-way clustered variance of Cameron, Gelbach and Miller 2011,
    doi:10.1198/jbes.2010.07136). Degrees of freedom are Satterthwaite's. Simulated in tests/simulation/test_groups.py.
    """
    scored = [np.isfinite(side) for side in sides]
    counts = [each.sum(axis=0) for each in scored]
    means = [divide(np.nansum(side, axis=0), n) for side, n in zip(sides, counts, strict=True)]
    moves = [
        np.where(there, side - mean, 0.0) / np.maximum(n, 1)
        for side, there, mean, n in zip(sides, scored, means, counts, strict=True)
    ]
    signs = (1.0, -1.0)[: len(sides)]
    value = sum(sign * mean.mean() for sign, mean in zip(signs, means, strict=True))
    whole = np.sum([sign * each.mean(axis=1) for sign, each in zip(signs, moves, strict=True)], axis=0)
    values = np.concatenate([[value], *(mean - mean.mean() for mean in means)])
    columns = np.column_stack([whole, *(each - each.mean(axis=1, keepdims=True) for each in moves)])
    seen = np.asarray(np.concatenate(scored, axis=1).any(axis=1))
    e = estimate(by_influence(values, columns, np.repeat(seen[:, None] * 1.0, len(values), axis=1)), sampling)
    of_cases, df = e.error[0] ** 2, e.df[0]
    variance, squares, spreads, start = of_cases, of_cases**2 / df, [np.nan, np.nan], 1
    for number, mean in enumerate(means):
        k = len(mean)
        between = mean.var(ddof=1) / k if k > 1 else np.nan
        both = (e.error[start : start + k] ** 2).sum() / (k * (k - 1)) if k > 1 else np.nan
        variance += between - both
        squares += between**2 / (k - 1) + both**2 / ((k - 1) * df) if k > 1 else np.nan
        spreads[number], start = float(np.sqrt(max(between - both, 0.0) * k)), start + k
    variance = float(np.maximum(variance, of_cases / 2))
    error, df = np.nan, np.nan
    if variance > 1e-12:
        error, df = np.sqrt(variance), max(variance**2 / squares, 1.0)
    half = stdtrit(df, 0.975) * error
    return {
        "n": int(seen.sum()),
        "n_excluded": int((~seen).sum()),
        "n_clusters": int(e.clusters[0]),
        "difference": value,
        "low": np.maximum(value - half, -1.0),
        "high": np.minimum(value + half, 1.0),
        "standard_error": error,
        "df": df,
        "judge_sd_1": spreads[0],
        "judge_sd_2": spreads[1],
        "p_value": 2 * stdtr(df, -abs(value) / error),
    }
