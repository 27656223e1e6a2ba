"""Simulated benchmarks as one panel, tables of them, and how often intervals cover and tests reject. SIMULATED data.

Each benchmark is a dimension of one panel. Texts of a million rows take longer to make than what is simulated, so
that columns are categories.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from mrb_lib.stats.estimation import Sampling
from mrb_lib.stats.panel import ABSENT, Panel
from mrb_lib.tables.schema import CHOICES
from tests.stats import small_tables

BLOCK = 50
"""Benchmarks per table: the time that a table takes rises with the square of the dimensions."""
MODALITIES = np.repeat(np.arange(9), [304, 220, 147, 118, 88, 48, 42, 37, 22])
"""The cluster of each case: as many and as large as the imaging modalities of the demo benchmark."""


def chances(generator: np.random.Generator, judges: int, benchmarks: int, cases: int, *, orders: int = 1) -> np.ndarray:
    """Return uniform numbers, shape (judges, benchmarks, cases, orders); on half of the cases all share one."""
    shape = judges, benchmarks, cases, orders
    shared, which = generator.random((2, 1, *shape[1:3], 1), dtype=np.float32)
    return np.where(which < 0.5, shared, generator.random(shape, dtype=np.float32))


def clustered(generator: np.random.Generator, shape: tuple[int, ...], cluster: np.ndarray, share: float) -> np.ndarray:
    """Return uniform numbers, cases last; with the probability `share` a case has that of its cluster."""
    shared = generator.random((*shape, int(cluster.max()) + 1), dtype=np.float32)[..., cluster]
    alone, which = generator.random((2, *shape, len(cluster)), dtype=np.float32)
    return np.where(which < share, shared, alone)


def correlated(
    generator: np.random.Generator, shape: tuple[int, ...], cluster: np.ndarray, correlation: float
) -> np.ndarray:
    """Return uniform numbers, cases last, whose normal scores correlate within clusters."""
    shared = generator.normal(size=(*shape, int(cluster.max()) + 1))[..., cluster]
    own = generator.normal(size=shared.shape)
    return np.asarray(ndtr(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own))


def sampling(codes: np.ndarray | int, crossed: np.ndarray | None = None) -> Sampling:
    """Return clusters of cases by their codes, or so many cases on their own, without resamples."""
    codes = np.arange(codes) if isinstance(codes, int) else codes
    return Sampling(codes, np.empty((0, int(codes.max()) + 1)), crossed)


def column(code: np.ndarray, names: Sequence[str] | np.ndarray) -> pd.Categorical:
    """Return what each row says, by its position among the names."""
    return pd.Categorical.from_codes(code.ravel(), list(names))


def frame_of(label: np.ndarray, names: Sequence[str] = CHOICES, there: np.ndarray | None = None) -> pd.DataFrame:
    """Return gold labels from positions among names, shape (benchmarks, cases), or annotations, with annotators first.

    Parameters
    ----------
    there : of the same shape, which of them there are; None is all
    """
    kept = np.ones(label.shape, dtype=bool) if there is None else there
    *who, dimension, case = np.nonzero(kept)
    rows = {"case_id": column(case, small_tables.ids(label.shape[-1]))}
    if who:
        rows["annotator"] = column(who[0], [f"a{i}" for i in range(len(label))])
    rows["dimension"] = column(dimension, dimensions(label.shape[-2]))
    return pd.DataFrame({**rows, "choice": column(label[kept], names)})


def dimensions(benchmarks: int) -> list[str]:
    return [f"d{i:04d}" for i in range(benchmarks)]


def panel_of(choice: np.ndarray, p_a: np.ndarray | None = None, judges: Sequence[str] | None = None) -> Panel:
    """Return verdicts by their codes, shape (judges, benchmarks, cases), or with axes of orders and of repeats.

    Parameters
    ----------
    p_a : probabilities of A, of the same shape
    judges : their names; None takes j00, j01, ...
    """
    axes = tuple(range(choice.ndim, 5))
    choice, p_a = (None if each is None else np.expand_dims(each, axes) for each in (choice, p_a))
    if choice.shape[3] == 1:
        choice = np.concatenate([choice, np.full_like(choice, ABSENT)], axis=3)
        p_a = None if p_a is None else np.concatenate([p_a, np.full_like(p_a, np.nan)], axis=3)
    names = [f"j{i:02d}" for i in range(len(choice))] if judges is None else list(judges)
    repeats = list(range(choice.shape[4]))
    costs = pd.DataFrame(columns=["judge", "dimension"])
    return Panel(names, dimensions(choice.shape[1]), repeats, choice.astype(np.int8), p_a, costs)


def forecasts_of(p_a: np.ndarray, judges: Sequence[str] | None = None) -> Panel:
    """Return verdicts by their probabilities of A, shape as in `panel_of`; NaN where there is none."""
    return panel_of(np.where(np.isnan(p_a), ABSENT, np.where(p_a > 0.5, 0, 1)), p_a, judges)


def cases_of(n: int, cluster: np.ndarray | None = None, **columns: Any) -> pd.DataFrame:
    """Return cases with these columns."""
    cases = pd.DataFrame({"case_id": small_tables.ids(n), **columns})
    return cases if cluster is None else cases.assign(cluster=cluster)


def tables_of(
    right: np.ndarray, label: np.ndarray | None = None, **columns: Any
) -> tuple[Panel, pd.DataFrame, pd.DataFrame]:
    """Return panel, gold and cases of who is right on what, shape as in `panel_of`.

    Parameters
    ----------
    label : 0 for A or 1 for B, shape (benchmarks, cases); None is A throughout
    """
    label = np.zeros(right.shape[1:3], dtype=np.int64) if label is None else label
    of_case = label.reshape(*label.shape, *[1] * (right.ndim - 3))
    return panel_of(np.where(right, of_case, 1 - of_case)), frame_of(label), cases_of(right.shape[2], **columns)


def rows_of(
    table: str,
    panel: Panel | None,
    gold: pd.DataFrame | None,
    cases: pd.DataFrame,
    annotations: pd.DataFrame | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Return the rows of a table of each benchmark on its own."""
    names = list((gold if annotations is None else annotations)["dimension"].cat.categories)
    blocks = []
    for start in range(0, len(names), BLOCK):
        some = names[start : start + BLOCK]
        frames = [None if each is None else each[each["dimension"].isin(some)] for each in (gold, annotations)]
        own = None if panel is None else panel.of_dimensions(some)
        blocks.append(small_tables.rows_of(table, cases, own, *frames, dimensions=some, **options))
    rows = pd.concat(blocks, ignore_index=True)
    return rows[rows["dimension"] != "average"].reset_index(drop=True)


