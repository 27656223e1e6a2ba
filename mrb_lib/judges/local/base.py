"""The base of all judges that read weights on this machine."""

import gc
import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import ClassVar, Final, Generic, TypeVar

import pandas as pd
import torch
from PIL import Image

from mrb_lib.judges.context import Record
from mrb_lib.judges.local.checkpoint import load_checkpoint
from mrb_lib.judges.local.weights import Weights, choose_devices, choose_dtype, describe
from mrb_lib.judges.prompts import Asks, Rendered, UsualPrompt, fitting_prompt
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.source import names_code, provenance_of, trained_as
from mrb_lib.judges.settings import BLIND
from mrb_lib.judges.tasks import MAX_PIXELS, AsksPrompts, PromptWriter, group_rows, open_pictures
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.files import is_safe_name
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

# Cases made ready at once; how many of them one pass reads is the memory's to say.
_CASES, _CASES_ON_GPU = 8, 32
MOST_WORKERS: Final = 8

# Below this probability of all admissible answers together, their ratio says little about the model.
LOW_MASS: Final = 0.05

R = TypeVar("R")
W = TypeVar("W", bound="Waiting")
Positions = Sequence[int]
Records = Sequence[Record]


@dataclass(frozen=True)
class Waiting:
    """Rows that wait for a pass.

    Attributes
    ----------
    n_images : that each of a batch shows, which some models want to be as many; 0 where that does not matter
    n_tokens : that the memory is to hold
    """

    positions: Positions
    records: Records
    n_images: int
    n_tokens: int

    def rows(self, **took: object) -> Iterator[tuple[int, Record, bool, dict[str, object]]]:
        """Yield each row's position, the row, whether its order is not that of the first, and the cost in the first."""
        for place, (position, record) in enumerate(zip(self.positions, self.records, strict=True)):
            yield position, record, record["order"] != self.records[0]["order"], {} if place else took


