"""Judging through a server that is started for the judge's weights on this machine, and stopped after the run."""

from __future__ import annotations

import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import environ
from pathlib import Path
from tempfile import gettempdir
from typing import Final, cast

import httpx
import pandas as pd

from mrb_lib.judges import guard
from mrb_lib.judges.budget import Estimate
from mrb_lib.judges.endpoint.judge import EndpointJudge, thinks
from mrb_lib.judges.endpoint.reply import printable
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.judges.roster.engines import ENGINES, JudgeRequest
from mrb_lib.judges.roster.source import adapter_base, provenance_of
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.files import slug
from mrb_lib.verdicts.protocol import BatchAnswer

START_LIMIT_S: Final = 1800.0
"""Seconds that a server may take to read its weights and answer."""
SECONDS_BETWEEN_LINES: Final = 10.0
_POLL_S: Final = 0.2
_TAIL_LINES, _TAIL_LETTERS = 4, 240
_NO_PORT: Final = "http://127.0.0.1:1/v1"


@dataclass(frozen=True)
class ServerProgram:
    """A program that serves a model.

    Attributes
    ----------
    command : its arguments; {model}, {port} and {name} stand for the weights, the port, and the name to serve them by
    trust : arguments that let it run code from the model's repository
    gpus : the argument before the number of GPUs to spread the weights over
    rounding : arguments that round the weights, for each value of `--quantize` that it can do
    """

    command: tuple[str, ...]
    trust: tuple[str, ...] = ()
    gpus: str = ""
    rounding: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def arguments(self, request: JudgeRequest) -> list[str]:
        """Return the command with the arguments that the settings and the roster's entry add."""
        settings = request.settings
        if settings.server_command is not None:
            return shlex.split(settings.server_command)
        if settings.quantize is not None and settings.quantize not in self.rounding:
            raise InputError(
                f"judge {request.entry.name!r}: {self.command[0]} cannot round weights to {settings.quantize}; pass "
                f"--quantize {' or '.join(self.rounding)}, or leave it out."
            )
        more = [*request.entry.serve, *(self.trust if request.entry.remote_code else ())]
        more += self.rounding[settings.quantize] if settings.quantize else ()
        more += ["--dtype", settings.dtype] if settings.dtype != "auto" else []
        if "," in settings.device:
            more += [self.gpus, str(len(settings.device.split(",")))]
        return [*self.command, *more]


_LOOPBACK = ("--host", "127.0.0.1", "--port", "{port}", "--served-model-name", "{name}")
VLLM: Final = ServerProgram(
    ("vllm", "serve", "{model}", *_LOOPBACK, "--enable-prefix-caching"),
    ("--trust-remote-code",),
    "--tensor-parallel-size",
    {"4bit": ("--quantization", "bitsandbytes")},
)
SGLANG: Final = ServerProgram(  # its cache of prefixes is on unless it is switched off
    ("sglang", "serve", "--model-path", "{model}", *_LOOPBACK),
    ("--trust-remote-code",),
    "--tp-size",
    {"4bit": ("--quantization", "bitsandbytes", "--load-format", "bitsandbytes")},
)
CUSTOM: Final = ServerProgram(())


