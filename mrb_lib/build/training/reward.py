"""A reward head by Bradley and Terry's model: the response that annotators prefer is to have the higher value.

The head takes the place of the language model's: one linear map from the last token's hidden state, with a row a
dimension. The probability that A is better is the logistic function of the difference of the values (Bradley and Terry
1952, doi:10.1093/biomet/39.3-4.324), its loss the cross-entropy with the label; a tie asks for 1/2.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import pandas as pd
import torch
from transformers import PreTrainedModel

from mrb_lib.build.training.loop import MakeTrainer
from mrb_lib.build.training.plan import Plan
from mrb_lib.build.training.trainee import Trainee, TrainingCases, judge_request
from mrb_lib.judges.local.base import LocalJudge
from mrb_lib.judges.local.reward import (
    HEAD_FILE,
    Conversations,
    RewardHead,
    RewardJudge,
    head_dimensions,
    load_head,
    save_head,
)
from mrb_lib.judges.local.weights import Weights
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ORDERS
from mrb_lib.verdicts.protocol import VerdictRows


@dataclass(frozen=True)
class RewardCase:
    """The two conversations of a case and what is to be learnt of them.

    Attributes
    ----------
    p_first : (dimensions,), the wanted probability that the first conversation's response is better
    weight : (dimensions,), 0 where there is no label
    """

    conversations: Conversations
    p_first: torch.Tensor
    weight: torch.Tensor


def reward_loss(weights: Weights, model: Callable[..., Any], cases: Sequence[RewardCase]) -> torch.Tensor:
    """The loss of a reward head that stands in the place of the language model's head.

    Returns
    -------
    Tensor
        The mean over cases and dimensions of weight times cross-entropy; what has no label counts as 0. Validated by
        tests/build/training/test_letters.py.
    """
    every = [inputs for case in cases for inputs in case.conversations.inputs]
    values = model(**weights.to_device(weights.collate(every)), use_cache=False, logits_to_keep=1).logits[:, -1].float()
    difference = values[0::2] - values[1::2]
    p_first = torch.stack([case.p_first for case in cases]).to(difference.device)
    weight = torch.stack([case.weight for case in cases]).to(difference.device)
    return torch.nn.functional.binary_cross_entropy_with_logits(difference, p_first, weight)


def reward_cases(judge: RewardJudge, shown: pd.DataFrame) -> tuple[list[RewardCase], Mapping[str, str]]:
    """The conversations of cases, by the code that judges, with what is to be learnt.

    Parameters
    ----------
    shown : as in `mrb_lib.build.training.letters.letter_cases`, in one order

    Returns
    -------
    tuple
        The cases, and why others cannot be shown, by case id.
    """
    rows = VerdictRows(shown)
    p_first, weight = (torch.tensor(shown[name].to_numpy(dtype="float32")) for name in ("p_first", "weight"))
    asked = shown.drop(columns=["p_first", "weight"])
    cases = []
    for one in judge.cases(rows, asked):
        wanted, weighs = torch.zeros(len(judge.dimensions)), torch.zeros(len(judge.dimensions))
        for position, record in zip(one.positions, one.records, strict=True):
            column = judge.dimensions.index(str(record["dimension"]))
            wanted[column], weighs[column] = p_first[position], weight[position]
        cases.append(RewardCase(one, wanted, weighs))
    return cases, rows.failures()


def give_head(weights: Weights, n_dimensions: int, seed: int) -> torch.nn.Linear:
    """Put a new reward head in the place of a model's language model head, and return it.

    Its values begin small, so that every pair begins near probability 1/2.
    """
    model, size = weights.model, weights.model.config.get_text_config().hidden_size
    head = torch.nn.Linear(size, n_dimensions, bias=False)
    with torch.no_grad():
        drawn = torch.randn(n_dimensions, size, generator=torch.Generator().manual_seed(seed))
        head.weight.copy_(drawn * size**-0.5 * 0.1)
    head.to(model.device, model.dtype)
    # Tied to the embeddings, the new head would be written over by them.
    for config in (model.config, model.config.get_text_config()):
        config.tie_word_embeddings = False
    model.set_output_embeddings(head)
    return head


class RewardTrainee(Trainee):
    """A reward head and the weights below it; the head goes on from that of a judge of the same dimensions."""

    judge: RewardJudge

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, RewardJudge(judge_request(plan, "reward")))
        names = tuple(self._dimensions)
        self.judge.dimensions = names
        LocalJudge.load(self.judge)
        weights = self.judge.weights
        self._speech = weights.model.get_output_embeddings()
        self._tied = [config.tie_word_embeddings for config in _configs(weights.model)]
        head, folder = give_head(weights, len(names), plan.recipe.seed), plan.source.folder
        if (folder / HEAD_FILE).is_file() and head_dimensions(folder) == names:
            with torch.no_grad():
                head.weight.copy_(load_head(folder, weights).weight)
        self._adapt()
        self._head = _trained_linear(weights.model.get_output_embeddings())
        self.judge.head = RewardHead(weights, self._head.weight, torch.zeros(len(names)), names)

    def _new_modules(self) -> list[str]:
        model = self.judge.weights.model
        return [name for name, module in model.named_modules() if module is model.get_output_embeddings()]

    def _trainer(self) -> tuple[MakeTrainer, int]:
        """See `Trainee._trainer`."""
        if self._recipe.examples.reference != "drop":
            raise InputError("--reference: a reward model is shown the question and a response; leave it out.")
        shown = self._shown(ORDERS[:1]).drop(columns="shows_reference")
        cases = TrainingCases(partial(reward_cases, self.judge), shown)
        return self._case_trainer(cases, partial(reward_loss, self.judge.weights))

    def save(self, folder: Path) -> None:
        """See `Trainee.save`; the language model's head comes back, and the trained one lies beside the weights."""
        model = self.judge.weights.model
        trained = _trained_linear(model.get_output_embeddings()).weight
        for config, tied in zip(_configs(model), self._tied, strict=True):
            config.tie_word_embeddings = tied
        model.set_output_embeddings(self._speech)
        if self._recipe.keep_adapter:
            self._whole.peft_config["default"].modules_to_save = None
        super().save(folder)
        save_head(folder, trained, self.judge.dimensions)


def _configs(model: PreTrainedModel) -> list[Any]:
    return [model.config, model.config.get_text_config()]


def _trained_linear(module: Any) -> torch.nn.Linear:
    """A linear map, or the copy that is trained of it beside adapters."""
    held = getattr(module, "modules_to_save", None)
    return cast("torch.nn.Linear", held["default"] if held is not None else module)
