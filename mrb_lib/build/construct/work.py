"""A work folder: where items become a benchmark, step by step, with every choice, seed and count written down."""

import hashlib
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import pandas as pd
import tomli_w

from mrb_lib.build.construct.tables import SCHEMAS, read_work_table, write_work_table
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import sha256_of, write_atomic
from mrb_lib.tables.schema import KINDS, WORK_RECORD, Kind
from mrb_lib.verdicts.store import exclusive

STEPS: Final = ("start", "filter", "screen", "respond", "pair", "release")
RECORD: Final = WORK_RECORD
"""The record, `construction.toml`: choices and seed of each step, digests of what it read and made."""
BEGUN: Final = "begun"
FINISHED: Final = "finished"
_OWN: Final[Mapping[str, type]] = {"state": str, "seed": int, "input": dict, "output": dict}


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
"""The name in the funnel for items that a step lets pass."""


@dataclass(frozen=True)
class WorkMeta:
    """The record of the whole: `kind` is "clinical", "general" or "simulated"; `plan` has options by step."""

    name: str
    kind: Kind
    plan: Mapping[str, str]


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
        """Name, kind and plan."""
        record = read_record(self.path)
        return WorkMeta(str(record["name"]), cast(Kind, record["kind"]), record.get("plan", {}))

    def items(self) -> pd.DataFrame:
        """Return all items, those that a step left out among them."""
        return read_work_table(self.path, "items")

    def entering(self, step: str) -> pd.DataFrame:
        """Return the items that passed every finished step before this one, in the order of the items table."""
        items, decisions = self.items(), self.decisions()
        earlier = [each for each in _before(step) if self.state(each) == FINISHED]
        dropped = decisions[decisions["step"].isin(earlier) & ~decisions["kept"]]
        return items[~items["item_id"].isin(dropped["item_id"])].reset_index(drop=True)

    def decisions(self) -> pd.DataFrame:
        """Return which items each step kept: a row an item that entered it, with the reason where it was left out."""
        return read_work_table(self.path, "decisions")

    def funnel(self) -> pd.DataFrame:
        """Return how many items entered and left each step, by reason; see `funnel_of`."""
        return read_work_table(self.path, "funnel")

    def answers(self) -> pd.DataFrame:
        """Return what the models of `filter` answered, and how it was marked."""
        return read_work_table(self.path, "answers")

    def difficulty(self) -> pd.DataFrame:
        """Return how difficult each item is for the models of `filter`; see `difficulty.item_measures`."""
        return read_work_table(self.path, "difficulty")

    def responses(self) -> pd.DataFrame:
        """Return what the responders wrote."""
        return read_work_table(self.path, "responses")

    def pairs(self) -> pd.DataFrame:
        """Return the pairs of responses to be annotated."""
        return read_work_table(self.path, "pairs")

    def state(self, step: str) -> str | None:
        """Return "begun", "finished", or None where the step has not been run."""
        return cast("str | None", read_record(self.path).get(step, {}).get("state"))

    def choices(self, step: str) -> dict[str, Any] | None:
        """Return the choices that a step was begun with, as TOML holds them; None where it has not been run."""
        table = read_record(self.path).get(step)
        return None if table is None else choices_of(table)

    def seed(self, step: str) -> int | None:
        """Return the seed that a step was begun with; None where it has not been run."""
        return cast("int | None", read_record(self.path).get(step, {}).get("seed"))

    def stale(self) -> dict[str, str]:
        """Return the finished steps that no longer follow from what is before them, each with the reason in words."""
        record, reasons = read_record(self.path), dict[str, str]()
        for step in STEPS:
            if record.get(step, {}).get("state") == FINISHED:
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
    """

    work: Work
    name: str
    seed: int
    choices: dict[str, Any]
    entering: pd.DataFrame
    is_done: bool = False
    _decided: pd.DataFrame | None = None
    _tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    def decide(self, frame: pd.DataFrame) -> None:
        """Record which items are kept.

        Parameters
        ----------
        frame : a row an item: `item_id`, `kept` and `reason` (a short text that many items share; null where kept).
            Items that the step does not decide about are kept.
        """
        self._decided = frame[["item_id", "kept", "reason"]].astype(object)

    def write(self, name: str, frame: pd.DataFrame) -> None:
        """Write a table, which replaces `WORK/<name>.parquet` when the step is finished."""
        write_work_table(self._staged(name), name, frame)
        self._tables[name] = frame

    def _staged(self, name: str) -> Path:
        return self.work.path / f".{self.name}.{name}.parquet"

    def _finish(self, table: dict[str, Any]) -> None:
        entering = pd.Index(self._tables.get("items", self.entering)["item_id"], name="item_id")
        decided = pd.DataFrame({"kept": True, "reason": None}, index=entering, dtype=object)
        if self._decided is not None:
            decided.update(self._decided.set_index("item_id"))
        kept = decided["kept"].astype(bool)
        own = decided.assign(step=self.name, kept=kept, reason=decided["reason"].mask(kept, None)).reset_index()
        plain = own[["item_id", "kept", "reason"]].astype(object).where(own.notna(), None)
        output = {"decisions": hashlib.sha256(plain.to_json(orient="values").encode("utf-8")).hexdigest()}
        for name in self._tables:
            output[name] = sha256_of(self._staged(name))
            self._staged(name).replace(self.work.path / f"{name}.parquet")
        decisions = self.work.decisions()
        of_steps = [own if step == self.name else decisions[decisions["step"] == step] for step in STEPS]
        decisions = pd.concat(of_steps, ignore_index=True)
        for name, frame in (("decisions", decisions), ("funnel", funnel_of(decisions))):
            write_work_table(self.work.path / f"{name}.parquet", name, frame)
        finished = {self.name: {**table, "state": FINISHED, "output": output}}
        write_record(self.work.path, read_record(self.work.path) | finished)


def create_work(path: Path, name: str, kind: Kind, plan: Mapping[str, str] | None = None) -> Work:
    """Make a new work folder, without items.

    Parameters
    ----------
    plan : options of steps, by the step, which `mrb construct status` prints with the next command

    Raises
    ------
    InputError
        The folder exists and is not empty.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path}: already exists; name another folder.")
    (path / "images").mkdir(parents=True, exist_ok=True)
    write_record(path, {"name": name, "kind": kind, **({"plan": dict(plan)} if plan else {})})
    return Work(path)


