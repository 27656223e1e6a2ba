"""How quickly the reviewer's index answers: building it, a filter, its counts, a case. SIMULATED data.

10,000 cases x 32 judges x 2 orders x 6 dimensions, 3.84 million verdicts with replies.
Run it by hand: `python tests/benchmarks/review_speed.py`; the results are in RESULTS.md.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from simulated import benchmark, verdicts

from mrb_lib.data.benchmark import load, save
from mrb_lib.runs.store import save_imported
from mrb_lib.stats.selection import Query, facets, searchable, select
from mrb_lib.widgets.review_index import build, open_index

JUDGE, OTHER = "simulated-20", "simulated-05"
QUERIES = {
    "everything": Query(),
    "wrong": Query(judge=JUDGE, dimension="overall", kind=("wrong",)),
    "wrong, most confident first": Query(kind=("wrong", "inconsistent"), sort="confidence"),
    "two judges differ, hardest first": Query(judge=JUDGE, other=OTHER, sort="difficulty"),
    "text": Query(text="word question 77", organ="lung"),
}


def simulate(folder: Path, n_cases: int, n_judges: int) -> None:
    """Write a benchmark and its runs; each reply answers six rows."""
    made, latent = benchmark(n_cases)
    folder.mkdir(parents=True)
    save(made, folder)
    text = ("judge", "case_id", "dimension", "order", "probe", "choice")
    for frame in verdicts(made, latent, n_judges):
        plain = frame.astype(dict.fromkeys(text, "str"))
        reply = plain["case_id"] + plain["order"] + " because" * 60
        save_imported(plain.assign(reply=reply), folder / "runs", benchmark="b", kind="simulated", source="SIMULATED")


def timed(what: str, work: Callable[[], object], times: int = 1) -> None:
    """Print the median and the slowest of several calls."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    print(f"{what:45} median {1000 * np.median(seconds):9.1f} ms   slowest {1000 * max(seconds):9.1f} ms", flush=True)


def main() -> None:
    """Simulate, build, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--judges", type=int, default=32)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "bench"
        simulate(folder, options.cases, options.judges)
        made = load(folder)
        timed("build the index", lambda: build(folder / "runs", made, Path(name) / "index"))
        timed("find that it is built", lambda: build(folder / "runs", made, Path(name) / "index"), 5)
        place = build(folder / "runs", made, Path(name) / "index")
        timed("open it", lambda: open_index(place), 5)
        index = open_index(place)
        timed("kinds of failure, once a policy", index.kinds)
        kinds, texts = index.kinds(), searchable(made.cases)
        for what, query in QUERIES.items():
            print(f"{len(select(kinds, made.cases, query, texts=texts))} cases: {query}")
            timed(f"select: {what}", lambda query=query: select(kinds, made.cases, query, texts=texts), 9)
            timed(f"count: {what}", lambda query=query: facets(kinds, made.cases, query, texts=texts), 9)
        positions = iter(np.random.default_rng(0).integers(0, options.cases, 100).tolist())
        timed("a case, all its verdicts and replies", lambda: index.verdicts(next(positions)), 100)
        size = sum(path.stat().st_size for path in place.iterdir()) / 2**20
        print(f"index {size:.0f} MB, peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")
        pd.testing.assert_series_equal(
            index.verdicts(7)["case_id"].drop_duplicates(), made.cases["case_id"].iloc[[7]], check_index=False
        )


if __name__ == "__main__":
    main()
