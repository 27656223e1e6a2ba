"""Trained judges that can be compared: with their bases, in one entry of the recipe, or by the size of training."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.estimation import FloatArray, Sampling, estimate, mean
from mrb_lib.stats.options import check_choice
from mrb_lib.tables.errors import InputError

ALIKE: Final = ["base_revision", "benchmark", "left_out_column", "left_out"]
"""Settings that all compared judges share."""
_IGNORED: Final = ("seed", "device", "out", "jobs", "keep_adapter", "left_out")
"""Entries that make no recipe: judges that differ in them alone are draws of one, or are compared by `transfer`."""
_SETTINGS: Final = (
    "engine", "learning_rate", "epochs", "batch", "evaluations", "patience", "max_minutes", "trainer", "adapter",
)  # fmt: skip
"""Entries that follow from others, as the usual learning rate does from the method: where more than they differ, what
they add is said."""
N_CASES, SIZE, CURVE, FIT = "n_cases", "size", "curve", "fit"
FEWEST_SIZES: Final = 4
FEW_SIZES: Final = "no curve: it has three unknowns and takes {} different numbers of training cases; there are {}"
NO_GROWTH: Final = "accuracy does not grow with the number of training cases"
FARTHEST: Final = 10.0
"""A curve is read up to this multiple of the largest training set."""
TOO_FAR: Final = f"the wanted accuracy takes more than {FARTHEST:g} times the largest training set, if any is enough"
OPEN_END: Final = f"cases_needed may be more than {FARTHEST:g} times the largest training set, or not be reached at all"
ONE_TRAINING: Final = "intervals are over test cases: they do not hold what another training would change"
TWICE: Final = 2.0
EXPONENTS: Final = np.geomspace(0.05, 2.0, 196)
_POINTS, _TINY = 25, 1e-9


def judge_pairs(analysis: Analysis, judges: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs (base, tuned) that a user names, or else those that are known.

    Bases are known by the digests of their weights (`records`), and of other judges by their names (`judge_groups`).
    Where several judges are of a base, as by several engines, those of the tuned judge's own engine are taken; where
    there are none, all.

    Raises
    ------
    InputError
        A judge has no verdicts, or is its own base.
    """
    for base, tuned in analysis.pairs or ():
        check_choice("judge", base, judges)
        check_choice("judge", tuned, judges)
        if base == tuned:
            raise InputError(f"judge {base!r}: cannot be its own base; name another.")
    if analysis.pairs is not None:
        return list(dict.fromkeys(analysis.pairs))
    pairs = [pair for pair in recorded_pairs(analysis.records) if set(pair) <= set(judges)]
    by_digest = {judge for _, judge in pairs}
    rows = analysis.judge_groups.reindex(columns=["judge", "entry", "base"]).sort_values("judge")
    rows = rows[rows["judge"].isin(judges)]
    for judge, base in rows[["judge", "base"]].dropna().itertuples(index=False):
        bases = rows.loc[rows["entry"] == base, "judge"].tolist()
        alike = [name for name in bases if _engine(name) == _engine(judge)]
        pairs += [(name, judge) for name in alike or bases if name != judge and judge not in by_digest]
    return list(dict.fromkeys(pairs))


def _engine(judge: str) -> str:
    return judge.partition("@")[0].rpartition("+")[2] if "+" in judge else ""


def recorded_pairs(records: pd.DataFrame | None) -> list[tuple[str, str]]:
    """Return all pairs (base, tuned) that are known by the digests of weights; none without records."""
    if records is None:
        return []
    return [(base, tuned) for tuned, bases in zip(records["judge"], records["bases"], strict=True) for base in bases]


class RecipeContrast(NamedTuple):
    """Two recipes that differ in one entry, with the judges trained by each; `tuned` has the larger value."""

    tuned: list[str]
    base: list[str]
    ingredient: str
    setting_tuned: str
    setting_base: str
    note: str


def recipe_contrasts(records: pd.DataFrame, judges: Sequence[str]) -> list[RecipeContrast]:
    """Return all pairs of recipes, of one base and one benchmark, that differ in exactly one entry.

    Parameters
    ----------
    records : see `mrb_lib.verdicts.training.training_records`
    judges : those with verdicts

    Notes
    -----
    Settings of the trainer, which differ by themselves between methods, are no second entry; `note` tells where they
    differ, too. A pair that differs in one of them alone is a contrast of it.
    """
    out = []
    for _, rows in _known(records, judges).groupby(ALIKE, dropna=False):
        stated = pd.Series([json.dumps(entries_of(row), default=str) for row in rows.to_dict("records")], rows.index)
        recipes = [(json.loads(text), own.tolist()) for text, own in rows["judge"].groupby(stated, sort=False)]
        for pair in combinations(recipes, 2):
            (one, _), (other, _) = pair
            differing = [name for name in one | other if one.get(name) != other.get(name)]
            main = [name for name in differing if name not in _SETTINGS] or differing
            if len(main) != 1:
                continue
            (name,) = main
            also = ", ".join(other_name for other_name in differing if other_name != name)
            note = f"their settings differ as well ({also})" if also else ""
            (first, tuned), (second, base) = sorted(pair, key=lambda each: _place(each[0].get(name)), reverse=True)
            out.append(RecipeContrast(tuned, base, name, _shown(first.get(name)), _shown(second.get(name)), note))
    return out


