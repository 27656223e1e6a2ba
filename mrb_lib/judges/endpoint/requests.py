"""Requests to a chat server: a message with images as data URLs, and options until the server refuses them."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, Literal

from PIL import Image

from mrb_lib.benchmarks.images.pictures import open_image, png, within

_CHARACTERS_A_TOKEN: Final = 4
_PIXELS_A_TOKEN: Final = 28 * 28


@dataclass(frozen=True)
class ChatRequest:
    """One user message.

    Attributes
    ----------
    text : after the images
    images : as data URLs
    schema : to which the reply is held where the server can do that
    seed : of sampling, and of the waits between attempts
    """

    text: str
    images: tuple[str, ...]
    schema: Mapping[str, object] | None
    seed: int

    @property
    def content(self) -> object:
        """Return the message as the chat protocol has it: a text, or parts."""
        pictures = [{"type": "image_url", "image_url": {"url": url}} for url in self.images]
        return [*pictures, {"type": "text", "text": self.text}] if pictures else self.text

    @property
    def prompt_tokens(self) -> int:
        """Return roughly its tokens: one for 4 characters, and one for 28 x 28 pixels of an image as sent."""
        tokens = ceil(len(self.text) / _CHARACTERS_A_TOKEN)
        for url in self.images:
            with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:  # reads the header alone
                tokens += ceil(image.width * image.height / _PIXELS_A_TOKEN)
        return tokens


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


# How a refusal names an option, and the consequence of leaving it out.
_OPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "schema": ("response_format|json_schema|structured|guided|grammar", "replies are parsed as they come"),
    "logprobs": ("logprobs", "p_a is null from here on"),
    "seed": (r"\bseed\b", "a sampled reply cannot be reproduced"),
    "temperature": ("temperature", "replies are drawn as the server sets it, and may differ from time to time"),
}
TOP_LOGPROBS: Final = 20
_FEWER_LOGPROBS: Final = 5  # the most that several hosts give


@dataclass(frozen=True)
class RequestOptions:
    """The options of a request.

    Attributes
    ----------
    names : "schema" (a reply held to a JSON schema), "logprobs" (the alternatives of each token, with their
        probabilities), "seed" (sampling from one) and "temperature" (that of the settings), as far as they are wanted
    top_logprobs : how many alternatives
    limit : the name by which the longest reply is stated; newer hosts refuse the older one
    """

    names: frozenset[str]
    top_logprobs: int = TOP_LOGPROBS
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"

    def relax(self, refusal: str, proven: frozenset[str]) -> RequestOptions | None:
        """Return the options to try after a refusal; None if there is nothing left that could be the reason.

        Parameters
        ----------
        refusal : what the server said
        proven : the names of options that it granted before: a refusal that does not name them is not about them
        """
        if self.limit == "max_tokens" and "max_completion_tokens" in refusal:
            return replace(self, limit="max_completion_tokens")
        named = frozenset(name for name in self.names if re.search(_OPTIONS[name][0], refusal, re.IGNORECASE))
        if "logprobs" in named and self.top_logprobs > _FEWER_LOGPROBS:
            return replace(self, names=self.names - named | {"logprobs"}, top_logprobs=_FEWER_LOGPROBS)
        # Every server knows a temperature, so it is the reason only where it is named.
        suspects = named or self.names - proven - {"temperature"}
        return replace(self, names=self.names - suspects) if suspects else None


def without_option(name: str, refusal: str) -> str:
    """Return what the user reads of an option that a server refuses."""
    return f"the server refuses {name}, so it is not asked for: {_OPTIONS[name][1]} ({refusal})"
