"""Tasks: the prompts about a batch of rows, and the replies to them read into verdicts.

Every judge that has a prompt makes its tasks here, whatever is asked for the reply: a model on this machine, a server,
or an engine of a plugin. There is one maker of tasks for each kind of prompt; see `task_maker`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, cast

import pandas as pd
from PIL import Image

from mrb_lib.benchmarks.images import open_image, within
from mrb_lib.judges.lineup import PROMPT_KEY, lineup_of, pair_of, put_pairs, with_lineups
from mrb_lib.judges.points import Checked, put_points, read_checks, rubric_of
from mrb_lib.judges.prompts import DEFINITIONS, RANKED, RANKINGS, Prompt, Rendered, phrasing_of
from mrb_lib.judges.settings import BLIND, Settings
from mrb_lib.replies.answers import read_answer
from mrb_lib.replies.criteria import MET, NOT_MET
from mrb_lib.replies.labels import LETTERS, Labels, labels_of
from mrb_lib.replies.multi import parse_ratings
from mrb_lib.replies.rankings import RankingReading, parse_rankings
from mrb_lib.replies.reading import Reading, parse
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.rubrics import Criterion
from mrb_lib.tables.schema import ANSWERED_STATUSES, Status
from mrb_lib.verdicts.orders import FIRST, PICKS, SECOND, TIE
from mrb_lib.verdicts.protocol import VerdictRows

MAX_PIXELS: Final = 1280 * 28 * 28
"""About what the published vision-language judges were trained on: 1,280 patches of 28 x 28 pixels."""

Record = Mapping[str, object]
"""One row that a judge is shown, by column."""
Columns = Callable[[str, "str | None"], Mapping[str, object]]
"""Further columns of a verdict, by its dimension and choice."""


@dataclass(frozen=True)
class Reply:
    """A model's reply.

    Attributes
    ----------
    text : read for the verdicts
    took : columns of its cost (`latency_s`, `prompt_tokens`, `completion_tokens`, `cost_usd`)
    whole : kept in the verdicts where that is more than `text`
    is_refused : the model or its host declined
    is_cut_off : it ended because it was as long as allowed
    """

    text: str
    took: Mapping[str, object] = field(default_factory=dict)
    whole: str = ""
    is_refused: bool = False
    is_cut_off: bool = False

    @property
    def kept(self) -> str:
        """The text that the verdicts keep."""
        return self.whole or self.text


@dataclass(frozen=True)
class Task:
    """One prompt, and the rows that its reply answers.

    Attributes
    ----------
    case_id : of the first row
    rows : position among the rows shown, and dimension, of each
    records : these rows
    asked : the dimensions that the prompt asks about: all of the benchmark's, or one
    text : the prompt; empty where none can be written
    images : names of the images that go with it
    labels : names of the response shown first, and of the second, in the prompt
    seed : of sampling, from 0 to 2^31 - 1
    problem : the reason why no prompt can be written; empty where one is
    joint : shared by the tasks about the responses of one case, each checked alone; None for other tasks
    place : of the response among those of `joint`
    """

    case_id: str
    rows: tuple[tuple[int, str], ...]
    records: tuple[Record, ...]
    asked: tuple[str, ...] = ()
    text: str = ""
    images: tuple[str, ...] = ()
    labels: Labels = LETTERS
    seed: int = 0
    problem: str = ""
    joint: JointReplies | None = None
    place: int = 0


@dataclass
class JointReplies:
    """The replies about the responses of one case as they come in; the verdicts need all of them.

    Attributes
    ----------
    n : tasks; one where the two responses are equal
    checked : by the place of the response
    took : cost of the replies so far
    failure : reason of a task that got no reply, and whether it was refused; None while there is none
    """

    criteria: tuple[Criterion, ...]
    n: int
    checked: dict[int, Checked] = field(default_factory=dict)
    took: dict[str, object] = field(default_factory=dict)
    failure: tuple[str, bool] | None = None

    def add(self, took: Mapping[str, object]) -> None:
        """Add what a reply took; unknown where it is unknown of one."""
        for name, value in took.items():
            number, before = cast("float | None", value), cast("float | None", self.took.get(name, 0))
            self.took[name] = None if number is None or before is None else before + number


class AsksPrompts:
    """The parts of `mrb_lib.verdicts.protocol.Judge` that follow from a prompt; None for a judge that takes none."""

    _own_prompt: Prompt | None

    @property
    def prompt_id(self) -> str:
        """Return the prompt's id."""
        return self._own_prompt.id if self._own_prompt else ""

    @property
    def prompt_hash(self) -> str:
        """Return the prompt's hash."""
        return self._own_prompt.hash if self._own_prompt else ""

    @property
    def prompt_text(self) -> str:
        """Return the prompt's template."""
        return self._own_prompt.text if self._own_prompt else ""


