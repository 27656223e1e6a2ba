"""Are some groups of judges better than others: medical than open ones, medical models than their bases?"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from mrb_lib.judges.roster.groups import JURY, MEDICAL, MODEL_GROUPS, OTHER
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, shared, table
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.estimation import Estimate, FloatArray, Sampling, average, by_influence, estimate
from mrb_lib.stats.multiplicity import adjust_rows
from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points

CONTRAST, DESCENDANTS, BASE, HEURISTIC = "contrast", "descendants", "base", "heuristic"
SOURCE: Final = "Cornfield and Tukey 1956, doi:10.1214/aoms/1177728067"
FEWEST_FAMILIES: Final = 3
FEW_FAMILIES = f"a group has models of fewer than {FEWEST_FAMILIES} families, too few to tell chance from a difference"
NO_JUDGE = "no judge of a group is scored here"


def differences(rows: pd.DataFrame) -> str:
    """Say which groups differ significantly, and whether medical training helps."""
    where, tested = opening(main_dimension(rows)), main_rows(rows).dropna(subset="p_adjusted")
    compared, descended = (tested[tested["part"] == part] for part in (CONTRAST, DESCENDANTS))
    significant = compared[compared["p_adjusted"] <= ALPHA]
    named = list[str]()
    for _, row in significant.iterrows():
        which = "more" if row["difference"] > 0 else "less"
        by = points(row, "difference")
        named.append(f"{row['group_1']} judges are {which} accurate than {row['group_2']} ones ({by})")
    if compared.empty:
        said = f"{where}, cannot tell whether groups of judges differ: that takes {FEWEST_FAMILIES} families in each."
    elif named:
        rest = len(compared) - len(named)
        said = f"{where}, {'; '.join(named)}" + (f"; cannot tell for the other {rest} compared." if rest else ".")
    else:
        said = f"{where}, no significant difference between groups of judges ({len(compared)} compared); cannot tell."
    for _, row in descended.iterrows():
        is_known = row["p_adjusted"] <= ALPHA
        tells = "Medical models differ significantly" if is_known else "Cannot tell whether medical models differ"
        said += f" {tells} from their bases ({points(row, 'difference')})."
    return said


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
        Column("difference", "accuracy of group_1 minus that of group_2", "difference", SOURCE, ("low", "high")),
        shared("standard_error", "df"),
        shared("tests"),
    ],
    sentence=differences,
    headline=("difference", "low", "high", "p_adjusted", "n_families_1", "n_families_2"),
    uses=(*(name for name in TESTED if name not in ("resamples", "seed")), "groups"),
    why_no_ratings="",
    nothing="the judges are not of two groups; `--groups FILE` states groups",
)
def groups(analysis: Analysis) -> pd.DataFrame:
    """Compare every two groups of judges, and medical models with their bases, on cases that are draws as well.

    The question is about judges like these, not these judges. Models of one family are alike, so that families are the
    draws: models count by the mean of their judges, families by that of their models. Juries and judges in no group
    take no part; those that are built in only where there are fewer than two other groups.
    """
    cells, score, rows = analysis.verdicts.cells, analysis.scores.score, list[dict[str, Any]]()
    for part in analysis.parts:
        for dimension, own in cells.groupby("dimension", sort=False).indices.items():
            models, means = _models(cells["judge"].iloc[own].tolist(), score[part.cases][:, own], analysis.judge_groups)
            common = {"dimension": dimension, **part.label(), "n": 0, "n_excluded": len(part.cases), "n_clusters": 0}
            rows += [common | row for row in _rows(models, means, analysis.sampling.take(part.cases))]
    frame = pd.DataFrame(rows)
    if frame.empty:
        return frame
    made = adjust_rows(frame, analysis, ("by", "subfield", "dimension"), "part")
    return made.assign(family=made["family"].where(made["p_value"].notna()))


def contrasted(names: Sequence[str]) -> list[str]:
    """Return the groups that take part, in the order to show them: those of models first, then a user's own."""
    present = set(names) - {JURY, OTHER}
    if len(present - {HEURISTIC}) >= 2:
        present -= {HEURISTIC}
    return [*(name for name in MODEL_GROUPS if name in present), *sorted(present - set(MODEL_GROUPS))]


def _models(judges: list[str], scores: FloatArray, judge_groups: pd.DataFrame) -> tuple[pd.DataFrame, FloatArray]:
    """Return the models among judges, whatever their engines and runs, and their scores, shape (cases, models)."""
    stated = judge_groups.drop_duplicates("judge").set_index("judge").reindex(judges)
    stated = stated.reindex(columns=["group", "model", "family", "base"]).astype(object).reset_index(names="judge")
    stated = stated.assign(model=stated["model"].fillna(stated["judge"])).dropna(subset="group")
    of_model = stated.groupby(["model", "group"])
    models = of_model[["family", "base"]].first().reset_index()
    models["family"] = models["family"].fillna(models["base"]).fillna(models["model"])
    return models, _means_by(scores[:, stated.index], of_model.ngroup())


def _means_by(scores: FloatArray, names: pd.Series) -> FloatArray:
    """Return the means of the columns of each name, in order of the names, shape (cases, names)."""
    return np.asarray(pd.DataFrame(scores.T).groupby(names.to_numpy()).mean().to_numpy().T)


