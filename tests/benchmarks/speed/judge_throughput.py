"""How fast the ways of judging are beside each other: one run, one model, the same cases. SIMULATED data.

    python tests/benchmarks/speed/judge_throughput.py            # a ~60 M model on the CPU, or
                                                           # Qwen2.5-VL-7B's architecture on a GPU

Both orders, six dimensions: twelve verdicts a case. The weights are random, which
changes what is judged and not how long it takes. Results are in RESULTS.md.
"""

import argparse
import io
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
import transformers
from PIL import Image
from torch.utils.benchmark import Timer

sys.path.insert(0, str(Path(__file__).parents[3]))
from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.demo import write_demo
from mrb_lib.judges.local.attention import use_own_attention
from mrb_lib.judges.local.base import LocalJudge
from mrb_lib.judges.local.checkpoint import load_checkpoint as load_weights
from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.local.tree import Tree
from mrb_lib.judges.local.weights import Weights
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.plan import Plan
from mrb_lib.verdicts.orders import to_shown_frame
from mrb_lib.verdicts.protocol import VerdictRows
from tests import tiny_models

# Qwen2.5-VL-7B as its published configuration has it.
SEVEN_B: Mapping[str, object] = {
    "text_config": {
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152064,
        "max_position_embeddings": 128000,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]},
        "tie_word_embeddings": False,
    },
    "vision_config": {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": 3420,
        "num_heads": 16,
        "out_hidden_size": 3584,
        "patch_size": 14,
        "window_size": 112,
        "fullatt_block_indexes": [7, 15, 23, 31],
    },
    "tie_word_embeddings": False,
}
_CASES_FOR_TOKENS = 200
SIDE = 1008
ENTRY = Entry("random-weights", "packed", model="random weights")


