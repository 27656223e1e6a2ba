"""A work folder: where items become a benchmark, step by step, with every choice, seed and count written down."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import pandas as pd

from mrb_lib.build.construct.record import (
    BEGUN,
    FINISHED,
    RECORD,
    STEPS,
    choices_of,
    difference,
    digest_of_decisions,
    digest_of_output,
    new_record,
    plain_choices,
    read_record,
    write_step,
)
from mrb_lib.build.construct.tables import (
    SCHEMAS,
    read_work_chunks,
    read_work_table,
    write_work_chunks,
    write_work_table,
)
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import is_safe_name, sha256_of
from mrb_lib.tables.schema import KINDS, Kind
from mrb_lib.verdicts.store import exclusive

__all__ = [
    "BEGUN",
    "FINISHED",
    "KEPT",
    "RECORD",
    "REQUIRES",
    "STEPS",
    "Step",
    "Work",
    "WorkMeta",
    "begin",
    "create_work",
    "funnel_of",
    "new_or_old_work",
    "open_work",
]

REQUIRES: Final[Mapping[str, tuple[str, ...]]] = {
    "start": (),
    "filter": ("start",),
    "screen": ("start",),
    "respond": ("start",),
    "pair": ("start", "respond"),
    "release": ("start", "respond", "pair"),
}
"""The steps that must be finished before one; of the others each may be left out."""
KEPT: Final = "kept"
"""What the funnel calls those that a step lets pass."""


@dataclass(frozen=True)
class WorkMeta:
    """What the record says of the whole: `kind` is "clinical", "general" or "simulated"."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Work:
    """A handle on a work folder; every call reads what the folder holds now.

    The tables and their columns are those of `mrb_lib.build.construct.tables.SCHEMAS`.
    """

    path: Path

    @property
    def images(self) -> Path:
        """The folder of the images that the items name."""
        return self.path / "images"

    @property
    def meta(self) -> WorkMeta:
        """Name and kind."""
        record = read_record(self.path)
        return WorkMeta(str(record["name"]), cast(Kind, record["kind"]))

    def items(self) -> pd.DataFrame:
        """All items, those that a step left out among them."""
        return read_work_table(self.path, "items")

    def entering(self, step: str) -> pd.DataFrame:
        """The items that passed every finished step before this one, in the order of the items table."""
        items, decisions = self.items(), self.decisions()
        earlier = [each for each in _before(step) if self.state(each) == FINISHED]
        dropped = decisions[decisions["step"].isin(earlier) & ~decisions["kept"]]
        return items[~items["item_id"].isin(dropped["item_id"])].reset_index(drop=True)

    def decisions(self) -> pd.DataFrame:
        """Which items each step kept: a row an item that entered it, with the reason where it was left out."""
        return read_work_table(self.path, "decisions")

    def funnel(self) -> pd.DataFrame:
        """How many items entered and left each step, by reason; see `funnel_of`."""
        return read_work_table(self.path, "funnel")

    def answers(self) -> pd.DataFrame:
        """What the models of `filter` answered, and how it was marked."""
        return read_work_table(self.path, "answers")

    def difficulty(self) -> pd.DataFrame:
        """Return how difficult each item is for the models of `filter`; see `difficulty.item_measures`."""
        return read_work_table(self.path, "difficulty")

    def marking(self) -> pd.DataFrame:
        """Return the agreement of `filter`'s marks with a person's; see `mrb_lib.build.construct.answers`."""
        return read_work_table(self.path, "marking")

    def responses(self) -> pd.DataFrame:
        """What the responders wrote."""
        return read_work_table(self.path, "responses")

    def pairs(self) -> pd.DataFrame:
        """The pairs of responses to be annotated."""
        return read_work_table(self.path, "pairs")

    def chunks(self, name: str, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Columns of a table as it was written, a chunk at a time, for tables that may be larger than the memory."""
        return read_work_chunks(self.path / f"{name}.parquet", columns)

    def state(self, step: str) -> str | None:
        """ "begun", "finished", or None where the step has not been run."""
        table = read_record(self.path).get(step)
        return None if table is None else str(table["state"])

    def choices(self, step: str) -> dict[str, Any] | None:
        """The choices that a step was begun with, as TOML holds them; None where it has not been run."""
        table = read_record(self.path).get(step)
        return None if table is None else choices_of(table)

    def seed(self, step: str) -> int | None:
        """The seed that a step was begun with; None where it has not been run."""
        table = read_record(self.path).get(step)
        return None if table is None else int(table["seed"])

    def stale(self) -> dict[str, str]:
        """The finished steps that no longer follow from what is before them, each with the reason in words."""
        record, reasons = read_record(self.path), dict[str, str]()
        for step in STEPS:
            if record.get(step, {}).get("state") != FINISHED:
                continue
            reason = self._changed_since(step, record, reasons)
            if reason is not None:
                reasons[step] = reason
        return reasons

    def _changed_since(self, step: str, record: Mapping[str, Any], stale: Mapping[str, str]) -> str | None:
        read = record[step]["input"]
        for earlier in _before(step):
            state = record.get(earlier, {}).get("state")
            if state == BEGUN and earlier in read:
                return f"{earlier} was begun again and is not finished"
            if state == FINISHED and earlier not in read:
                return f"{earlier} was run since"
            if state == FINISHED and read[earlier] != digest_of_output(record[earlier]["output"]):
                return f"{earlier} was run again since"
            if earlier in stale:
                return f"{earlier} is stale"
        for name, digest in record[step]["output"].items():
            path = self.path / f"{name}.parquet"
            if name in SCHEMAS and name != "decisions" and (not path.is_file() or sha256_of(path) != digest):
                return f"{path.name} is not what {step} wrote"
        return None


@dataclass
class Step:
    """A step under way, as `begin` yields it.

    Attributes
    ----------
    entering : the items that it is about; none of `start`, which makes them
    choices : as TOML holds them
    is_done : the step is finished already with these choices on this input; the block has nothing to do, and what it
        decides or writes is not kept
    is_resumed : the step was begun with these choices before, and interrupted
    """

    work: Work
    name: str
    seed: int
    choices: dict[str, Any]
    entering: pd.DataFrame
    is_done: bool = False
    is_resumed: bool = False
    _decisions: list[pd.DataFrame] = field(default_factory=list)
    _tables: list[str] = field(default_factory=list)
    _made: list[str] = field(default_factory=list)

    def decide(self, frame: pd.DataFrame) -> None:
        """Say which items are kept; may be called for one part of them after another.

        Parameters
        ----------
        frame : a row an item: `item_id`, `kept` and `reason` (a short text that many items share; null where kept).
            Items that the step never decides about are kept. `start` may leave out what never became an item.
        """
        self._decisions.append(frame[["item_id", "kept", "reason"]])

    def write(self, name: str, frame: pd.DataFrame) -> None:
        """Write a table, which replaces `WORK/<name>.parquet` when the step is finished."""
        if not is_safe_name(name) or "/" in name:
            raise ValueError(f"{name!r} is not the name of a table.")
        write_work_table(self._staged(name), name, frame)
        self._tables.append(name)
        if name == "items":
            self._made = list(frame["item_id"])

    def write_chunks(self, name: str, chunks: Iterable[pd.DataFrame]) -> None:
        """Write a table of `mrb_lib.build.construct.tables.SCHEMAS` a chunk at a time; see `write`."""
        write_work_chunks(self._staged(name), name, chunks)
        self._tables.append(name)

    def staged(self, name: str, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Columns of a table that this step has written and that is not kept yet; see `Work.chunks`."""
        return read_work_chunks(self._staged(name), columns)

    def _staged(self, name: str) -> Path:
        return self.work.path / f".{self.name}.{name}.parquet"

    def _finish(self, table: dict[str, Any]) -> None:
        own = self._all_decisions()
        output = {"decisions": digest_of_decisions(own)}
        for name in dict.fromkeys(self._tables):
            output[name] = sha256_of(self._staged(name))
            self._staged(name).replace(self.work.path / f"{name}.parquet")
        decisions = self.work.decisions()
        others = [decisions[decisions["step"] == step] for step in STEPS if step != self.name]
        position = STEPS.index(self.name)
        decisions = pd.concat([*others[:position], own, *others[position:]], ignore_index=True)
        for name, frame in (("decisions", decisions), ("funnel", funnel_of(decisions))):
            write_work_table(self.work.path / f"{name}.parquet", name, frame)
        write_step(self.work.path, self.name, {**table, "state": FINISHED, "output": output})

    def _all_decisions(self) -> pd.DataFrame:
        """A row an item that entered, in the order of the items table; then what never became one."""
        made = pd.concat(self._decisions, ignore_index=True) if self._decisions else None
        entering = self._made if self.name == "start" else list(self.entering["item_id"])
        decided = pd.DataFrame({"item_id": [], "kept": [], "reason": []}) if made is None else made
        twice = decided["item_id"][decided["item_id"].duplicated()]
        unknown = decided["item_id"][~decided["item_id"].isin(entering)]
        if len(twice) or (len(unknown) and self.name != "start"):
            raise ValueError(f"{self.name} decides about {[*twice, *unknown][0]!r} twice, or it never entered.")
        order = pd.Index([*entering, *unknown], name="item_id")
        decided = decided.set_index("item_id").reindex(order).reset_index()
        kept = decided["kept"].map(lambda value: True if pd.isna(value) else bool(value)).astype(bool)
        reason = decided["reason"].astype(object).where(~kept & decided["reason"].notna(), None)
        return pd.DataFrame({"item_id": decided["item_id"], "step": self.name, "kept": kept, "reason": reason})


def create_work(path: Path, name: str, kind: Kind) -> Work:
    """Make a new work folder, without items.

    Raises
    ------
    InputError
        The folder exists and is not empty.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path}: already exists; name another folder.")
    (path / "images").mkdir(parents=True, exist_ok=True)
    new_record(path, name, kind)
    return Work(path)


def open_work(path: Path) -> Work:
    """A work folder that is there.

    Raises
    ------
    InputError
        It is not one, or its record is damaged.
    """
    read_record(path)
    return Work(path)


@contextmanager
def new_or_old_work(path: Path, name: str | None, kind: str) -> Iterator[Work]:
    """The work folder at a path, made where there is none; one that was made goes again if the block finds bad input.

    Parameters
    ----------
    name : None for that of the folder

    Raises
    ------
    InputError
        The folder holds something else, or `kind` is unknown.
    """
    if (path / RECORD).is_file():
        yield open_work(path)
        return
    if kind not in KINDS:
        raise InputError(f"--kind {kind}: is unknown; use one of {', '.join(KINDS)}.")
    there = path.is_dir()
    work = create_work(path, name or path.resolve().name, cast(Kind, kind))
    try:
        yield work
    except InputError:
        shutil.rmtree(path)
        if there:
            path.mkdir()
        raise


@contextmanager
def begin(work: Work, step: str, choices: Mapping[str, object], *, seed: int, again: bool = False) -> Iterator[Step]:
    """Run a step: its choices are remembered before the block, what it decided and wrote is kept after it.

    A block that raises, or is killed, leaves the step begun; the same command takes it up again. Nothing that earlier
    runs of the step wrote is replaced before the block has succeeded.

    Parameters
    ----------
    choices : all that the result depends on, in values that TOML has; those that are None are left out
    seed : of everything drawn
    again : replace the result of other choices

    Yields
    ------
    Step
        With `is_done` where there is nothing to do, which the block must heed.

    Raises
    ------
    InputError
        A step before is missing, unfinished or stale, or this one was run with other choices.
    RunError
        Another process is at work in the folder.
    """
    with exclusive(work.path, "work folder"):
        record = read_record(work.path)
        _check_before(work, step, record)
        plain = plain_choices(choices)
        read = {each: digest_of_output(record[each]["output"]) for each in _before(step) if each in record}
        table = {"state": BEGUN, "seed": seed, "input": read, "output": {}, **plain}
        old = record.get(step)
        other = None if old is None else difference(old, table)
        if other is not None and not again:
            raise InputError(f"{work.path}: {step} was run with other choices ({other}); {_CURE}")
        state = old["state"] if old is not None and other is None else None
        is_done = state == FINISHED and step not in work.stale()
        is_resumed = state == BEGUN
        under_way = Step(work, step, seed, plain, work.entering(step), is_done=is_done, is_resumed=is_resumed)
        if not is_done:
            write_step(work.path, step, table)
        try:
            yield under_way
            if not is_done:
                under_way._finish(table)
        finally:
            for leftover in work.path.glob(f"*.{step}.*.parquet*"):
                leftover.unlink()


_CURE = "give the same, or pass --again to replace its result."


def funnel_of(decisions: pd.DataFrame) -> pd.DataFrame:
    """How many items entered and left each step.

    Returns
    -------
    DataFrame, a row a step and reason, in the order of the steps
        `n_in` and `n_out` of the step, and `n` of the reason; first the row "kept", whose `n` is `n_out`, then the
        reasons to leave out from the most frequent down.
    """
    rows = []
    for step in STEPS:
        own = decisions[decisions["step"] == step]
        if own.empty:
            continue
        n_in, n_out = len(own), int(own["kept"].sum())
        reasons = own.loc[~own["kept"], "reason"].fillna("not said").value_counts()
        counts = sorted(reasons.items(), key=lambda one: (-int(one[1]), str(one[0])))
        rows += [(step, n_in, n_out, reason, n) for reason, n in [(KEPT, n_out), *counts]]
    return pd.DataFrame(rows, columns=SCHEMAS["funnel"].names)


def _before(step: str) -> tuple[str, ...]:
    return STEPS[: STEPS.index(step)]


def _check_before(work: Work, step: str, record: Mapping[str, Any]) -> None:
    stale = work.stale()
    for earlier in _before(step):
        state = record.get(earlier, {}).get("state")
        if state is None and earlier in REQUIRES[step]:
            raise InputError(f"{work.path}: {step} needs what {earlier} makes; run {_command(earlier, work)} first.")
        if state == BEGUN:
            raise InputError(f"{work.path}: {earlier} is not finished; run {_command(earlier, work)} as before first.")
        if earlier in stale:
            raise InputError(
                f"{work.path}: {earlier} is stale ({stale[earlier]}); run {_command(earlier, work)} again first."
            )


def _command(step: str, work: Work) -> str:
    return f"`mrb construct {step} {'SRC ' if step == 'start' else ''}{work.path}`"
