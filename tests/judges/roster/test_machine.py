"""What is said of a machine, whatever machine the tests run on."""

from __future__ import annotations

import socket
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from mrb_lib.judges.roster import machine as module
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.machine import (
    ROOM,
    Gpu,
    HubState,
    Machine,
    inspect_machine,
    missing_extras,
    next_step,
    survey,
)

HUB = HubState(False, "https://huggingface.co", False, Path("cache"), True, 10.0)
WITH_GPU = Machine(4, 100.0, 50.0, (Gpu("small", 8.0, 1.0), Gpu("large", 80.0, 1.0)), {}, {}, HUB)
JUST = 0.999 * 80 / (2 * ROOM)  # billions of parameters that just fit the large GPU in bfloat16


def entry(parameters: float | None, **more: object) -> Entry:
    return Entry("judge", "packed", model="a/b", parameters=parameters, **more)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_judge_fits_the_largest_gpu_or_the_main_memory_with_room_for_its_work() -> None:
    fits = [(WITH_GPU.fits_gpu(entry(n)), WITH_GPU.fits_cpu(entry(n))) for n in (1.0, JUST, JUST * 1.01, None)]
    assert fits == [("yes", "yes"), ("yes", "no"), ("no", "no"), ("unknown", "unknown")]
    assert WITH_GPU.fits_cpu(entry(0.999 * 100 / (4 * ROOM))) == "yes"


def test_without_a_gpu_none_fits_it_and_without_torch_nobody_knows() -> None:
    assert replace(WITH_GPU, gpus=()).fits_gpu(entry(1.0)) == "no"
    assert replace(WITH_GPU, gpus=()).fits_gpu(entry(None)) == "no"
    assert replace(WITH_GPU, gpus=None).fits_gpu(entry(1.0)) == "unknown"
    assert replace(WITH_GPU, ram_total_gb=None).fits_cpu(entry(1.0)) == "unknown"


def test_an_unknown_size_is_the_one_in_the_name_and_the_table_says_so(empty_cache: Path) -> None:
    named = replace(entry(None), name="judge-34b")
    table = survey([named, entry(34.0), entry(None)], WITH_GPU)
    assert table["size_from"].fillna("-").tolist() == ["name", "parameters", "-"]
    assert table["fits_gpu"].tolist() == ["no", "no", "unknown"]
    assert WITH_GPU.fits_gpu(replace(named, name="judge-32b")) == "yes"


def judges() -> list[Entry]:
    """Of several sizes, some of which are no first choice; a server, and a judge without weights."""
    return [
        Entry("first", "heuristic"),
        Entry("small", "packed", model="a/small", parameters=2.0, vision=True),
        Entry("text", "packed", model="a/text", parameters=0.1, vision=False),
        Entry("large", "packed", model="a/large", parameters=30.0, vision=True),
        Entry(
            "coded", "generative", model="a/coded", parameters=32.0, vision=True, remote_code=True, needs="remote code"
        ),
        Entry("huge", "packed", model="a/huge", parameters=300.0, vision=True),
        Entry("served", "endpoint", model="m", base_url="https://served.example/v1", key_env="THE_KEY"),
    ]


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (replace(WITH_GPU, hub=replace(HUB, free_gb=100.0)), "--judge large --download (the largest"),
        (WITH_GPU, "--judge small --download (the largest"),  # 10 GB of disk are free
        (
            replace(WITH_GPU, gpus=()),
            "--judge small --download (small, as there is no GPU), or endpoint:MODEL --url URL",
        ),
        (replace(WITH_GPU, gpus=(), ram_total_gb=2.0), "--judge endpoint:MODEL --url URL (no judge that takes images"),
        (  # the main memory has room for larger ones, which a GPU is not
            replace(WITH_GPU, ram_total_gb=2000.0, hub=replace(HUB, free_gb=1000.0)),
            "--judge large --download (the largest that fits this GPU)",
        ),
        (replace(WITH_GPU, hub=replace(HUB, offline=True)), "HF_HUB_OFFLINE is set"),
        (replace(WITH_GPU, hub=replace(HUB, writable=False)), "cannot be written to"),
        (replace(WITH_GPU, gpus=None), "pip install 'mrb-workbench[judges]'"),
        (replace(WITH_GPU, extras={"judges": ("transformers",)}), "pip install 'mrb-workbench[judges]'"),
    ],
)
def test_the_next_step_is_what_this_machine_can_do(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, machine: Machine, says: str
) -> None:
    monkeypatch.delenv("THE_KEY", raising=False)
    step = next_step(judges(), machine)
    assert says in step
    assert "\n" not in step
    monkeypatch.setenv("THE_KEY", "the secret")
    with_key = next_step(judges(), machine)
    assert with_key == step.replace("endpoint:MODEL --url URL", "served --allow-remote")
    own = [replace(one, base_url=None) for one in judges()]
    assert next_step(own, machine) == step.replace("endpoint:MODEL", "served")


