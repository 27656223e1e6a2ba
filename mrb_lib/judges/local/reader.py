"""The probability of given words as the first of a reply, for every prompt of a tree."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Final

import numpy as np
import pandas as pd
import torch
from PIL import Image

from mrb_lib.errors import InputError, RunError
from mrb_lib.judges.local.base import LocalJudge, Positions, Records, T
from mrb_lib.judges.local.tree import Tree, grow, pack
from mrb_lib.judges.local.weights import Tensors, Weights
from mrb_lib.verdicts.protocol import VerdictRows

# By how much a share of the probability, and the logarithm of the probability of all groups
# together, may differ between reading together and reading alone before the two are not the
# same model any more. In bfloat16 a logit of 16 has steps of an eighth.
_TOLERANCE: Final = {torch.float32: (1e-4, 1e-3), torch.bfloat16: (0.05, 0.7)}
_LOWEST: Final = 1e-45  # the smallest single-precision number: a ratio of probabilities stays defined

Probabilities = list[list[list[float]]]


CASE: Final = ("case_id", "probe")
"""The rows that one pass answers: all questions about a case."""


@dataclass(frozen=True)
class CasePrompts:
    """The prompts of one case: as a tree, or alone where they cannot share; `n_tokens` are read in all."""

    tree: Tree | None
    texts: tuple[tuple[str, ...], ...]
    pictures: tuple[Image.Image, ...]
    n_tokens: int


def tree_inputs(weights: Weights, trees: Sequence[Tree]) -> tuple[Tensors, torch.Tensor]:
    """Trees of one shape as the inputs of one pass, and the columns of the last token of each prompt.

    Returns
    -------
    tuple
        The model's keyword arguments on its device, and int64 of shape (prompts,), branch by branch.
    """
    packed = pack(trees, weights.pad_id, weights.to_device)
    n_trunk = int((packed.segment == 0).sum())
    extra: Tensors = dict(packed.pictures)
    if packed.kinds is not None:
        extra["mm_token_type_ids"] = packed.kinds
    trunk = None
    if packed.kinds is not None and bool(packed.kinds.any()) and hasattr(weights.model.model, "get_rope_index"):
        trunk, _ = weights.model.model.get_rope_index(
            packed.ids[:, :n_trunk],
            mm_token_type_ids=packed.kinds[:, :n_trunk],
            attention_mask=packed.real[:, :n_trunk].long(),
            **{name: value for name, value in packed.pictures.items() if name.endswith("_thw")},
        )
    inputs = {"input_ids": packed.ids, "attention_mask": packed.mask(), "position_ids": packed.positions(trunk)}
    return {**inputs, **extra}, packed.ends


def keeps_columns(weights: Weights) -> bool:
    """Whether a model can be told for which columns to compute what follows."""
    return "logits_to_keep" in signature(weights.model.forward).parameters


def logits_at(model: Callable[..., Any], inputs: Tensors, columns: torch.Tensor | None, *, keeps: bool) -> torch.Tensor:
    """What follows the tokens at some columns, None for the last; (B, columns, vocabulary).

    Parameters
    ----------
    keeps : the model can be told which columns are wanted, and computes no others
    """
    wanted = {"logits_to_keep": 1 if columns is None else columns} if keeps else {}
    logits: torch.Tensor = model(**inputs, use_cache=False, **wanted).logits
    if columns is None:
        return logits[:, -1:]
    # A model may take the wish and not heed it.
    return logits if logits.shape[1] == columns.numel() else logits[:, columns]


class TreeReader:
    """Reads the next-token probabilities of word groups after each prompt.

    Parameters
    ----------
    groups : the spellings of each word; a spelling that is not one token of this model is left out

    Attributes
    ----------
    why_alone : why prompts cannot share their beginnings with this model; empty where they can
    why_apart : why some cases so far were read alone nevertheless; empty where none was

    Validated by tests/judges/local/test_packed.py and, for the architectures of published judges,
    tests/judges/local/test_architectures.py.
    """

    def __init__(self, weights: Weights, groups: Sequence[Sequence[str]]) -> None:
        self._weights = weights
        self._groups = [_single_tokens(weights, group) for group in groups]
        self._keeps = keeps_columns(weights)
        self.why_apart = ""
        self.why_alone = _why_alone(weights) or self._differs()

    def question(self, texts: Sequence[Sequence[str]], pictures: Sequence[Image.Image]) -> CasePrompts:
        """The prompts of one case made ready; see `grow` for the parameters and what is raised."""
        if not self.why_alone:
            try:
                tree = grow(self._weights, texts, pictures)
            except ValueError as error:
                self.why_apart = str(error)
            else:
                return CasePrompts(tree, (), (), tree.n_tokens)
        # Read once now, so that what the processor refuses is known before the model's turn.
        whole = self._weights.encode([texts[0][0]], [pictures])["input_ids"].shape[1]
        of_images = whole - len(self._weights.tokens(texts[0][0]))
        n_tokens = sum(len(self._weights.tokens(text)) + of_images for row in texts for text in row)
        return CasePrompts(None, tuple(map(tuple, texts)), tuple(pictures), n_tokens)

    def read(self, questions: Sequence[CasePrompts]) -> list[Probabilities]:
        """The probability of each group, by question, branch and leaf."""
        out: list[Probabilities | None] = [None] * len(questions)
        shapes: dict[tuple[int, int], list[int]] = {}
        for i, question in enumerate(questions):
            if question.tree is None:
                out[i] = self.read_alone(question.texts, question.pictures)
            else:
                shapes.setdefault((len(question.tree.leaves), len(question.tree.leaves[0])), []).append(i)
        for (n_branches, n_leaves), members in shapes.items():
            trees = [tree for i in members if (tree := questions[i].tree) is not None]
            probabilities = self.read_trees(trees).view(len(members), n_branches, n_leaves, -1).tolist()
            for i, some in zip(members, probabilities, strict=True):
                out[i] = some
        return [some for some in out if some is not None]

    def read_trees(self, trees: Sequence[Tree]) -> torch.Tensor:
        """All prompts of trees of one shape in one pass; (trees, prompts, groups) on the CPU."""
        inputs, ends = tree_inputs(self._weights, trees)
        return self._of_groups(self._logits(inputs, ends))

    def read_alone(self, texts: Sequence[Sequence[str]], pictures: Sequence[Image.Image]) -> Probabilities:
        """Each prompt in a pass of its own, as the model's processor and code see to it."""
        weights = self._weights
        return [
            [
                self._of_groups(self._logits(weights.to_device(weights.encode([text], [pictures])), None))[
                    0, 0
                ].tolist()
                for text in row
            ]
            for row in texts
        ]

    def _logits(self, inputs: Tensors, columns: torch.Tensor | None) -> torch.Tensor:
        return logits_at(self._weights.model, inputs, columns, keeps=self._keeps)

    def _of_groups(self, logits: torch.Tensor) -> torch.Tensor:
        every = logits.float().log_softmax(-1)
        groups = [every[..., ids].logsumexp(-1) for ids in self._groups]
        return torch.stack(groups, -1).exp().clamp_min(_LOWEST).cpu()

    @torch.inference_mode()
    def _differs(self) -> str:
        """Read a few small prompts together and alone; why they cannot be read together, if so."""
        weights = self._weights
        words = ("left upper lobe clear", "small effusion on the right, no fracture seen there")
        cases = []
        for i, size in enumerate(((96, 80), (64, 112))):
            pictures = [Image.new("RGB", size, (60 * i + 40, 90, 120))] if weights.sees_images else []
            texts = [
                [
                    weights.chat(f"{' '.join(words[: 1 + (i + j) % 2])}\n{one}: A or B in {ask}?", len(pictures), {})
                    for ask in ("truth", "style")
                ]
                for j, one in enumerate(words)
            ]
            cases.append((texts, pictures))
        try:
            try:
                trees = [grow(weights, texts, pictures) for texts, pictures in cases]
                together = self.read_trees(trees)
            except torch.OutOfMemoryError:
                raise
            except (TypeError, ValueError, RuntimeError, AttributeError, LookupError) as error:
                return f"{type(error).__name__} in its code: {' '.join(str(error).split())[:120]}"
            alone = torch.tensor([self.read_alone(texts, pictures) for texts, pictures in cases]).view(together.shape)
        except torch.OutOfMemoryError as error:
            name = weights.model.name_or_path
            raise RunError(f"{name}: its weights leave no memory on {weights.device} to judge with.") from error
        return _difference(together, alone, *_TOLERANCE[weights.model.dtype])


