"""A benchmark that has all that any table of preferences asks for."""

import itertools
from collections.abc import Hashable
from functools import cache

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import analyze
from tests.stats.small_tables import adjudications_of, annotations_of, cases_of, groups_of, prompts_of, verdicts_of
from tests.training_records import recipes_of

GROUPS = groups_of({"j1": "medical", "j2": "open", "j3": "open"}, {"j1": "j2"}).assign(
    cutoff=["2023-01", "2026-01", "2023-01"], cutoff_of="roster"
)
RECORDS = recipes_of({"j1": {"swap": True}, "j2": {"swap": False}, "j3": {"swap": True, "n_cases": 200}})
PROMPTS = prompts_of({"j1": "j", "j2": "j", "j3": "j"})
REVIEWS = adjudications_of(
    *(
        (f"c{i}", reviewer, *mark, None, judge, [reason])
        for i, (judge, reason) in enumerate(itertools.product(("j1", "j2", "j3"), ("image", "text", "style")))
        for reviewer, mark in (
            ("r1", ("gold_wrong", "A") if i % 3 else ("gold_right", None)),
            ("r2", ("gold_wrong", "A")),
        )
    )
)
KNOWN = {"groups": GROUPS, "records": RECORDS, "prompts": PROMPTS, "adjudications": REVIEWS}
PROBES = {"image/removed": 1.5, "image/blur:1": 0.1, "image/blur:2": 0.8, "question/sex:1": 0.1, "question/sex:2": 0.3}
"""The noise that each adds to what a judge feels."""


@cache
def full_benchmark() -> tuple[Benchmark, pd.DataFrame]:
    """Twenty items, all pairs of three responses to each, with all that any table asks for.

    Annotators, responders of which one is a judge, styles of text, probabilities, repeats, costs, probes, dates and
    rubrics.
    """
    rng = np.random.default_rng(0)
    rows, worth = [], []
    for item in range(20):
        strength = dict(zip(("j1", "m2", "m3"), rng.normal(size=3), strict=True))
        text = {name: " ".join(rng.choice(["word", "may", "**so**", "12"], rng.integers(2, 30))) for name in strength}
        for pair in itertools.combinations(strength, 2):
            a, b = rng.permutation(pair)
            rows.append((f"i{item}", a, b, text[a], text[b]))
            worth.append(strength[a] - strength[b])
    n, latent = len(rows), np.array(worth)
    columns = ["item", "model_a", "model_b", "response_a", "response_b"]
    cases = cases_of(
        n,
        organ=list(rng.choice(["eye", "lung"], n)),
        department=list(rng.choice(["Ophthalmology", "Pulmonology"], n)),
        dataset=list(rng.choice(["one", "two", "three"], n)),
        date=list(rng.choice(["2020", "2024"], n)),
        rubric=['[{"criterion": "names the side", "weight": 1}]'] * n,
    ).assign(**pd.DataFrame(rows, columns=columns))
    letters = {name: "".join(letter(latent + rng.normal(size=n))) for name in ("a", "b", "c")}
    made = Benchmark(BenchmarkMeta("full", "general", ("overall",)), cases, annotations_of(letters))
    frames = []
    for probe, more in {"none": 0.0, **PROBES}.items():
        shown, p_a = {}, []
        for judge, noise in (("j1", 0.5), ("j2", 1.0), ("j3", 2.0)):
            for order, repeat in itertools.product(("AB", "BA"), range(2)):
                felt = latent + (noise + more) * rng.normal(size=n)
                shown[judge, order, repeat] = "".join(letter(felt))
                p_a.extend(1 / (1 + np.exp(-felt)))
        frames.append(verdicts_of(shown).assign(p_a=p_a, probe=probe))
    verdicts = pd.concat(frames, ignore_index=True).astype({"probe": "str"})
    costs = {"latency_s": 1.0 + verdicts["judge"].str[1].astype(float), "prompt_tokens": 100.0}
    return made, verdicts.assign(**costs, completion_tokens=10.0, criteria='{"a": [1], "b": [0]}')


@cache
def full_table(table: str, **options: Hashable) -> pd.DataFrame:
    """A table of the full benchmark, made once for the same options; nobody writes into it."""
    return analyze(*full_benchmark(), table, **{"resamples": 40, **KNOWN, **options})


def letter(felt: np.ndarray) -> np.ndarray:
    return np.where(np.abs(felt) < 0.2, "T", np.where(felt > 0, "A", "B"))
