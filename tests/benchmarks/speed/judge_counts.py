"""What `packed` asks of a device, counted on the CPU: kernel calls, waits, masks, passes, images read. SIMULATED data.

    python tests/benchmarks/speed/judge_counts.py                # Qwen2.5-VL-7B's layers and windows at a small width
    python tests/benchmarks/speed/judge_counts.py --prepare 1000 # what a processor needs to make cases ready

Eight cases with an image of 1008 x 1008 pixels each, both orders, six dimensions. The calls are those that a GPU gets:
its kernel of variable-length attention is stood in for here. Results are in RESULTS.md.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
import transformers
from PIL import Image
from torch.nn.attention import varlen
from torch.nn.functional import scaled_dot_product_attention

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.demo import write_demo
from mrb_lib.judges.local import attention, tiny
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.local import prepare_rows
from mrb_lib.runs.plan import Plan
from mrb_lib.verdicts.orders import to_shown_frame

SIDE, N_CASES, WIDTH = 1008, 8, 64
ENTRY = Entry("random-weights", "packed", model="random weights")
_WAITS = ("item", "tolist", "__bool__", "__int__", "__float__", "cpu", "nonzero")


def narrow(folder: Path, texts: list[str]) -> None:
    """Qwen2.5-VL-7B's numbers of layers, heads' groups and windows at a small width, random weights."""
    tiny.write_tiny(folder, "qwen2_5_vl", vocabulary=8000, texts=texts)
    config = transformers.AutoConfig.from_pretrained(folder)
    text, vision = config.text_config, config.vision_config
    text.hidden_size, text.intermediate_size, text.num_hidden_layers = WIDTH, 2 * WIDTH, 28
    text.num_attention_heads, text.num_key_value_heads = 4, 1
    text.layer_types = ["full_attention"] * 28
    text.rope_parameters = {**text.rope_parameters, "mrope_section": [2, 3, 3]}
    text.max_position_embeddings = 128_000
    vision.depth, vision.hidden_size, vision.intermediate_size, vision.num_heads = 32, WIDTH, 2 * WIDTH, 4
    vision.out_hidden_size, vision.window_size, vision.fullatt_block_indexes = WIDTH, 112, [7, 15, 23, 31]
    transformers.Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    for path in folder.glob("*processor_config.json"):
        stated = json.loads(path.read_text(encoding="utf-8"))
        stated.get("image_processor", stated)["size"] = {"shortest_edge": 56 * 56, "longest_edge": SIDE * SIDE}
        path.write_text(json.dumps(stated), encoding="utf-8")


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


@contextmanager
def counted(counts: Counter[str]) -> Iterator[None]:
    """Count what a device would be asked for and waited for."""

    def counts_calls(name: str, function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def call(*args: torch.Tensor, **options: object) -> torch.Tensor:
            counts[name] += 1
            mask = options.get("attn_mask")
            counts["bytes of masks"] += mask.nbytes if isinstance(mask, torch.Tensor) else 0
            return function(*args, **options)

        return call

    def waits(name: str) -> Callable[..., object]:
        function = getattr(torch.Tensor, name)

        def wait(self: torch.Tensor, *args: object) -> object:
            counts["waits"] += 1
            return function(self, *args)

        return wait

    with ExitStack() as undo:
        for name in _WAITS:
            undo.enter_context(patch.object(torch.Tensor, name, waits(name)))
        dense = counts_calls("attention calls", scaled_dot_product_attention)
        undo.enter_context(patch.object(torch.nn.functional, "scaled_dot_product_attention", dense))
        undo.enter_context(patch.object(attention, "_sdpa", dense))
        stand_in = counts_calls("attention calls", lambda query, *_, **__: query.clone())
        undo.enter_context(patch.object(varlen, "varlen_attn", stand_in))
        undo.enter_context(patch.object(attention, "has_kernel", lambda _: True))
        yield


def count() -> None:
    """Print what eight cases cost."""
    with tempfile.TemporaryDirectory() as temporary:
        benchmark = megapixels(Path(temporary) / "bench", N_CASES)
        folder = Path(temporary) / "model"
        narrow(folder, [*benchmark.cases["question"], *benchmark.cases["response_a"]])
        judge = PackedJudge(
            JudgeRequest(
                ENTRY, Settings(device="cpu", max_pixels=SIDE * SIDE), benchmark.images, WeightsSource(folder, "x")
            )
        )
        judge.load()
        plan = Plan(benchmark.cases, benchmark.meta.dimensions, ("AB", "BA"))
        prepared = prepare_rows(judge, to_shown_frame(plan.rows(np.arange(len(plan)))))
        counts: Counter[str] = Counter()
        model = judge.weights.model
        model.register_forward_pre_hook(lambda *_: counts.update(passes=1))
        model.get_encoder(modality="image").register_forward_pre_hook(
            lambda _, args, inputs: counts.update({"images read": len(inputs["grid_thw"])}), with_kwargs=True
        )
        with counted(counts):
            prepared.answer()
        counts["patches of an image"] = (
            sum(tree.pictures["pixel_values"].shape[0] for one in prepared.answer.args[1] if (tree := one.prompts.tree))
            // N_CASES
        )
        for name, number in sorted(counts.items()):
            print(f"{name}: {number:,}")


def prepare(n: int) -> None:
    """Print how long a processor takes to make cases of a megapixel ready, in as many threads as there are cores."""
    with tempfile.TemporaryDirectory() as temporary:
        benchmark = megapixels(Path(temporary) / "bench", n)
        folder = Path(temporary) / "model"
        narrow(folder, [*benchmark.cases["question"], *benchmark.cases["response_a"]])
        # In the type that a GPU reads, as the pictures are handed to it.
        settings = Settings(device="cpu", dtype="bfloat16", max_pixels=SIDE * SIDE)
        judge = PackedJudge(JudgeRequest(ENTRY, settings, benchmark.images, WeightsSource(folder, "x")))
        judge.load()
        plan = Plan(benchmark.cases, benchmark.meta.dimensions, ("AB", "BA"))
        wall, spent = time.perf_counter(), time.process_time()
        for numbers in plan.batches(np.arange(len(plan)), 32):
            prepare_rows(judge, to_shown_frame(plan.rows(numbers)))
        wall, spent = time.perf_counter() - wall, time.process_time() - spent
        print(f"{n:,} cases: {1000 * wall / n:.0f} ms each, {1000 * spent / n:.0f} ms of a processor")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prepare", type=int, metavar="N", help="make N cases ready, and do nothing else")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.prepare:
        prepare(options.prepare)
    else:
        count()