@dataclass(frozen=True)
class PromptWriter:
    """Writes prompts about rows, and names their images.

    Attributes
    ----------
    prompt : the template
    settings : dimensions, choices, labels, definitions and what is shown beside the cases
    sees : the model takes images
    marks : of the model's chat template, see `mrb_lib.judges.fences.defuse`; None for the usual ones
    numbered : the categories of a rating are called 1, 2, ...
    """

    prompt: Prompt
    settings: Settings
    sees: bool = True
    marks: re.Pattern[str] | None = None
    numbered: bool = False

    def labels(self, row: Record) -> Labels:
        """Return what the prompt about a row calls the two responses."""
        return self.prompt.labels_for(str(row["question"]), labels_of(row))

    def images(self, row: Record) -> tuple[str, ...]:
        """Return the names of the images to show; `InputError` where the model sees none."""
        names = () if self.settings.without_images else tuple(image_names(row))
        if names and not self.sees:
            raise InputError(BLIND)
        return names

    def write(
        self,
        row: Record,
        responses: Sequence[str],
        dimension: str = "",
        *,
        dimensions: Sequence[str] | None = None,
        label: str = "",
        criteria: Sequence[str] = (),
        criterion: int = 0,
    ) -> Rendered:
        """Return the prompt about a row.

        Parameters
        ----------
        dimension : the one asked about, where one is
        dimensions : all that are judged; None for the benchmark's
        label, criteria, criterion : see `Prompt.render`

        Raises
        ------
        InputError
            The case lacks what the prompt is to show.
        """
        reference, before = row.get("reference"), row.get("before")
        if self.prompt.needs_reference and not isinstance(reference, str):
            raise InputError(f"the case has no reference answer, which the prompt {self.prompt.id} shows")
        return self.prompt.render(
            str(row["question"]),
            responses,
            self.settings.dimensions if dimensions is None else dimensions,
            dimension,
            reference=reference if isinstance(reference, str) else None,
            before=before if isinstance(before, str) else None,
            label_sets=self.settings.labels,
            label=label,
            n_images=0 if self.settings.without_images else len(image_names(row)),
            scale=self.settings.scale,
            choices=self.settings.choices,
            definitions=DEFINITIONS | self.settings.definitions,
            ordered=self.settings.is_ordered,
            numbered=self.numbered,
            marks=self.marks,
            criteria=criteria,
            criterion=criterion,
            context=self.settings.context_of(row),
            **phrasing_of(row),
        )


