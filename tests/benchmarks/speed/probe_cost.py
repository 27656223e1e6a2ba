"""What ten probes cost beside the plain cases alone, by kind of probe, in one run of `packed`.

    python tests/benchmarks/speed/probe_cost.py [--cases 12] [--width 480 --layers 8] [--threads 1] [--rounds 5]

SIMULATED cases and random weights, judged as `mrb judge` does: one batch is read while the next is prepared. Seconds,
of a clock and of the processor, are the least of several rounds; each round judges the plain cases alone and then with
each kind of probe.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.demo import write_demo
from mrb_lib.judges.local.tiny import write_tiny
from mrb_lib.judges.roster.roster import resolve
from mrb_lib.judges.settings import Settings
from mrb_lib.probes import ProbedImages
from mrb_lib.runs.execute import settings_for
from mrb_lib.runs.local import Job, run_locally
from mrb_lib.runs.plan import ProbeOptions, make_plan
from mrb_lib.verdicts.protocol import Judge

KINDS = {
    "of the prompt": (
        "prompt/persona:1", "prompt/persona:2", "prompt/persona:3", "prompt/persona:4",
        "prompt/wording:1", "prompt/wording:2", "prompt/wording:3", "prompt/labels:1", "prompt/labels:2",
        "prompt/labels:4",
    ),
    "of the question": (
        *(f"prompt/cognitive-bias:{step}" for step in range(1, 8)),
        "question/colleague:1", "question/professor", "question/vote",
    ),
    "of a response": (
        "response/lengthened:1", "response/lengthened:2", "response/lengthened:3", "response/repeated",
        "response/credentials", "response/markdown", "response/instruction", "response/hedged:1",
        "response/hedged:2", "response/typos:3",
    ),
    "of the image": (
        "image/blur:1", "image/blur:3", "image/noise:1", "image/noise:3", "image/jpeg:3", "image/low-contrast:3",
        "image/rotated:1", "image/mirrored", "image/cropped:1", "image/blank",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Cost:
    clock: float
    processor: float
    tokens: int
    verdicts: int


def run(benchmark: Benchmark, folder: Path, cases: int, names: tuple[str, ...]) -> Cost:
    probes = ProbeOptions(names) if names else None
    plan = make_plan(benchmark.cases, benchmark.meta.dimensions, probes=probes, limit=cases)
    settings = settings_for(benchmark, Settings(device="cpu"), 1)
    images = ProbedImages(benchmark.images, benchmark.cases)

    def make() -> Judge:
        return resolve(f"path:{folder}", runs=folder, images=images, settings=settings)

    judge = make()
    answers = run_locally(Job(judge, plan, list(plan.batches(plan.all_numbers, judge.cases_per_batch)), make))
    clock, processor = time.perf_counter(), time.process_time()
    verdicts = pd.concat(list(answers))
    cost = Cost(
        time.perf_counter() - clock,
        time.process_time() - processor,
        int(verdicts["prompt_tokens"].sum()),
        len(verdicts),
    )
    assert verdicts["status"].eq("ok").all(), verdicts["error"].dropna().unique()
    return cost


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=12)
    parser.add_argument("--width", type=int, default=96, help="of the model's hidden states, a multiple of 96")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of the model; another one prepares")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    cases = given.cases
    torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as scratch:
        write_demo(Path(scratch) / "bench", cases=40)
        benchmark = load(Path(scratch) / "bench")
        tiny = write_tiny(Path(scratch) / "tiny", "llava", width=given.width, layers=given.layers)
        run(benchmark, tiny, cases, ())
        rounds = [
            {kind: run(benchmark, tiny, cases, names) for kind, names in {"": (), **KINDS}.items()}
            for _ in range(given.rounds)
        ]
        plain = [one[""] for one in rounds]
        for kind in KINDS:
            probed = [one[kind] for one in rounds]
            clock, processor, tokens, verdicts = (
                min(getattr(one, what) for one in probed) / min(getattr(one, what) for one in plain)
                for what in ("clock", "processor", "tokens", "verdicts")
            )
            print(
                f"ten probes {kind}: {clock:.1f} times the seconds, {processor:.1f} times those of the processor, "
                f"{tokens:.1f} times the tokens and {verdicts:.1f} times the verdicts of the plain cases alone "
                f"({min(one.clock for one in plain):.2f} s)"
            )


if __name__ == "__main__":
    main()
