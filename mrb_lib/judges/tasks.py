"""Tasks: the prompts about a batch of rows, and the replies to them read into verdicts.

Every judge that has a prompt makes its tasks here, whatever is asked for the reply: a model on this machine, a server,
or an engine of a plugin; see `task_maker`.

**Rankings.** Each item and repeat has two prompts: the responses in an order that is drawn from the seed and rotated by
one place with each repeat, and the same order backwards. Every pair so stands once in each order, and a row is answered
by the prompt in which the response that it shows first stands before the other.

**Rubrics.** Each response is checked alone against the criteria; the response with more points wins.
"""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Final, cast

import pandas as pd
from PIL import Image

from mrb_lib.benchmarks.images.pictures import open_image, within
from mrb_lib.judges.context import context_of
from mrb_lib.judges.prompts import DEFINITIONS, RANKED, RANKINGS, Prompt, Rendered, phrasing_of
from mrb_lib.judges.settings import BLIND, Settings
from mrb_lib.replies.answers import read_answer
from mrb_lib.replies.criteria import MET, NOT_MET, parse_criteria
from mrb_lib.replies.labels import LETTERS, Labels, labels_of
from mrb_lib.replies.multi import parse_ratings
from mrb_lib.replies.rankings import RankingReading, parse_rankings
from mrb_lib.replies.reading import Reading, parse
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.rubrics import Criterion, counted, points, read_rubric
from mrb_lib.tables.schema import ANSWERED_STATUSES, Status
from mrb_lib.verdicts.orders import EVIDENCE, FIRST, ITEM_RESPONSES, PICKS, SECOND, TIE, WEAK, pick_of
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

MAX_PIXELS: Final = 1280 * 28 * 28
"""About what the published vision-language judges were trained on: 1,280 patches of 28 x 28 pixels."""

LINEUP: Final = "lineup"
PROMPT_KEY: Final = "prompt_key"
SAME_TEXT: Final = "its two responses are the same text, which a ranking cannot tell apart"

Record = Mapping[str, object]
"""One row that a judge is shown, by column."""
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
        """Return the prompt about a row.

        Parameters
        ----------
        dimension : the one asked about, where one is
        dimensions : all that are judged; None for the benchmark's
        criterion : see `Prompt.render`

        Raises
        ------
        InputError
            The case lacks what the prompt is to show.
        """
        settings, reference, before = self.settings, row.get("reference"), row.get("before")
        if self.prompt.needs_reference and not isinstance(reference, str):
            raise InputError(f"the case has no reference answer, which the prompt {self.prompt.id} shows")
        return self.prompt.render(
            str(row["question"]),
            responses,
            settings.dimensions if dimensions is None else dimensions,
            dimension,
            reference=reference if isinstance(reference, str) else None,
            before=before if isinstance(before, str) else None,
            label_sets=settings.labels,
            n_images=0 if settings.without_images else len(image_names(row)),
            choices=settings.choices,
            definitions=DEFINITIONS | settings.definitions,
            ordered=settings.is_ordered,
            marks=self.marks,
            criteria=[one.text for one in rubric_of(row)] if self.prompt.checks else (),
            criterion=criterion,
            context=context_of(row, settings.reference, evidence=settings.evidence, examples=settings.examples),
            **phrasing_of(row),
        )


@dataclass(frozen=True)
class TaskMaker(PromptWriter):
    """Makes tasks about preferences, ratings and answers: for each case and order, or for each dimension of these."""

    def tasks(self, shown: pd.DataFrame) -> Iterator[Task]:
        """Yield the tasks about a batch; see `mrb_lib.verdicts.protocol.Judge.judge` for the rows."""
        for positions, records in group_rows(shown, itemgetter(*self._shared)):
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

    @property
    def _shared(self) -> tuple[str, ...]:
        """Return the columns that the rows of one group have in common."""
        return ("case_id", "order", "repeat", "probe")

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
        seed = self._seed(*(str(record[name]) for name in self._shared), response or dimension)
        task = Task(rows, (dimension,) if dimension else dimensions, seed=seed)
        try:
            images = self.images(record)
            responses = self._responses(record) if response is None else [response]
            text = self.write(record, responses, dimension, dimensions=dimensions).text
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
            question=str(task.record["question"]),
            is_cut_off=reply.is_cut_off,
        )

    def _value_schema(self, task: Task, offered: Sequence[str]) -> Mapping[str, object]:
        return {"type": "string", "enum": list(offered)}

    def _seed(self, *key: str) -> int:
        """Return a seed of 31 bits, which every server takes."""
        text = "\0".join((str(self.settings.seed), *key)).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1


