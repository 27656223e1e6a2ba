"""The facts that the roster states about one judge."""

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

Access = Literal["open", "proprietary", "built in"]
Domain = Literal["general", "medical", "critic", "reward"]
Thinking = Literal["no", "optional", "always"]

BYTES: Final = {"bfloat16": 2.0, "float32": 4.0, "8bit": 1.1, "4bit": 0.6}
"""Bytes per parameter; rounded weights keep some layers and scales (a rule of thumb)."""
_THINKING_OFF: Final = (("enable_thinking", False), ("thinking", False), ("thinking_mode", "off"))
_BILLIONS: Final = {"B": 1.0, "M": 1e-3}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)([BM])(?:-A(\d+(?:\.\d+)?)B)?")

_PART: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_FOLDER_INSIDE: Final = rf"^{_PART}(/{_PART})*$"


_MONTH: Final = r"20\d\d-(0[1-9]|1[0-2])"
_DAY: Final = rf"{_MONTH}-(0[1-9]|[12]\d|3[01])"


Text = Annotated[str, Field(pattern=r"\S")]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid", strict=True))
class Entry:
    """One judge of the roster; None where nothing could be checked. The head of `roster.toml` has the meaning of keys.

    Attributes
    ----------
    name, engine : as the user names the judge; the engine used unless the user names another
    model, subfolder : id on the Hub or at a server; the folder inside the Hub's repository that holds the weights
    path : a local folder of weights, in place of `model`
    family, access, domain, size, licence : as published
    parameters : billions
    context : tokens that a conversation with it may have
    cutoff : the end of its training data, YYYY-MM or YYYY-MM-DD
    base : the roster's name of the model whose weights it was trained further from
    vision : whether it takes images; None leaves it to the weights
    thinking : whether it reasons before it replies
    remote_code : whether it needs code from its repository; None counts as no
    gated : whether its publisher asks for an agreement first
    chat : `template`, a mapping of arguments for the chat template
    serve : arguments that vLLM or SGLang need for it
    aliases, tuned_as : other names of the model, and names of models tuned from it, in published results
    base_url, key_env : of a server, and the environment variable that holds its key
    source, checked : the public page with most of this, and the day it was looked up, YYYY-MM-DD
    needs, about : for people
    """

    name: Text
    engine: Text
    model: Text | None = None
    subfolder: Annotated[str, Field(pattern=_FOLDER_INSIDE)] | None = None
    path: Annotated[Path, Field(strict=False)] | None = None
    family: Text | None = None
    access: Access | None = None
    domain: Domain | None = None
    base: Text | None = None
    size: Text | None = None
    parameters: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    context: Annotated[int, Field(gt=0)] | None = None
    cutoff: Annotated[str, Field(pattern=rf"^({_MONTH}|{_DAY})$")] | None = None
    licence: Text | None = None
    vision: bool | None = None
    thinking: Thinking | None = None
    remote_code: bool | None = None
    gated: bool | None = None
    chat: Mapping[Literal["template"], Mapping[str, object]] = field(default_factory=dict)
    serve: Texts = ()
    aliases: Texts = ()
    tuned_as: Texts = ()
    base_url: Text | None = None
    key_env: Text | None = None
    source: Text | None = None
    checked: Annotated[str, Field(pattern=rf"^{_DAY}$")] | None = None
    needs: Text | None = None
    about: Text | None = None

    @property
    def thinks(self) -> bool:
        """Return whether a model may think before it replies: always, or where it is optional and not switched off.

        A hosted model, whose entry names its server, thinks where a request asks for it, and none does unless the
        entry's `template` says so; other models think by default.
        """
        switches = self.chat.get("template", {})
        is_off = any(name in switches and switches[name] == off for name, off in _THINKING_OFF)
        is_off = is_off or (self.base_url is not None and not switches)
        return self.thinking == "always" or (self.thinking == "optional" and not is_off)

    @property
    def active_billions(self) -> float | None:
        """Billions of parameters at work per token, of "30B-A3B" 3; None where no size is stated."""
        stated = _SIZE.match(self.size or "")
        return float(stated[3]) if stated and stated[3] else self.billions

    @property
    def billions(self) -> float | None:
        """Billions of parameters, else of the published size, of "30B-A3B" all 30; None where neither is stated."""
        stated = _SIZE.match(self.size or "")
        if self.parameters is None and stated:
            return float(stated[1]) * _BILLIONS[stated[2]]
        return self.parameters

    def weights_gb(self, stored: str = "bfloat16") -> float | None:
        """Return the memory of the weights alone, in 10^9 bytes; None where no size is stated.

        Parameters
        ----------
        stored : "bfloat16", "float32", "8bit" or "4bit"
        """
        return None if self.billions is None else self.billions * BYTES[stored]