def open_work(path: Path) -> Work:
    """Return a work folder that is there.

    Raises
    ------
    InputError
        It is not one, or its record is damaged.
    """
    read_record(path)
    return Work(path)


@contextmanager
def new_or_old_work(path: Path, name: str | None, kind: str, plan: Mapping[str, str] | None = None) -> Iterator[Work]:
    """Yield the work folder at a path, made where there is none; a new one goes again if the block finds bad input.

    Parameters
    ----------
    name : None for that of the folder
    plan : see `create_work`

    Raises
    ------
    InputError
        The folder holds something else, or `kind` is unknown.
    """
    if (path / RECORD).is_file():
        if plan:
            write_record(path, read_record(path) | {"plan": dict(plan)})
        yield open_work(path)
        return
    if kind not in KINDS:
        raise InputError(f"--kind {kind}: is unknown; use one of {', '.join(KINDS)}.")
    there = path.is_dir()
    work = create_work(path, name or path.resolve().name, cast(Kind, kind), plan)
    try:
        yield work
    except InputError:
        shutil.rmtree(path)
        if there:
            path.mkdir()
        raise


@contextmanager
def begin(
    work: Work, step: str, choices: Mapping[str, object], *, seed: int, again: bool = False, finish: bool = True
) -> Iterator[Step]:
    """Run a step: its choices are remembered before the block, what it decided and wrote is kept after it.

    A block that is interrupted or killed leaves the step begun; the same command takes it up again. One that finds bad
    input leaves the step as it was. Nothing that earlier runs of the step wrote is replaced before the block succeeds.

    Parameters
    ----------
    choices : all that the result depends on, in values that TOML has; those that are None are left out
    seed : of everything drawn
    again : replace the result of other choices
    finish : false leaves the step begun

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
        plain = tomllib.loads(tomli_w.dumps({name: value for name, value in choices.items() if value is not None}))
        read = {each: digest_of_output(record[each]["output"]) for each in _before(step) if each in record}
        table = {"state": BEGUN, "seed": seed, "input": read, "output": {}, **plain}
        old = record.get(step)
        other = None if old is None else difference(old, table)
        if other is not None and not again:
            cure = "give the same, or pass --again to replace its result."
            raise InputError(f"{work.path}: {step} was run with other choices ({other}); {cure}")
        is_finished = old is not None and other is None and old["state"] == FINISHED
        is_done = is_finished and step not in work.stale()
        under_way = Step(work, step, seed, plain, work.entering(step), is_done=is_done)
        if not is_done:
            write_record(work.path, record | {step: table})
        try:
            yield under_way
            if finish and not is_done:
                under_way._finish(table)
        except InputError:
            write_record(work.path, record)  # another choice needs no --again where this one came to nothing
            raise
        finally:
            for leftover in work.path.glob(f"*.{step}.*.parquet*"):
                leftover.unlink()


def funnel_of(decisions: pd.DataFrame) -> pd.DataFrame:
    """Return how many items entered and left each step.

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
        command = f"`mrb construct {earlier} {'SRC ' if earlier == 'start' else ''}{work.path}`"
        if state is None and earlier in REQUIRES[step]:
            raise InputError(f"{work.path}: {step} needs what {earlier} makes; run {command} first.")
        if state == BEGUN:
            raise InputError(f"{work.path}: {earlier} is not finished; run {command} as before first.")
        if earlier in stale:
            raise InputError(f"{work.path}: {earlier} is stale ({stale[earlier]}); run {command} again first.")


