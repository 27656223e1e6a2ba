"""Prompts: Jinja templates with ids and hashes, in which no response can speak for the prompt.

A template has three blocks, in this order: `case` (the task and the question),
`responses`, and `ask` (what to reply). What lies in a block is the same for every
row that shares it, so a judge that can reuse work reads `case` once.
"""

import hashlib
import json
import re
import string
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Final, Literal, cast, get_args

from jinja2 import StrictUndefined, Template, TemplateError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from mrb_lib.judges import context
from mrb_lib.judges.context import Record, image_names, rubric_of, text_in
from mrb_lib.judges.fences import GENERIC, defuse, fence_key, fence_of, section
from mrb_lib.judges.settings import Settings
from mrb_lib.replies.categories import marks_of
from mrb_lib.replies.labels import BESIDE_OPTIONS, LETTERS, Labels, labels_of, lists_options, names_letters, relabelled
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, split_labels
from mrb_lib.verdicts.orders import TIE

Asks = Literal["all", "one", "answer", "categories", "category", "rankings", "ranking", "criteria", "criterion"]

BLOCKS: Final = ("case", "responses", "ask")
RANKINGS: Final[tuple[Asks, ...]] = ("rankings", "ranking")
"""Kinds of a prompt that shows all responses to an item: rankings in all dimensions, or a ranking in one."""
RANKED: Final = tuple(string.ascii_uppercase)
"""Names of the responses in such a prompt, in the order shown; it shows no more than these."""
DEFINITIONS: Final[dict[str, str]] = {
    "accuracy": "what it states is true of the image and medically correct",
    "relevance": "it stays with what was asked and with what the image shows",
    "comprehensiveness": "it covers every finding and aspect that the question calls for",
    "creativity": "it offers insight or explanation beyond the obvious, without inventing",
    "responsiveness": "it does what the question asks, directly and in usable form",
    "overall": "all things considered, the one a clinician would rather be given",
}
_FAILURES: Final = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError)
"""Errors of a template that is filled in."""
_MEASURE: Final = ", measured by the reference answer"
_NAMELESS: Final[Labels] = ("", "")
FOLDER: Final = Path(__file__).with_name("templates")

# Templates may come from anyone. A prompt is plain text for a model: nothing is markup that escaping would protect.
_SANDBOX: Final = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
)
_compiled: Final = lru_cache(maxsize=64)(_SANDBOX.from_string)

PromptKind = Literal["", "answering", "ratings", "ranking", "criteria"]
"""Kinds of prompts: for preferences, answers, the category of one response, an order of all, or a rubric's criteria."""
UsualPrompt = tuple[str, tuple[Asks, ...]]
"""The id of the usual prompt of an engine, and the kinds of prompts whose replies it reads."""
RATES: Final[UsualPrompt] = ("rate", ("categories", "category"))
"""The usual prompt of engines that read a written rating, and the kinds that they read."""
_HEADER = re.compile(r"\A\{#-?\s*asks:\s*(\w+)(?:\s+or\s+(\w+))?(\s+and\s+reason)?(?:,\s*(\d+)\s+tokens)?\s*-?#\}\n?")
_EITHER = re.compile(r"\{# asks: \w+ or ")

_ASKS: Final[Mapping[Asks, tuple[str, str]]] = {
    "all": ("all dimensions in one reply", "generative"),
    "one": ("one letter a dimension", "generative"),
    "answer": ("an answer to the question", "generative"),
    "rankings": ("rankings of all responses to an item", "batch"),
    "ranking": ("a ranking of all responses to an item in one dimension", "batch"),
    "categories": ("a category of one response for each dimension", "generative"),
    "category": ("the mark of one category", "generative"),
    "criteria": ("all criteria of a rubric in one reply", "rubric"),
    "criterion": ("one letter a criterion of a rubric", "rubric"),
}
"""The request of each kind of prompt in words, and an engine that reads its replies."""


@dataclass(frozen=True)
class Rendered:
    """A prompt's text in its three parts; `text` is the whole."""

    case: str
    responses: str
    ask: str

    @property
    def text(self) -> str:
        """The parts in sequence."""
        return self.case + self.responses + self.ask


