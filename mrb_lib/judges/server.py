"""Judging through a server that is started for the judge's weights on this machine, and stopped after the run."""

import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from os import environ
from pathlib import Path
from tempfile import gettempdir
from threading import Thread
from typing import Final, cast

import httpx
import pandas as pd

from mrb_lib.judges import guard
from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.judges.endpoint.outcomes import printable
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.roster.engines import ENGINES, JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import adapter_base, provenance_of
from mrb_lib.judges.settings import Settings
from mrb_lib.judges.tasks import AsksPrompts
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.files import slug
from mrb_lib.verdicts.protocol import BatchAnswer

START_LIMIT_S: Final = 1800.0
"""Seconds that a server may take to read its weights and answer."""
SECONDS_BETWEEN_LINES: Final = 10.0
LONGEST_REFUSAL_S: Final = 60.0
"""Seconds for which a server may answer with an error before it counts as the wrong one."""
_LOADING: Final = 503


_LOOPBACK = ("--host", "127.0.0.1", "--port", "{port}", "--served-model-name", "{name}")
_COMMANDS: Final = {
    "vllm": ("vllm", "serve", "{model}", *_LOOPBACK, "--enable-prefix-caching", "--max-model-len", "auto"),
    "sglang": ("sglang", "serve", "--model-path", "{model}", *_LOOPBACK),  # it caches prefixes unless told not to
}
_GPUS: Final = {"vllm": "--tensor-parallel-size", "sglang": "--tp-size"}