def read_record(folder: Path) -> dict[str, Any]:
    """Return what the file holds: `name`, `kind`, perhaps `plan`, and a table for each step that was begun.

    The table of a step has its choices and, beside them, `state`, `seed`, `input` (the digest of the output of each
    step before it) and `output` (the digest of its decisions and of each table that it wrote).

    Raises
    ------
    InputError
        The folder is not a work folder, or the file is damaged.
    """
    path = folder / RECORD
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(
            f"{folder}: is not a work folder ({RECORD} is missing); make one with `mrb construct start SRC {folder}`."
        ) from error
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); restore it from a copy.") from error
    if not isinstance(record.get("name"), str) or record.get("kind") not in KINDS:
        raise InputError(f"{path}: does not name the work and its kind ({', '.join(KINDS)}); restore it from a copy.")
    for step in STEPS:
        table = record.get(step)
        is_whole = isinstance(table, dict) and all(isinstance(table.get(own), kind) for own, kind in _OWN.items())
        if table is not None and not (is_whole and table["state"] in (BEGUN, FINISHED)):
            raise InputError(f"{path}, table {step}: lacks one of {', '.join(_OWN)}; restore it from a copy.")
    return record


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Replace the record, atomically; the steps stand in their order."""
    names = [*(name for name in record if name not in STEPS), *(name for name in STEPS if name in record)]
    write_atomic(folder / RECORD, tomli_w.dumps({name: record[name] for name in names}))


def choices_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """The choices in the table of a step."""
    return {name: value for name, value in table.items() if name not in _OWN}


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """The first choice, or the seed, in which two tables of a step differ, in words; None where they agree."""
    one, other = ({"seed": table["seed"], **choices_of(table)} for table in (old, new))
    for name in sorted(one | other):
        if one.get(name) != other.get(name):
            was, now = (repr(table[name])[:80] if name in table else "nothing" for table in (one, other))
            return f"{name} was {was}, now {now}"
    return None


def digest_of_output(output: Mapping[str, str]) -> str:
    """One digest for all that a step made."""
    lines = "\n".join(f"{name} {output[name]}" for name in sorted(output))
    return hashlib.sha256(lines.encode("utf-8")).hexdigest()
