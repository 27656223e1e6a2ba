"""Models that answer what a test tells them to, in ordinary runs: an engine, and a roster that names its models."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from mrb_lib.build.construct.work import Work, begin, create_work
from mrb_lib.judges import ENGINES, Engine, JudgeRequest, PromptlessJudge, Settings
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.verdicts.protocol import VerdictRows

Say = Callable[[str, str, int], str | None]


@dataclass
class Script:
    """What the models say: of the model, the item and the sample to a reply; None is an error.

    Attributes
    ----------
    asked : how many answers were asked for so far
    shown : the rows last shown
    budgets : of the models
    """

    roster: Path
    say: Say
    asked: int = 0
    cut_off: set[str] = field(default_factory=set)
    batch: int = 2048
    shown: pd.DataFrame = field(default_factory=pd.DataFrame)
    budgets: list[object] = field(default_factory=list)

    def models(self, *names: str, prompt: str = "short-answer") -> list[PlannedModel]:
        return [PlannedModel(name, Settings(prompt=prompt, batch_size=self.batch)) for name in names]


class _ScriptedModel(PromptlessJudge):
    def __init__(self, name: str, script: Script) -> None:
        self.name, self._script = name, script

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        rows = VerdictRows(shown)
        self._script.shown = shown
        for position, (item, sample) in enumerate(zip(shown["case_id"], shown["repeat"], strict=True)):
            self._script.asked += 1
            reply = self._script.say(self.name, item, int(sample))
            if reply is None:
                rows.fail([position], "the script says so")
            else:
                rows.put_answer(position, reply, is_cut_off=reply in self._script.cut_off)
        return rows.frame()


@contextmanager
def scripted(folder: Path, names: Sequence[str], say: Say) -> Iterator[Script]:
    """Let the roster of a file have these models for the time of the block."""
    roster = folder / "models.toml"
    roster.write_text("".join(f'[[judge]]\nname = "{name}"\nengine = "scripted"\n' for name in names))
    script = Script(roster, say)

    def build(request: JudgeRequest) -> _ScriptedModel:
        script.budgets.append(request.budget)
        return _ScriptedModel(request.entry.name, script)

    assert "scripted" not in ENGINES
    ENGINES.add("scripted", Engine("scripted", "what a test says", build, samples=True, is_internal=False))
    try:
        yield script
    finally:
        del ENGINES._features["scripted"]


def started(folder: Path, items: pd.DataFrame, kind: str = "clinical") -> Work:
    """A work folder whose start is finished."""
    work = create_work(folder, "mine", kind)
    with begin(work, "start", {}, seed=0) as step:
        step.write("items", items)
    return work


def die() -> str:
    """Kill this process, as a machine without memory does."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def without_times(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="latency_s")
