"""The prompts that come with the library, and those of the user's own files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Literal, cast, get_args

from mrb_lib.judges.prompts import FOLDER, Asks, Prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError

PromptKind = Literal["", "answering", "ratings", "ranking", "criteria"]
"""Kinds of prompts: for preferences, answers, the category of one response, an order of all, or a rubric's criteria."""
UsualPrompt = tuple[str, tuple[Asks, ...]]
"""The id of the usual prompt of an engine, and the kinds of prompts whose replies it reads."""
RATES: Final[UsualPrompt] = ("rate", ("categories", "category"))
"""The usual prompt of engines that read a written rating, and the kinds that they read."""
_HEADER = re.compile(r"\A\{#-?\s*asks:\s*(\w+)(?:\s+or\s+(\w+))?(\s+and\s+reason)?(?:,\s*(\d+)\s+tokens)?\s*-?#\}\n?")
_EITHER = re.compile(r"\{# asks: \w+ or ")

_ASKS: Final[Mapping[Asks, str]] = {
    "all": "all dimensions in one reply",
    "one": "one letter a dimension",
    "rating": "a rating of one response",
    "answer": "an answer to the question",
    "rankings": "rankings of all responses to an item",
    "ranking": "a ranking of all responses to an item in one dimension",
    "categories": "a category of one response for each dimension",
    "category": "the mark of one category",
    "criteria": "all criteria of a rubric in one reply",
    "criterion": "one letter a criterion of a rubric",
}
_ENGINES: Final[Mapping[Asks, str]] = {
    "rankings": "batch",
    "ranking": "batch",
    "criteria": "rubric",
    "criterion": "rubric",
    "rating": "rating",
}


def builtin_ids(kind: PromptKind = "") -> tuple[str, ...]:
    """The ids of the prompts of a kind that come with the library; without one, of those that ask for preferences."""
    return tuple(name for name, (own, _) in _builtin().items() if own == kind)


@cache
def _builtin() -> Mapping[str, tuple[PromptKind, str]]:
    """Kind and template by id; one that asks for either of two things has another id for the second."""
    found = dict[str, tuple[PromptKind, str]]()
    for kind in get_args(PromptKind):
        files = (path for path in FOLDER.joinpath(*kind.split()).iterdir() if path.name.endswith(".jinja"))
        texts = {path.name.removesuffix(".jinja"): path.read_text(encoding="utf-8-sig") for path in files}
        texts |= {f"single-{name}": text for name, text in texts.items() if _EITHER.match(text)}
        found |= {name: (kind, text) for name, text in sorted(texts.items())}
    return found


def load_prompt(id_or_file: str) -> Prompt:
    """A prompt by its id, or from a template file, whose name without its ending becomes the id.

    The file's first line is `{# asks: all #}` (or another of `Asks`; `all or one` where the template asks for either,
    and for the second under an id that begins with `single-`; `all and reason` where the reply's object is to end with
    a key `reason`; `, 4096 tokens` where a reply may be that long), then come the blocks `case`, `responses` and `ask`.
    They may use `question, first, second, dimensions, definitions, dimension, reference, before, n_images, scale`,
    `asks` (what it asks for now), `about` (what follows "a question": how many images it is about), `qualities` (the
    dimensions with their definitions, one a line), `choices` (those of A, B and tie that the benchmark has, or its
    categories), `options` (the categories, each with `mark`, `name` and `meaning`), `marks`, `ordered`, `labels` (each
    with `dimension`, `name` and `meaning`), `labelled` (their dimensions), `criteria` (of the rubric, each with `mark`
    and `text`), `criterion`, `responses` (letters and texts), `fenced` (each of them in a fence), `offer` (the choices
    in words, quoted), `keys` (of the reply's object, in order), and `fence(name, text)`, which encloses a text so that
    it cannot end its enclosure, or `section(name, text)`, which does so by the marks of the published pipeline.

    Raises
    ------
    InputError
        There is no such prompt or file, or it is not such a template.
    """
    if id_or_file in _builtin():
        return prompt_from_text(id_or_file, _builtin()[id_or_file][1])
    path = Path(id_or_file)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(
            f"prompt {id_or_file!r}: is none of {', '.join(_builtin())} and cannot be read as a file; "
            "name one of these or a template file."
        ) from error
    return prompt_from_text(path.stem, text)


def load_prompt_of_one(id_or_file: str) -> Prompt:
    """As `load_prompt`; of this library's prompts that ask for all dimensions at once, the one that asks for one."""
    prompt, single = load_prompt(id_or_file), f"single-{id_or_file}"
    of_all = prompt.asks in ("all", "categories", "criteria")
    return load_prompt(single) if of_all and single in _builtin() else prompt


def fitting_prompt(
    judge: str,
    engine: str,
    settings: Settings,
    compares: UsualPrompt,
    rates: UsualPrompt | None,
    trained: str | None = None,
) -> Prompt:
    """Return the prompt that the user wants, that the model was trained on, or the usual one.

    Parameters
    ----------
    judge : its name
    compares, rates : the usual prompt for preferences, and for ratings, each with the kinds of prompts whose replies
        the engine reads; None where it compares two responses only

    Raises
    ------
    InputError
        The engine cannot judge the benchmark; or the prompt asks for something else, or cannot show what the settings
        want beside a case.
    """
    if settings.is_rating and rates is None:
        raise InputError(
            f"judge {judge}: the engine {engine} compares two responses, and the benchmark has ratings of one; leave "
            f"out +{engine}, or use NAME+packed or NAME+generative."
        )
    usual, asks = rates if settings.is_rating and rates is not None else compares
    load = load_prompt_of_one if asks in (("one",), ("category",), ("criterion",)) else load_prompt
    prompt = load(settings.prompt or trained or usual)
    if prompt.asks not in asks:
        raise InputError(
            f"judge {judge}: prompt {prompt.id} asks for {_ASKS[prompt.asks]}, but this engine reads "
            f"{' or '.join(_ASKS[one] for one in asks)}; use {usual}, or another engine as in "
            f"NAME+{_ENGINES.get(prompt.asks, 'generative')}."
        )
    prompt.check_shows(settings.shows)
    return prompt


@lru_cache(maxsize=64)
def prompt_from_text(name: str, text: str) -> Prompt:
    """A prompt from its template's source, as a run keeps it; each is compiled once.

    Raises
    ------
    InputError
        It is not such a template; see `load_prompt`.
    """
    header = _HEADER.match(text)
    stated = header and header[2 if header[2] and name.startswith("single-") else 1]
    if header is None or stated not in get_args(Asks):
        listed = ", ".join(f"{{# asks: {asks} #}}" for asks in get_args(Asks))
        raise InputError(f"prompt {name}, row 1: must be one of {listed}.")
    asks, gives_reason = cast(Asks, stated), header[3] is not None
    if gives_reason and asks != "all":
        raise InputError(
            f"prompt {name}, row 1: a reason is a key beside all dimensions; write {{# asks: all and reason #}}."
        )
    return Prompt(name, text, asks, gives_reason, int(header[4]) if header[4] else None)
