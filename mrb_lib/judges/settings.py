"""The settings of judges, with the options that users have."""

from dataclasses import field, replace
from typing import Annotated, Final, Literal

from pydantic import Field

from mrb_lib.judges.context import MOST_EXAMPLES, ReferenceLevel
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import Option, checked_dataclass
from mrb_lib.tables.schema import CHOICES, DIMENSIONS, Task

BLIND: Final = (
    "the case has images, and the judge reads text only; --without-images judges it by its text, and says so everywhere"
)

DType = Literal["auto", "float32", "bfloat16"]
Quantization = Literal["4bit", "8bit"]

DEFAULT_TEMPERATURE_OF_REPEATS = 0.7


@checked_dataclass
class Settings:
    """Settings of judges; None leaves a setting to the roster's entry or to the engine.

    A field with an `Option` is set by users, on the command line or in a plan file; the benchmark decides the others.

    Attributes
    ----------
    dimensions : those the benchmark declares; a prompt names all of them, whichever are still to be judged
    choices : those of A, B and tie that the benchmark has, or the categories of a rating: no prompt offers another, and
        another that a judge replies nevertheless is not read
    task, is_ordered, definitions : whether one response per case is rated, whether its categories are in order from the
        lowest, and what dimensions and categories mean
    items : a digest of which cases are of one item
    labels : those of each dimension in which several may apply
    shown : of reference and examples those that are shown, each with a digest: what a run records of them
    """

    dimensions: tuple[str, ...] = DIMENSIONS
    choices: tuple[str, ...] = CHOICES
    task: Task = "preference"
    is_ordered: bool = False
    definitions: dict[str, str] = field(default_factory=dict)
    items: str = ""
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    shown: dict[str, object] = field(default_factory=dict)
    seed: Annotated[int, Field(ge=0), Option("Set the seed of everything drawn at random.")] = 0
    prompt: Annotated[str | None, Option("Use this prompt: an id, or a template file.", "ID|FILE", is_file=True)] = None
    reference: Annotated[
        ReferenceLevel,
        Option(
            "Show the reference answer (column reference) in any prompt: strong; a case without it is an error. "
            "Default: as the prompt is written."
        ),
    ] = "none"
    examples: Annotated[
        int,
        Field(ge=0, le=MOST_EXAMPLES),
        Option(
            f"Show K worked examples, at most {MOST_EXAMPLES}, drawn at random: training cases (`mrb split`) with the "
            "annotators' decision, of other items, clusters, images and texts than the case, without their images. "
            "Training cases are not judged.",
            "K",
        ),
    ] = 0
    temperature: Annotated[
        float | None,
        Field(ge=0, allow_inf_nan=False),
        Option("Sample replies at this temperature; 0 is greedy, the default unless there are repeats."),
    ] = None
    max_new_tokens: Annotated[int | None, Field(gt=0), Option("Cut a reply off after N tokens.", "N")] = None
    max_pixels: Annotated[int | None, Field(gt=0), Option("Shrink images that have more pixels.", "N")] = None
    without_images: Annotated[
        bool, Option("Show no image, so that models that read text only can take part; tables say so.")
    ] = False
    batch_size: Annotated[
        int | None, Field(gt=0), Option("Process N cases at once; changes the speed only.", "N", is_rare=True)
    ] = None
    device: Annotated[
        str, Option("Run on auto (as many GPUs as the weights need), cpu, cuda:1, or several: cuda:0,cuda:1.", "DEVICE")
    ] = "auto"
    dtype: Annotated[
        DType, Option("Compute in this type; auto is bfloat16 on a GPU and float32 on a CPU.", is_rare=True)
    ] = "auto"
    quantize: Annotated[
        Quantization | None, Option("Round the weights to so many bits as they are loaded.", is_rare=True)
    ] = None
    revision: Annotated[
        str | None,
        Option("Load this revision from the Hub; default: that of earlier runs, else the newest.", is_rare=True),
    ] = None
    download: Annotated[bool, Option("Fetch weights that are not on this machine.")] = False
    trust_remote_code: Annotated[bool, Option("Run code from a model's repository.")] = False
    url: Annotated[str | None, Option("Ask an OpenAI-compatible server: http://127.0.0.1:8000/v1.", "URL")] = None
    server_command: Annotated[
        str | None, Option("Start this server for the weights, and stop it afterwards.", "'CMD {model} {port}'")
    ] = None
    allow_remote: Annotated[bool, Option("Allow sending cases to a server that is not this machine.")] = False
    concurrency: Annotated[
        int, Field(gt=0), Option("Send a server at most N requests at a time.", "N", is_rare=True)
    ] = 8
    timeout_s: Annotated[
        float,
        Field(gt=0, le=86_400),
        Option("Give up on a request to a server after so many seconds.", "SECONDS", "timeout"),
    ] = 120.0
    max_wait_s: Annotated[
        float,
        Field(gt=0),
        Option("Stop the judge if a server asks to wait longer.", "SECONDS", "max-wait"),
    ] = 300.0
    proxy: Annotated[
        str | None, Option("Reach servers that are not this machine through an HTTP proxy.", "URL", is_rare=True)
    ] = None
    ca_file: Annotated[
        str | None, Option("Trust the certificates in this PEM file, too.", "FILE", is_file=True, is_rare=True)
    ] = None
    price_prompt: Annotated[
        float | None,
        Field(ge=0, allow_inf_nan=False),
        Option("Count this price per million prompt tokens.", "USD", is_rare=True),
    ] = None
    price_completion: Annotated[
        float | None,
        Field(ge=0, allow_inf_nan=False),
        Option("Count this price per million reply tokens.", "USD", is_rare=True),
    ] = None
    budget: Annotated[
        float | None, Field(gt=0), Option("Stop before this call costs more; needs the prices.", "USD")
    ] = None
    trained_on: Annotated[
        str | None,
        Option(
            "Mark the cases that the judges learned from elsewhere, which no table then scores: the rows.toml of "
            "`mrb export`, or a training.json.",
            "FILE",
            is_file=True,
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.budget is not None and None in (self.price_prompt, self.price_completion):
            raise InputError("a budget needs what tokens cost; pass --price-prompt and --price-completion.")
        if self.server_command is not None and "{port}" not in self.server_command:
            raise InputError("server_command: holds no {port}; write it as 'CMD {model} {port}'.")

    @property
    def is_rating(self) -> bool:
        """Return whether one response per case is rated."""
        return self.task == "rating"

    @property
    def one_choice(self) -> tuple[str, ...]:
        """The dimensions in which a case has one category: all but those of `labels`."""
        return tuple(name for name in self.dimensions if name not in self.labels)

    @property
    def of_benchmark(self) -> dict[str, object]:
        """Return what shapes the benchmark's prompts besides dimensions and choices, as a run records it."""
        rating = {"task": "rating", "choices": list(self.choices), "ordered": self.is_ordered} if self.is_rating else {}
        rating |= {"labels": {name: list(own) for name, own in self.labels.items()}} if self.labels else {}
        defined = {"definitions": dict(self.definitions)} if self.definitions else {}
        return {**rating, **defined, **({"shown": dict(self.shown)} if self.shown else {})}

    @property
    def shows(self) -> tuple[str, ...]:
        """The names of those of `reference` and `examples` that the user sets."""
        is_set = {"reference": self.reference == "strong", "examples": self.examples > 0}
        return tuple(name for name, is_there in is_set.items() if is_there)


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
