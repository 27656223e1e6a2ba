"""What the roster knows about one judge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

Access = Literal["open", "proprietary", "built in"]
Domain = Literal["general", "medical", "critic", "reward"]
Thinking = Literal["no", "optional", "always"]

SizeSource = Literal["parameters", "name"]

_BYTES_A_PARAMETER = {"bfloat16": 2, "float32": 4}
_BILLIONS: Final = {"b": 1.0, "m": 1e-3}
_SIZE: Final = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", re.IGNORECASE)


@dataclass(frozen=True)
class Entry:
    """One judge of the roster; None where nothing could be checked.

    Attributes
    ----------
    name : as the user names it
    model : id on the Hub, or the name by which a server knows it
    subfolder : the folder inside the Hub's repository that holds this model's weights
    path : a local folder of weights, in place of `model`
    family, access, domain, size, licence : as published
    parameters : billions
    context : tokens that a conversation with it may have
    cutoff : until when its training data reach, as its publisher says: YYYY-MM or YYYY-MM-DD
    base : the roster's name of the model whose weights it was trained further from
    engine : the name of the one used unless the user names another; see `mrb_lib.judges.roster.engines`
    vision : whether it takes images; None leaves it to the weights
    thinking : whether it reasons before it replies
    remote_code : whether it needs code from its repository; None counts as no
    gated : whether its publisher asks for an agreement first
    chat : quirks: `template`, a mapping of arguments for the chat template
    base_url, key_env : of a server, and the environment variable that holds its key
    source : the public page where this was checked
    checked : the day on which it was, YYYY-MM-DD
    needs, about : for people
    """

    name: str
    engine: str
    model: str | None = None
    subfolder: str | None = None
    path: Path | None = None
    family: str | None = None
    access: Access | None = None
    domain: Domain | None = None
    base: str | None = None
    size: str | None = None
    parameters: float | None = None
    context: int | None = None
    cutoff: str | None = None
    licence: str | None = None
    vision: bool | None = None
    thinking: Thinking | None = None
    remote_code: bool | None = None
    gated: bool | None = None
    chat: Mapping[str, object] = field(default_factory=dict)
    base_url: str | None = None
    key_env: str | None = None
    source: str | None = None
    checked: str | None = None
    needs: str | None = None
    about: str | None = None

    @property
    def size_from(self) -> SizeSource | None:
        """What tells how large it is: `parameters`, else the size in `size` or a name; None where nothing does."""
        if self.parameters is not None:
            return "parameters"
        return None if self._named_size() is None else "name"

    def weights_gb(self, dtype: str = "bfloat16") -> float | None:
        """Memory of the weights alone, in 10^9 bytes; None where nothing tells how large it is (see `size_from`).

        A size in a name rounds, and often leaves the image encoder out: the weights may hold a third more.
        """
        billions = self._named_size() if self.parameters is None else self.parameters
        return None if billions is None else billions * _BYTES_A_PARAMETER[dtype]

    def _named_size(self) -> float | None:
        """Billions of parameters as `size` or a name says; of "30B-A3B" all 30."""
        for text in (self.size, self.name, self.model):
            if match := _SIZE.search(text or ""):
                return float(match[1]) * _BILLIONS[match[2].casefold()]
        return None
