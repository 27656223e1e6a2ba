"""SIMULATED benchmarks of any size for the timings: cases, annotations and verdicts drawn at random."""

import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.schema import CHOICES, DIMENSIONS, ORDERS, ORGAN_DEPARTMENT, ORGANS
from mrb_lib.verdicts.store import save_imported

PAPER_CASES, PAPER_JUDGES = 1_026, 32
_ANNOTATORS = 3


def peak(who: int) -> float:
    """Return the most memory so far in GB, of `resource.RUSAGE_SELF` or `RUSAGE_CHILDREN`."""
    return resource.getrusage(who).ru_maxrss / 2**20


def benchmark(n: int, seed: int = 0) -> tuple[Benchmark, np.ndarray]:
    """A benchmark of `n` cases with three annotators, and the latent differences behind it, shape (dimensions, n)."""
    generator = np.random.default_rng(seed)
    ids = np.array([f"SIMULATED-{i:07d}" for i in range(n)])
    organ = generator.choice(ORGANS, n)
    words = generator.integers(5, 60, (2, n))
    models = np.array([f"model-{i}" for i in range(10)])
    pair = np.stack([generator.permutation(10)[:2] for _ in range(n)])
    cases = pd.DataFrame(
        {
            "case_id": ids,
            "question": [f"question {i}" for i in range(n)],
            "response_a": ["word " * count for count in words[0]],
            "response_b": ["word " * count for count in words[1]],
            "organ": organ,
            "department": [ORGAN_DEPARTMENT[name] for name in organ],
            "dataset": generator.choice(["one", "two", "three", "four"], n),
            "model_a": models[pair[:, 0]],
            "model_b": models[pair[:, 1]],
        }
    ).astype("str")
    cases["images"] = [[] for _ in range(n)]
    skill = np.linspace(-1, 1, 10)
    latent = generator.normal(size=(len(DIMENSIONS), n)) + skill[pair[:, 0]] - skill[pair[:, 1]]
    felt = latent[:, None] + 0.6 * generator.normal(size=(len(DIMENSIONS), _ANNOTATORS, n))
    choice = _choices(felt)
    dimension, annotator, case = (axis.ravel() for axis in np.indices(choice.shape))
    annotations = pd.DataFrame(
        {
            "case_id": pd.Index(ids, dtype="str").take(case),
            "annotator": pd.Index([f"annotator_{i}" for i in range(_ANNOTATORS)], dtype="str").take(annotator),
            "dimension": pd.Index(DIMENSIONS, dtype="str").take(dimension),
            "choice": pd.Index(CHOICES, dtype="str").take(choice.ravel()),
        }
    )
    return Benchmark(BenchmarkMeta("SIMULATED for timings", "simulated"), cases, annotations), latent


def _choices(felt: np.ndarray) -> np.ndarray:
    return np.where(np.abs(felt) < 0.2, CHOICES.index("tie"), np.where(felt > 0, 0, 1))


def verdicts(made: Benchmark, latent: np.ndarray, judges: int, seed: int = 1) -> Iterator[pd.DataFrame]:
    """The verdicts of each judge in both orders, with probabilities, a frame a judge."""
    ids = pd.Index(made.cases["case_id"])
    for number in range(judges):
        generator = np.random.default_rng((seed, number))
        noise = 0.6 + 1.4 * number / max(judges, 1)
        shape = (len(DIMENSIONS), len(ORDERS), len(ids))
        felt = latent[:, None] + noise * generator.normal(size=shape) + np.array([0.1, -0.1])[:, None]
        dimension, order, case = (axis.ravel() for axis in np.indices(shape))
        yield pd.DataFrame(
            {
                "judge": pd.Categorical([f"simulated-{number:02d}"] * case.size),
                "case_id": pd.Categorical.from_codes(case, ids),
                "dimension": pd.Categorical.from_codes(dimension, list(DIMENSIONS)),
                "order": pd.Categorical.from_codes(order, list(ORDERS)),
                "repeat": np.zeros(case.size, dtype=np.int64),
                "probe": pd.Categorical(["none"] * case.size),
                "choice": pd.Categorical.from_codes(_choices(felt).ravel(), list(CHOICES)),
                "p_a": 1 / (1 + np.exp(-felt.ravel())),
                "latency_s": 0.5,
                "prompt_tokens": 100.0,
                "completion_tokens": 10.0,
            }
        )


def write(folder: Path, n: int, judges: int) -> None:
    """Write a benchmark and its runs as `mrb import` would."""
    made, latent = benchmark(n)
    folder.mkdir(parents=True)
    save(made, folder)
    text = ("judge", "case_id", "dimension", "order", "probe", "choice")
    for frame in verdicts(made, latent, judges):
        plain = frame.astype(dict.fromkeys(text, "str"))
        save_imported(plain, folder / "runs", benchmark=made.meta.name, kind="simulated", source="SIMULATED")
