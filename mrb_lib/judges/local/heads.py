"""The scalar head of a reward model: in the model's own weights, or in a file beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from mrb_lib.errors import InputError
from mrb_lib.judges.local.weights import Tensors, Weights

HEAD_FILE: Final = "reward_head.safetensors"
# Files beside a language model that hold a head, and the names of its weight and bias in them:
# our own, and that of models trained with a value head in TRL, as Skywork-VL-Reward is published.
_FILES: Final = {
    HEAD_FILE: ("weight", "bias"),
    "value_head.safetensors": ("v_head.summary.weight", "v_head.summary.bias"),
}
# The same in the weights themselves, as transformers' sequence classifiers have it.
_OWN: Final = ("score.weight", "score.bias")


@dataclass(frozen=True)
class RewardHead:
    """A linear map from the last token's hidden state to a score; `weight` (1, H), `bias` (1,)."""

    weights: Weights
    weight: torch.Tensor
    bias: torch.Tensor

    def check(self) -> None:
        """Raise `InputError` where the head does not fit the model."""
        size = self.weights.model.config.get_text_config().hidden_size
        if self.weight.shape != (1, size) or self.bias.shape != (1,):
            raise InputError(
                f"{self.weights.model.name_or_path}: its scalar head has shape {tuple(self.weight.shape)} and its "
                f"model {size} hidden units; a reward model needs one row of that many, and one bias at most."
            )

    def scores(self, inputs: Tensors) -> torch.Tensor:
        """The score of each conversation, (B,) in single precision on the CPU; filled up on the left."""
        states = self.weights.model.model(**inputs, use_cache=False).last_hidden_state[:, -1]
        scores: torch.Tensor = states.float() @ self.weight.T.to(states.device) + self.bias.to(states.device)
        return scores[:, 0].cpu()


def load_head(folder: Path, weights: Weights) -> RewardHead:
    """Find the scalar head of a model.

    Raises
    ------
    InputError
        The folder holds none, or one that does not fit.
    """
    for name, keys in _FILES.items():
        if (folder / name).is_file():
            return _head(folder / name, keys, weights)
    for path in _files_with(folder, _OWN[0]):
        return _head(path, _OWN, weights)
    raise InputError(
        f"{folder}: holds no scalar head ({', '.join(_FILES)} or {_OWN[0]} in its weights), so it is no reward "
        "model; judge with it as NAME+packed or NAME+rating."
    )


def save_head(folder: Path, weight: torch.Tensor, bias: torch.Tensor) -> Path:
    """Write a scalar head beside a model; `weight` (1, H), `bias` (1,)."""
    path = folder / HEAD_FILE
    save_file({"weight": weight.contiguous(), "bias": bias.contiguous()}, path)
    return path


def _head(path: Path, keys: tuple[str, str], weights: Weights) -> RewardHead:
    try:
        held = load_file(path)
        weight = held[keys[0]].float()
    except (OSError, SafetensorError, KeyError) as error:
        raise InputError(f"{path}: holds no {keys[0]} ({error}); fetch the model again.") from error
    bias = held[keys[1]].float() if keys[1] in held else torch.zeros(1)
    head = RewardHead(weights, weight.reshape(-1, weight.shape[-1]), bias.reshape(-1))
    head.check()
    return head


def _files_with(folder: Path, key: str) -> list[Path]:
    """The weight files that hold a tensor, by the index where there is one."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        name = json.loads(index.read_text(encoding="utf-8"))["weight_map"].get(key)
        return [folder / str(name)] if name is not None else []
    single = folder / "model.safetensors"
    if not single.is_file():
        return []
    with safe_open(single, framework="pt") as held:
        return [single] if key in set(held.keys()) else []
