"""Small benchmarks of ratings."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.demo.ratings import RatingJudge, simulated_ratings

SCALE = ("none", "low", "moderate", "high")


def benchmark(
    people: Mapping[str, Sequence[str | None]],
    *,
    categories: Sequence[str] = SCALE,
    acceptable: Sequence[str] = (),
    level: str = "ordinal",
    **columns: Sequence[object],
) -> Benchmark:
    """Ratings by people, one entry a case; None is no annotation."""
    n = len(next(iter(people.values())))
    meta = BenchmarkMeta(
        "rated",
        "general",
        ("risk",),
        tuple(categories),
        level,
        "rating",
        tuple(acceptable),
    )
    cases = pd.DataFrame({"case_id": [f"c{i}" for i in range(n)], "question": "q", "response_a": "r", **columns})
    rows = [
        (f"c{i}", name, "risk", choice)
        for name, said in people.items()
        for i, choice in enumerate(said)
        if choice is not None
    ]
    annotations = pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"]).astype("str")
    return Benchmark(meta, cases, annotations)


def verdicts(said: Mapping[str | tuple[str, int], Sequence[str | None]]) -> pd.DataFrame:
    """Choices by judge, or by judge and repeat, one entry a case; None has no choice."""
    rows = []
    for key, choices in said.items():
        judge, repeat = key if isinstance(key, tuple) else (key, 0)
        rows += [(judge, f"c{i}", "risk", "AB", repeat, "none", choice) for i, choice in enumerate(choices)]
    columns = ["judge", "case_id", "dimension", "order", "repeat", "probe", "choice"]
    return pd.DataFrame(rows, columns=columns).astype({name: "str" for name in columns if name != "repeat"})


def simulated(
    n: int, seed: int, judges: Sequence[RatingJudge], *, level: str = "ordinal", repeats: int = 2
) -> tuple[Benchmark, pd.DataFrame]:
    """Three people with noise about a latent place, and SIMULATED judges of the same places."""
    rng = np.random.default_rng(seed)
    latent = rng.uniform(0.6, len(SCALE) + 0.4, n)
    people = {
        name: [SCALE[int(place) - 1] for place in np.clip(np.rint(latent + rng.normal(0, 0.4, n)), 1, len(SCALE))]
        for name in ("a", "b", "c")
    }
    made = benchmark(people, acceptable=SCALE[:2], level=level, organ=list(rng.choice(["eye", "lung"], n)))
    truth = pd.DataFrame({"case_id": made.cases["case_id"], "dimension": "risk", "latent": latent})
    return made, simulated_ratings(truth, SCALE, judges=judges, seed=seed, repeats=repeats)