@dataclass(frozen=True)
class TaskMaker(PromptWriter):
    """Makes tasks about preferences, ratings and answers: for each case and order, or for each dimension of these."""

    shared: ClassVar[tuple[str, ...]] = ("case_id", "order", "repeat", "probe")

    def tasks(self, shown: pd.DataFrame) -> Iterator[Task]:
        """Yield the tasks about a batch; see `mrb_lib.verdicts.protocol.Judge.judge` for the rows."""
        for positions, records in group_rows(shown, self._shared):
            yield from self._of_group([*zip(positions, records, strict=True)])

    def is_whole(self, task: Task, reply: Reply) -> bool:
        """Return whether every verdict can be read from a reply; an answer may be cut off."""
        if reply.is_refused:
            return False
        if self.prompt.asks == "answer":
            return read_answer(reply.kept).status in ANSWERED_STATUSES
        reading = self._reading(task, reply)
        return all(reading.status_of(dimension) in ANSWERED_STATUSES for dimension in task.asked)

    def put(self, rows: VerdictRows, task: Task, reply: Reply, columns: Columns = lambda name, choice: {}) -> None:
        """Read a reply into the verdicts of its rows; its cost stands in the first of them, so that sums are right."""
        if self.prompt.asks == "answer":
            for position, _ in task.rows:
                rows.put_answer(
                    position, reply.kept, is_cut_off=reply.is_cut_off, is_refused=reply.is_refused, **reply.took
                )
            return
        reading, took = self._reading(task, reply), reply.took
        for position, dimension in task.rows:
            choice = None if reply.is_refused else reading.choices[dimension]
            pick = choice if self.settings.is_rating or choice is None else PICKS[choice]
            status = "refused" if reply.is_refused else reading.status_of(dimension)
            more = {} if reply.is_refused else columns(dimension, choice)
            rows.put(position, status, pick, reply=reply.kept, **more, **took)
            took = {}

    def fail(
        self,
        rows: VerdictRows,
        task: Task,
        reason: str,
        *,
        is_refused: bool = False,
        took: Mapping[str, object] | None = None,
    ) -> None:
        """Put the reason why a task got no reply into its rows."""
        for position, _ in task.rows:
            rows.put(position, "refused" if is_refused else "error", None, error=reason, **(took or {}))
            took = None

    def schema(self, task: Task) -> Mapping[str, object]:
        """Return the JSON schema of a reply in one object: a value per dimension, then the reason if it is wanted."""
        names = {} if self.settings.is_rating else dict(zip(LETTERS, task.labels, strict=True))
        offered = [names.get(choice, choice) for choice in self.settings.choices]
        properties: dict[str, object] = dict.fromkeys(task.asked, self._value_schema(task, offered))
        for name in self.settings.labels.keys() & properties.keys():
            items = {"type": "string", "enum": list(self.settings.labels[name])}
            properties[name] = {"type": "array", "items": items}
        if self.prompt.gives_reason:
            properties["reason"] = {"type": "string"}
        return object_schema(properties)

    @property
    def _shared(self) -> tuple[str, ...]:
        """The columns that the rows of one group have in common."""
        return self.shared

    @property
    def _of_one(self) -> bool:
        """Return whether each row is a task of its own."""
        return self.prompt.is_of_one or self.prompt.asks == "answer"

    def _of_group(self, rows: Sequence[tuple[int, Record]]) -> Iterator[Task]:
        if self._of_one:
            for row in rows:
                yield self._task([row], dimension=str(row[1]["dimension"]))
        else:
            yield self._task(rows)

    def _task(
        self,
        rows: Sequence[tuple[int, Record]],
        *,
        dimension: str = "",
        responses: Sequence[str] | None = None,
        key: Sequence[str] | None = None,
        joint: JointReplies | None = None,
        place: int = 0,
    ) -> Task:
        """Return the task of some rows, with a problem in place of a prompt where none can be written.

        Parameters
        ----------
        responses : None for those that the rows show
        key : of the seed; None for what the rows share
        """
        record = rows[0][1]
        wanted = tuple((position, str(row["dimension"])) for position, row in rows)
        dimensions = tuple(dict.fromkeys((*self.settings.dimensions, *(name for _, name in wanted))))
        asked = (dimension,) if dimension else dimensions
        key = [*(str(record[name]) for name in self._shared), dimension] if key is None else key
        task = Task(
            str(record["case_id"]),
            wanted,
            tuple(row for _, row in rows),
            asked,
            seed=self._seed(*key),
            joint=joint,
            place=place,
        )
        try:
            images = self.images(record)
            text = self.write(
                record,
                self._responses(record) if responses is None else responses,
                dimension,
                dimensions=dimensions,
                criteria=[one.text for one in joint.criteria] if joint is not None else (),
            ).text
        except InputError as error:
            return replace(task, problem=str(error))
        return replace(task, text=text, images=images, labels=self.labels(record))

    def _responses(self, row: Record) -> list[str]:
        return responses_of(row, rated=self.settings.is_rating)

    def _reading(self, task: Task, reply: Reply) -> Reading:
        if self.settings.is_rating:
            choices, labels = self.settings.choices, self.settings.labels
            return parse_ratings(reply.text, task.asked, choices, labels, is_cut_off=reply.is_cut_off)
        return parse(
            reply.text,
            task.asked,
            self.settings.choices,
            task.labels,
            question=str(task.records[0]["question"]),
            is_cut_off=reply.is_cut_off,
        )

    def _value_schema(self, task: Task, offered: Sequence[str]) -> Mapping[str, object]:
        return {"type": "string", "enum": list(offered)}

    def _seed(self, *key: str) -> int:
        """Return a seed of 31 bits, which every server takes."""
        text = "\0".join((str(self.settings.seed), *key)).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1