class SizeSeries(NamedTuple):
    """Judges that differ in the number of training cases alone, by that number."""

    recipe: str
    judges: list[str]
    sizes: list[int]


def size_series(records: pd.DataFrame, judges: Sequence[str]) -> list[SizeSeries]:
    """Return the judges of one base, benchmark and recipe that were trained on different numbers of cases.

    The name of a series says the method, and the entries in which the series differ.
    """
    found: dict[str, tuple[dict[str, Any], list[tuple[int, str]]]] = {}
    for row in _known(records, judges).to_dict("records"):
        recipe = entries_of(row) | {"base": row["base_revision"], "left_out": row["left_out"]}
        size = recipe.pop(N_CASES, None)
        if size is not None:
            key = json.dumps([row["benchmark"], row["left_out_column"], recipe], default=str)
            found.setdefault(key, (recipe, []))[1].append((size, row["judge"]))
    series = [(recipe, sorted(runs)) for recipe, runs in found.values() if len({size for size, _ in runs}) > 1]
    names = dict.fromkeys(name for recipe, _ in series for name in recipe if name != "method")
    varying = [name for name in names if len({_shown(recipe.get(name)) for recipe, _ in series}) > 1]
    out = []
    for recipe, runs in series:
        stated = ", ".join(f"{name} {_shown(recipe.get(name))}" for name in ("method", *varying))
        out.append(SizeSeries(stated, [judge for _, judge in runs], [size for size, _ in runs]))
    return out


