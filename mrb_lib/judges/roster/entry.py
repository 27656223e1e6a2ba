"""What the roster knows about one judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Access = Literal["open", "proprietary", "built in"]
Domain = Literal["general", "medical", "critic", "reward"]
Thinking = Literal["no", "optional", "always"]

_BYTES_A_PARAMETER = {"bfloat16": 2, "float32": 4}


@dataclass(frozen=True)
class Entry:
    """One judge of the roster; None where nothing could be checked.

    Attributes
    ----------
    name : as the user names it
    model : id on the Hub, or the name by which a server knows it
    path : a local folder of weights, in place of `model`
    family, access, domain, size, licence : as published
    parameters : billions
    base : the roster's name of the model whose weights it was trained further from
    engine : the name of the one used unless the user names another; see `mrb_lib.judges.roster.engines`
    vision : whether it takes images; None leaves it to the weights
    thinking : whether it reasons before it replies
    remote_code : whether it needs code from its repository
    gated : whether its publisher asks for an agreement first
    chat : quirks: `template`, a mapping of arguments for the chat template
    base_url, key_env : of a server, and the environment variable that holds its key
    source : the public page where this was checked
    needs, about : for people
    """

    name: str
    engine: str
    model: str | None = None
    path: Path | None = None
    family: str | None = None
    access: Access | None = None
    domain: Domain | None = None
    base: str | None = None
    size: str | None = None
    parameters: float | None = None
    licence: str | None = None
    vision: bool | None = None
    thinking: Thinking | None = None
    remote_code: bool = False
    gated: bool | None = None
    chat: Mapping[str, object] = field(default_factory=dict)
    base_url: str | None = None
    key_env: str | None = None
    source: str | None = None
    needs: str | None = None
    about: str | None = None

    def weights_gb(self, dtype: str = "bfloat16") -> float | None:
        """Memory of the weights alone, in 10^9 bytes; None where the number of parameters is unknown."""
        return None if self.parameters is None else self.parameters * _BYTES_A_PARAMETER[dtype]
