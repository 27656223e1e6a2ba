"""A benchmark that has all that any table of preferences asks for."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from tests.stats.small_tables import annotations_of, cases_of, groups_of, prompts_of, verdicts_of
from tests.training_records import recipes_of

GROUPS = groups_of({"j1": "medical", "j2": "open", "j3": "open"}, {"j1": "j2"}).assign(
    cutoff=["2023-01", "2026-01", "2023-01"], cutoff_of="roster"
)
RECORDS = recipes_of({"j1": {"swap": True}, "j2": {"swap": False}, "j3": {"swap": True, "n_cases": 200}})
PROMPTS = prompts_of({"j1": "j", "j2": "j", "j3": "j"})
KNOWN = {"groups": GROUPS, "records": RECORDS, "prompts": PROMPTS}


@cache
def full_benchmark() -> tuple[Benchmark, pd.DataFrame]:
    """Sixty cases with all that any table asks for: annotators, responders, probabilities, repeats, rubrics."""
    rng = np.random.default_rng(0)
    n = 60
    latent = rng.normal(size=n)
    pairs = [rng.permutation(["m1", "m2", "m3"])[:2] for _ in range(n)]
    cases = cases_of(
        n,
        organ=list(rng.choice(["eye", "lung"], n)),
        department=list(rng.choice(["Ophthalmology", "Pulmonology"], n)),
        dataset=list(rng.choice(["one", "two", "three"], n)),
        date=["2020", "2024"] * (n // 2),
        model_a=[pair[0] for pair in pairs],
        model_b=[pair[1] for pair in pairs],
        rubric=['[{"criterion": "names the side", "weight": 1}]'] * n,
    ).assign(response_a=["word " * k for k in rng.integers(2, 30, n)])
    letters = {name: "".join(letter(latent + rng.normal(size=n))) for name in ("a", "b", "c")}
    made = Benchmark(BenchmarkMeta("full", "general", ("overall",)), cases, annotations_of(letters))
    shown, p_a = {}, []
    for judge, noise in (("j1", 0.5), ("j2", 1.0), ("j3", 2.0)):
        for order, repeat in itertools.product(("AB", "BA"), range(2)):
            felt = latent + noise * rng.normal(size=n)
            shown[judge, order, repeat] = "".join(letter(felt))
            p_a.extend(1 / (1 + np.exp(-felt)))
    return made, verdicts_of(shown).assign(p_a=p_a, criteria='{"a": [1], "b": [0]}')


def letter(felt: np.ndarray) -> np.ndarray:
    return np.where(np.abs(felt) < 0.2, "T", np.where(felt > 0, "A", "B"))
