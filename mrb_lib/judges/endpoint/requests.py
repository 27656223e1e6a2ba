"""The requests about a batch of rows, with images as data URLs."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import pandas as pd

from mrb_lib.benchmarks.images.pictures import open_image, png, within
from mrb_lib.judges.endpoint.client import ChatRequest
from mrb_lib.judges.tasks import Task, TaskMaker, stored_image
from mrb_lib.tables.errors import InputError


@dataclass(frozen=True)
class ServedTask(Task):
    """A task with its request to a server; None where none can be made, which `problem` explains."""

    request: ChatRequest | None = None


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

        @cache
        def picture(name: str) -> Mapping[str, object]:
            url = data_url(stored_image(self.images, name), name, self.max_pixels)
            return {"type": "image_url", "image_url": {"url": url}}

        for task in self.maker.tasks(shown):
            served = ServedTask(**vars(task))
            try:
                pictures = [] if task.problem else [picture(name) for name in task.images]
            except InputError as error:
                served = replace(served, problem=str(error))
            if not served.problem:
                content = [*pictures, {"type": "text", "text": task.text}] if pictures else task.text
                schema = self.maker.schema(task) if self.maker.prompt.asks_json else None
                served = replace(served, request=ChatRequest(content, schema, task.seed))
            yield served


def data_url(content: bytes, name: str, max_pixels: int) -> str:
    """Return an image as a data URL.

    Every image, DICOM too, is brought to 8 bits and the right way up, made smaller if need be, and sent as PNG without
    metadata.

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
    plain = png(within(open_image(content, f"image {name}"), max_pixels))
    return f"data:image/png;base64,{base64.b64encode(plain).decode('ascii')}"
