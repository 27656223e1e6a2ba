"""The base of an engine that has a model answer prompts: a subclass writes one method, `PromptedJudge.reply`."""

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

import pandas as pd
from PIL import Image

from mrb_lib.judges.context import image_names
from mrb_lib.judges.makers import task_maker
from mrb_lib.judges.prompts import RATES, Asks, UsualPrompt, fitting_prompt
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.tasks import MAX_PIXELS, AsksPrompts, Reply, Task, open_pictures
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

_ASKS: tuple[Asks, ...] = ("all", "one", "answer", "criteria")


class PromptedJudge(AsksPrompts):
    """A judge whose model is asked through one method, `reply`; see `mrb_lib.verdicts.protocol.Judge`.

    The base writes the prompts (for all dimensions at once, or for one where the user's template asks for one), with
    reference and worked examples, the wording of probes, and the responses in each order. It opens the
    images, reads the replies into verdicts, and measures the time. An exception in `reply` becomes the error of the
    rows that waited for the reply; raise `RunError` to stop the judge, as for a rejected key.

    Parameters
    ----------
    request : what the engine is called with

    Attributes
    ----------
    shows_images, shows_references, shows_probes : the model is shown the images; the reference and worked
        examples; and what probes change. A class that sets one to False is refused, by its name and before the first
        request, for cases or options that need it
    usual_prompt : id of the prompt used for preferences where the user names none
    rates : the same for ratings, with the kinds of prompts that are read
    entry, settings : the roster's entry, and what the user set, such as `temperature`
    notices : what the user should know; a subclass may append to it

    Raises
    ------
    InputError
        The prompt asks for what no reply holds, or an option needs what the engine does not show.

    Notes
    -----
    Validated by tests/judges/test_prompted.py.
    """

    shows_images: ClassVar[bool] = True
    shows_references: ClassVar[bool] = True
    shows_probes: ClassVar[bool] = True
    usual_prompt: ClassVar[str] = "plain"
    rates: ClassVar[UsualPrompt | None] = RATES
    device = "cpu"
    provenance: Mapping[str, object] = {}

    def __init__(self, request: JudgeRequest) -> None:
        self.entry, self.settings, self._images = request.entry, request.settings, request.images
        self.name = request.entry.name
        self.notices: list[str] = []
        self.cases_per_batch = self.settings.batch_size or 8
        compares = self.usual_prompt, _ASKS
        prompt = fitting_prompt(self.name, self.entry.engine, self.settings, compares, self.rates)
        self._own_prompt = prompt
        beside = [f"--{name}" for name in self.settings.shows]
        beside += [f"the prompt {prompt.id}"] if prompt.needs_reference else []
        if beside and not self.shows_references:
            raise InputError(
                f"judge {self.name}: shows no reference or examples; leave out {' and '.join(beside)}, or "
                "use another engine."
            )
        self._max_pixels = self.settings.max_pixels or MAX_PIXELS
        self._tasks = task_maker(prompt, self.settings, sees=self.shows_images)

    @abstractmethod
    def reply(self, prompt: str, images: Sequence[Image.Image]) -> str:
        """Return the model's reply to a prompt, as the model wrote it.

        Parameters
        ----------
        prompt : the whole user message
        images : RGB, upright, in the order of the case; empty where the case has none
        """

    @property
    def spec(self) -> Mapping[str, object]:
        """Everything that shapes a verdict besides the prompt; a subclass adds what it has of its own."""
        settings = self.settings
        drawn = {"temperature": settings.temperature, "seed": settings.seed} if settings.temperature else {}
        return {
            "engine": self.entry.engine,
            "model": self.entry.model or self.name,
            "dimensions": list(settings.dimensions),
            "choices": list(settings.choices),
            **settings.of_benchmark,
            "max_pixels": self._max_pixels,
            "images": self.shows_images and not settings.without_images,
            **({"without_images": True} if settings.without_images else {}),
            **({"max_new_tokens": settings.max_new_tokens} if settings.max_new_tokens else {}),
            **drawn,
        }

    def check_cases(self, cases: pd.DataFrame, probes: Sequence[str]) -> None:
        """Raise `InputError` where cases, or probes of these names, need what the engine does not show."""
        shows_images = self.shows_images and not self.settings.without_images
        named = [name for name in probes if name != NO_PROBE]
        unseen = [name for name in named if not self.shows_probes or (name.startswith("image/") and not shows_images)]
        if unseen:
            raise InputError(
                f"judge {self.name}: is not shown what the probe {unseen[0]} changes; leave the probe out, or use "
                "another engine."
            )
        n_images = sum(bool(image_names({"images": names})) for names in cases["images"]) if "images" in cases else 0
        if n_images and not self.shows_images and not self.settings.without_images:
            raise InputError(
                f"judge {self.name}: shows no images, and {n_images} of {len(cases)} cases have some; "
                "--without-images judges them by their text, and says so everywhere; or use another engine."
            )

    def load(self) -> None:
        """Get ready before the first batch, as by reading weights; nothing unless a subclass does something."""
        return

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        rows = VerdictRows(shown, rated=self.settings.is_rating)
        return partial(self._answer, rows, list(self._tasks.tasks(shown)))

    def _answer(self, rows: VerdictRows, tasks: Sequence[Task]) -> pd.DataFrame:
        for task in tasks:
            try:
                reply = self._ask(task)
            except RunError:
                raise
            except Exception as error:  # noqa: BLE001  # a library may raise anything; the rows say what
                kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
                reply = Reply(problem=f"{kind}{error}")
            self._tasks.put(rows, task, reply)
        return rows.frame()

    def _ask(self, task: Task) -> Reply:
        if task.problem:
            raise InputError(task.problem)
        pictures = open_pictures(self._images, task.images, self._max_pixels)
        start = time.perf_counter()
        text = self.reply(task.text, pictures)
        if not isinstance(text, str):
            raise RunError(f"judge {self.name}: reply() returned {type(text).__name__}; return the model's text.")
        text = text.encode("utf-8", "replace").decode("utf-8")  # halves of characters, which no file can hold
        return Reply(text, {"latency_s": time.perf_counter() - start})
