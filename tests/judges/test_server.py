"""A server that is started for a judge: it judges, is recorded, and is gone afterwards, whatever happens."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.judges import server as module
from mrb_lib.judges.roster.roster import entries, resolve
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.runs.outcomes import RunSummary
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import read_run
from tests.judges.endpoint.asked import benchmark_of

STAND_IN = Path(__file__).with_name("stand_in_server.py")
NINE = (
    "phi-3.5-vision", "minicpm-v-2.5", "minicpm-v-2.6", "internvl2.5-8b", "internvl2-40b", "internvl-chat-v1.5",
    "molmo-7b-d", "glm-4v-9b", "deepseek-vl2",
)  # fmt: skip


class Place:
    """A folder with a benchmark of two cases, weights, and the notes of a stand-in server."""

    def __init__(self, folder: Path) -> None:
        self.runs, self.notes, self.weights = folder / "runs", folder / "notes.json", folder / "my model"
        self.benchmark = benchmark_of(folder / "bench", dict.fromkeys("xy", "Where?"), DIMENSIONS)
        self.weights.mkdir()
        (self.weights / "config.json").write_text("{}", encoding="utf-8")
        (self.weights / "model.safetensors").write_bytes(b"weights")

    def command(self, behaviour: str = "answers") -> str:
        """Return the command of the stand-in server that behaves as named."""
        return shlex.join([sys.executable, str(STAND_IN), behaviour, str(self.notes)]) + " {model} {port}"

    def judge(self, ending: str = "", behaviour: str = "answers", **settings: Any) -> RunSummary:
        """Judge with the weights."""
        given = Settings(**{"server_command": self.command(behaviour), **settings})
        [done] = judge(self.benchmark, self.runs, [f"path:{self.weights}{ending}"], settings=given)
        return done

    @property
    def noted(self) -> dict[str, Any]:
        """What the server noted of its start."""
        noted: dict[str, Any] = json.loads(self.notes.read_text(encoding="utf-8"))
        return noted

    def is_clear(self, within_s: float = 20.0) -> bool:
        """Return whether the server and its child end within some seconds."""
        until = time.monotonic() + within_s
        while any(is_running(pid) for pid in self.noted["pids"]):
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that has ended and that nobody waited for does not."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.is_file() or status.read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_letters_are_read_from_a_server_of_its_own_that_is_recorded_and_gone(place: Place) -> None:
    done = place.judge("+vllm")
    verdicts = read_run(done.folder)
    assert verdicts["judge"].unique().tolist() == ["my model+vllm"]
    assert verdicts["status"].unique().tolist() == ["ok"]
    chosen = verdicts.set_index("order")["choice"].groupby(level=0).unique().map(list).to_dict()
    assert chosen == {"AB": ["A"], "BA": ["B"]}
    assert verdicts.loc[verdicts["order"] == "AB", "p_a"].unique() == pytest.approx([0.832], abs=1e-3)
    assert (place.noted["model"], place.noted["offline"]) == (str(place.weights), "1")
    manifest = read_manifest(done.folder)
    served = manifest.provenance["server"]
    assert isinstance(served, dict)
    assert (served["version"], served["model"]) == ("9.8.7", f"served/{place.weights}")
    assert str(place.weights) in served["command"]
    assert manifest.spec["engine"] == "letters"
    assert manifest.spec["server"] == shlex.join(shlex.split(place.command()))
    assert str(manifest.spec["revision"]).startswith("sha256:")
    assert (manifest.sent_to, "url" in manifest.spec) == ("", False)
    assert place.is_clear()


@pytest.mark.parametrize("behaviour", ["lists models", "is a list", "says hello"])
def test_a_list_of_models_of_another_form_is_read(place: Place, behaviour: str) -> None:
    served = read_manifest(place.judge(behaviour=behaviour).folder).provenance["server"]
    assert isinstance(served, dict)
    assert served["model"] == ("my model" if behaviour == "says hello" else f"served/{place.weights}")


def test_a_rerun_is_the_same_run_and_starts_no_server(place: Place) -> None:
    first = place.judge("+vllm")
    place.notes.unlink()
    again = place.judge("+vllm")
    assert (again.folder, again.made, again.before) == (first.folder, 0, first.made)
    assert not place.notes.exists()


@pytest.mark.parametrize(
    ("name", "more", "engine"),
    [
        ("qwen2-vl-2b", {}, "letters"),  # packed by the roster
        ("qwen2-vl-2b+vllm", {}, "letters"),
        ("qwen2-vl-2b+vllm", {"prompt": "plain"}, "endpoint"),
        ("gemma-3-4b+sglang", {}, "endpoint"),
        ("gemma-3-4b+letters", {}, "letters"),
        ("medvlthinker-7b+vllm", {}, "endpoint"),  # its first token is no verdict
        ("molmo-7b-d", {"trust_remote_code": True}, "endpoint"),
        ("qwen2-vl-2b", {"task": "rating", "choices": ("bad", "good")}, "endpoint"),
        ("endpoint:llama3", {}, "endpoint"),
        ("endpoint:llama3+letters", {}, "letters"),
    ],
)
def test_packed_judges_read_letters_and_others_replies(
    place: Place, name: str, more: dict[str, Any], engine: str
) -> None:
    settings = Settings(server_command=place.command(), **more)
    assert resolve(name, runs=place.runs, images={}, settings=settings).spec["engine"] == engine


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        ("vllm", ["serve", "MODEL", "--enable-prefix-caching", "--dtype", "bfloat16", "--tensor-parallel-size", "2"]),
        ("sglang", ["serve", "--model-path", "MODEL", "--dtype", "bfloat16", "--tp-size", "2"]),
    ],
)
def test_the_program_on_the_path_is_started_with_what_the_settings_say(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, wanted: list[str]
) -> None:
    stub = tmp_path / "bin" / program
    stub.parent.mkdir()
    call = shlex.join([sys.executable, str(STAND_IN), "answers", str(place.notes)])
    stub.write_text(
        f'#!/bin/sh\nmodel="$2"; [ "$2" = --model-path ] && model="$3"\nall="$@"\n'
        f'while [ "$1" != --port ]; do shift; done\nexec {call} "$model" "$2" "$all"\n',
        encoding="utf-8",
    )
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    done = place.judge(f"+{program}", server_command=None, device="cuda:0,cuda:1", dtype="bfloat16")
    assert set(read_run(done.folder)["status"]) == {"ok"}
    [arguments] = place.noted["more"]
    for argument in wanted:
        assert argument.replace("MODEL", str(place.weights)) in arguments
    assert f"--served-model-name {place.weights.name}" in arguments
    assert place.is_clear()


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("dies", r"python\S* ended; .*reading weights\\x1b.*'Nobody'\] are not supported.*exit code 1"),
        ("hangs", r"does not answer within 4 s: reading weights"),
        ("has no list", r"does not answer within 0\.5 s: HTTP 404 at /v1/models: reading weights"),
        ("breaks", r"python\S* ended; .*illegal memory access.*exit code 7"),
    ],
)
def test_a_server_that_fails_ends_the_run_with_the_end_of_its_log(
    place: Place, monkeypatch: pytest.MonkeyPatch, behaviour: str, said: str
) -> None:
    limits = {"hangs": ("START_LIMIT_S", 4.0), "has no list": ("LONGEST_REFUSAL_S", 0.5)}
    if behaviour in limits:
        monkeypatch.setattr(module, *limits[behaviour])
    with pytest.raises(RunError, match=said) as caught:
        place.judge(behaviour=behaviour, concurrency=1)
    assert len(str(caught.value)) <= 500 + 2 * len(str(place.runs))
    assert place.is_clear()


def test_a_port_that_is_taken_is_never_judged_through(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setattr(module, "_free_port", lambda: other.getsockname()[1])
        with pytest.raises(RunError, match="another server listens on port"):
            place.judge()
    assert not place.notes.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviour", "number"), [("hangs", signal.SIGKILL), ("hangs", signal.SIGINT), ("waits", signal.SIGTERM)]
)
def test_a_run_that_is_killed_leaves_no_process(
    place: Place, tmp_path: Path, behaviour: str, number: signal.Signals
) -> None:
    arguments = ["judge", tmp_path / "bench", place.runs, "--judge", f"path:{place.weights}"]
    code = "from mrb_lib.cli.main import main; main()"
    run = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments), "--server-command", place.command(behaviour)],
        stderr=subprocess.DEVNULL,
        # A process that a shell started in the background ignores this signal, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until = time.monotonic() + 60
    while not place.notes.exists() or (behaviour == "waits" and not list(place.runs.glob("*/manifest.json"))):
        assert time.monotonic() < until and run.poll() is None
        time.sleep(0.05)
    time.sleep(0.2)
    run.send_signal(number)
    if number != signal.SIGKILL:
        time.sleep(0.5)
        run.send_signal(number)  # a second one stops at once
    assert run.wait(30) != 0
    assert place.is_clear()


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("gpt-4o", {"server_command": "true {port}"}, "has a server already"),
        ("endpoint:m", {"server_command": "true {port}", "url": "http://127.0.0.1:1/v1"}, "has a server already"),
        ("endpoint:m", {"server_command": "no-such-program {port}"}, "no-such-program is not on the PATH"),
        ("path:{weights}+vllm", {"quantize": "8bit"}, "vllm does not round weights to 8bit; pass --quantize 4bit"),
        ("path:{adapter}+vllm", {}, "is an adapter, which is not served"),
        ("endpoint:m", {"server_command": "true {port}", "dtype": "float32"}, "leave out --quantize and --dtype"),
        ("skywork-vl-reward-7b", {"server_command": "true {port}"}, "a score that no server gives"),
    ],
)
def test_what_cannot_be_served_is_refused(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, more: dict[str, Any], said: str
) -> None:
    stub = tmp_path / "vllm"
    stub.write_text("#!/bin/sh\n", encoding="utf-8")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(place.weights)}))
    (adapter / "adapter_model.safetensors").write_bytes(b"weights")
    with pytest.raises(InputError, match=said):
        named = name.format(weights=place.weights, adapter=adapter)
        resolve(named, runs=place.runs, images={}, settings=Settings(**more))


@pytest.mark.parametrize("name", NINE)
@pytest.mark.parametrize(("ending", "is_trusted"), [("", True), ("", False), ("+generative", True), ("+vllm", True)])
def test_models_with_code_of_their_own_name_vllm_before_anything_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ending: str, is_trusted: bool
) -> None:
    def fetch(*_: object, **__: object) -> None:
        raise AssertionError("the Hub was asked")

    monkeypatch.setattr("mrb_lib.judges.roster.source.fetch_weights", fetch)
    monkeypatch.setenv("PATH", str(tmp_path))
    settings = Settings(trust_remote_code=is_trusted, download=True)
    with pytest.raises(InputError, match=rf"{name}\+vllm") as caught:
        resolve(f"{name}{ending}", runs=tmp_path / "runs", images={}, settings=settings)
    assert len(str(caught.value)) <= 500


def test_every_model_that_needs_a_server_says_so_in_the_list() -> None:
    from mrb_lib.judges.roster.roster import roster

    needs = roster().set_index("name")["needs"]
    for entry in entries():
        if entry.engine in ("vllm", "sglang"):
            assert needs[entry.name].startswith(f"{entry.engine} (as {entry.name}+{entry.engine})")