def megapixels(folder: Path, n: int) -> Benchmark:
    """The first cases of the embedded benchmark, each with a picture of 1008 x 1008 pixels of its own."""
    write_demo(folder, cases=max(n, 60))
    held = load(folder)
    rng, pictures = np.random.default_rng(0), {}
    for i in range(n):
        noise = rng.integers(0, 255, (SIDE // 8, SIDE // 8, 3), dtype=np.uint8)
        stream = io.BytesIO()
        Image.fromarray(noise).resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(stream, "JPEG", quality=90)
        pictures[f"{i}.jpg"] = stream.getvalue()
    cases = held.cases.iloc[np.arange(n) % len(held.cases)]
    cases = cases.assign(images=[[name] for name in pictures], case_id=[f"case {i}" for i in range(n)])
    return replace(held, cases=cases.reset_index(drop=True), images=pictures)


def small_model(folder: Path, texts: list[str]) -> Weights:
    """About 60 M parameters in single precision on the CPU."""
    tiny_models.write(folder, "qwen2_5_vl", width=768, layers=12, vocabulary=8000, texts=texts)
    return load_weights(folder, devices=[torch.device("cpu")], dtype=torch.float32)


def large_model(folder: Path, texts: list[str], device: str = "cuda") -> Weights:
    """Qwen2.5-VL-7B's architecture with random weights in bfloat16 on the GPU."""
    tiny_models.write(folder, "qwen2_5_vl", vocabulary=8000, texts=texts)
    little = load_weights(folder, devices=[torch.device("cpu")], dtype=torch.float32)
    own = little.model.config.to_dict()
    marks = {name: own[name] for name in own if name.endswith("_token_id")}
    config = transformers.Qwen2_5_VLConfig.from_dict({**SEVEN_B, **marks})
    with torch.device(device):
        kind = transformers.Qwen2_5_VLForConditionalGeneration
        model = kind._from_config(config, attn_implementation="sdpa", dtype=torch.bfloat16)
    model.generation_config = little.model.generation_config
    processor = little.processor
    assert processor is not None
    processor.image_processor.size = {"shortest_edge": 56 * 56, "longest_edge": 1008 * 1008}
    use_own_attention(model)
    return Weights(model.eval(), little.tokenizer, processor, (torch.device(device),), little.marks)


def shorter(cases: pd.DataFrame, words: int) -> pd.DataFrame:
    """The cases, with responses cut after so many words."""
    cut = {name: cases[name].str.split().str[:words].str.join(" ") for name in ("response_a", "response_b")}
    return cases.assign(**cut)


def timed(
    cases: pd.DataFrame, benchmark: Benchmark, batch: int, prepare: Callable[[Plan, np.ndarray], Callable[[], object]]
) -> float:
    """Cases per second of the functions that `prepare` makes of batches beforehand; one of two cases warms up."""
    plan = Plan(cases, benchmark.meta.dimensions, ("AB", "BA"))
    prepare(plan, np.arange(2 * plan.per_case))()
    ready = [prepare(plan, numbers) for numbers in plan.batches(np.arange(len(plan)), batch)]
    start = time.perf_counter()
    for answer in ready:
        answer()
    return len(cases) / (time.perf_counter() - start)


def from_rows(judge: LocalJudge) -> Callable[[Plan, np.ndarray], Callable[[], object]]:
    """From rows to verdicts."""
    return lambda plan, numbers: lambda: judge.judge(to_shown_frame(plan.rows(numbers)))


def _trees(judge: PackedJudge, plan: Plan, numbers: np.ndarray) -> list[Tree]:
    shown = to_shown_frame(plan.rows(numbers))
    return [case.prompts for case in judge.cases(VerdictRows(shown), shown) if isinstance(case.prompts, Tree)]


def matmul_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Floating-point operations per second of a large matrix product."""
    n = 8192 if device.type == "cuda" else 2048
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    timer = Timer("a @ b", globals={"a": a, "b": b}, num_threads=torch.get_num_threads())
    return 2 * n**3 / min(timer.timeit(4).median for _ in range(8))


def compare(n: int, batch: int, words: int | None) -> None:
    """Print cases per second of the three ways, and their ratios."""
    on_gpu = torch.cuda.is_available()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # A GPU is given what it is for: an image of a megapixel a case.
        if on_gpu:
            benchmark = megapixels(folder / "demo", n)
        else:
            write_demo(folder / "demo", cases=max(n, _CASES_FOR_TOKENS))
            benchmark = load(folder / "demo")
        # As many tokens a word as a real model's: the tokenizer learns from more text than is judged.
        texts = [*benchmark.cases["question"], *benchmark.cases["response_a"], *benchmark.cases["response_b"]]
        benchmark = replace(benchmark, cases=benchmark.cases.head(n))
        held = (large_model if on_gpu else small_model)(folder / "model", texts)
        source = WeightsSource(folder / "model", "random")

        def ready(kind: Callable[..., LocalJudge], settings: Settings | None = None) -> LocalJudge:
            judge = kind(JudgeRequest(ENTRY, settings or Settings(), benchmark.images, source))
            judge._loaded = held
            judge.load()
            return judge

        packed = ready(PackedJudge)
        assert isinstance(packed, PackedJudge)
        cases = shorter(benchmark.cases, words) if words else benchmark.cases
        from_packed = from_rows(packed)
        parameters = sum(p.numel() for p in held.model.parameters())
        print(
            f"{parameters / 1e6:.0f} M parameters, {held.model.dtype}, {packed.device}, {n} cases, batches of {batch}"
        )
        n_tokens, n_prompt = _unique_tokens(packed, cases, benchmark)
        print(f"a prompt has {n_prompt:.0f} tokens on average, a case's tree {n_tokens:.0f}", flush=True)
        speeds = [timed(cases, benchmark, batch, from_packed)]

        def beside(name: str, speed: float) -> None:
            # A pass of `packed` is short, and a machine's speed changes: it is timed before and after each other way.
            speeds.append(timed(cases, benchmark, batch, from_packed))
            around = float(np.mean(speeds[-2:]))
            print(f"{name}: {speed:.3f} cases/s; packed {around:.3f}, {around / speed:.1f} times as fast", flush=True)

        # Replies run to their full length, as replies of real models of that length would.
        with patch.object(Weights, "ends", property(lambda self: [])):
            # The prompt that says as much as that of `packed`: with the dimensions defined.
            replies = ready(GenerativeJudge, Settings(max_new_tokens=80, prompt="rubric"))
            beside("(a) JSON of 80 tokens", timed(cases, benchmark, batch, from_rows(replies)))
            reasoned = ready(GenerativeJudge, Settings(max_new_tokens=400, prompt="reasoned"))
            beside("(d) reasons of 400 tokens", timed(cases, benchmark, batch, from_rows(reasoned)))
        fastest = float(np.mean(speeds))
        print(f"(c) packed: {fastest:.3f} cases/s, from {min(speeds):.3f} to {max(speeds):.3f}", flush=True)
        rate = matmul_rate(held.model.device, held.model.dtype)
        body = parameters - held.model.get_input_embeddings().weight.numel()
        share = n_tokens * 2 * body / rate
        print(f"matmul {rate / 1e12:.2f} TFLOP/s; packed reads its unique tokens at {share * fastest:.0%} of that")
        # What the device does, with every case made ready beforehand, as a pool of workers has it.
        alone = timed(cases, benchmark, batch, lambda plan, rows: packed.prepare(to_shown_frame(plan.rows(rows))))
        print(f"with cases made ready beforehand: {alone:.3f} cases/s, {share * alone:.0%}", flush=True)
        if on_gpu:
            print(f"peak memory {torch.cuda.max_memory_allocated() / 1e9:.1f} GB")


def _unique_tokens(judge: PackedJudge, cases: pd.DataFrame, benchmark: Benchmark) -> tuple[float, float]:
    """Mean tokens of a case's tree, and of one prompt."""
    plan = Plan(cases, benchmark.meta.dimensions, ("AB", "BA"))
    found = _trees(judge, plan, np.arange(len(plan)))
    return float(np.mean([t.n_tokens for t in found])), float(
        np.mean([len(t.trunk) + len(t.branches[0]) + len(t.leaves[0][0]) for t in found])
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    gpu = torch.cuda.is_available()
    parser.add_argument("--cases", type=int, default=128 if gpu else 16)
    parser.add_argument("--batch", type=int, default=16 if gpu else 4)
    parser.add_argument(
        "--words", type=int, default=None if gpu else 45, help="after which responses are cut; 0: never"
    )
    chosen = parser.parse_args()
    compare(chosen.cases, chosen.batch, chosen.words)