class LocalJudge(AsksPrompts):
    """Settings, prompt, weights and images of a judge on this machine; see `Judge` for the attributes.

    Parameters
    ----------
    request : its roster entry, the user's settings, the benchmark's images, and where its weights lie

    Attributes
    ----------
    engine : its name
    usual_prompt : id of the prompt used where the user names none; None for a judge that takes no prompt
    asks : what a prompt may ask for here
    rates : the same two where one response a case is rated; None for a way that compares two
    speaks : whether probabilities of words are read

    Raises
    ------
    InputError
        The prompt asks for something else, or the device does not exist.
    """

    engine: ClassVar[str]
    usual_prompt: ClassVar[str | None] = None
    asks: ClassVar[tuple[Asks, ...]] = ()
    rates: ClassVar[UsualPrompt | None] = None
    speaks: ClassVar[bool] = True
    sorts_by_length = True

    def __init__(self, request: JudgeRequest) -> None:
        entry, settings = request.entry, request.settings
        self.request, self.name = request, entry.name
        self._notices: list[str] = []
        self._n_read = self._n_low = 0
        self._entry, self._source, self._settings, self._images = entry, request.weights, settings, request.images
        trained = trained_as(self._source.folder) if entry.path is not None else {}
        unused = [*settings.shows, *(["prompt"] if settings.prompt else [])]
        if self.usual_prompt is None and unused:
            raise InputError(
                f"judge {self.name}: is a scalar reward model and takes no prompt; leave out "
                f"--{' and --'.join(unused)}."
            )
        # One that takes no prompt is refused for ratings all the same.
        compares = self.usual_prompt or "plain", self.asks or ("all",)
        trained_on = _trained_prompt(self._source.folder, trained, self.engine)
        prompt = fitting_prompt(self.name, self.engine, settings, compares, self.rates, trained_on)
        self._prompt, self._own_prompt = prompt, prompt if self.usual_prompt is not None else None
        self._devices = choose_devices(settings.device)
        is_on_gpu = self._devices[0].type == "cuda"
        self.cases_per_batch = settings.batch_size or (_CASES_ON_GPU if is_on_gpu else _CASES)
        self._dtype = choose_dtype(settings.dtype, self._devices[0])
        template, pixels = entry.chat.get("template"), trained.get("max_pixels")
        self._template: dict[str, object] = dict(template) if isinstance(template, Mapping) else {}
        self._max_pixels = settings.max_pixels or (pixels if isinstance(pixels, int) and pixels > 0 else MAX_PIXELS)
        self._loaded: Weights | None = None
        self._most_tokens = sys.maxsize  # that a pass may read, by those that did not fit

    @property
    def spec(self) -> Mapping[str, object]:
        """Return what shapes the verdicts besides the prompt."""
        prompt, settings, named = self._own_prompt, self._settings, dict[str, object]()
        if prompt is not None:
            choices = {"choices": list(settings.choices)} if prompt.names_choices else {}
            named = {"dimensions": list(settings.dimensions), **choices, **settings.of_benchmark}
        optional = {
            "subfolder": self._entry.subfolder,
            # A model that this library knows runs its own code in place of the library's where it is trusted.
            "remote_code": settings.trust_remote_code and names_code(self._source.folder),
            "quantize": settings.quantize,
            "without_images": settings.without_images,
        }
        return {
            "engine": self.engine,
            "model": self._entry.model or self._source.folder.resolve().name,
            "revision": self._source.revision,
            "dtype": str(self._dtype).removeprefix("torch."),
            "max_pixels": self._max_pixels,
            "template": self._template,
            **named,
            **{name: value for name, value in optional.items() if value},
        }

    @property
    def provenance(self) -> Mapping[str, object]:
        """Return what the weights state of themselves: of a model on the Hub, the cases that it learned from."""
        return provenance_of(self._source.folder, is_of_hub=self._entry.path is None)

    @property
    def device(self) -> str:
        """Return the device with the chip's name, or all GPUs that hold some of the weights."""
        return " and ".join(map(describe, self._loaded.devices if self._loaded else self._devices[:1]))

    def load(self) -> None:
        """Read the weights."""
        if self._loaded is None:
            self._loaded = load_checkpoint(
                self._source.folder,
                devices=self._devices,
                dtype=self._dtype,
                quantize=self._settings.quantize,
                trust_remote_code=self._settings.trust_remote_code,
                speaks=self.speaks,
            )
            self._check_sight(self._loaded)

    def _check_sight(self, weights: Weights) -> None:
        """Raise `InputError` where a model is said to see and would be read as one that does not."""
        if weights.sees_images:
            return
        stated = [key for key in weights.model.config.to_dict() if "vision" in key]
        if stated or self._entry.vision:
            said = f"the configuration of its weights ({stated[0]})" if stated else "the roster"
            raise InputError(
                f"judge {self.name}: {said} says that it sees images, and {self._source.folder} can only be read as a "
                f"model of text; name path:{self._source.folder}+vllm to have vLLM serve it, or fetch the whole model."
            )

    def unload(self) -> None:
        """Forget the weights and free their memory; `load` reads them again."""
        self._loaded = None
        if workers := self.__dict__.pop("_workers", None):
            workers.shutdown()
        gc.collect()  # parts of a model may refer to each other
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    @abstractmethod
    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""

    def notice(self, text: str) -> None:
        """Tell the user something, once."""
        if text not in self._notices:
            self._notices.append(text)

    @property
    def notices(self) -> list[str]:
        """Return what the user should know; see `Judge`."""
        if not self._n_low:
            return list(self._notices)
        low = (
            f"{self._n_low} of {self._n_read} verdicts rest on answers that together had less than {LOW_MASS:.0%} of "
            "the probability (column answer_mass): the model meant to say something else"
        )
        return [*self._notices, low]

    def forget_mass(self) -> None:
        """Count the verdicts that rest on improbable answers anew, as after the weights have changed."""
        self._n_read = self._n_low = 0

    def _note_mass(self, mass: float) -> None:
        """Count a verdict by the probability that the model gives to all admissible answers together."""
        self._n_read += 1
        self._n_low += mass < LOW_MASS

    @property
    def weights(self) -> Weights:
        """The loaded model; `RunError` before `load`."""
        if self._loaded is None:
            raise RunError(f"judge {self.name}: is used before its weights are loaded; call load() first.")
        return self._loaded

    def pictures(self, names: Iterable[str]) -> list[Image.Image]:
        """The images of a case as a judge sees them.

        Raises
        ------
        InputError
            One is missing or cannot be read, or the judge reads text only and was not told to do without.
        """
        shown = [] if self._settings.without_images else list(names)
        if shown and not self.weights.sees_images:
            raise InputError(BLIND)
        return open_pictures(self._images, shown, self._max_pixels)

    @property
    def writer(self) -> PromptWriter:
        """The writer of its prompts; `RunError` before `load`."""
        weights = self.weights
        return PromptWriter(self._prompt, self._settings, weights.sees_images, weights.marks)

    def _chat(self, rendered: Rendered, n_images: int) -> str:
        return self.weights.chat(rendered.text, n_images, self._template)

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_WORKERS), thread_name_prefix="images")

    def in_batches(
        self, items: Sequence[W], function: Callable[[Sequence[W]], Sequence[R]]
    ) -> Iterator[tuple[W, R | None]]:
        """Yield items with what a function makes of as many as fit into memory; None for one that alone does not."""
        for _, alike in groupby(sorted(items, key=lambda one: (one.n_images, -one.n_tokens)), lambda one: one.n_images):
            waiting, before = list(alike), self._most_tokens
            while waiting:
                longest = waiting[0].n_tokens
                size = min(max(self._most_tokens // longest, 1), len(waiting))
                results = self._tried(function, waiting[:size])
                if results is None and size > 1:
                    self._most_tokens = longest * ((size + 1) // 2)
                    self.notice(f"the memory did not hold {size} at a time: going on with {(size + 1) // 2}")
                    continue
                if results is None:
                    # One case that never fits says nothing about how many others do.
                    self._most_tokens = before
                    yield waiting[0], None
                else:
                    before = self._most_tokens
                    yield from zip(waiting[:size], results, strict=True)
                waiting = waiting[size:]

    def _tried(self, function: Callable[[Sequence[W]], Sequence[R]], items: Sequence[W]) -> Sequence[R] | None:
        """Apply a function to items; None where they do not fit into memory."""
        try:
            with torch.inference_mode():
                return function(items)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        if self._devices[0].type == "cuda":
            torch.cuda.empty_cache()
        return None


class CaseJudge(LocalJudge, Generic[W, R]):
    """A judge that reads all that is asked about a case at once."""

    @abstractmethod
    def case(self, positions: Positions, records: Records) -> W:
        """Make some rows of a case ready.

        Raises
        ------
        InputError
            An image is missing or cannot be read, the prompt needs a reference that the case lacks, or what a probe
            calls the responses is not one token of the model.
        """

    @abstractmethod
    def _read(self, cases: Sequence[W]) -> Sequence[R]:
        """Read cases in one pass."""

    @abstractmethod
    def _put(self, rows: VerdictRows, case: W, reading: R) -> None:
        """State the verdicts of a case, given what is read of it."""

    def _shared(self, row: Record) -> tuple[object, ...]:
        """Return the key that all rows of one case share."""
        return row["case_id"], row["probe"]

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        rows = VerdictRows(shown, rated=self._settings.is_rating)
        return partial(self._answer, rows, self.cases(rows, shown))

    def cases(self, rows: VerdictRows, shown: pd.DataFrame) -> list[W]:
        """Make cases ready; of one that cannot be asked, the rows fail.

        Images are decoded and processed in several threads. Of a case with several probes that cannot be asked as a
        whole, each probe is tried alone.
        """

        def tried(positions: Positions, records: Records) -> list[W]:
            probes = [record["probe"] for record in records]
            try:
                return [self.case(positions, records)]
            except InputError as error:
                if len(set(probes)) == 1:
                    rows.fail(positions, str(error))
                    return []
            parts = [[i for i, name in enumerate(probes) if name == probe] for probe in dict.fromkeys(probes)]
            return [one for part in parts for one in tried([positions[i] for i in part], [records[i] for i in part])]

        self.load()
        made = self._workers.map(lambda group: tried(*group), group_rows(shown, self._shared))
        return [one for group in made for one in group]

    def _answer(self, rows: VerdictRows, cases: Sequence[W]) -> pd.DataFrame:
        for case, reading in self.in_batches(cases, self._read):
            if reading is None:
                rows.fail(case.positions, TOO_LARGE)
            else:
                self._put(rows, case, reading)
        return rows.frame()


def _trained_prompt(folder: Path, trained: Mapping[str, object], engine: str) -> str | None:
    """The prompt that weights were trained to answer, by its id or as the file beside them."""
    name = trained.get("prompt")
    if trained.get("engine") != engine or not isinstance(name, str) or not name:
        return None
    own = folder / f"{name}.jinja"
    return str(own) if is_safe_name(own.name) and own.is_file() else name


def is_out_of_memory(error: RuntimeError) -> bool:
    """Return whether a device is full, or the processor's allocator, whose error has no class of its own."""
    said = str(error)
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in said or "not enough memory" in said


NO_NUMBER: Final = (
    "the model's answer is not a number, as where its arithmetic overflows or its weights are damaged; "
    "try --dtype float32, or fetch the model again"
)
TOO_LARGE: Final = "the case alone does not fit into the device's memory; lower --max-pixels or use a larger device"