def test_weights_that_are_here_are_used_first(empty_cache: Path) -> None:
    for name in ("small", "text", "huge"):
        snapshot = empty_cache / f"models--a--{name}" / "snapshots" / ("a" * 40)
        snapshot.mkdir(parents=True)
        (snapshot / "config.json").write_text("{}")
        (snapshot / "model.safetensors").write_bytes(b"weights")
    assert next_step(judges(), WITH_GPU) == "mrb judge BENCH RUNS --judge small (its weights are here)"
    coded = [one for one in judges() if one.name in ("coded", "served")]
    (empty_cache / "models--a--huge").rename(empty_cache / "models--a--coded")
    step = next_step(coded, WITH_GPU)
    assert step == "mrb judge BENCH RUNS --judge coded --trust-remote-code (its weights are here)"


@pytest.mark.parametrize("engine", ["heuristic", "jury", "endpoint"])
def test_a_judge_without_weights_needs_no_memory_and_no_cache(engine: str, empty_cache: Path) -> None:
    table = survey([replace(entry(None), engine=engine)], WITH_GPU)
    assert table[["fits_gpu", "fits_cpu", "cached"]].isna().all(axis=None)


def test_weights_count_as_here_only_when_they_are_complete(empty_cache: Path) -> None:
    def cached() -> list[str]:
        return survey([entry(1.0)], WITH_GPU)["cached"].tolist()

    assert cached() == ["no"]
    snapshot = empty_cache / "models--a--b" / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    assert cached() == ["no"]
    (snapshot / "model.safetensors").write_bytes(b"weights")
    assert cached() == ["yes"]


def test_a_key_is_reported_as_set_or_not_and_never_itself(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = Entry("served", "endpoint", model="m", key_env="THE_KEY")
    monkeypatch.delenv("THE_KEY", raising=False)
    assert survey([served], WITH_GPU)["key"].tolist() == ["no"]
    monkeypatch.setenv("THE_KEY", "the secret")
    table = survey([served], WITH_GPU)
    assert table["key"].tolist() == ["yes"]
    assert "the secret" not in table.to_string()


@pytest.mark.slow
def test_looking_asks_no_network_and_finds_what_there_must_be(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("HF_TOKEN", "hf_the_secret_token")
    monkeypatch.setenv("HF_ENDPOINT", "http://user:password@mirror.example:80")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    found = inspect_machine()
    assert found.cpus >= 1
    assert found.ram_total_gb is None or 0.1 < found.ram_total_gb < 1e5
    assert found.versions["python"] == sys.version.split()[0]
    assert (found.hub.offline, found.hub.token, found.hub.writable) == (True, True, True)
    assert (found.hub.endpoint, found.hub.cache) == ("http://mirror.example:80", empty_cache)
    assert "secret" not in repr(found) and "password" not in repr(found)


def test_gpus_are_counted_with_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 2,
        mem_get_info=lambda number: (int(1e9), int(8e9)),
        get_device_name=lambda number: f"chip {number}",
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert inspect_machine().gpus == (Gpu("chip 0", 8.0, 1.0), Gpu("chip 1", 8.0, 1.0))

    def broken(number: int) -> None:
        raise RuntimeError("CUDA error: out of order\nmore")

    monkeypatch.setattr(cuda, "mem_get_info", broken)
    found = inspect_machine()
    assert (found.gpus, found.notes) == ((), ("a GPU does not answer (CUDA error: out of order)",))


def test_without_torch_the_gpus_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert inspect_machine().gpus is None


def test_an_extra_that_lacks_a_package_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["numpy>=2", 'torch>=2.6; extra == "judges"', "jinja2 >=3 ; extra == 'report'"]
    monkeypatch.setattr(module.metadata, "requires", lambda name: wanted)
    monkeypatch.setattr(module, "_is_installed", lambda package: package != "torch")
    assert missing_extras() == {"judges": ("torch",), "report": ()}
