"""Reward models: a number for each response, and from their difference a choice and a probability.

The head is in the model's own weights, or in a file beside them; one of this library's has a value a dimension.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from scipy.special import expit

from mrb_lib.judges.context import image_names
from mrb_lib.judges.fences import defuse
from mrb_lib.judges.local.base import NO_NUMBER, CaseJudge, Positions, Records, Waiting
from mrb_lib.judges.local.weights import Tensors, Weights, check_context
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.tasks import responses_of
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import pick_of
from mrb_lib.verdicts.protocol import VerdictRows

FloatArray = NDArray[np.float64]

OVERALL: Final = ("overall",)
"""The dimension of a head that names none."""


@dataclass(frozen=True)
class Conversations(Waiting):
    """The conversations of a case, one a response, and the rows that wait for their scores.

    `inputs` are those of the two in the order of the first row; equal responses are the same.
    """

    inputs: tuple[Tensors, Tensors]


class RewardJudge(CaseJudge[Conversations, tuple[FloatArray, float]]):
    """A reward of each response as the assistant's reply to the question.

    A head with one value judges the dimension that it was trained on (`overall` where it does not say), one with a
    value a dimension judges them all. `p_first` is the logistic function of the difference of the scores (Bradley and
    Terry's model, by which these models are trained). Both orders have the same scores.

    Validated by tests/judges/local/test_reward.py.
    """

    engine = "reward"
    speaks = False

    def __init__(self, request: JudgeRequest) -> None:
        super().__init__(request)
        self.dimensions: tuple[str, ...] = head_dimensions(self._source.folder)

    @cached_property
    def head(self) -> RewardHead:
        """The scalar head, with the weights; another may take its place, as one that is being trained."""
        super().load()
        return load_head(self._source.folder, self.weights)

    def load(self) -> None:
        """Read the weights and the head."""
        self.head  # noqa: B018  # a cached property: naming it reads both

    def unload(self) -> None:
        """See `LocalJudge.unload`."""
        self.__dict__.pop("head", None)
        super().unload()

    def case(self, positions: Positions, records: Records) -> Conversations:
        """See `CaseJudge.case`."""
        row = records[0]
        pictures = self.pictures(image_names(row))
        marks = self.weights.marks
        question = defuse(str(row["question"]), marks)
        texts = [
            self.weights.chat(question, len(pictures), self._template, reply=defuse(response, marks))
            for response in responses_of(row)
        ]
        encoded = [self.weights.encode(text, pictures) for text in dict.fromkeys(texts)]
        longest = max(inputs["input_ids"].shape[1] for inputs in encoded)
        check_context(self.weights, longest)
        # Filled up to the longer of the two; equal responses are the same, and have the same score.
        return Conversations(positions, records, len(pictures), 2 * longest, (encoded[0], encoded[-1]))

    def _put(self, rows: VerdictRows, case: Conversations, reading: tuple[FloatArray, float]) -> None:
        values, seconds = reading
        if not np.isfinite(values).all():
            rows.fail(case.positions, NO_NUMBER)
            return
        tokens = sum(inputs["input_ids"].shape[1] for inputs in case.inputs)
        for position, record, is_swapped, took in case.rows(prompt_tokens=tokens, latency_s=seconds):
            of_dimension = values[:, self.dimensions.index(str(record["dimension"]))]
            a, b = map(float, of_dimension[::-1] if is_swapped else of_dimension)
            rows.put(position, "ok", pick_of(a, b), score_first=a, score_second=b, p_first=float(expit(a - b)), **took)

    def _read(self, cases: Sequence[Conversations]) -> list[tuple[FloatArray, float]]:
        """Values (2, dimensions) and seconds of each case."""
        start = time.perf_counter()
        inputs = self.weights.collate([inputs for one in cases for inputs in one.inputs])
        scores = self.head.scores(self.weights.to_device(inputs)).double().numpy()
        seconds = (time.perf_counter() - start) / len(cases)
        # Beside one another, rounding would tell equal responses apart.
        places = [(2 * i, 2 * i + (one.inputs[0] is not one.inputs[1])) for i, one in enumerate(cases)]
        return [(scores[list(both)], seconds) for both in places]


HEAD_FILE: Final = "reward_head.safetensors"
# The names of a head's weight and, with "bias" for "weight", its bias: in our own file, as TRL writes a value head
# (Skywork-VL-Reward is published so), and in the weights of transformers' sequence classifiers.
_KEYS: Final = ("weight", "v_head.summary.weight", "score.weight")


@dataclass(frozen=True)
class RewardHead:
    """A linear map from the last token's hidden state to a value a dimension; `weight` (D, H), `bias` (D,).

    Raises
    ------
    InputError
        It does not fit the model.
    """

    weights: Weights
    weight: torch.Tensor
    bias: torch.Tensor
    dimensions: tuple[str, ...] = OVERALL

    def __post_init__(self) -> None:
        size = self.weights.model.config.get_text_config().hidden_size
        n_dimensions = len(self.dimensions)
        if self.weight.shape != (n_dimensions, size) or self.bias.shape != (n_dimensions,):
            raise InputError(
                f"{self.weights.model.name_or_path}: its reward head has shape {tuple(self.weight.shape)}, and needs "
                f"{(n_dimensions, size)}, with a bias a row ({', '.join(self.dimensions)})."
            )

    def scores(self, inputs: Tensors) -> torch.Tensor:
        """The values of each conversation, (B, D) in single precision on the CPU; filled up on the left."""
        states = self.weights.model.model(**inputs, use_cache=False).last_hidden_state[:, -1]
        scores: torch.Tensor = states.float() @ self.weight.T.to(states.device) + self.bias.to(states.device)
        return scores.cpu()


def head_dimensions(folder: Path) -> tuple[str, ...]:
    """The dimensions that a model's head has values for, as its file says; `overall` where it says none.

    Raises
    ------
    InputError
        The file is damaged.
    """
    path = folder / HEAD_FILE
    if not path.is_file():
        return OVERALL
    try:
        with safe_open(path, framework="pt") as held:
            stated = json.loads((held.metadata() or {}).get("dimensions", "null"))
    except (OSError, SafetensorError, ValueError) as error:
        raise InputError(f"{path}: is damaged ({error}); fetch the model again.") from error
    return tuple(map(str, stated)) if isinstance(stated, list) and stated else OVERALL


def save_head(folder: Path, weight: torch.Tensor, dimensions: Sequence[str]) -> None:
    """Write a head beside a model, (D, H) with a row a dimension, so that `load_head` reads it."""
    # One key: several are written in an order that changes from time to time, and the file's digest with it.
    held = {"weight": weight.detach().float().cpu().contiguous(), "bias": torch.zeros(len(weight))}
    save_file(held, folder / HEAD_FILE, metadata={"dimensions": json.dumps(list(dimensions))})


def load_head(folder: Path, weights: Weights) -> RewardHead:
    """Find the scalar head of a model.

    Raises
    ------
    InputError
        The folder holds none, or one that does not fit.
    """
    for key in _KEYS:
        for path in sorted(folder.glob("*.safetensors")):
            try:
                with safe_open(path, framework="pt") as held:
                    names = {key, key.replace("weight", "bias")} & set(held.keys())
                    found = {name: held.get_tensor(name).float() for name in names}
            except (OSError, SafetensorError) as error:
                raise InputError(f"{path}: is damaged ({error}); fetch the model again.") from error
            if key in found:
                weight = found.pop(key)
                weight = weight.reshape(-1, weight.shape[-1])
                bias = next(iter(found.values()), torch.zeros(len(weight))).reshape(-1)
                return RewardHead(weights, weight, bias, head_dimensions(folder))
    raise InputError(
        f"{folder}: holds no scalar head ({', '.join(_KEYS)}), so it is not a reward model; judge "
        "with it as NAME+packed."
    )