@dataclass(frozen=True)
class Prompt:
    """A prompt's template.

    Attributes
    ----------
    id : as in the verdicts
    text : the template's source
    asks : "all" dimensions in one reply, "one" dimension in one letter, or an "answer" to the question, which is not
        judged but kept; of one response, for the category of all dimensions ("categories") or of one ("category"), or
        whether it meets each criterion of the case's rubric ("criteria"), or one of them ("criterion"); of any number
        of responses, for "rankings" in all dimensions in one reply, or a "ranking" in one
    gives_reason : whether the reply's object is to end with a key `reason`, a text
    reply_tokens : after which a reply is cut off unless the user says otherwise; None leaves that to the engine
    """

    id: str
    text: str
    asks: Asks
    gives_reason: bool = False
    reply_tokens: int | None = None

    def __post_init__(self) -> None:
        names = list(self._template.blocks)
        parts = [part for part in _SANDBOX.parse(self.text).body if not isinstance(part, nodes.Block)]
        outside = [one for part in parts for one in part.iter_child_nodes()]
        if names != [*BLOCKS] or not all(isinstance(one, nodes.TemplateData) and one.data.isspace() for one in outside):
            raise InputError(
                f"prompt {self.id}: lacks a block, has text outside its blocks, or blocks out of order; put everything "
                f"into the blocks {', '.join(BLOCKS)}, in this order, as {{% block ask %}}...{{% endblock %}}."
            )
        self.hash  # noqa: B018  # renders an example, so that a template that cannot be rendered is refused now

    @cached_property
    def _template(self) -> Template:
        try:
            return _compiled(self.text)
        except TemplateError as error:
            raise InputError(f"prompt {self.id}: is not a Jinja template ({error}); correct it.") from error

    @cached_property
    def needs_reference(self) -> bool:
        """Return whether a case without a reference answer cannot be shown."""
        return "reference" in meta.find_undeclared_variables(_SANDBOX.parse(self.text))

    @cached_property
    def names_choices(self) -> bool:
        """Return whether the text depends on the choices that the benchmark has."""
        return self._example() != self._example(choices=CHOICES[:2])

    @cached_property
    def takes_labels(self) -> bool:
        """Return whether two responses can be called otherwise than A and B: only fence() calls them so."""
        if not self.compares:
            return True
        blank = self.render({"question": "", "reference": ""}, ["", ""], Settings(dimensions=()), labels=_NAMELESS)
        return not names_letters(blank.case + blank.responses)

    @property
    def hash(self) -> str:
        """Return the SHA-256 of the source and of what it renders to for a fixed case.

        A change of the definitions or the fences changes it too.
        """
        other = [self._example(labels=BESIDE_OPTIONS)] if self.compares and self.takes_labels else []
        return hashlib.sha256(
            "\0".join((self.text, self._example(), *other)).encode("utf-8", "surrogatepass")
        ).hexdigest()

    def _example(self, *, choices: Sequence[str] = CHOICES, labels: Labels = LETTERS) -> str:
        n_shown = 1 if self.rates or self.checks else 3 if self.asks in RANKINGS else 2
        sample, dimensions = ["first", "second", "third"][:n_shown], tuple(DEFINITIONS)
        one = "" if self.asks in ("all", "rankings") else "overall"
        row = {"question": "question", "reference": "reference", "before": "before", "images": ["image"]}
        row["rubric"] = '[{"criterion": "criterion", "weight": 1}, {"criterion": "another", "weight": 1}]'
        settings = Settings(dimensions=dimensions, choices=tuple(choices))
        return self.render(row, sample, settings, one, labels=labels).text

    @property
    def rates(self) -> bool:
        """Return whether it asks for the category of one response."""
        return self.asks in ("categories", "category")

    @property
    def checks(self) -> bool:
        """Return whether it asks which criteria one response meets."""
        return self.asks in ("criteria", "criterion")

    @property
    def is_of_one(self) -> bool:
        """Return whether it asks about one dimension, for a mark of one token."""
        return self.asks in ("one", "category")

    @property
    def asks_json(self) -> bool:
        """Return whether it asks for "one JSON object and nothing else", so that a schema may enforce it."""
        kinds = ("all", "rankings", "categories", "criteria")
        return self.asks in kinds and "one JSON object and nothing else" in " ".join(self.text.split())

    def reply_limit(self, *, thinks: bool, labels: Collection[str] = ()) -> int:
        """Return the tokens that a reply may have unless the user says: enough for what is asked, and for thought.

        Parameters
        ----------
        labels : dimensions in which several labels may apply
        """
        if thinks:
            return 4096
        if self.reply_tokens:
            return self.reply_tokens
        if self.is_of_one:
            return 512 if labels else 16
        if self.asks == "answer":
            return 1024
        if self.gives_reason or not self.asks_json:
            return 2048
        return 512 if self.asks in ("all", "categories") else 1024

    @property
    def compares(self) -> bool:
        """Return whether it asks for the better of two responses."""
        return self.asks in ("all", "one")

    def labels_for(self, question: str, stated: Labels = LETTERS) -> Labels:
        """Return the labels of the two responses: `stated`, but for A and B beside options of these letters others."""
        collides = stated == LETTERS and self.compares and lists_options(question) and self.takes_labels
        return BESIDE_OPTIONS if collides else stated

    def check_shows(self, names: Sequence[str]) -> None:
        """Raise `InputError` where it cannot show what is to be shown beside the cases.

        Parameters
        ----------
        names : see `mrb_lib.judges.settings.Settings.shows`
        """
        if "reference" in names and self.needs_reference:
            raise InputError(
                f"prompt {self.id}: shows the reference answer itself; leave out --reference, or use another prompt."
            )
        if "examples" in names and (self.asks in RANKINGS or self.checks):
            raise InputError(
                f"prompt {self.id}: does not ask for what annotators decided of two responses, so that this is no "
                "example of it; leave out --examples, or use another engine."
            )

    def render(
        self,
        row: Record,
        responses: Sequence[str],
        settings: Settings,
        dimension: str = "",
        *,
        dimensions: Sequence[str] | None = None,
        criterion: int = 0,
        labels: Labels | None = None,
        marks: re.Pattern[str] | None = None,
    ) -> Rendered:
        """Return the text for one case.

        Parameters
        ----------
        row : the case as judges are shown it: `question`, and where they are there `reference`, `before` (the earlier
            steps of the item, of which the response is the next), `images`, `rubric`, worked examples, and what a
            probe adds: `probe_labels`, `probe_wording` (which of the other wordings stands in place of the block
            `ask`), `probe_instruction` (before what is asked, outside all fences) and `probe_note` (what somebody says
            of the two responses, in a fence after them)
        responses : the response shown first, which the prompt calls A, and the second,
            called B; one alone for a category; for a ranking up to 26, called A, B, C and so on
        settings : dimensions, choices, labels, definitions and what is shown beside the case
        dimension : the one asked about, where one is
        dimensions : all that are judged, for the definitions; None for those of the settings
        criterion : the place of the one asked about, where one is
        labels : what the two responses are called in place of A and B; None for the row's. Beside options of these
            letters the prompt calls them otherwise by itself, see `labels_for`
        marks : what is not to be taken for a mark of the model's own; see `marks_pattern`

        Raises
        ------
        InputError
            The case lacks what is to be shown; the template uses something it is not given, or fails; or it calls the
            responses A and B where no other labels can be put in.
        """
        question, note, before = (text_in(row, name) for name in ("question", "probe_note", "before"))
        examples = context.examples_in(row, settings.examples)
        criteria = [one.text for one in rubric_of(row)] if self.checks else []
        choices, label_sets, definitions = settings.choices, settings.labels, DEFINITIONS | settings.definitions
        dimensions = settings.dimensions if dimensions is None else dimensions
        labels = self.labels_for(question, labels_of(row) if labels is None else labels)
        n_images = 0 if settings.without_images else len(image_names(row))
        # What is not shown must not shape the key either.
        shows_reference = self.needs_reference or settings.reference == "strong"
        if shows_reference and not isinstance(row.get("reference"), str):
            raise InputError("the reference answer is to be shown, and the case has none in its column reference")
        reference = text_in(row, "reference") if shows_reference else None
        texts = [question, *responses, *([reference] if reference is not None else [])]
        # Where each response is checked alone, all that stands before it is the same for both, the key too if it can.
        if self.checks:
            key = fence_key([question, *criteria], "\0".join(texts), *context.texts_of(examples))
        else:
            key = fence_key(texts, note + before, *context.texts_of(examples))
        written, fence = partial(defuse, marks=marks or GENERIC), fence_of(key, labels)
        defused = [written(text) for text in texts]

        def described(name: str) -> dict[str, str]:
            return {"name": written(name), "meaning": written(definitions.get(name, ""))}

        marked = zip(marks_of(choices), choices, strict=True) if self.rates else ()
        lettered = list(zip(RANKED, defused[1 : len(responses) + 1], strict=False))
        named_texts = [(f"response {letter}" if len(lettered) > 1 else "response", text) for letter, text in lettered]
        options = [{"mark": mark, **described(name)} for mark, name in marked]
        defined = {written(name): written(definitions[name]) for name in dimensions if name in definitions}
        named, offered = [written(name) for name in dimensions], [option["name"] for option in options] or choices
        variables: dict[str, object] = {
            "question": defused[0],
            "first": defused[1],
            "second": defused[2] if len(responses) == 2 else None,
            "responses": lettered,
            "fenced": "".join(f"{fence(name, text)}\n\n" for name, text in named_texts),
            "dimensions": named,
            "keys": [*named, *(["reason"] if self.gives_reason else [])],
            "definitions": defined,
            "qualities": "\n".join(f"- {name}: {defined[name]}" if name in defined else f"- {name}" for name in named),
            "options": options,
            "marks": [option["mark"] for option in options],
            "ordered": settings.is_ordered,
            "labels": [
                {"dimension": written(own), **described(name)} for own, names in label_sets.items() for name in names
            ],
            "labelled": [written(name) for name in label_sets],
            "dimension": written(dimension),
            "reference": defused[-1] if reference is not None else None,
            "before": written(before) if before else None,
            "n_images": n_images,
            "about": " about a medical image" if n_images == 1 else " about medical images" if n_images else "",
            "asks": self.asks,
            "choices": list(offered),
            "offer": offer(offered),
            "key": key,
            "fence": fence,
            "section": section,
            "criteria": [{"mark": str(i), "text": written(text)} for i, text in enumerate(criteria, start=1)],
            "criterion": written(criteria[criterion]) if criteria else "",
        }
        try:
            made = self._template.new_context(variables)
            blocks = ["".join(self._template.blocks[name](made)) for name in BLOCKS]
        except _FAILURES as error:
            reason = str(error) or type(error).__name__
            raise InputError(f"prompt {self.id}: cannot be rendered ({reason}); correct the template.") from error
        if isinstance(wording := row.get("probe_wording"), int) and wording:
            others = _wordings().get("reason" if self.gives_reason else self.asks, ())
            if not 1 <= wording <= len(others):
                raise InputError(f"prompt {self.id}: has no wording {wording} of what it asks.")
            measure = _MEASURE if self.needs_reference else ""
            blocks[-1] = _compiled(others[wording - 1]).render({**variables, "measure": measure})
        if self.checks and (note or labels != LETTERS):
            raise InputError(
                f"prompt {self.id}: shows each response alone, so that nothing can be said of two, or of what they are "
                "called."
            )
        if labels != LETTERS and self.compares:
            if any(labels) and not self.takes_labels:
                raise InputError(
                    f"prompt {self.id}: calls the responses A and B outside fence(), so no other labels can be put in."
                )
            blocks[-1] = relabelled(blocks[-1], labels)
        if instruction := text_in(row, "probe_instruction"):
            blocks[-1] = f"{instruction}\n{blocks[-1]}"
        if note and self.compares:
            blocks[-1] = f"{fence('note', written(note))}\n\n{blocks[-1]}"

        # A reply of one letter has no word for a tie.
        called = [option["mark" if self.is_of_one else "name"] for option in options]
        letters = dict(zip(LETTERS, labels, strict=True)) | ({} if self.is_of_one else {TIE: TIE})
        names = dict(zip(choices, called, strict=True)) if self.rates else letters

        def enclosed(name: str, text: str) -> str:
            return fence(name, written(text))

        def verdict(decided: Mapping[str, str]) -> str:
            stated = {
                written(name): [written(one) for one in split_labels(decided[name])]
                if name in label_sets
                else names.get(decided[name])
                for name in dimensions
                if name in decided
            }
            if not self.is_of_one:
                return json.dumps(stated, ensure_ascii=False)
            marks = {name: mark if isinstance(mark, str) else json.dumps(mark, ensure_ascii=False)
                     for name, mark in stated.items() if mark is not None}  # fmt: skip
            return "; ".join(f"{name}: {mark}" for name, mark in marks.items())

        blocks[0] = context.examples_text(examples, enclosed, key, verdict) + blocks[0]
        if reference is not None and not self.needs_reference:
            blocks[0] += context.reference_text(reference, enclosed)
        return Rendered(*blocks)


