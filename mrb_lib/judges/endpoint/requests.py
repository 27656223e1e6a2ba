"""What is asked about a batch of rows: which rows share a request, what each says, and the images as data URLs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.images import is_dicom, open_image, png, raster, within
from mrb_lib.judges.endpoint.client import ChatRequest
from mrb_lib.judges.prompts import DEFINITIONS, Prompt, phrasing_of
from mrb_lib.judges.settings import BLIND, Settings
from mrb_lib.replies.labels import LETTERS, Labels
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import FIRST, SECOND

_SHARED: Final = ("case_id", "order", "repeat", "probe")
_ONLY_JSON: Final = "one JSON object and nothing else"


@dataclass(frozen=True)
class Task:
    """One request and the rows it answers.

    Attributes
    ----------
    case_id : which case it is about
    rows : position among the rows shown, and dimension, of each
    asked : the dimensions that the request asks about; all of the benchmark's, or one
    request : None where none can be made
    problem : why that is so
    labels : what the request calls the response shown first, and the second
    question : the case's, which may list options by letter
    """

    case_id: str
    rows: tuple[tuple[int, str], ...]
    asked: tuple[str, ...]
    request: ChatRequest | None
    problem: str = ""
    labels: Labels = LETTERS
    question: str = ""


def wants_only_json(prompt: Prompt) -> bool:
    """Whether a prompt asks for "one JSON object and nothing else", in these words, so that a schema may enforce it."""
    kinds = ("all", "rankings", "categories", "criteria")
    return prompt.asks in kinds and _ONLY_JSON in " ".join(prompt.text.split())


@dataclass(frozen=True)
class RequestWriter:
    """Writes requests.

    Attributes
    ----------
    prompt : asks for "all" dimensions or for "one"
    settings : the benchmark's dimensions and choices and the seed are taken from it
    images : the benchmark's images, by name
    sees : whether the model takes images
    max_pixels : an image with more is made smaller
    """

    prompt: Prompt
    settings: Settings
    images: Mapping[str, bytes]
    sees: bool
    max_pixels: int

    def tasks(self, shown: pd.DataFrame) -> Iterator[Task]:
        """The requests for a batch.

        Parameters
        ----------
        shown : see `mrb_lib.verdicts.protocol.Judge.judge`

        Raises
        ------
        InputError
            The template cannot be rendered. What is wrong with one case is said in its task.
        """
        urls: dict[str, str | InputError] = {}
        for _, rows in shown.reset_index(drop=True).groupby(list(self.shared), sort=False):
            wanted = [
                (int(position), str(name))
                for position, name in zip(rows.index.to_numpy(), rows["dimension"], strict=True)
            ]
            dimensions = tuple(dict.fromkeys((*self.settings.dimensions, *(name for _, name in wanted))))
            if self.prompt.asks in ("all", "rankings", "categories"):
                yield self._task(rows.iloc[0], wanted, dimensions, "", urls)
            elif self.prompt.asks == "ranking":
                yield self._task(rows.iloc[0], wanted, dimensions, wanted[0][1], urls)
            else:
                for row in wanted:
                    yield self._task(rows.iloc[0], [row], dimensions, row[1], urls)

    def _task(
        self,
        case: pd.Series,
        rows: Sequence[tuple[int, str]],
        dimensions: tuple[str, ...],
        dimension: str,
        urls: dict[str, str | InputError],
    ) -> Task:
        asked = (dimension,) if dimension else dimensions
        reference = case.get("reference")
        reference = reference if isinstance(reference, str) else None
        before = case.get("before")
        try:
            if self.prompt.needs_reference and reference is None:
                raise InputError(f"the case has no reference answer, which the prompt {self.prompt.id} shows.")
            responses, criteria = self.responses(case), self.criteria(case)
            context = self.settings.context_of({str(name): value for name, value in case.items()})
            pictures = [self._picture(name, urls) for name in self._named(case)]
        except InputError as error:
            return Task(str(case["case_id"]), tuple(rows), asked, None, str(error))
        phrasing = phrasing_of({str(name): value for name, value in case.items()})
        try:
            text = self.prompt.render(
                str(case["question"]),
                responses,
                dimensions,
                dimension,
                reference=reference,
                before=before if isinstance(before, str) else None,
                label_sets=self.settings.labels,
                n_images=len(pictures),
                choices=self.settings.choices,
                definitions=DEFINITIONS | self.settings.definitions,
                ordered=self.settings.is_ordered,
                criteria=criteria,
                context=context,
                **phrasing,
            ).text
        except InputError as error:
            if phrasing == phrasing_of({}):
                raise
            return Task(str(case["case_id"]), tuple(rows), asked, None, str(error))
        names = {} if self.settings.is_rating else dict(zip(LETTERS, phrasing["labels"], strict=True))
        offered = [names.get(choice, choice) for choice in self.settings.choices]
        schema = _schema(
            asked, self.value_schema(case, offered), self.settings.labels, gives_reason=self.prompt.gives_reason
        )
        request = ChatRequest(
            content=[*pictures, {"type": "text", "text": text}] if pictures else text,
            schema=schema if wants_only_json(self.prompt) else None,
            seed=_seed(str(self.settings.seed), *(str(case[name]) for name in self.shared), dimension),
        )
        return Task(
            str(case["case_id"]), tuple(rows), asked, request, labels=phrasing["labels"], question=str(case["question"])
        )

    @property
    def shared(self) -> tuple[str, ...]:
        """What the rows that one request answers have in common."""
        return _SHARED

    def responses(self, row: pd.Series) -> list[str]:
        """The responses in the order shown; the one that is rated."""
        return [str(row[FIRST])] if self.settings.is_rating else [str(row[FIRST]), str(row[SECOND])]

    def criteria(self, row: pd.Series) -> list[str]:
        """The criteria of the case's rubric, where the prompt shows them."""
        return []

    def value_schema(self, row: pd.Series, offered: Sequence[str]) -> Mapping[str, object]:
        """What the reply may say of a dimension."""
        return {"type": "string", "enum": list(offered)}

    def _named(self, case: pd.Series) -> list[str]:
        names = case.get("images")
        named = [] if names is None or isinstance(names, float) else [str(name) for name in names]
        if self.settings.without_images:
            return []
        if named and not self.sees:
            raise InputError(BLIND)
        return named

    def _picture(self, name: str, urls: dict[str, str | InputError]) -> Mapping[str, object]:
        """An image as a part of a message; encoded once a batch, however many rows show it."""
        if name not in urls:
            try:
                urls[name] = data_url(self.images[name], name, self.max_pixels)
            except (KeyError, OSError):
                urls[name] = InputError(f"image {name}: is not among the benchmark's images; restore the file.")
            except InputError as error:
                urls[name] = error
        url = urls[name]
        if isinstance(url, InputError):
            raise url
        return {"type": "image_url", "image_url": {"url": url}}


