"""Supervised fine-tuning on the letters A and B: all answers about a case in one pass of the tree that is judged.

The loss is that of fine-tuning on each prompt alone with the letter as the reply: the cross-entropy of the reply's
first token over the whole vocabulary. A tie asks for either letter with probability 1/2.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
import torch

from mrb_lib.build.training.loop import MakeTrainer
from mrb_lib.build.training.plan import Plan
from mrb_lib.build.training.trainee import Trainee, TrainingCases, judge_request
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.local.reader import Apart, logits_at
from mrb_lib.judges.local.tree import Tree, pack
from mrb_lib.judges.local.weights import Weights
from mrb_lib.replies.labels import LETTERS, Labels
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ORDERS
from mrb_lib.verdicts.protocol import VerdictRows

REFERENCE_PROMPT: Final = "single-reference"


@dataclass(frozen=True)
class LetterCase:
    """The prompts of a case and what is to be learnt of each.

    Attributes
    ----------
    tokens : with which a reply that names the response shown first begins, and one that names the second
    p_first : (branches, leaves), the wanted probability of the label of the response shown first
    weight : (branches, leaves), 0 where a prompt has no label
    """

    prompts: Tree | Apart
    tokens: tuple[int, int]
    p_first: torch.Tensor
    weight: torch.Tensor


class LetterLoss:
    """The loss of a judge's letters.

    Parameters
    ----------
    weights : of the judge

    Validated by tests/build/training/test_letters.py against each prompt alone, and against TRL's fine-tuning on
    the reply.
    """

    def __init__(self, weights: Weights) -> None:
        self.weights = weights

    def __call__(self, model: Callable[..., Any], cases: Sequence[LetterCase]) -> torch.Tensor:
        """The mean over cases and prompts of weight times cross-entropy; a prompt without a label counts as 0."""
        shared = [case for case in cases if isinstance(case.prompts, Tree)]
        groups = [*([shared] if shared else []), *([case] for case in cases if isinstance(case.prompts, Apart))]
        total = sum((self._sum(model, group) for group in groups), torch.zeros((), device=self.weights.device))
        return total / sum(case.weight.numel() for case in cases)

    def _sum(self, model: Callable[..., Any], cases: Sequence[LetterCase]) -> torch.Tensor:
        apart = [
            inputs
            for case in cases
            if isinstance(case.prompts, Apart)
            for row in case.prompts.prompts
            for inputs in row
        ]
        if apart:
            alone = [logits_at(self.weights, model, self.weights.to_device(inputs), None) for inputs in apart]
            logits = torch.cat(alone, dim=1)
        else:
            trees = [case.prompts for case in cases if isinstance(case.prompts, Tree)]
            inputs, ends = pack(trees, self.weights.to_device)
            logits = logits_at(self.weights, model, inputs, ends)
        p_first = torch.cat([case.p_first.flatten() for case in cases]).to(logits.device)
        weight = torch.cat([case.weight.flatten() for case in cases]).to(logits.device)
        tokens = torch.tensor([case.tokens for case in cases for _ in range(case.weight.numel())])
        log_p = logits[0].float().log_softmax(-1).gather(-1, tokens.to(logits.device))
        return -(weight * (p_first * log_p[..., 0] + (1 - p_first) * log_p[..., 1])).sum()


def letter_cases(judge: PackedJudge, shown: pd.DataFrame) -> tuple[list[LetterCase], Mapping[str, str]]:
    """The prompts of cases, by the code that judges, with what is to be learnt.

    Parameters
    ----------
    shown : the rows of the prompts as a judge is shown them (see `mrb_lib.verdicts.protocol.Judge.judge`), every
        order and dimension of a case, with `p_first` and `weight` (0 where there is no label)

    Returns
    -------
    tuple
        The cases, and why others cannot be shown, by case id.
    """
    rows = VerdictRows(shown)
    p_first, weight = (torch.tensor(shown[name].to_numpy(dtype="float32")) for name in ("p_first", "weight"))
    cases = []
    for case in judge.cases(rows, shown.drop(columns=["p_first", "weight"])):
        shape = [1 + max(places) for places in zip(*case.asked, strict=True)]
        wanted, weighs = torch.zeros(shape), torch.zeros(shape)
        for place, position in zip(case.asked, case.positions, strict=True):
            wanted[place], weighs[place] = p_first[position], weight[position]
        tokens = letter_tokens(judge.weights, judge.writer.labels(case.records[0]))
        cases.append(LetterCase(case.prompts, tokens, wanted, weighs))
    return cases, rows.failures()


def letter_tokens(weights: Weights, labels: Labels = LETTERS) -> tuple[int, int]:
    """Return the tokens with which the model's own chat template begins the replies that are one of two labels.

    Raises
    ------
    InputError
        The template begins a reply with something else, as one that reasons first does.
    """
    prompt = weights.tokens(weights.chat("?", 0, {}))
    tokens = []
    for letter in labels:
        whole = weights.tokens(weights.chat("?", 0, {}, reply=letter))
        first = whole[len(prompt)] if whole[: len(prompt)] == prompt and len(whole) > len(prompt) else -1
        if first not in weights.single_tokens(letter, f" {letter}"):
            raise InputError(
                f"{weights.model.name_or_path}: its chat template does not begin the reply {letter!r} with it, so "
                "letters cannot be learnt; train on the reply instead (--prompt plain)."
            )
        tokens.append(first)
    return tokens[0], tokens[1]


class LetterTrainee(Trainee):
    """Supervised fine-tuning on letters; where only some prompts show the reference answer, two prompts are learnt."""

    judge: PackedJudge

    def __init__(self, plan: Plan) -> None:
        options = plan.recipe.examples
        shows = options.reference == "keep" and plan.recipe.prompt is None
        super().__init__(plan, PackedJudge(judge_request(plan, "packed", REFERENCE_PROMPT if shows else None)))
        if options.reference != "drop" and plan.recipe.prompt is not None:
            raise InputError(f"--reference {options.reference}: goes with the usual prompts; leave --prompt out.")
        self._referring = PackedJudge(judge_request(plan, "packed", REFERENCE_PROMPT))
        self.judge.load()
        self._referring.share(self.judge)
        self._adapt()

    def _trainer(self) -> tuple[MakeTrainer, int]:
        """See `Trainee._trainer`."""
        shown = self._shown(ORDERS if self._recipe.examples.swap else ORDERS[:1])
        cases = TrainingCases(self._cases, shown)
        letter_tokens(self.judge.weights)  # a model without them is refused before anything is read
        return self._case_trainer(cases, LetterLoss(self.judge.weights))

    def _cases(self, shown: pd.DataFrame) -> tuple[list[LetterCase], Mapping[str, str]]:
        judge = self._referring if shown["shows_reference"].any() else self.judge
        return letter_cases(judge, shown.drop(columns="shows_reference"))
