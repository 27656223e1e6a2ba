"""Tasks: the prompts about a batch of rows, and the replies to them read into verdicts.

Every judge that has a prompt makes its tasks here, whatever is asked for the reply: a model on this machine, a server,
or an engine of a plugin; see `mrb_lib.judges.makers.task_maker`.
"""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

import pandas as pd
from PIL import Image

from mrb_lib.benchmarks.images.pictures import open_image, within
from mrb_lib.judges.context import Record, image_names
from mrb_lib.judges.prompts import Prompt, Rendered
from mrb_lib.judges.settings import BLIND, Settings
from mrb_lib.replies.answers import read_answer
from mrb_lib.replies.labels import LETTERS, Labels, labels_of
from mrb_lib.replies.multi import parse_ratings
from mrb_lib.replies.reading import Reading, parse
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ANSWERED_STATUSES
from mrb_lib.verdicts.orders import FIRST, PICKS, SECOND
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

MAX_PIXELS: Final = 1280 * 28 * 28
"""About what the published vision-language judges were trained on: 1,280 patches of 28 x 28 pixels."""

Rows = tuple[tuple[int, Record], ...]
"""Rows that one prompt answers, each with its position among those shown."""
Columns = Callable[[str, "str | None"], Mapping[str, object]]
"""Further columns of a verdict, by its dimension and choice."""


@dataclass(frozen=True)
class Reply:
    """The outcome of a task: a model's reply, or the reason why there is none.

    Attributes
    ----------
    text : read for the verdicts
    took : columns of its cost (`latency_s`, `prompt_tokens`, `completion_tokens`, `cost_usd`)
    whole : kept in the verdicts where that is more than `text`
    is_refused : the model or its host declined
    is_cut_off : it ended because it was as long as allowed
    problem : the reason why there is no reply; None where there is one
    """

    text: str = ""
    took: Mapping[str, object] = field(default_factory=dict)
    whole: str = ""
    is_refused: bool = False
    is_cut_off: bool = False
    problem: str | None = None

    @property
    def kept(self) -> str:
        """The text that the verdicts keep."""
        return self.whole or self.text


@dataclass(frozen=True)
class Task:
    """One prompt, and the rows that its reply answers.

    Attributes
    ----------
    rows : each with its position among the rows shown
    asked : the dimensions that the prompt asks about: all of the benchmark's, or one
    responses : those that the prompt shows, in order
    text : the prompt; empty where none can be written
    images : names of the images that go with it
    labels : names of the response shown first, and of the second, in the prompt
    seed : of sampling, from 0 to 2^31 - 1
    problem : the reason why no prompt can be written; empty where one is
    joint : of the responses of one case, each checked alone, what came of the task about each so far; shared by these
        tasks, and empty for others
    place : of the response among those of `joint`
    """

    rows: Rows
    asked: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()
    text: str = ""
    images: tuple[str, ...] = ()
    labels: Labels = LETTERS
    seed: int = 0
    problem: str = ""
    joint: list[Reply | None] = field(default_factory=list)
    place: int = 0

    @property
    def record(self) -> Record:
        """The first of the rows."""
        return self.rows[0][1]

    @property
    def case_id(self) -> str:
        """The case that it is about, of several the first."""
        return str(self.record["case_id"])