def builtin_ids(kind: PromptKind = "") -> tuple[str, ...]:
    """The ids of the prompts of a kind that come with the library; without one, of those that ask for preferences."""
    return tuple(name for name, (own, _) in builtin_prompts().items() if own == kind)


@cache
def builtin_prompts() -> Mapping[str, tuple[PromptKind, str]]:
    """Kind and template by id; one that asks for either of two things has another id for the second."""
    found = dict[str, tuple[PromptKind, str]]()
    for kind in get_args(PromptKind):
        texts = {path.stem: path.read_text(encoding="utf-8-sig") for path in (FOLDER / kind).glob("*.jinja")}
        texts |= {f"single-{name}": text for name, text in texts.items() if _EITHER.match(text)}
        found |= {name: (kind, text) for name, text in sorted(texts.items())}
    return found


def load_prompt(id_or_file: str) -> Prompt:
    """A prompt by its id, or from a template file, whose name without its ending becomes the id.

    The file's first line is `{# asks: all #}` (or another of `Asks`; `all or one` where the template asks for either,
    and for the second under an id that begins with `single-`; `all and reason` where the reply's object is to end with
    a key `reason`; `, 4096 tokens` where a reply may be that long), then come the blocks `case`, `responses` and `ask`.
    They may use `question, first, second, dimensions, definitions, dimension, reference, before, n_images`,
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
    if id_or_file in builtin_prompts():
        return prompt_from_text(id_or_file, builtin_prompts()[id_or_file][1])
    path = Path(id_or_file)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(
            f"prompt {id_or_file!r}: is none of {', '.join(builtin_prompts())} and cannot be read as a file; "
            "name one of these or a template file."
        ) from error
    return prompt_from_text(path.stem, text)


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
    name = settings.prompt or trained or usual
    if asks in (("one",), ("category",), ("criterion",)) and f"single-{name}" in builtin_prompts():
        name = f"single-{name}"
    prompt = load_prompt(name)
    if prompt.asks not in asks:
        raise InputError(
            f"judge {judge}: prompt {prompt.id} asks for {_ASKS[prompt.asks][0]}, but this engine reads "
            f"{' or '.join(_ASKS[one][0] for one in asks)}; use {usual}, or another engine as in "
            f"NAME+{_ASKS[prompt.asks][1]}."
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


def offer(choices: Sequence[str]) -> str:
    """The values that a reply in JSON may have, in words; a tie, where there is one, is said to need a reason."""
    letters = [f'"{name}"' for name in choices if name != TIE]
    if TIE in choices:
        return f'{", ".join(letters)} or, where neither is better, "{TIE}"'
    return " or ".join(letters)


@cache
def _wordings() -> Mapping[str, Sequence[str]]:
    """By what a prompt asks for."""
    return tomllib.loads(FOLDER.joinpath("wordings.toml").read_text(encoding="utf-8"))
