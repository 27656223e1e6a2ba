"""What learning the letters of a case in one pass costs beside twelve separate prompts, in one run. SIMULATED data.

    python tests/benchmarks/speed/training_speed.py     # ~60 M on the CPU, or Qwen2.5-VL-7B's architecture on a GPU

Forward and backward pass of a case's twelve prompts: as the tree that `mrb train --method sft` learns from, and as
twelve rows of a batch, as TRL's trainer reads `mrb export sft`. The weights are random, which changes what is learnt
and not how long it takes. Results are in RESULTS.md.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from judge_throughput import ENTRY, large_model, shorter, small_model

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.build.training.letters import LetterCase, LetterLoss, letter_cases
from mrb_lib.build.training.trainee import prompts_of
from mrb_lib.demo import write_demo
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.local.reader import logits_at
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.schema import ORDERS
from mrb_lib.verdicts.orders import FIRST, SECOND, to_shown_frame


def separate(
    loss: LetterLoss, judge: PackedJudge, benchmark: Benchmark, case: LetterCase, case_id: str
) -> torch.Tensor:
    """The same loss with the prompts as rows of one batch, padded on the left."""
    weights, row = judge.weights, benchmark.cases.set_index("case_id", drop=False).loc[case_id].to_dict()
    pictures = judge.pictures(row["images"])
    texts = []
    for order in ORDERS:
        responses = [row["response_a"], row["response_b"]][:: 1 if order == "AB" else -1]
        for dimension in benchmark.meta.dimensions:
            shown = {**row, FIRST: responses[0], SECOND: responses[1]}
            rendered = judge.writer.write(shown, responses, dimension)
            texts.append(judge._chat(rendered, len(pictures)))
    inputs = weights.to_device(weights.collate([weights.encode(text, pictures) for text in texts]))
    log_p = logits_at(weights, weights.model, inputs, None)[:, 0].float().log_softmax(-1)[:, list(case.tokens)]
    p_first, weight = (tensor.flatten().to(log_p.device) for tensor in (case.p_first, case.weight))
    return -(weight * (p_first * log_p[:, 0] + (1 - p_first) * log_p[:, 1])).sum() / weight.numel()


def seconds(step: Callable[[int], torch.Tensor], model: torch.nn.Module, cases: Sequence[int]) -> tuple[float, float]:
    """Seconds a case of forward and backward pass, and the loss of the first; one case before that does not count."""
    first = step(0)
    first.backward()
    model.zero_grad()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    for i in cases:
        step(i).backward()
        model.zero_grad()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / len(cases), float(first.detach())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=6)
    parser.add_argument("--words", type=int, default=0, help="cut responses after so many words; 0: as they are")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        write_demo(Path(folder) / "bench", cases=max(40, options.cases), seed=0)
        benchmark = load(Path(folder) / "bench")
        if options.words:
            benchmark = replace(benchmark, cases=shorter(benchmark.cases, options.words))
        texts = [*benchmark.cases["question"], *benchmark.cases["response_a"]]
        make = large_model if torch.cuda.is_available() else small_model
        judge = PackedJudge(JudgeRequest(ENTRY, Settings(), benchmark.images, WeightsSource(Path(folder), "x")))
        judge._loaded = make(Path(folder) / "model", texts)
        judge.load()
        ids = benchmark.cases["case_id"].head(options.cases).tolist()
        shown = to_shown_frame(prompts_of(benchmark.cases, ids, benchmark.meta.dimensions, ORDERS))
        cases, _ = letter_cases(judge, shown.assign(p_first=1.0, weight=1.0))
        loss, model = LetterLoss(judge.weights), judge.weights.model
        trees = [case.questions.prompts.tree for case in cases]
        print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.0f} M parameters, {judge.device}")
        print(f"{sum(tree.n_tokens for tree in trees if tree) / len(cases):.0f} tokens in the tree of a case")
        order = range(len(cases))
        together, ours = seconds(lambda i: loss(model, [cases[i]]), model, order)
        apart, theirs = seconds(lambda i: separate(loss, judge, benchmark, cases[i], ids[i]), model, order)
        print(f"tree: {together:.3f} s a case; twelve rows: {apart:.3f} s a case; share {together / apart:.3f}")
        print(f"losses of the first case: {ours:.6f} and {theirs:.6f}")


if __name__ == "__main__":
    main()