def _known(records: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    return records[records["judge"].isin(list(judges))].sort_values([*ALIKE, "judge"])


def entries_of(row: Mapping[Hashable, Any]) -> dict[str, Any]:
    """Return what makes the recipe of a judge, in alphabetical order."""
    named = {name: row[name] for name in ("method", "engine", "warm_up") if isinstance(row.get(name), str)}
    size = {} if pd.isna(row[N_CASES]) else {N_CASES: int(row[N_CASES])}
    entries = {**row["settings"], **row["recipe"], **named, **size}
    return {name: entries[name] for name in sorted(entries) if name not in _IGNORED}


def _place(value: object) -> tuple[int, float, str]:
    """Numbers and switches by size, then texts by the alphabet backwards, so that "keep" goes before "drop"."""
    if isinstance(value, int | float):
        return 1, float(value), ""
    return 0, 0.0, "" if value is None else json.dumps(value)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def series_rows(series: SizeSeries, values: FloatArray, sampling: Sampling, target: float | None) -> pd.DataFrame:
    """Return the rows `size` (of a judge), `curve` (of the law) and `fit` (of its points) of a series of judges.

    Parameters
    ----------
    values : shape (cases, judges), scores in the order of the series; NaN where a case does not count
    target : a wanted accuracy; None for none

    Notes
    -----
    The curve is an inverse power law with an asymptote, fitted to the accuracies on the cases that are scored for all
    judges of the series. Intervals are percentiles of the cluster bootstrap over cases; coverage over test cases is
    simulated in tests/simulation/test_learning.py.
    """
    common = np.where(np.isfinite(values).all(axis=1, keepdims=True), values, np.nan)
    e, sizes, k = estimate(mean(common), sampling), np.array(series.sizes, dtype=np.float64), len(series.sizes)
    n, n_clusters, n_sizes = int(e.n[0]), int(e.clusters[0]), len(set(series.sizes))
    shared: dict[str, Any] = {"recipe": series.recipe, "n": n, "n_excluded": len(values) - n, "n_clusters": n_clusters}
    size = pd.DataFrame({"part": SIZE, "tuned": series.judges, "n_training": series.sizes})
    curve: dict[str, Any] = {"part": CURVE, "target": target}
    if not n:
        return pd.concat([size, pd.DataFrame([curve])]).assign(**shared)
    estimates = np.vstack([e.value, e.replicates])
    estimates = estimates[np.isfinite(estimates).all(axis=1)]
    points, farthest = np.geomspace(sizes.min(), TWICE * sizes.max(), _POINTS), FARTHEST * sizes.max()
    if n_sizes >= FEWEST_SIZES:
        law = fit_power_law(sizes, 1 - estimates)
        needed = np.full(len(estimates), np.nan) if target is None else law.cases_needed(1 - target)
        estimates = np.column_stack([estimates, 1 - law.asymptote, needed, 1 - law.error(points)])
    low, high = np.full((2, estimates.shape[1]), np.nan)
    if len(estimates) > 1 and n_clusters > 1:
        low, high = np.quantile(np.nan_to_num(estimates[1:], nan=np.nan), [0.025, 0.975], axis=0)

    def estimated(name: str, i: int | slice) -> dict[str, Any]:
        return {name: estimates[0, i], f"{name}_low": low[i], f"{name}_high": high[i]}

    size = size.assign(**estimated("value_tuned", slice(k)))
    if n_sizes < FEWEST_SIZES:
        curve["reason"] = FEW_SIZES.format(FEWEST_SIZES, n_sizes)
        return pd.concat([size, pd.DataFrame([curve])]).assign(**shared)
    curve |= estimated("limit", k) | estimated("cases_needed", k + 1) | estimated("value_tuned", -1)
    why = [ONE_TRAINING]
    if np.isnan(law.exponent[0]) or curve["cases_needed"] > farthest:
        why.append(NO_GROWTH if np.isnan(law.exponent[0]) else TOO_FAR)
        curve |= dict.fromkeys(("cases_needed", "cases_needed_low", "cases_needed_high"), np.nan)
    elif curve["cases_needed_high"] > farthest:
        why.append(OPEN_END)
        curve["cases_needed_high"] = np.nan
    curve |= {"n_training": round(TWICE * sizes.max()), "reason": "; ".join(why)}
    fitted = pd.DataFrame({"part": FIT, "n_training": np.rint(points), **estimated("value_tuned", slice(k + 2, None))})
    return pd.concat([size, pd.DataFrame([curve]), fitted]).assign(**shared)


class PowerLaw(NamedTuple):
    """The law error = asymptote + amplitude * (n / unit)^-exponent, each array of shape (m,).

    Attributes
    ----------
    asymptote : the error that no number of cases goes below, 0 to 1
    amplitude : what is left above it at `unit` cases; 0 where the error does not fall, and the exponent is then NaN
    exponent : one of `EXPONENTS`
    unit : the number of cases at which amplitudes are stated, the smallest training set
    """

    asymptote: FloatArray
    amplitude: FloatArray
    exponent: FloatArray
    unit: float

    def error(self, n: FloatArray) -> FloatArray:
        """Return the error at each of these numbers of cases, shape (m, len(n))."""
        power = np.nan_to_num(self.exponent, nan=1.0)[:, None]
        return np.asarray(self.asymptote[:, None] + self.amplitude[:, None] * (n / self.unit) ** -power)

    def cases_needed(self, error: float) -> FloatArray:
        """Return the number of cases at which the error is as low, shape (m,); infinite where it never is.

        A curve that does not fall, and is below the error everywhere, has it from the first case on.
        """
        above = error - self.asymptote
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            out = self.unit * (self.amplitude / above) ** (1 / self.exponent)
        falls = self.amplitude > 0
        return np.where(falls & (above > _TINY), out, np.where(~falls & (above >= 0), 0.0, np.inf))


def fit_power_law(n: FloatArray, error: FloatArray) -> PowerLaw:
    """Fit the law to many curves at the same numbers of cases by least squares.

    Parameters
    ----------
    n : shape (k,), numbers of training cases, of which at least `FEWEST_SIZES` differ
    error : shape (m, k), the error at each

    Notes
    -----
    Given the exponent the law is linear in the other two, so that it is enough to search over exponents (variable
    projection: Golub and Pereyra 1973, doi:10.1137/0710036). The asymptote is kept within 0 and 1 and the amplitude at
    0 or above. The law: Hestness et al. 2017, arXiv 1712.00409; with an asymptote, Cortes et al. 1993, Learning
    Curves, NIPS 6. Compared with `scipy.optimize.curve_fit` in tests/stats/tables/test_learning.py.
    """
    unit = float(n.min())
    shape = (n / unit) ** -EXPONENTS[:, None]  # (exponents, k)
    centred = shape - shape.mean(axis=1, keepdims=True)
    amplitude = np.maximum(error @ centred.T / (centred**2).sum(axis=1), 0.0)  # (m, exponents)
    asymptote = np.minimum(error.mean(axis=1)[:, None] - amplitude * shape.mean(axis=1), 1.0)
    amplitude = np.where(asymptote < 0, error @ shape.T / (shape**2).sum(axis=1), amplitude)
    asymptote = np.maximum(asymptote, 0.0)
    left = error[:, None] - asymptote[..., None] - amplitude[..., None] * shape
    best = (left**2).mean(axis=2).argmin(axis=1)[:, None]
    asymptote, amplitude = (np.take_along_axis(each, best, axis=1)[:, 0] for each in (asymptote, amplitude))
    falls = amplitude > _TINY
    exponent = np.where(falls, EXPONENTS[best[:, 0]], np.nan)
    return PowerLaw(np.where(falls, asymptote, error.mean(axis=1)), np.where(falls, amplitude, 0.0), exponent, unit)
