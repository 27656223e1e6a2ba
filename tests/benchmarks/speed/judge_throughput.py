"""How fast `packed` judges, and at which share of what the device can do. SIMULATED data.

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

import numpy as np
import torch
import transformers
from PIL import Image
from torch.utils.benchmark import Timer

sys.path.insert(0, str(Path(__file__).parents[3]))
from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.demo import write_demo
from mrb_lib.judges.local.attention import use_own_attention
from mrb_lib.judges.local.checkpoint import load_checkpoint as load_weights
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


def timed(plan: Plan, batch: int, prepare: Callable[[np.ndarray], Callable[[], object]]) -> float:
    """Cases per second of the functions that `prepare` makes of batches beforehand; one of two cases warms up."""
    prepare(np.arange(2 * plan.per_case))()
    ready = [prepare(numbers) for numbers in plan.batches(np.arange(len(plan)), batch)]
    start = time.perf_counter()
    for answer in ready:
        answer()
    return len(plan) / plan.per_case / (time.perf_counter() - start)


def matmul_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Floating-point operations per second of a large matrix product."""
    n = 8192 if device.type == "cuda" else 2048
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    timer = Timer("a @ b", globals={"a": a, "b": b}, num_threads=torch.get_num_threads())
    return 2 * n**3 / min(timer.timeit(4).median for _ in range(8))


def measure(n: int, batch: int) -> None:
    """Print cases per second, and the share of the matmul rate at which unique tokens are read."""
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
        packed = PackedJudge(JudgeRequest(ENTRY, Settings(), benchmark.images, source))
        packed._loaded = held
        packed.load()
        parameters = sum(p.numel() for p in held.model.parameters())
        print(
            f"{parameters / 1e6:.0f} M parameters, {held.model.dtype}, {packed.device}, {n} cases, batches of {batch}"
        )
        plan = Plan(benchmark.cases, benchmark.meta.dimensions, ("AB", "BA"))
        shown = to_shown_frame(plan.rows(np.arange(len(plan))))
        trees = [case.prompts for case in packed.cases(VerdictRows(shown), shown) if isinstance(case.prompts, Tree)]
        n_tokens = np.mean([tree.n_tokens for tree in trees])
        n_prompt = np.mean([len(tree.trunk) + len(tree.branches[0]) + len(tree.leaves[0][0]) for tree in trees])
        print(f"a prompt has {n_prompt:.0f} tokens on average, a case's tree {n_tokens:.0f}", flush=True)
        rate = matmul_rate(held.model.device, held.model.dtype)
        body = parameters - held.model.get_input_embeddings().weight.numel()
        share = n_tokens * 2 * body / rate
        print(f"matmul {rate / 1e12:.2f} TFLOP/s")
        in_turn = timed(plan, batch, lambda rows: lambda: packed.judge(to_shown_frame(plan.rows(rows))))
        # What the device does, with every case made ready beforehand, as a pool of workers has it.
        alone = timed(plan, batch, lambda rows: packed.prepare(to_shown_frame(plan.rows(rows))))
        for name, speed in (("in turn", in_turn), ("beforehand", alone)):
            print(f"cases made ready {name}: {speed:.3f} cases/s, {share * speed:.0%} of the matmul rate", flush=True)
        if on_gpu:
            print(f"peak memory {torch.cuda.max_memory_allocated() / 1e9:.1f} GB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    gpu = torch.cuda.is_available()
    parser.add_argument("--cases", type=int, default=128 if gpu else 16)
    parser.add_argument("--batch", type=int, default=16 if gpu else 4)
    chosen = parser.parse_args()
    measure(chosen.cases, chosen.batch)