def with_lineups(shown: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the rows with the prompt that answers each.

    Parameters
    ----------
    shown : see `mrb_lib.verdicts.protocol.Judge.judge`; `item_responses` has all responses to the item of a row, in any
        order and more than once or not. Without it, or with fewer, the two of the row are all

    Returns
    -------
    DataFrame
        The same with `lineup`, a list of the different responses in the order in which the prompt shows them, and
        `prompt_key`, which the rows that one prompt answers share.
    """
    lineups, keys = [], []
    for row in records_of(shown):
        named = row.get(ITEM_RESPONSES)
        others = named if isinstance(named, Iterable) and not isinstance(named, str) else []
        texts = {str(text) for text in (*others, row[FIRST], row[SECOND])}
        # What the prompts of an item show besides the responses.
        beside = (row["question"], *(row.get(name) for name in ("reference", WEAK, EVIDENCE)), *image_names(row))
        about = list(map(str, beside))
        drawn = sorted(texts, key=lambda text: _digest(str(seed), *about, text))
        turn = int(str(row["repeat"])) % len(drawn)
        order = drawn[turn:] + drawn[:turn]
        if order.index(str(row[FIRST])) > order.index(str(row[SECOND])):
            order.reverse()
        lineups.append(order)
        keys.append(_digest(str(seed), *about, str(row["repeat"]), str(row["probe"]), *order))
    out = shown.copy()
    out[LINEUP], out[PROMPT_KEY] = pd.Series(lineups, index=shown.index, dtype=object), keys
    return out


def _digest(*texts: str) -> str:
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()


def _lineup(row: Record) -> list[str]:
    """Return the responses that the prompt of a row shows, in order.

    Raises
    ------
    InputError
        They are too few or too many to be ranked.
    """
    responses = cast("list[str]", row[LINEUP])
    if len(responses) < 2:
        raise InputError(SAME_TEXT)
    if len(responses) > len(RANKED):
        raise InputError(
            f"its item has {len(responses)} different responses, and one prompt ranks {len(RANKED)} at most; "
            "judge pairs, without +batch"
        )
    return responses


@dataclass(frozen=True)
class RankingMaker(TaskMaker):
    """Makes tasks about all responses to an item, whose rankings are read as verdicts of pairs.

    See `with_lineups` for the order in which the responses are shown.
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
        if reply.problem is not None:
            super().put(rows, task, reply)
            return
        reading, took = self._ranking(task, reply), reply.took
        for position, row in task.rows:
            dimension, lineup = str(row["dimension"]), _lineup(row)
            first, second = (lineup.index(text) for text in responses_of(row))
            places = None if reply.is_refused else reading.places[dimension]
            status: Status = "refused" if reply.is_refused else reading.status_of(dimension)
            pick = None if places is None else pick_of(places[second], places[first])
            error = None
            if first == second:
                pick, status, error = None, "error", SAME_TEXT
            elif pick == TIE and TIE not in self.settings.choices:
                pick, status = None, "unparsed"
            rows.put(position, status, pick, error=error, reply=reply.kept, **took)
            took = {}

    @property
    def _shared(self) -> tuple[str, ...]:
        return (PROMPT_KEY, "dimension") if self.prompt.asks == "ranking" else (PROMPT_KEY,)

    def _of_group(self, rows: Rows) -> Iterator[Task]:
        yield self._task(rows, dimension=str(rows[0][1]["dimension"]) if self.prompt.asks == "ranking" else "")

    def _responses(self, row: Record) -> list[str]:
        return _lineup(row)

    def _ranking(self, task: Task, reply: Reply) -> RankingReading:
        return parse_rankings(reply.text, task.asked, len(_lineup(task.record)), is_cut_off=reply.is_cut_off)

    def _value_schema(self, task: Task, offered: Sequence[str]) -> Mapping[str, object]:
        """Return that of a list of letters, with lists of equal ones in it where a tie may be."""
        letter = {"type": "string", "enum": list(RANKED[: len(_lineup(task.record))])}
        items = {"anyOf": [letter, {"type": "array", "items": letter}]} if TIE in offered else letter
        return {"type": "array", "items": items}


def put_points(
    rows: VerdictRows,
    position: int,
    dimension: str,
    criteria: Sequence[Criterion],
    shown: Sequence[Sequence[float | None]],
    choices: Sequence[str],
    status: Status = "ok",
    **values: object,
) -> None:
    """State the verdict of a row: the response with more points, a tie where they are equal.

    A row in which a criterion that counts is not decided is `unparsed` (`refused` where `status` is), and so is one of
    equal points where the benchmark has no tie. Points are compared as they are, without tolerance.

    Parameters
    ----------
    shown : what was decided of the response shown first, and of the second: of each criterion 1 where it is met, 0
        where not, or the probability that it is; None where nothing was decided
    choices : those of A, B and tie that the benchmark has
    status : of the replies
    """
    places = counted(criteria, dimension)
    weights = [criteria[place].weight for place in places]
    if not any(weight > 0 for weight in weights):
        why = f"no criterion of the rubric has a positive weight and counts for {dimension}"
        rows.put(position, "error", None, error=why, **values)
        return
    first, second = ([float(f"{each:.9g}") if each is not None else None for each in met] for met in shown)
    values |= {"criteria_first": _json(first), "criteria_second": _json(second)}
    decided = [[each for place in places if (each := met[place]) is not None] for met in shown]
    open_ = [str(place + 1) for place in places if None in (first[place], second[place])]
    if open_:
        what = f"criterion {open_[0]} has" if len(open_) == 1 else f"criteria {', '.join(open_)} have"
        undecided: Status = "refused" if status == "refused" else "unparsed"
        rows.put(position, undecided, None, error=f"{what} no decision", **values)
        return
    one, two = (points(weights, met) for met in decided)
    pick = pick_of(one, two)
    values |= {"score_first": one, "score_second": two}
    if pick == TIE and TIE not in choices:
        rows.put(position, "unparsed", None, error="the points are equal, and the benchmark has no tie", **values)
    else:
        rows.put(position, status, pick, **values)


def _json(met: Sequence[float | None]) -> str:
    return json.dumps([int(each) if each in (0, 1) else each for each in met])


@dataclass(frozen=True)
class ChecklistMaker(TaskMaker):
    """Makes one task for each response of a case, which is checked against the criteria of the case's rubric.

    Both orders share the replies. The verdicts come with the last reply, at the cost of all; without one of the replies
    a case has no verdict.
    """

    def is_whole(self, task: Task, reply: Reply) -> bool:
        """See `TaskMaker.is_whole`."""
        return not reply.is_refused and None not in _met(reply, rubric_of(task.record))[0]

    def put(self, rows: VerdictRows, task: Task, reply: Reply, columns: Columns | None = None) -> None:
        """Keep what came of a task, and state the verdicts once all tasks of the case are done."""
        task.joint[task.place] = reply
        replies = [one for one in task.joint if one is not None]
        if len(replies) < len(task.joint):
            return
        took, pair = _cost(replies), [replies[0], replies[-1]]
        for one in pair:
            if one.problem is not None:
                super().put(rows, task, replace(one, took=took))
                return
        criteria, order, choices = rubric_of(task.record), task.record["order"], self.settings.choices
        read = [(one.kept, *_met(one, criteria)) for one in pair]
        statuses = {status for _, _, status in read}
        # What is decided was read; what is not makes a row unparsed.
        status: Status = "refused" if "refused" in statuses else "ok" if statuses == {"ok"} else "repaired"
        for position, row in task.rows:
            (first, met_first, _), (second, met_second, _) = read if row["order"] == order else read[::-1]
            kept = f"response shown first:\n{first}\n\nresponse shown second:\n{second}"
            met, dimension = (met_first, met_second), str(row["dimension"])
            put_points(rows, position, dimension, criteria, met, choices, status, reply=kept, **took)
            took = {}

    def schema(self, task: Task) -> Mapping[str, object]:
        """Return the JSON schema of a decision per criterion, by its number."""
        decision = {"type": "string", "enum": [MET, NOT_MET]}
        return object_schema({str(place): decision for place in range(1, len(rubric_of(task.record)) + 1)})

    @property
    def _shared(self) -> tuple[str, ...]:
        return ("case_id", "repeat", "probe")

    def _of_group(self, rows: Rows) -> Iterator[Task]:
        responses = list(dict.fromkeys(responses_of(rows[0][1])))
        joint: list[Reply | None] = [None] * len(responses)
        for place, response in enumerate(responses):
            yield replace(self._task(rows, response=response), joint=joint, place=place)


def _met(reply: Reply, criteria: Sequence[Criterion]) -> tuple[list[float | None], Status]:
    """Return what a reply decides: 1 where a criterion is met, 0 where not, None where that is not decided."""
    if reply.is_refused:
        return [None] * len(criteria), "refused"
    reading = parse_criteria(reply.text, len(criteria), is_cut_off=reply.is_cut_off)
    said = [reading.choices[str(number)] for number in range(1, len(criteria) + 1)]
    return [None if each is None else float(each == MET) for each in said], reading.status


def _cost(replies: Sequence[Reply]) -> dict[str, object]:
    """Return the cost of replies together; unknown where it is unknown of one."""
    took: dict[str, object] = {}
    for name in dict.fromkeys(name for reply in replies for name in reply.took):
        values = cast("list[float | None]", [reply.took[name] for reply in replies if name in reply.took])
        known = [value for value in values if value is not None]
        took[name] = sum(known) if len(known) == len(values) else None
    return took


def task_maker(prompt: Prompt, settings: Settings, *, sees: bool, marks: re.Pattern[str] | None = None) -> TaskMaker:
    """Return the maker of tasks for a prompt; see `PromptWriter` for the parameters."""
    kind = ChecklistMaker if prompt.checks else RankingMaker if prompt.asks in RANKINGS else TaskMaker
    return kind(prompt, settings, sees, marks)


def records_of(shown: pd.DataFrame) -> list[Record]:
    """Return the rows as mappings."""
    return [{str(name): value for name, value in row.items()} for row in shown.to_dict("records")]


def group_rows(shown: pd.DataFrame, shared: Callable[[Record], object]) -> list[tuple[list[int], list[Record]]]:
    """Return the rows that have the same in common, by position in `shown` and as mappings, in order of appearance."""
    records = records_of(shown)
    positions_of: dict[object, list[int]] = {}
    for position, record in enumerate(records):
        positions_of.setdefault(shared(record), []).append(position)
    return [(positions, [records[i] for i in positions]) for positions in positions_of.values()]


def responses_of(row: Record, *, rated: bool = False) -> list[str]:
    """Return the responses in the order shown; the one that is rated."""
    return [str(row[FIRST])] if rated else [str(row[FIRST]), str(row[SECOND])]


def rubric_of(row: Mapping[str, object]) -> tuple[Criterion, ...]:
    """Return the criteria of a case; `InputError` where it has none."""
    stated = row.get("rubric")
    if not isinstance(stated, str):
        raise InputError("the judge decides the criteria of a rubric, and the case has none (column rubric)")
    return read_rubric(stated)


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