class AsksPrompts(ABC):
    """The parts of `mrb_lib.verdicts.protocol.Judge` that all judges of models share; no prompt where none is taken."""

    dimensions: tuple[str, ...] | None = None
    sorts_by_length = False
    _own_prompt: Prompt | None

    @abstractmethod
    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """See `Judge.judge`."""
        return self.prepare(shown)()

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
    """

    prompt: Prompt
    settings: Settings
    sees: bool = True
    marks: re.Pattern[str] | None = None

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
        criterion: int = 0,
    ) -> Rendered:
        """Return the prompt about a row; see `Prompt.render` for the parameters and what is raised."""
        return self.prompt.render(
            row, responses, self.settings, dimension, dimensions=dimensions, criterion=criterion, marks=self.marks
        )


@dataclass(frozen=True)
class TaskMaker(PromptWriter):
    """Makes tasks about preferences, ratings and answers: for each case and order, or for each dimension of these."""

    def tasks(self, shown: pd.DataFrame) -> Iterator[Task]:
        """Yield the tasks about a batch; see `mrb_lib.verdicts.protocol.Judge.judge` for the rows."""
        for positions, records in group_rows(shown, self._key):
            yield from self._of_group(tuple(zip(positions, records, strict=True)))

    def is_whole(self, task: Task, reply: Reply) -> bool:
        """Return whether every verdict can be read from a reply; an answer may be cut off."""
        if reply.is_refused:
            return False
        if self.prompt.asks == "answer":
            return read_answer(reply.kept).status in ANSWERED_STATUSES
        reading = self._reading(task, reply)
        return all(reading.status_of(dimension) in ANSWERED_STATUSES for dimension in task.asked)

    def put(self, rows: VerdictRows, task: Task, reply: Reply, columns: Columns = lambda name, choice: {}) -> None:
        """Read what came of a task into its rows; the cost stands in the first of them, so that sums are right."""
        took = reply.took
        if reply.problem is not None:
            for position, _ in task.rows:
                rows.put(position, "refused" if reply.is_refused else "error", None, error=reply.problem, **took)
                took = {}
            return
        if self.prompt.asks == "answer":
            for position, _ in task.rows:
                rows.put_answer(position, reply.kept, is_cut_off=reply.is_cut_off, is_refused=reply.is_refused, **took)
            return
        reading = self._reading(task, reply)
        for position, row in task.rows:
            dimension = str(row["dimension"])
            choice = None if reply.is_refused else reading.choices[dimension]
            pick = choice if self.settings.is_rating or choice is None else PICKS[choice]
            status = "refused" if reply.is_refused else reading.status_of(dimension)
            more = {} if reply.is_refused else columns(dimension, choice)
            rows.put(position, status, pick, reply=reply.kept, **more, **took)
            took = {}

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

    def _key(self, row: Record) -> tuple[str, ...]:
        """Return what the rows of one group have in common."""
        return str(row["case_id"]), str(row["order"]), str(row["repeat"]), str(row["probe"])

    def _of_group(self, rows: Rows) -> Iterator[Task]:
        if self.prompt.is_of_one or self.prompt.asks == "answer":
            for row in rows:
                yield self._task((row,), dimension=str(row[1]["dimension"]))
        else:
            yield self._task(rows)

    def _task(self, rows: Rows, *, dimension: str = "", response: str | None = None) -> Task:
        """Return the task of some rows, with a problem in place of a prompt where none can be written.

        Parameters
        ----------
        response : the one shown; None for those that the rows show
        """
        record = rows[0][1]
        dimensions = tuple(dict.fromkeys((*self.settings.dimensions, *(str(row["dimension"]) for _, row in rows))))
        seed = self._seed(*self._key(record), response or dimension)
        task = Task(rows, (dimension,) if dimension else dimensions, seed=seed)
        try:
            images = self.images(record)
            responses = self._responses(record) if response is None else [response]
            text = self.write(record, responses, dimension, dimensions=dimensions).text
        except InputError as error:
            return replace(task, problem=str(error))
        return replace(task, responses=tuple(responses), text=text, images=images, labels=self.labels(record))

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
            question=str(task.record["question"]),
            is_cut_off=reply.is_cut_off,
        )

    def _value_schema(self, task: Task, offered: Sequence[str]) -> Mapping[str, object]:
        return {"type": "string", "enum": list(offered)}

    def _seed(self, *key: str) -> int:
        """Return a seed of 31 bits, which every server takes."""
        text = "\0".join((str(self.settings.seed), *key)).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1


def group_rows(shown: pd.DataFrame, shared: Callable[[Record], object]) -> list[tuple[list[int], list[Record]]]:
    """Return the rows that have the same in common, by position in `shown` and as mappings, in order of appearance."""
    groups: dict[object, tuple[list[int], list[Record]]] = {}
    for position, record in enumerate(cast("list[Record]", shown.to_dict("records"))):
        positions, records = groups.setdefault(shared(record), ([], []))
        positions.append(position)
        records.append(record)
    return list(groups.values())


def responses_of(row: Record, *, rated: bool = False) -> list[str]:
    """Return the responses in the order shown; the one that is rated."""
    return [str(row[FIRST])] if rated else [str(row[FIRST]), str(row[SECOND])]


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
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