def _schema(
    dimensions: Sequence[str], value: Mapping[str, object], labels: Mapping[str, Sequence[str]], *, gives_reason: bool
) -> Mapping[str, object]:
    """What a reply must be: a choice a dimension, then the reason where one is asked for; servers keep the order."""
    properties: dict[str, object] = dict.fromkeys(dimensions, value)
    for name in labels.keys() & properties.keys():
        properties[name] = {"type": "array", "items": {"type": "string", "enum": list(labels[name])}}
    if gives_reason:
        properties["reason"] = {"type": "string"}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _seed(*key: str) -> int:
    """A seed of 31 bits, which every server takes, from the run's seed and the row's key."""
    return int.from_bytes(hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).digest()[:4], "big") >> 1


MAX_PIXELS: Final = 1_003_520  # the usual cap of Qwen-VL processors: 1280 patches of 28 x 28
_MAX_BYTES: Final = 4_000_000
_SENT_AS_STORED: Final = {"PNG": "image/png", "JPEG": "image/jpeg"}
# What a file may say of itself besides its pixels and still be sent as it is: nothing that could name a patient.
_HARMLESS: Final = {
    "dpi", "gamma", "interlace", "jfif", "jfif_density", "jfif_unit", "jfif_version", "progression", "progressive",
    "srgb",
}  # fmt: skip


def data_url(content: bytes, name: str, max_pixels: int) -> str:
    """An image as a data URL.

    A PNG or JPEG file is sent as it is stored if it can be decoded, is small enough,
    needs no turning and says nothing of itself but its pixels. Everything else, DICOM too, is
    brought to 8 bits and the right way up, made smaller if need be, and sent as PNG
    without metadata.

    Parameters
    ----------
    content : the bytes of the file
    name : what to call the image in messages
    max_pixels : an image with more pixels is made smaller, its proportions kept

    Raises
    ------
    InputError
        The bytes are not a readable image of a plain format, or it is too large to decode safely.
    """
    kind = _stored_kind(content, name, max_pixels)
    picture = open_image(content, f"image {name}")
    if kind is not None:
        return _url(kind, content)
    return _url("image/png", png(within(picture, max_pixels)))


def _stored_kind(content: bytes, name: str, max_pixels: int) -> str | None:
    """The media type under which a file can be sent as it is, by its header; None where it must be made anew."""
    if is_dicom(content):
        return None
    with raster(content, f"image {name}") as image:
        harmless = image.mode in ("L", "RGB") and image.info.keys() <= _HARMLESS
        if not harmless or image.width * image.height > max_pixels or len(content) > _MAX_BYTES:
            return None
        return _SENT_AS_STORED.get(str(image.format))


def _url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