class ServerJudge:
    """A judge behind a server of its own; see `mrb_lib.verdicts.protocol.Judge`.

    `load` starts the server and waits until it answers, `unload` stops it, and it never outlives this process. Judged
    is as by `letters` where the weights would be read as packed, else as by `endpoint`. Replies are not kept in the
    cache, since other weights may be served under the same name.

    Parameters
    ----------
    request : `settings.server_command` goes before the program's own command
    program : what serves the model

    Raises
    ------
    InputError
        The program is missing, cannot do what the settings ask for, or the weights are an adapter.

    Notes
    -----
    Tested by tests/judges/test_server.py with a server of our own.
    """

    sorts_by_length = False

    def __init__(self, request: JudgeRequest, program: ServerProgram) -> None:
        entry, settings = request.entry, request.settings
        self._command = program.arguments(request)
        if shutil.which(self._command[0]) is None:
            raise InputError(f"--server-command: {self._command[0]} is not on the PATH; correct the command.")
        if settings.url is not None or entry.base_url is not None:
            raise InputError(f"judge {entry.name!r}: has a server already; leave out --url, or do not start another.")
        folder = None if request.source is None else request.source.folder
        if folder is not None and adapter_base(folder) is not None:
            raise InputError(f"{folder}: is an adapter, which is not served; merge it into its base, and name that.")
        self._model = entry.model or entry.name.partition("+")[0]
        self._weights = self._model if folder is None else str(folder)
        self._request, self._engine = request, _served_engine(request)
        self._judge = self._built(_NO_PORT, self._model)
        self._server: RunningServer | None = None
        self.name, self.dimensions = self._judge.name, self._judge.dimensions
        self.prompt_id, self.prompt_hash = self._judge.prompt_id, self._judge.prompt_hash
        self.prompt_text, self.cases_per_batch = self._judge.prompt_text, self._judge.cases_per_batch
        self.device = f"server of {Path(self._command[0]).name} on this machine"
        self.provenance: Mapping[str, object] = {} if folder is None else provenance_of(folder)
        spec = {key: value for key, value in self._judge.spec.items() if key != "url"}
        revision = {} if request.source is None else {"revision": request.source.revision}
        self.spec: Mapping[str, object] = {**spec, "server": shlex.join(self._command), **revision}

    def _built(self, url: str, model: str) -> EndpointJudge:
        settings = replace(self._request.settings, url=url, server_command=None)
        entry = replace(self._request.entry, model=model)
        request = replace(self._request, entry=entry, settings=settings, runs=None)
        return cast("EndpointJudge", ENGINES[self._engine].build(request))

    @property
    def notices(self) -> list[str]:
        """What the server would not do; see `EndpointJudge.notices`."""
        return self._judge.notices

    def load(self) -> None:
        """Start the server, and wait until it answers.

        Raises
        ------
        RunError
            It ended at once, or does not answer in time; with the end of its log.
        """
        if self._server is not None:
            return
        port, runs = _free_port(), self._request.runs
        folder = Path(gettempdir()) if runs is None else runs
        folder.mkdir(parents=True, exist_ok=True)
        named = {"{model}": self._weights, "{port}": str(port), "{name}": self._model}
        command = [_filled(argument, named) for argument in self._command]
        self._server = RunningServer(self.name, command, port, folder / f"{slug(self.name)}.server.log", self._environ)
        try:
            model, version = self._server.wait(self._model)
        except BaseException:
            self.unload()
            raise
        self._judge = self._built(self._server.url, model)
        served = {"command": shlex.join(command), "version": version, "model": model}
        self.provenance = {**self.provenance, "server": served}

    @property
    def _environ(self) -> dict[str, str]:
        """What the server's environment has besides ours: no network unless asked for, and the GPUs named."""
        settings = self._request.settings
        numbers = [part.removeprefix("cuda:") for part in settings.device.split(",") if part.startswith("cuda:")]
        return {
            "VLLM_NO_USAGE_STATS": "1",
            **({} if settings.download else {"HF_HUB_OFFLINE": "1"}),
            **({"CUDA_VISIBLE_DEVICES": ",".join(numbers)} if numbers else {}),
        }

    def unload(self) -> None:
        """Stop the server and all that it started."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """See `Judge.judge`."""
        return self.prepare(shown)()

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        return self._judge.prepare(shown)

    def stream(self, batches: Iterable[pd.DataFrame]) -> Generator[tuple[pd.DataFrame, pd.DataFrame], None, None]:
        """See `EndpointJudge.stream`; a server that ended on the way is reported with the end of its log."""
        try:
            yield from self._judge.stream(batches)
        except RunError:
            if self._server is not None:
                self._server.check()
            raise

    def estimate(self, shown: pd.DataFrame, scale: float) -> Estimate | None:
        """See `EndpointJudge.estimate`."""
        return self._judge.estimate(shown, scale)


class RunningServer:
    """A server that was started on this machine.

    Parameters
    ----------
    judge : the judge it serves, for messages
    command : its arguments
    port : on which it will listen, of 127.0.0.1
    log : the file that takes what it prints
    more : what its environment has besides ours
    """

    def __init__(self, judge: str, command: list[str], port: int, log: Path, more: Mapping[str, str]) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self._judge, self._program, self._log = judge, Path(command[0]).name, log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, guard.__file__, *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**environ, **more},
            )

    def wait(self, wanted: str) -> tuple[str, str]:
        """Wait until it answers, with a line on stderr every ten seconds.

        Returns
        -------
        tuple of str
            The name of its model, `wanted` where it lists that, else the first one listed; and its version, "unknown"
            where it states none.

        Raises
        ------
        RunError
            It ended, or did not answer within `START_LIMIT_S`.
        """
        start, said = time.monotonic(), 0.0
        with httpx.Client(trust_env=False, timeout=5.0) as http:
            while True:
                self.check()
                models = _listed(http, f"{self.url}/models")
                if models:
                    return wanted if wanted in models else models[0], _version(http, self.url.removesuffix("/v1"))
                waited = time.monotonic() - start
                if waited > START_LIMIT_S:
                    raise RunError(
                        f"judge {self._judge}: {self._program} did not answer within {START_LIMIT_S:g} s: {self._tail}"
                    )
                if waited - said >= SECONDS_BETWEEN_LINES:
                    said = waited
                    last = self._tail.rpartition(" | ")[2]
                    print(
                        f"{self._judge}: {self._program} is starting ({waited:.0f} of at most {START_LIMIT_S:g} s): "
                        f"{last}",
                        file=sys.stderr,
                        flush=True,
                    )
                time.sleep(_POLL_S)

    def check(self) -> None:
        """Raise `RunError`, with the end of its log, where it has ended."""
        if self._process.poll() is not None:
            raise RunError(f"judge {self._judge}: {self._program} ended; {self._log} ends with: {self._tail}")

    def stop(self) -> None:
        """Stop it and its whole process group; see `mrb_lib.judges.guard`."""
        self._process.communicate(timeout=guard.GRACE_S + 5)

    @property
    def _tail(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").split("\n")
        said = [printable(line.strip()) for line in lines if line.strip()]
        return " | ".join(said[-_TAIL_LINES:])[-_TAIL_LETTERS:] or "nothing"


def _served_engine(request: JudgeRequest) -> str:
    """Return the engine that asks the server what the request's engine would have read from the weights."""
    engine = ENGINES[request.usual if ENGINES[request.entry.engine].program else request.entry.engine]
    if engine.model == "server":
        return engine.name
    if engine.served:
        return engine.served
    settings = request.settings
    has_letters = settings.prompt is None or load_prompt(settings.prompt).asks == "one"
    reads_letters = engine.name == "packed" and has_letters and not settings.is_rating and not thinks(request.entry)
    return "letters" if reads_letters else "endpoint"


def _filled(argument: str, named: Mapping[str, str]) -> str:
    for name, value in named.items():
        argument = argument.replace(name, value)
    return argument


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _listed(http: httpx.Client, url: str) -> list[str]:
    """Return the names of the models that a server lists; none where it does not answer yet."""
    try:
        answer = http.get(url)
        data = answer.json().get("data") if answer.is_success else []
        return [str(model["id"]) for model in data]
    except (httpx.HTTPError, ValueError, AttributeError, TypeError, KeyError):
        return []


def _version(http: httpx.Client, root: str) -> str:
    """Return the version that a server states of itself, as vLLM and SGLang do; "unknown" where it states none."""
    for page in ("version", "server_info", "get_server_info"):
        try:
            answer = http.get(f"{root}/{page}")
            if answer.is_success and (stated := answer.json().get("version")):
                return printable(str(stated))
        except (httpx.HTTPError, ValueError, AttributeError):
            continue
    return "unknown"
