"""Tests of what is said of a machine, whatever machine the tests run on."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from mrb_lib.judges.roster import machine as module
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.machine import ROOM, Gpu, Machine, inspect_machine, misfit, next_step, plan_text, way
from mrb_lib.judges.roster.roster import entries
from mrb_lib.judges.settings import Settings

WITH_GPU = Machine(4, 100.0, (Gpu("small", 8.0, 1.0), Gpu("large", 80.0, 1.0)), {}, {})
WITHOUT = replace(WITH_GPU, gpus=())
JUST = 0.999 * 80 / (2 * ROOM)  # billions of parameters that just fit the large GPU in bfloat16
JUST_ON_CPU = 0.999 * 100 / (4 * ROOM)  # that just fit the main memory in float32


def entry(parameters: float | None, **more: object) -> Entry:
    return Entry("judge", "packed", model="a/b", parameters=parameters, **more)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("machine", "billions", "expected"),
    [
        (WITH_GPU, JUST, ("GPU", "bfloat16", "")),
        (WITH_GPU, JUST * 1.01, ("2 GPUs", "bfloat16", " --device cuda:0,cuda:1")),
        (WITH_GPU, JUST * 1.2, ("GPU", "8bit", " --quantize 8bit")),
        (WITH_GPU, JUST * 2, ("GPU", "4bit", " --quantize 4bit")),
        (WITH_GPU, JUST * 4, None),
        (WITH_GPU, None, None),
        (WITHOUT, JUST_ON_CPU, ("CPU", "float32", "")),
        (WITHOUT, JUST_ON_CPU * 2, ("CPU", "bfloat16", " --dtype bfloat16")),
        (WITHOUT, JUST_ON_CPU * 2.1, None),
        (replace(WITHOUT, ram_total_gb=None), 1.0, None),
        (replace(WITHOUT, gpus=(Gpu("tiny", 1.0, 1.0),)), JUST_ON_CPU, ("CPU", "float32", " --device cpu")),
    ],
)
def test_a_judge_gets_one_gpu_then_several_then_rounded_weights_and_else_the_main_memory(
    machine: Machine, billions: float | None, expected: tuple[str, str, str] | None
) -> None:
    found = way(entry(billions), machine)
    assert expected == (None if found is None else (found.device, found.stored, found.options))
    served = way(replace(entry(billions), engine="vllm"), machine)
    assert served is None or "GPU" in served.device


def test_a_7b_on_one_gpu_of_24_gb_gets_a_command_with_memory_and_minutes(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rtx = Gpu("RTX 4090", 25.4, 25.0, 165e12)
    machine = replace(WITH_GPU, gpus=(rtx,))
    monkeypatch.setattr(module, "inspect_machine", lambda: machine)
    by_name = {one.name: one for one in entries()}
    found = way(by_name["qwen2.5-vl-7b"], machine)
    assert found is not None
    assert (found.stored, found.memory_gb) == ("bfloat16", pytest.approx(1.2 * 2 * 8.29))
    # 1,000 cases, two orders, 2,300 tokens, two operations per parameter, at a quarter of 165 TFLOP/s.
    assert found.minutes == round(2 * 8.29e9 * 4.6e6 / (165e12 / 4) / 60) == 31
    assert plan_text(by_name["qwen2.5-vl-7b"]) == (
        " This should work here: `mrb judge BENCH RUNS --judge qwen2.5-vl-7b --download` (estimate: bfloat16 on GPU, "
        "20 GB (weights and 20%), 31 minutes per 1,000 cases at a quarter of the GPU's peak)."
    )
    assert "--judge llava-1.5-13b --download --quantize 8bit`" in plan_text(by_name["llava-1.5-13b"])
    assert "--judge minicpm-v-2.6 --download --trust-remote-code`" in plan_text(by_name["minicpm-v-2.6"])
    assert "does not fit this machine" in plan_text(by_name["qwen2-vl-72b"])
    assert "; it needs agreement to the licence on the Hub)." in plan_text(by_name["medgemma-4b"])
    lacking = replace(machine, extras={"quantized": ("bitsandbytes",)})
    monkeypatch.setattr(module, "inspect_machine", lambda: lacking)
    assert "`pip install 'mrb-workbench[quantized]' && mrb judge" in plan_text(by_name["llava-1.5-13b"])


@pytest.mark.parametrize(
    ("settings", "size", "expected"),
    [
        (Settings(device="cuda:0"), None, "the weights of a/b take 60 GB in bfloat16, and device 'cuda:0' has 8 GB"),
        (Settings(device="cuda:0", quantize="4bit"), None, "the weights of a/b take 18 GB in 4bit, and device"),
        (Settings(device="cpu"), None, "the weights of a/b take 120 GB in float32, and this machine has 100 GB"),
        (Settings(device="cuda:0"), 5, None),
        (Settings(device="cuda:0", dtype="float32"), 5, "take 10 GB in float32, and device 'cuda:0' has 8 GB"),
        (Settings(device="cuda:7"), None, None),
    ],
)
def test_weights_larger_than_the_device_are_told_with_what_would_work(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings, size: int | None,
    expected: str | None,
) -> None:  # fmt: skip
    monkeypatch.setattr(module, "inspect_machine", lambda: WITH_GPU)
    if size is not None:
        (tmp_path / "config.json").write_text('{"dtype": "bfloat16"}')
        with (tmp_path / "model.safetensors").open("wb") as weights:
            weights.truncate(size * 10**9)  # sparse: it takes no disk
    wrong = misfit(entry(30.0), settings, None if size is None else tmp_path)
    assert wrong is None if expected is None else wrong is not None and expected in wrong
    assert wrong is None or "This should work here: `mrb judge BENCH RUNS --judge judge --download`" in wrong


def judges() -> list[Entry]:
    """Of several sizes, some of which are no first choice; a server, and a judge without weights."""
    return [
        Entry("first", "heuristic"),
        Entry("small", "packed", model="a/small", parameters=2.0, vision=True),
        Entry("text", "packed", model="a/text", parameters=0.1, vision=False),
        Entry("large", "packed", model="a/large", parameters=30.0, vision=True),
        Entry("needy", "generative", model="a/needy", parameters=32.0, vision=True, needs="remote code"),
        Entry("huge", "packed", model="a/huge", parameters=300.0, vision=True),
        Entry("served", "endpoint", model="m", base_url="https://served.example/v1", key_env="THE_KEY"),
    ]


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (WITH_GPU, "--judge large --download (the largest"),
        (WITHOUT, "--judge small --download (small, as there is no GPU; estimate: float32 on CPU"),
        (replace(WITHOUT, ram_total_gb=2.0), "--judge endpoint:MODEL --url URL (no judge that takes images"),
        (  # the main memory has room for larger ones, which a GPU is not
            replace(WITH_GPU, ram_total_gb=2000.0),
            "--judge large --download (the largest that fits this GPU; estimate: bfloat16 on GPU, 72 GB",
        ),
        (replace(WITH_GPU, gpus=None), "pip install 'mrb-workbench[judges]'"),
        (replace(WITH_GPU, extras={"judges": ("transformers",)}), "pip install 'mrb-workbench[judges]'"),
    ],
)
def test_the_next_step_is_what_this_machine_can_do(empty_cache: Path, machine: Machine, says: str) -> None:
    step = next_step(judges(), machine)
    assert says in step
    assert "\n" not in step


def test_nothing_is_to_be_fetched_where_the_hub_may_not_be_asked(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "--judge path:DIR or endpoint:MODEL --url URL (no weights are here" in next_step(judges(), WITH_GPU)


def test_weights_that_are_here_are_used_first(empty_cache: Path) -> None:
    for name in ("small", "text", "huge"):
        snapshot = empty_cache / f"models--a--{name}" / "snapshots" / ("a" * 40)
        snapshot.mkdir(parents=True)
        (snapshot / "config.json").write_text("{}")
        (snapshot / "model.safetensors").write_bytes(b"weights")
    assert next_step(judges(), WITH_GPU) == "mrb judge BENCH RUNS --judge small (its weights are here)"
    small = next(one for one in judges() if one.name == "small")
    step = next_step([replace(small, engine="generative", remote_code=True), judges()[-1]], WITH_GPU)
    assert step == "mrb judge BENCH RUNS --judge small --trust-remote-code (its weights are here)"


def test_gpus_are_counted_with_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 2,
        mem_get_info=lambda number: (int(1e9), int(8e9)),
        get_device_properties=lambda number: SimpleNamespace(
            name=f"chip {number}", major=9, minor=number, multi_processor_count=100, clock_rate=1_000_000
        ),
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert inspect_machine().gpus == (Gpu("chip 0", 8.0, 1.0, 4096e11), Gpu("chip 1", 8.0, 1.0))