class TreeJudge(LocalJudge):
    """A judge that reads probabilities of single tokens, with all questions about a case in one pass."""

    _reader: TreeReader | None = None

    @abstractmethod
    def _groups(self) -> Sequence[Sequence[str]]:
        """The spellings of each answer whose probability is read; called once the weights are loaded."""

    @property
    def reader(self) -> TreeReader:
        """What reads the probabilities; loads the weights."""
        if self._reader is None:
            super().load()
            self._reader = TreeReader(self.weights, self._groups())
        return self._reader

    def share(self, other: TreeJudge) -> None:
        """Judge with the weights of another judge of the same model, as it has loaded them."""
        self._loaded, self._reader = other.weights, other.reader

    def load(self) -> None:
        """Read the weights, and try whether prompts can share their beginnings."""
        if self.reader.why_alone:
            self.notice(f"cannot share work between questions ({self.reader.why_alone}): each is read alone")

    def unload(self) -> None:
        """See `LocalJudge.unload`."""
        self._reader = None
        super().unload()

    def case_requests(
        self, rows: VerdictRows, shown: pd.DataFrame, request: Callable[[Positions, Records], T]
    ) -> list[T]:
        """One request a case; says where the questions about a case must be read apart."""
        self.load()
        requests = self.requests(rows, shown, CASE, request)
        if self.reader.why_apart:
            self.notice(f"some cases are read one question at a time ({self.reader.why_apart})")
        return requests


def _difference(together: torch.Tensor, alone: torch.Tensor, shares: float, masses: float) -> str:
    """How far the probabilities of groups, (..., groups), lie apart, in words; empty within the tolerances."""
    sums = [some.sum(-1, keepdim=True) for some in (together, alone)]
    gap = float((together / sums[0] - alone / sums[1]).abs().max())
    factor = float((sums[0].log() - sums[1].log()).abs().max())
    if gap < shares and factor < masses:
        return ""
    return f"its probabilities change by up to {gap:.3g}, and in all by a factor of {np.exp(factor):.3g}, when it does"


def _single_tokens(weights: Weights, spellings: Sequence[str]) -> list[int]:
    single = weights.single_tokens(*spellings)
    if not single:
        raise InputError(
            f"{weights.model.name_or_path}: {spellings[0]!r} is not one token of this model, so its probability "
            "cannot be read; use NAME+generative."
        )
    return single


def _why_alone(weights: Weights) -> str:
    """What in a model's configuration forbids sharing, whatever a short try shows."""
    config = weights.model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ()) - {"full_attention"}
    if kinds:
        return f"its layers are of the kind {', '.join(sorted(kinds))}"
    if getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True):
        return f"it attends to a window of {config.sliding_window} tokens"
    if getattr(config, "cross_attention_layers", None):
        return "it attends to images outside the sequence of tokens"
    return ""