class ServerJudge(AsksPrompts):
    """A judge behind a server of its own; see `mrb_lib.verdicts.protocol.Judge`.

    `load` starts the server and waits until it answers, `unload` stops it, and it never outlives this process. Judged
    is as by `letters` where the weights would be read as packed, else as by `endpoint`. Replies are not kept in the
    cache, since other weights may be served under the same name.

    Parameters
    ----------
    request : with the command in `settings.server_command`, else with an engine that names a program

    Raises
    ------
    InputError
        The program is missing, cannot do what the settings ask for, or the weights are an adapter.

    Notes
    -----
    Tested by tests/judges/test_server.py with a server of our own.
    """

    def __init__(self, request: JudgeRequest) -> None:
        entry, settings = request.entry, request.settings
        self._command = _command(entry, settings)
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
        self._judge = self._built("http://127.0.0.1:1/v1", self._model)  # no server yet
        self._process: subprocess.Popen[bytes] | None = None
        self._log = (request.runs or Path(gettempdir())) / f"{slug(self._judge.name)}.server.log"
        self.name, self.dimensions, self._own_prompt = self._judge.name, self._judge.dimensions, self._judge._own_prompt
        self.cases_per_batch = self._judge.cases_per_batch
        self.device = f"server of {Path(self._command[0]).name} on this machine"
        self.provenance = {} if folder is None else provenance_of(folder, is_of_hub=entry.path is None)
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
        """Refusals of the server; see `EndpointJudge.notices`."""
        return self._judge.notices

    def load(self) -> None:
        """Start the server, and wait until it answers.

        Raises
        ------
        RunError
            It ended at once, or does not answer in time; with the end of its log.
        """
        if self._process is not None:
            return
        port, settings = _free_port(), self._request.settings
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", port)) == 0:
                raise RunError(f"judge {self.name}: another server listens on port {port}; run the command again.")
        command = [
            argument.replace("{model}", self._weights).replace("{port}", str(port)).replace("{name}", self._model)
            for argument in self._command
        ]
        gpus = [part.removeprefix("cuda:") for part in settings.device.split(",") if part.startswith("cuda:")]
        more = {"VLLM_NO_USAGE_STATS": "1"} | ({"CUDA_VISIBLE_DEVICES": ",".join(gpus)} if gpus else {})
        more |= {} if settings.download else {"HF_HUB_OFFLINE": "1"}  # no network unless asked for
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as output:
            self._process = process = subprocess.Popen(
                [sys.executable, guard.__file__, *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**environ, **more},
            )
        try:
            model, version = self._wait(f"http://127.0.0.1:{port}")
        except BaseException:
            self.unload()
            raise
        judge = self._judge = self._built(f"http://127.0.0.1:{port}/v1", model)

        def stop_when_ended() -> None:  # otherwise the server would be asked for a minute more
            process.wait()
            judge.stop()

        Thread(target=stop_when_ended, daemon=True).start()
        self.provenance["server"] = {"command": shlex.join(command), "version": version, "model": model}

    def unload(self) -> None:
        """Stop the server and all that it started, its whole process group; see `mrb_lib.judges.guard`."""
        process, self._process = self._process, None
        if process is not None:
            process.communicate(timeout=guard.GRACE_S + 5)

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        return self._judge.prepare(shown)

    def stream(self, batches: Iterable[pd.DataFrame]) -> Generator[tuple[pd.DataFrame, pd.DataFrame], None, None]:
        """See `EndpointJudge.stream`; a server that ended on the way is reported with the end of its log."""
        try:
            yield from self._judge.stream(batches)
        except RunError:
            self._check()
            raise
        self._check()

    def estimate(self, shown: pd.DataFrame, scale: float) -> str | None:
        """See `EndpointJudge.estimate`."""
        return self._judge.estimate(shown, scale)

    def stop(self) -> None:
        """See `EndpointJudge.stop`."""
        self._judge.stop()

    def _wait(self, root: str) -> tuple[str, str]:
        """Wait until the server answers, with a line on stderr every ten seconds.

        Returns
        -------
        tuple of str
            The name of its model, ours where it lists that, else the first one listed; and its version, "unknown" where
            it states none.

        Raises
        ------
        RunError
            It ended, answers with errors, or did not answer within `START_LIMIT_S`.
        """
        start, said, program = time.monotonic(), 0.0, Path(self._command[0]).name
        refused_since: float | None = None
        with httpx.Client(trust_env=False, timeout=5.0) as http:
            while True:
                self._check()
                status, listed = _stated(http, f"{root}/v1/models")
                if status < 400 and listed is not None:
                    models = _names(listed) or [self._model]
                    return self._model if self._model in models else models[0], _version(http, root)
                now = time.monotonic()
                refused_since = (refused_since or now) if status >= 400 and status != _LOADING else None
                begun, limit = (start, START_LIMIT_S) if refused_since is None else (refused_since, LONGEST_REFUSAL_S)
                why = f"HTTP {status} at /v1/models: {self._tail}" if status else self._tail
                if now - begun > limit:
                    raise RunError(f"judge {self.name}: {program} does not answer within {limit:g} s: {why}")
                if now - start - said >= SECONDS_BETWEEN_LINES:
                    said = now - start
                    waits = f"{self.name}: {program} is starting ({said:.0f} of at most {START_LIMIT_S:g} s)"
                    print(f"{waits}: {why.rpartition(' | ')[2]}", file=sys.stderr, flush=True)
                time.sleep(0.2)

    def _check(self) -> None:
        """Raise `RunError`, with the end of its log, where the server has ended."""
        if self._process is not None and self._process.poll() is not None:
            program = Path(self._command[0]).name
            raise RunError(f"judge {self.name}: {program} ended; {self._log} ends with: {self._tail}")

    @property
    def _tail(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").split("\n")
        said = [printable(line.strip()) for line in lines if line.strip()]
        return " | ".join(said[-4:])[-240:] or "nothing"


def _command(entry: Entry, settings: Settings) -> list[str]:
    """Return the arguments that start a server, in which {model}, {port} and {name} are still to be filled in."""
    program = ENGINES[entry.engine].program
    if settings.server_command is not None:
        if settings.quantize is not None or settings.dtype != "auto":
            raise InputError(
                "--server-command: state quantization and dtype in the command; leave out --quantize and --dtype."
            )
        return shlex.split(settings.server_command)
    if settings.quantize not in (None, "4bit"):
        raise InputError(f"judge {entry.name!r}: {program} does not round weights to 8bit; pass --quantize 4bit.")
    more = [*entry.serve, *(["--trust-remote-code"] if entry.remote_code else [])]
    more += ["--quantization", "bitsandbytes"] if settings.quantize else []
    more += [] if settings.dtype == "auto" else ["--dtype", settings.dtype]
    more += [_GPUS[program], str(len(settings.device.split(",")))] if "," in settings.device else []
    return [*_COMMANDS[program], *more]


def _served_engine(request: JudgeRequest) -> str:
    """Return the engine that asks the server what the request's engine would have read from the weights."""
    engine = ENGINES[request.usual if ENGINES[request.entry.engine].program else request.entry.engine]
    if engine.model == "server":
        return engine.name
    if engine.served:
        return engine.served
    if not (engine.reads_any_model or engine.program):
        raise InputError(f"judge {request.entry.name!r}: engine {engine.name} reads a score that no server gives.")
    settings = request.settings
    has_letters = settings.prompt is None or load_prompt(settings.prompt).asks == "one"
    reads_letters = engine.name == "packed" and has_letters and not settings.is_rating and not request.entry.thinks
    return "letters" if reads_letters else "endpoint"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _stated(http: httpx.Client, url: str) -> tuple[int, object]:
    """Return the status and the JSON at an address: 0 where nothing answers, None where there is no JSON."""
    try:
        answer = http.get(url)
    except httpx.HTTPError:
        return 0, None
    try:
        return answer.status_code, answer.json()
    except ValueError:
        return answer.status_code, None


def _version(http: httpx.Client, root: str) -> str:
    """Return the version that vLLM or SGLang states at an address of its own; "unknown" for others."""
    stated = [_stated(http, f"{root}/{page}")[1] for page in ("version", "get_server_info")]
    versions = [page["version"] for page in stated if isinstance(page, dict) and page.get("version")]
    return printable(str(versions[0])) if versions else "unknown"


def _names(listed: object) -> list[str]:
    """Return the names in a list of models of any form: an object with a list in it, or a list of objects or names."""
    if isinstance(listed, dict):
        listed = next((listed[key] for key in ("data", "models") if listed.get(key)), [])
    each = listed if isinstance(listed, list) else []
    found = [one.get("id") or one.get("model") or one.get("name") if isinstance(one, dict) else one for one in each]
    return [str(name) for name in found if name]
