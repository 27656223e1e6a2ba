"""What ten probes cost beside the plain cases alone, by kind of probe, in one run of `packed`.

    python tests/benchmarks/probe_cost.py [--cases 6] [--width 480 --layers 8]

SIMULATED cases and random weights. Seconds are of the processor, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import pandas as pd
import torch

from mrb_lib.data.benchmark import Benchmark, load
from mrb_lib.data.demo import write_demo
from mrb_lib.judges.local.tiny import write_tiny
from mrb_lib.judges.roster.roster import resolve
from mrb_lib.judges.settings import Settings
from mrb_lib.probes import ProbedImages
from mrb_lib.runs.execute import settings_for
from mrb_lib.runs.local import answer_rows, prepare_rows
from mrb_lib.runs.plan import ProbeOptions, make_plan

KINDS = {
    "of the prompt": (
        "prompt/persona-radiologist", "prompt/persona-student", "prompt/persona-layperson", "prompt/persona-strict",
        "prompt/wording:1", "prompt/wording:2", "prompt/wording:3", "prompt/labels:1", "prompt/labels:2",
        "prompt/labels:4",
    ),
    "of the question": (
        "question/self-diagnosis", "question/recency", "question/confirmation", "question/frequency",
        "question/cultural", "question/status-quo", "question/false-consensus", "question/colleague:1",
        "question/professor", "question/vote",
    ),
    "of a response": (
        "response/lengthened:1", "response/lengthened:2", "response/lengthened:3", "response/repeated",
        "response/credentials", "response/citations", "response/instruction", "response/hedged:1",
        "response/assured:1", "response/typos:3",
    ),
    "of the image": (
        "image/blur:1", "image/blur:3", "image/noise:1", "image/noise:3", "image/jpeg:3", "image/low-contrast:3",
        "image/rotated:1", "image/mirrored", "image/cropped:1", "image/blank",
    ),
}  # fmt: skip


def run(benchmark: Benchmark, folder: Path, cases: int, names: tuple[str, ...]) -> tuple[float, int, int]:
    """Seconds of the processor, tokens read, and verdicts."""
    probes = ProbeOptions(names) if names else None
    plan = make_plan(benchmark.cases, benchmark.meta.dimensions, probes=probes, limit=cases)
    settings = settings_for(benchmark, Settings(device="cpu"), 1)
    images = ProbedImages(benchmark.images, benchmark.cases)
    judge = resolve(f"path:{folder}", runs=folder, images=images, settings=settings)
    judge.load()
    start = time.process_time()
    batches = plan.batches(plan.all_numbers, judge.cases_per_batch)
    verdicts = pd.concat([answer_rows(judge, prepare_rows(judge, plan.rows(batch))) for batch in batches])
    assert verdicts["status"].eq("ok").all(), verdicts["error"].dropna().unique()
    return time.process_time() - start, int(verdicts["prompt_tokens"].sum()), len(verdicts)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=6)
    parser.add_argument("--width", type=int, default=96, help="of the model's hidden states, a multiple of 96")
    parser.add_argument("--layers", type=int, default=2)
    given = parser.parse_args()
    cases = given.cases
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        write_demo(Path(scratch) / "bench", cases=40)
        benchmark = load(Path(scratch) / "bench")
        tiny = write_tiny(Path(scratch) / "tiny", "llava", width=given.width, layers=given.layers)
        run(benchmark, tiny, cases, ())
        for kind, names in KINDS.items():
            alone, tokens, verdicts = run(benchmark, tiny, cases, ())
            seconds, all_tokens, all_verdicts = run(benchmark, tiny, cases, names)
            print(
                f"ten probes {kind}: {seconds / alone:.1f} times the seconds, {all_tokens / tokens:.1f} times the "
                f"tokens and {all_verdicts / verdicts:.1f} times the verdicts of the plain cases alone ({alone:.2f} s)"
            )


if __name__ == "__main__":
    main()