def as_judges(right: np.ndarray, **columns: Any) -> tuple[Panel, pd.DataFrame, pd.DataFrame]:
    """Return the tables of benchmarks on the same cases as one: the judges of each are judges of it, and gold is A.

    A table of a thousand judges is made in a twentieth of the time that a thousand dimensions take.

    Parameters
    ----------
    right : shape (judges, benchmarks, cases), or with an axis of orders
    """
    judges, benchmarks, n, *orders = right.shape
    names = [f"j{j:02d} {i:04d}" for j in range(judges) for i in range(benchmarks)]
    panel = panel_of(np.where(right, 0, 1).reshape(len(names), 1, n, *orders), judges=names)
    return panel, frame_of(np.zeros((1, n), dtype=np.int64)), cases_of(n, **columns)


def accuracy(panel: Panel, gold: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Return the table `accuracy` over all cases without naive baselines, in the order of the judges' names."""
    rows = rows_of("accuracy", panel, gold, cases, references=0, **options)
    return rows[rows["subfield"].isna()].sort_values("judge", ignore_index=True)


def pairs_of(panel: Panel, gold: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Return the comparison of the first of two judges with the second, in each benchmark of `as_judges`."""
    half = len(panel.judges) // 2
    pairs = [*zip(panel.judges[half:], panel.judges[:half], strict=True)]
    return rows_of("gains", panel, gold, cases, pairs=pairs, **options)


def covered(rows: pd.DataFrame, truth: float | np.ndarray | pd.Series, name: str = "") -> float:
    """Return the share of intervals that hold the truth, `low` to `high` after this name; one without ends does not."""
    return inside(*(rows[f"{name}{end}"].astype(float) for end in ("low", "high")), truth)


def inside(low: np.ndarray | pd.Series, high: np.ndarray | pd.Series, truth: float | np.ndarray | pd.Series) -> float:
    """Return the share of intervals that hold the truth; one without ends does not."""
    return float(np.mean((low <= truth + 1e-9) & (truth - 1e-9 <= high)))


def is_near(share: float | Sequence[float] | np.ndarray, level: float, trials: int, least: float) -> bool:
    """Return whether all shares are within three Monte-Carlo standard errors of the level, or `least` if that is more.

    Over 500 trials 95% intervals are to cover 92.1 to 97.9%; those that are a fifth too narrow cover 88%, which that
    tells apart 499 times of 500. Over 1,000 a test at 5% may reject 2.9 to 7.1%; one that rejects 10% is found out as
    surely.
    """
    error = np.sqrt(level * (1 - level) / trials)
    return bool((np.abs(np.asarray(share) - level) <= max(least, 3 * error)).all())


def covers_as_claimed(*shares: float, trials: int, least: float = 0.02) -> bool:
    """Return whether 95% intervals cover by `is_near` as often as they claim."""
    return is_near(shares, 0.95, trials, least)


def rejects_as_claimed(*shares: float, trials: int, least: float = 0.01) -> bool:
    """Return whether tests at 5% reject true hypotheses by `is_near` as often as they claim."""
    return is_near(shares, 0.05, trials, least)