def _rows(models: pd.DataFrame, means: FloatArray, sampling: Sampling) -> Iterator[dict[str, Any]]:
    """Make the rows of one dimension and group of cases."""
    scored = np.asarray(np.isfinite(means).any(axis=0))
    for pair in combinations(contrasted(models["group"].tolist()), 2):
        sides = [models[models["group"].eq(group) & scored] for group in pair]
        row: dict[str, Any] = {"part": CONTRAST, "group_1": pair[0], "group_2": pair[1]}
        row |= {"n_judges_1": len(sides[0]), "n_judges_2": len(sides[1])}
        yield row | _estimated([_means_by(means[:, own.index], own["family"]) for own in sides], sampling)
    place = pd.Series(models.index, models["model"]).groupby(level=0).last()
    medical = models[models["group"].eq(MEDICAL) & models["base"].isin(place.index)]
    if len(medical):
        base = place[medical["base"]].to_numpy()
        gains = means[:, medical.index] - means[:, base]
        known = np.isfinite(gains).any(axis=0)
        row = {"part": DESCENDANTS, "group_1": MEDICAL, "group_2": BASE}
        row |= {"n_judges_1": int(known.sum()), "n_judges_2": len(np.unique(base[known]))}
        yield row | _estimated([_means_by(gains[:, known], models["family"].iloc[base[known]])], sampling)


def _estimated(sides: list[FloatArray], sampling: Sampling) -> dict[str, Any]:
    """Return the columns of a contrast of families, shape (cases, families) each; of descendants of their gains."""
    sizes = [side.shape[1] for side in sides]
    if min(sizes) == 0:
        found: dict[str, Any] = {"p_value": np.nan, "reason": NO_JUDGE}
    else:
        found = contrast(sides, sampling, FEWEST_FAMILIES, FEW_FAMILIES)
    return found | {"n_families_1": sizes[0], "n_families_2": sizes[-1]}


def contrast(sides: Sequence[FloatArray], sampling: Sampling, fewest: int = 1, too_few: str = "") -> dict[str, Any]:
    """Estimate the mean of the judges of one group, minus that of another's, where judges and cases are both draws.

    Parameters
    ----------
    sides : scores of each group (one or two), shape (cases, judges); NaN where a case is not scored
    fewest, too_few : the number of judges in each group that intervals and tests take, and why there is none

    Notes
    -----
    Every judge meets every case: crossed random effects. Let C be the variance over clusters with the judges as they
    are, J that of the judges' means over their number in each group, and E what both hold: the variance over clusters
    of the judges' deviations from their group. The variance is C + sum(J - E), and no less than half of C (Cornfield
    and Tukey 1956; of ratios it is the two-way clustered variance of Cameron, Gelbach and Miller 2011,
    doi:10.1198/jbes.2010.07136). Degrees of freedom are Satterthwaite's. Simulated in tests/simulation/test_groups.py.
    """
    means, signs = [average(side) for side in sides], (1.0, -1.0)
    moves = [
        np.nan_to_num(side - mean) / np.maximum(np.isfinite(side).sum(axis=0), 1)
        for side, mean in zip(sides, means, strict=True)
    ]
    value = sum(sign * mean.mean() for sign, mean in zip(signs, means, strict=False))
    whole = np.sum([sign * each.mean(axis=1) for sign, each in zip(signs, moves, strict=False)], axis=0)
    seen = np.asarray(np.isfinite(np.column_stack(sides)).any(axis=1))

    def moved(by: FloatArray) -> Estimate:
        counted = np.repeat(seen[:, None] * 1.0, by.shape[1], axis=1)
        return estimate(by_influence(np.zeros(by.shape[1]), by, counted), sampling)

    e = moved(whole[:, None])
    of_cases, df = e.error[0] ** 2, e.df[0]
    variance, squares = of_cases, of_cases**2 / df
    for mean, each in zip(means, moves, strict=True):
        k = len(mean)
        if k == 1:
            variance = np.nan
            continue
        between = mean.var(ddof=1) / k
        both = (moved(each - each.mean(axis=1, keepdims=True)).error ** 2).sum() / (k * (k - 1))
        variance += between - both
        squares += between**2 / (k - 1) + both**2 / ((k - 1) * df)
    variance = float(np.maximum(variance, of_cases / 2))
    error = np.sqrt(variance) if variance > 1e-12 else np.nan
    df = max(variance**2 / squares, 1.0) if variance > 1e-12 else np.nan
    half = stdtrit(df, 0.975) * error
    row = {
        "n": int(seen.sum()),
        "n_excluded": int((~seen).sum()),
        "n_clusters": int(e.clusters[0]),
        "difference": value,
        "low": np.maximum(value - half, -1.0),
        "high": np.minimum(value + half, 1.0),
        "standard_error": error,
        "df": df,
        "p_value": 2 * stdtr(df, -abs(value) / error),
    }
    if min(len(mean) for mean in means) < fewest:
        row |= dict.fromkeys(("low", "high", "standard_error", "df", "p_value"), np.nan) | {"lacks": too_few}
    return row
