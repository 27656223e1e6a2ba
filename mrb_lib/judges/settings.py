"""What the user may set about how judges work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

from mrb_lib.judges.context import LEVELS, MOST_EXAMPLES, RULES, Context, ExamplesBy, ReferenceLevel, context_of
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, DIMENSIONS, Task

BLIND: Final = (
    "the case has images, and the judge reads text only; --without-images judges it by its text, and says so everywhere"
)

DType = Literal["auto", "float32", "bfloat16"]
Quantization = Literal["4bit", "8bit"]

DEFAULT_TEMPERATURE_OF_REPEATS = 0.7


@dataclass(frozen=True)
class Settings:
    """Settings of judges; None leaves a setting to the roster's entry or to the engine.

    Attributes
    ----------
    dimensions : those the benchmark declares, set by the code that runs judges: a prompt
        names all of them, whichever are still to be judged
    choices : those of A, B and tie that the benchmark has, or the categories of a rating, set by the same code: no
        prompt offers another, and another that a judge replies nevertheless is not read
    task, is_ordered, definitions : of the benchmark, set by the same code: whether one response a case is rated,
        whether its categories are in order from the lowest, and what dimensions and categories mean
    items : of the benchmark, set by the same code: a digest of which cases are of one item
    labels : of the benchmark, set by the same code: those of each dimension in which several may apply
    seed : of everything that is drawn at random
    prompt : id of a prompt, or path of a template file
    reference : the reference answer that any prompt shows: "none", "weak" or "strong"; None leaves that to the template
    evidence : passages of evidence are shown
    examples : how many worked examples are shown, drawn from training cases, which are not judged then
    examples_by : whether they are the nearest by their texts, or drawn at random
    shown : of reference, evidence and examples those that are shown, each with a digest, set by the code that runs
        judges: what a run records of them
    temperature : of sampling; 0 is greedy
    max_new_tokens : at which a reply is cut off
    max_pixels : an image with more is made smaller before a judge sees it
    without_images : no image is shown, and a judge that reads text only may judge cases that have some
    batch_size : cases handed to a judge at once; changes the speed, not the verdicts
    device : "auto", which takes as many GPUs as the weights need; or a name that torch knows, "cpu", "cuda", "cuda:1",
        or several GPUs, "cuda:0,cuda:1", over which the weights are spread
    dtype : "auto" is bfloat16 on a GPU and float32 on a CPU
    quantize : weights are rounded to "4bit" or "8bit" as they are loaded; None keeps them as they are published
    revision : of a model on the Hub; None keeps that of earlier runs, or takes the newest at hand
    download : weights that are not on this machine may be fetched from the Hub
    trust_remote_code : a model that needs code from its repository may run it
    url : base URL of an OpenAI-compatible server, as http://127.0.0.1:8000/v1
    allow_remote : cases may be sent to a server that is not this machine
    concurrency : requests to a server at a time, at most: fewer while it says that it is overloaded
    timeout_s : of one request, in seconds
    max_wait_s : for which a server may ask all requests to wait, in seconds; longer stops the judge
    proxy : URL of an HTTP proxy to servers that are not this machine
    ca_file : certificates in PEM form that servers may be signed with, besides the usual ones
    scale : the highest rating, 5 or 10, of pointwise ratings
    price_prompt, price_completion : US dollars per million tokens, where the cost is to be counted
    budget : US dollars that one call may spend on servers
    requests_per_minute, tokens_per_minute : to a server at most; tokens are those of the prompt, estimated, and as
        many as the reply may have
    """

    dimensions: tuple[str, ...] = DIMENSIONS
    choices: tuple[str, ...] = CHOICES
    task: Task = "preference"
    is_ordered: bool = False
    definitions: dict[str, str] = field(default_factory=dict)
    items: str = ""
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    seed: int = 0
    prompt: str | None = None
    reference: ReferenceLevel | None = None
    evidence: bool = False
    examples: int = 0
    examples_by: ExamplesBy = "nearest"
    shown: dict[str, object] = field(default_factory=dict)
    temperature: float | None = None
    max_new_tokens: int | None = None
    max_pixels: int | None = None
    without_images: bool = False
    batch_size: int | None = None
    device: str = "auto"
    dtype: DType = "auto"
    quantize: Quantization | None = None
    revision: str | None = None
    download: bool = False
    trust_remote_code: bool = False
    url: str | None = None
    allow_remote: bool = False
    concurrency: int = 8
    timeout_s: float = 120.0
    max_wait_s: float = 300.0
    proxy: str | None = None
    ca_file: str | None = None
    scale: int = 5
    price_prompt: float | None = None
    price_completion: float | None = None
    budget: float | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    @property
    def is_rating(self) -> bool:
        """Whether one response a case is rated."""
        return self.task == "rating"

    @property
    def one_choice(self) -> tuple[str, ...]:
        """The dimensions in which a case has one category: all but those of `labels`."""
        return tuple(name for name in self.dimensions if name not in self.labels)

    @property
    def of_benchmark(self) -> dict[str, object]:
        """What shapes a prompt of the benchmark's besides its dimensions and choices, as a run records it."""
        rating = {"task": "rating", "choices": list(self.choices), "ordered": self.is_ordered} if self.is_rating else {}
        rating |= {"labels": {name: list(own) for name, own in self.labels.items()}} if self.labels else {}
        defined = {"definitions": dict(self.definitions)} if self.definitions else {}
        return {**rating, **defined, **({"shown": dict(self.shown)} if self.shown else {})}

    @property
    def shows(self) -> tuple[str, ...]:
        """The names of those of `reference`, `evidence` and `examples` that the user sets."""
        is_set = {"reference": self.reference is not None, "evidence": self.evidence, "examples": self.examples > 0}
        return tuple(name for name, is_there in is_set.items() if is_there)

    def context_of(self, row: Mapping[str, object]) -> Context | None:
        """What is shown beside the case of a row; see `mrb_lib.judges.context.context_of`."""
        if self.reference in (None, "none") and not self.evidence and not self.examples:
            return None
        return context_of(row, self.reference, evidence=self.evidence, examples=self.examples)

    def __post_init__(self) -> None:
        positive = (
            "max_new_tokens", "max_pixels", "batch_size", "concurrency", "timeout_s", "max_wait_s", "budget",
            "requests_per_minute", "tokens_per_minute",
        )  # fmt: skip
        for name in positive:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} {value}: must be more than 0.")
        for name in ("temperature", "price_prompt", "price_completion"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise InputError(f"{name} {value}: must be 0 or more.")
        if self.quantize not in (None, *get_args(Quantization)):
            raise InputError(f"quantize {self.quantize!r}: use 4bit or 8bit.")
        if self.budget is not None and None in (self.price_prompt, self.price_completion):
            raise InputError("a budget needs what tokens cost; pass --price-prompt and --price-completion.")
        if self.reference is not None:
            _check_named("reference", self.reference, LEVELS)
        _check_named("examples_by", self.examples_by, RULES)
        if not 0 <= self.examples <= MOST_EXAMPLES:
            raise InputError(f"examples {self.examples}: show 1 to {MOST_EXAMPLES}, or 0 for none.")
        if self.scale not in (5, 10):
            raise InputError(f"scale {self.scale}: ratings go from 1 to 5 or from 1 to 10.")


def _check_named(key: str, value: str, allowed: Sequence[str]) -> None:
    """Raise `InputError` unless a value is one of those allowed."""
    if value not in allowed:
        raise InputError(f"{key} {value!r}: use {', '.join(allowed[:-1])} or {allowed[-1]}.")


def for_repeats(settings: Settings, repeats: int) -> Settings:
    """The settings with which repeats differ: greedy replies would be the same every time.

    Parameters
    ----------
    repeats : verdicts for each case, dimension and order

    Returns
    -------
    Settings
        With `DEFAULT_TEMPERATURE_OF_REPEATS`, for all repeats alike, where there are
        several and the user set no temperature; otherwise as given.
    """
    if repeats > 1 and settings.temperature is None:
        return replace(settings, temperature=DEFAULT_TEMPERATURE_OF_REPEATS)
    return settings
