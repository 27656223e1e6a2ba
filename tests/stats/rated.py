"""A benchmark that has all that any table of ratings asks for."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.demo.ratings import RatingJudge, simulated_ratings
from tests.stats.small_tables import annotations_of, ids, verdicts_of

SCALE = ("none", "low", "moderate", "high")


def benchmark(
    people: Mapping[str, Sequence[str | None]],
    *,
    categories: Sequence[str] = SCALE,
    acceptable: Sequence[str] = (),
    level: str = "ordinal",
    dimension: str = "risk",
    **columns: Sequence[object],
) -> Benchmark:
    """Ratings by people, one entry a case; None is no annotation."""
    meta = BenchmarkMeta("rated", "general", (dimension,), tuple(categories), level, "rating", tuple(acceptable))
    n = len(next(iter(people.values())))
    cases = pd.DataFrame({"case_id": ids(n), "question": "q", "response_a": "r", "response_b": "", **columns})
    given = {name: ["-" if choice is None else choice for choice in said] for name, said in people.items()}
    return Benchmark(meta, cases, annotations_of(given, dimension))


def verdicts(said: Mapping[str | tuple[str, int], Sequence[str | None]], dimension: str = "risk") -> pd.DataFrame:
    """Choices by judge, or by judge and repeat, one entry a case; None has no choice, "-" is no verdict."""
    shown = {(key, 0) if isinstance(key, str) else key: choices for key, choices in said.items()}
    return verdicts_of({(judge, "AB", repeat): choices for (judge, repeat), choices in shown.items()}, dimension)


def simulated(
    n: int, seed: int, judges: Sequence[RatingJudge], *, level: str = "ordinal", repeats: int = 2, per_cluster: int = 1
) -> tuple[Benchmark, pd.DataFrame]:
    """Three people with noise about a latent place, alike within clusters, and SIMULATED judges of the same places."""
    rng = np.random.default_rng(seed)
    latent = rng.uniform(0.6, len(SCALE) + 0.4, n // per_cluster).repeat(per_cluster)
    columns = {}
    if per_cluster > 1:
        latent, columns = latent + rng.normal(0, 0.4, n), {"cluster": [f"k{i // per_cluster}" for i in range(n)]}
    people = {
        name: [SCALE[int(place) - 1] for place in np.clip(np.rint(latent + rng.normal(0, 0.4, n)), 1, len(SCALE))]
        for name in ("a", "b", "c")
    }
    made = benchmark(people, acceptable=SCALE[:2], level=level, organ=list(rng.choice(["eye", "lung"], n)), **columns)
    truth = pd.DataFrame({"case_id": made.cases["case_id"], "dimension": "risk", "latent": latent})
    return made, simulated_ratings(truth, SCALE, judges=judges, seed=seed, repeats=repeats)
