"""Tests that all problems are known before the first judge starts, and that nothing is fetched to find them."""

import shutil
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.roster.machine import Gpu, Machine, inspect_machine
from mrb_lib.judges.settings import Settings
from mrb_lib.runs import preflight
from mrb_lib.runs.execute import judge
from mrb_lib.runs.planned import PlannedJudge
from tests.judges.endpoint.chat_server import ChatServer, Response

Check = Callable[..., list[str]]
HUGE = '[[judge]]\nname = "huge"\nengine = "packed"\nmodel = "some/huge"\nparameters = 400.0\n'


@pytest.fixture
def check(little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "empty"))
    roster = tmp_path / "roster.toml"
    roster.write_text(HUGE, encoding="utf-8")

    def problems(name: str, *, here: bool = True, **settings: Any) -> list[str]:
        one = PlannedJudge(name, replace(Settings(device="cpu"), **settings), engine="local" if here else "ray")
        return preflight.problems(little, tmp_path / "runs", one, [roster])

    return problems


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    real = inspect_machine()

    def pretend(ram_gb: float | None, *gpus_gb: float) -> None:
        gpus = tuple(Gpu("a", total, total) for total in gpus_gb)
        fake: Machine = replace(real, ram_total_gb=ram_gb, gpus=gpus)
        monkeypatch.setattr("mrb_lib.judges.roster.machine.inspect_machine", lambda: fake)

    return pretend


def test_a_judge_that_can_run_has_no_problem(check: Check, tiny: Callable[..., Path]) -> None:
    assert check("longer") == []
    assert check(f"path:{tiny('llava')}") == []
    assert check("consensus-of:longer,first") == []


def test_every_problem_is_told_and_not_the_first_alone(check: Check, machine: Callable[..., None]) -> None:
    machine(16.0)
    weights, memory = check("huge", prompt="rubric")
    assert "the weights of some/huge" in weights and "--download" in weights
    assert "the weights of some/huge take 1600 GB in float32, and this machine has 16 GB" in memory
    assert not any("GB in" in text for text in check("huge", here=False, download=True)), "Ray's are not here"
    [no_prompt, *rest] = check("huge", prompt="nonsense", dtype="bfloat16")
    assert "nonsense" in "".join([no_prompt, *rest]) and any("800 GB" in text for text in rest)


def test_weights_that_are_to_be_downloaded_are_not_fetched_by_the_check(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: object, **__: object) -> Path:
        raise AssertionError("the check fetches")

    monkeypatch.setattr("mrb_lib.judges.roster.source.fetch_weights", fetch)
    assert check("qwen2.5-vl-3b", here=False, download=True) == []


def test_a_folder_without_weights_is_told(check: Check, tiny: Callable[..., Path], tmp_path: Path) -> None:
    shutil.copytree(tiny("llava"), tmp_path / "cut")
    (tmp_path / "cut" / "model.safetensors").unlink()
    [told] = check(f"path:{tmp_path / 'cut'}")
    assert "safetensors" in told
    [told] = check(f"path:{tmp_path / 'nowhere'}")
    assert "holds no config.json" in told


def test_a_server_that_answers_anything_is_there(check: Check) -> None:
    pages = {f"/{status}/v1/models": Response({}, status) for status in (200, 401, 404, 500)}
    with ChatServer(lambda _: None, pages=pages) as server:
        address = server.url.removesuffix("/v1")
        for status in (200, 404, 500):
            assert check("endpoint:m", url=f"{address}/{status}/v1") == []
        [told] = check("endpoint:m", url=f"{address}/401/v1")
    assert "HTTP 401: the key in MRB_ENDPOINT_KEY is not set" in told


def test_a_server_that_refuses_or_is_silent_is_told(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        refusing = taken.getsockname()[1]
        [told] = check("endpoint:m", url=f"http://127.0.0.1:{refusing}/v1")
        assert f"no server answers at 127.0.0.1:{refusing}" in told
        taken.listen()
        monkeypatch.setattr(preflight, "TIMEOUT_S", 0.05)
        [told] = check("endpoint:m", url=f"http://127.0.0.1:{refusing}/v1")
        assert f"no server answers at 127.0.0.1:{refusing}" in told


def test_a_missing_key_is_told_and_no_server_is_asked(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    [told] = check("gpt-4o", allow_remote=True)
    assert "environment variable OPENAI_API_KEY" in told


def test_members_of_a_jury_are_checked_unless_their_verdicts_are_there(
    check: Check, little: Benchmark, tmp_path: Path
) -> None:
    [told] = check("consensus-of:longer,endpoint:m")
    assert "endpoint:m" in told and "--url" in told
    judge(little, tmp_path / "runs", ["longer"])
    assert check("consensus-of:longer,first") == []
