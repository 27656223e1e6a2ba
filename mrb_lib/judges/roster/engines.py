"""Engines: the ways in which a model is asked for verdicts. Each registers itself where it is written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Final, Literal, TypeVar

from mrb_lib.judges.budget import Budget
from mrb_lib.judges.jury import is_jury
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.registry import Registry
from mrb_lib.verdicts.protocol import Judge

ModelAccess = Literal["weights", "server", "none"]
Build = TypeVar("Build", bound="Callable[[JudgeRequest], Judge]")


@dataclass(frozen=True)
class JudgeRequest:
    """The parts that an engine makes a judge from.

    Attributes
    ----------
    entry : the roster's entry, whose name is the judge's name in the verdicts
    settings : what the user set
    images : the bytes of the benchmark's images by name
    source : the place of the weights; None for an engine that reads none
    runs : the folder of runs, beside which a server's replies are kept; None keeps none
    budget : what all judges of one call may spend on servers; None is no limit
    usual : the engine of the entry before the user named another
    fingerprint : of the benchmark's cases, by which a run is known; empty where none is made
    """

    entry: Entry
    settings: Settings
    images: Mapping[str, bytes]
    source: WeightsSource | None = None
    runs: Path | None = None
    budget: Budget | None = None
    usual: str = ""
    fingerprint: str = ""

    @property
    def weights(self) -> WeightsSource:
        """The place of the weights; `ValueError` for an engine that did not declare that it reads them."""
        if self.source is None:
            raise ValueError(f"engine {self.entry.engine!r} does not declare that it reads weights")
        return self.source


def _unbuilt(request: JudgeRequest) -> Judge:
    raise NotImplementedError("an engine is built by the function that it decorates")


@dataclass(frozen=True)
class Engine:
    """One way of asking for verdicts. Called with a function, or a class of judges, it registers that as its `build`.

    Attributes
    ----------
    name : as in `NAME+ENGINE`
    about : what it does, in one line
    build : makes the judge of a request; imports what is heavy, so that listing engines stays cheap
    model : "weights" are read on this machine, a "server" is asked for the model, or "none" is needed: such an
        engine is also a judge of its own name
    packages : the packages it imports, by the names that are imported
    install : what pip installs them with; empty where the packages' own names do
    samples : its replies can be drawn at random, so that repeats differ with a temperature
    reads_any_model : works with any model that chats, not only with models trained for it
    is_internal : used only by the library's own roster
    served : the engine that does the same through a server, where this one is named for a model of a server
    program : what it starts on this machine to serve the weights; empty where it starts nothing
    """

    name: str
    about: str
    build: Callable[[JudgeRequest], Judge] = _unbuilt
    model: ModelAccess = "none"
    packages: tuple[str, ...] = ()
    install: str = ""
    samples: bool = False
    reads_any_model: bool = False
    is_internal: bool = False
    served: str = ""
    program: str = ""

    def __call__(self, build: Build) -> Build:
        """Register the engine with what makes its judges; used as a decorator, `@engine(NAME, about=...)`."""
        ENGINES.add(self.name, replace(self, build=build))
        return build

    def missing_packages(self) -> list[str]:
        """Return the packages it needs that are not installed."""
        return [package for package in self.packages if find_spec(package) is None]

    def check_packages(self, judge: str) -> None:
        """Raise `InputError`, which names the judge, where a package is not installed."""
        if missing := self.missing_packages():
            what = f"'{self.install}'" if self.install else " ".join(missing)
            raise InputError(f"judge {judge!r}: needs {missing[0]}; install it with `pip install {what}`.")

    def check_program(self, judge: str) -> None:
        """Raise `InputError`, which names the judge as it would be served, where the program is not on the PATH."""
        if which(self.program) is None:
            base, _ = split_engine(judge)
            raise InputError(
                f"judge {judge!r}: needs {self.program}, which is not on the PATH; install it into an environment of "
                f"its own (uv tool install {self.program}), then name {base}+{self.name}, or name another server with "
                "--server-command 'CMD {model} {port}'."
            )


engine = Engine

ENGINES: Final = Registry[Engine]("engine", "mrb_lib.judges.engines")
"""All engines by name, those of installed plugins among them."""


def public_engines() -> dict[str, Engine]:
    """Return the engines that a user may name, in a roster file or as `NAME+ENGINE`."""
    return {name: engine for name, engine in ENGINES.items() if not engine.is_internal}


def split_engine(name: str) -> tuple[str, Engine | None]:
    """Return a judge's name without `+ENGINE`, and that engine; None where it ends with none, and for a jury."""
    base, _, ending = name.rpartition("+")
    engine = public_engines().get(ending) if base and not is_jury(name) else None
    return (name, None) if engine is None else (base, engine)
