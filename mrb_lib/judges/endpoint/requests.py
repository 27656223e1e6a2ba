"""The requests about a batch of rows, with images as data URLs."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.images import is_dicom, open_image, png, raster, within
from mrb_lib.judges.endpoint.client import ChatRequest
from mrb_lib.judges.prompts import Prompt
from mrb_lib.judges.tasks import Task, TaskMaker, stored_image
from mrb_lib.tables.errors import InputError

_ONLY_JSON: Final = "one JSON object and nothing else"


@dataclass(frozen=True)
class ServedTask(Task):
    """A task with its request to a server; None where none can be made, which `problem` explains."""

    request: ChatRequest | None = None


def wants_only_json(prompt: Prompt) -> bool:
    """Return whether a prompt asks for "one JSON object and nothing else", so that a schema may enforce it."""
    kinds = ("all", "rankings", "categories", "criteria")
    return prompt.asks in kinds and _ONLY_JSON in " ".join(prompt.text.split())


@dataclass(frozen=True)
class RequestWriter:
    """Writes requests.

    Attributes
    ----------
    maker : makes the tasks
    images : the benchmark's images, by name
    max_pixels : an image with more is made smaller
    """

    maker: TaskMaker
    images: Mapping[str, bytes]
    max_pixels: int

    def tasks(self, shown: pd.DataFrame) -> Iterator[ServedTask]:
        """Yield the tasks about a batch with their requests; an image is encoded once, however many rows show it."""
        urls: dict[str, str | InputError] = {}
        has_schema = wants_only_json(self.maker.prompt)
        for task in self.maker.tasks(shown):
            served = ServedTask(**vars(task))
            if task.problem:
                yield served
                continue
            try:
                pictures = [self._picture(name, urls) for name in task.images]
            except InputError as error:
                yield replace(served, problem=str(error))
                continue
            content = [*pictures, {"type": "text", "text": task.text}] if pictures else task.text
            schema = self.maker.schema(task) if has_schema else None
            yield replace(served, request=ChatRequest(content, schema, task.seed))

    def _picture(self, name: str, urls: dict[str, str | InputError]) -> Mapping[str, object]:
        """Return an image as a part of a message."""
        if name not in urls:
            try:
                urls[name] = data_url(stored_image(self.images, name), name, self.max_pixels)
            except InputError as error:
                urls[name] = error
        url = urls[name]
        if isinstance(url, InputError):
            raise url
        return {"type": "image_url", "image_url": {"url": url}}


_MAX_BYTES: Final = 4_000_000
_SENT_AS_STORED: Final = {"PNG": "image/png", "JPEG": "image/jpeg"}
# What a file may say of itself besides its pixels and still be sent as it is: nothing that could name a patient.
_HARMLESS: Final = {
    "dpi", "gamma", "interlace", "jfif", "jfif_density", "jfif_unit", "jfif_version", "progression", "progressive",
    "srgb",
}  # fmt: skip


def data_url(content: bytes, name: str, max_pixels: int) -> str:
    """Return an image as a data URL.

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
    """Return the media type under which a file can be sent as it is, by its header; None where it must be made anew."""
    if is_dicom(content):
        return None
    with raster(content, f"image {name}") as image:
        harmless = image.mode in ("L", "RGB") and image.info.keys() <= _HARMLESS
        if not harmless or image.width * image.height > max_pixels or len(content) > _MAX_BYTES:
            return None
        return _SENT_AS_STORED.get(str(image.format))


def _url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