@dataclass(frozen=True)
class RankingMaker(TaskMaker):
    """Makes tasks about all responses to an item, whose rankings are read as verdicts of pairs.

    See `mrb_lib.judges.lineup` for the order in which the responses are shown.
    """

    def tasks(self, shown: pd.DataFrame) -> Iterator[Task]:
        """See `TaskMaker.tasks`."""
        return super().tasks(with_lineups(shown.reset_index(drop=True), self.settings.seed))

    def is_whole(self, task: Task, reply: Reply) -> bool:
        """See `TaskMaker.is_whole`."""
        read = list(self._ranking(task, reply).places.values())
        has_ties = any(len(set(places)) < len(places) for places in read if places is not None)
        return not reply.is_refused and None not in read and (TIE in self.settings.choices or not has_ties)

    def put(self, rows: VerdictRows, task: Task, reply: Reply, columns: Columns | None = None) -> None:
        """See `TaskMaker.put`."""
        reading = self._ranking(task, reply)
        if reply.is_refused:
            reading = RankingReading(dict.fromkeys(task.asked), "refused")
        asked = [(position, name, pair_of(row)) for (position, name), row in zip(task.rows, task.records, strict=True)]
        put_pairs(rows, asked, reading, self.settings.choices, reply.kept, reply.took)

    @property
    def _shared(self) -> tuple[str, ...]:
        return (PROMPT_KEY, "dimension") if self.prompt.asks == "ranking" else (PROMPT_KEY,)

    def _of_group(self, rows: Sequence[tuple[int, Record]]) -> Iterator[Task]:
        yield self._task(rows, dimension=str(rows[0][1]["dimension"]) if self.prompt.asks == "ranking" else "")

    def _responses(self, row: Record) -> list[str]:
        return lineup_of(row)

    def _ranking(self, task: Task, reply: Reply) -> RankingReading:
        return parse_rankings(reply.text, task.asked, len(lineup_of(task.records[0])), is_cut_off=reply.is_cut_off)

    def _value_schema(self, task: Task, offered: Sequence[str]) -> Mapping[str, object]:
        """Return that of a list of letters, with lists of equal ones in it where a tie may be."""
        letter = {"type": "string", "enum": list(RANKED[: len(lineup_of(task.records[0]))])}
        items = {"anyOf": [letter, {"type": "array", "items": letter}]} if TIE in offered else letter
        return {"type": "array", "items": items}


@dataclass(frozen=True)
class ChecklistMaker(TaskMaker):
    """Makes one task for each response of a case, which is checked against the criteria of the case's rubric.

    Both orders share the replies.
    """

    shared = ("case_id", "repeat", "probe")

    def is_whole(self, task: Task, reply: Reply) -> bool:
        """See `TaskMaker.is_whole`."""
        return not reply.is_refused and None not in self._checks(task, reply).met

    def put(self, rows: VerdictRows, task: Task, reply: Reply, columns: Columns | None = None) -> None:
        """See `TaskMaker.put`; the verdicts come with the last reply, and its cost is that of all."""
        joint = _joint(task)
        joint.checked[task.place] = self._checks(task, reply)
        joint.add(reply.took)
        if joint.failure is not None:
            super().fail(rows, task, joint.failure[0], is_refused=joint.failure[1], took=joint.took)
        elif len(joint.checked) == joint.n:
            self._put_points(rows, task, joint)

    def fail(
        self,
        rows: VerdictRows,
        task: Task,
        reason: str,
        *,
        is_refused: bool = False,
        took: Mapping[str, object] | None = None,
    ) -> None:
        """See `TaskMaker.fail`; without one of its replies a case has no verdict."""
        if task.joint is not None:
            task.joint.failure, took = (reason, is_refused), task.joint.took
        super().fail(rows, task, reason, is_refused=is_refused, took=took)

    def schema(self, task: Task) -> Mapping[str, object]:
        """Return that of a decision per criterion, by its number."""
        decision = {"type": "string", "enum": [MET, NOT_MET]}
        return object_schema({str(place): decision for place in range(1, len(_joint(task).criteria) + 1)})

    def _of_group(self, rows: Sequence[tuple[int, Record]]) -> Iterator[Task]:
        record = rows[0][1]
        try:
            criteria = rubric_of(record)
        except InputError as error:
            wanted = tuple((position, str(row["dimension"])) for position, row in rows)
            yield Task(str(record["case_id"]), wanted, tuple(row for _, row in rows), problem=str(error))
            return
        responses = list(dict.fromkeys(responses_of(record)))
        joint = JointReplies(criteria, len(responses))
        for place, response in enumerate(responses):
            key = [*(str(record[name]) for name in self.shared), response]
            yield self._task(rows, responses=[response], key=key, joint=joint, place=place)

    def _put_points(self, rows: VerdictRows, task: Task, joint: JointReplies) -> None:
        pair = [joint.checked[0], joint.checked[joint.n - 1]]
        statuses = {one.status for one in pair}
        # What is decided was read; what is not makes a row unparsed.
        status: Status = "refused" if "refused" in statuses else "ok" if statuses == {"ok"} else "repaired"
        took: Mapping[str, object] = joint.took
        for (position, dimension), record in zip(task.rows, task.records, strict=True):
            shown = pair if record["order"] == task.records[0]["order"] else pair[::-1]
            kept = f"response shown first:\n{shown[0].reply}\n\nresponse shown second:\n{shown[1].reply}"
            met, choices = [one.met for one in shown], self.settings.choices
            put_points(rows, position, dimension, joint.criteria, met, choices, status, reply=kept, **took)
            took = {}

    def _checks(self, task: Task, reply: Reply) -> Checked:
        text = reply.kept if reply.is_refused else reply.text
        n = len(_joint(task).criteria)
        made = read_checks(text, n, refused=reply.is_refused, is_cut_off=reply.is_cut_off)
        return replace(made, reply=reply.kept)


def _joint(task: Task) -> JointReplies:
    if task.joint is None:
        raise RunError(f"case {task.case_id}: is asked about without its rubric; report this.")
    return task.joint


def task_maker(prompt: Prompt, settings: Settings, *, sees: bool, marks: re.Pattern[str] | None = None) -> TaskMaker:
    """Return the maker of tasks for a prompt; see `PromptWriter` for the parameters."""
    kind = ChecklistMaker if prompt.checks else RankingMaker if prompt.asks in RANKINGS else TaskMaker
    return kind(prompt, settings, sees, marks)


def group_rows(shown: pd.DataFrame, keys: Sequence[str]) -> list[tuple[list[int], list[Record]]]:
    """Return the rows that share the keys, by their positions in `shown` and as mappings, in order of appearance."""
    records: list[Record] = [{str(key): value for key, value in row.items()} for row in shown.to_dict("records")]
    positions_of: dict[tuple[object, ...], list[int]] = {}
    for position, record in enumerate(records):
        positions_of.setdefault(tuple(record[key] for key in keys), []).append(position)
    return [(positions, [records[i] for i in positions]) for positions in positions_of.values()]


def responses_of(row: Record, *, rated: bool = False) -> list[str]:
    """Return the responses in the order shown; the one that is rated."""
    return [str(row[FIRST])] if rated else [str(row[FIRST]), str(row[SECOND])]


def image_names(row: Record) -> list[str]:
    """Return the names of a case's images, empty where it has none."""
    names = row.get("images")
    return [str(name) for name in names] if isinstance(names, Iterable) and not isinstance(names, str) else []


def stored_image(images: Mapping[str, bytes], name: str) -> bytes:
    """Return the bytes of an image; `InputError` where the benchmark has no such file."""
    try:
        return images[name]
    except (KeyError, OSError) as error:
        raise InputError(f"image {name}: is not among the benchmark's images; restore the file.") from error


def open_pictures(images: Mapping[str, bytes], names: Iterable[str], max_pixels: int) -> list[Image.Image]:
    """Return images as judges see them: RGB, upright, and with `max_pixels` at most.

    Raises
    ------
    InputError
        One is missing or cannot be read.
    """
    return [within(open_image(stored_image(images, name), name).convert("RGB"), max_pixels) for name in names]


def object_schema(properties: Mapping[str, object]) -> Mapping[str, object]:
    """Return the JSON schema of an object that has these properties, in this order, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
