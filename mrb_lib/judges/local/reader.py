"""The probability of given words as the first of a reply, for every prompt of a tree."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
import torch
from PIL import Image

from mrb_lib.judges.local.base import CaseJudge, Waiting, is_out_of_memory
from mrb_lib.judges.local.tree import Texts, Tree, grow, pack
from mrb_lib.judges.local.weights import Tensors, Weights, check_context
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.verdicts.protocol import VerdictRows

_LOWEST: Final = 1e-45  # the smallest single-precision number: a ratio of probabilities stays defined

# Reading together and reading alone are the same model if the log-odds of the answers, and the logarithm of the
# probability of all of them, differ nowhere by more than this, or than a few times what they differ by between two ways
# of reading alone, and never by more than the last in root mean square: a share of .5 that becomes .6 is another
# verdict. The last is no bound of the largest difference: with the architecture of a 7B in bfloat16 and random weights,
# either way of reading lies up to .38 from the same model in single precision, and they up to .41 from each other.
_TOLERANCE: Final = 1e-3
_TIMES_NOISE: Final = 4.0
_LARGEST_GAP: Final = 0.4
_USUAL_NOISE: Final = 0.05  # of bfloat16, where a model cannot read in a batch, which would show its own

_ROWS_AT_A_TIME: Final = 16_384

Probabilities = list[list[list[float]]]


@dataclass(frozen=True)
class Apart:
    """The prompts of a case that cannot share, each by itself; see `Tree` for the counts of tokens.

    `prompts` are the inputs by branch and leaf.
    """

    prompts: list[list[Tensors]]
    n_tokens: int
    n_longest: int


@dataclass(frozen=True)
class Case(Waiting):
    """The prompts of a case, and the rows that wait for them.

    Attributes
    ----------
    asked : of each row the branch and the leaf of its prompt, where it waits for one
    words : of each row the places, in what is read, of what its prompt calls the response shown first, and the second;
        of a rating, those of the categories
    """

    prompts: Tree | Apart
    asked: Sequence[tuple[int, int]] = ()
    words: Sequence[tuple[int, ...]] = ()


def logits_at(
    weights: Weights,
    model: Callable[..., Any],
    inputs: Mapping[str, Any],
    columns: torch.Tensor | None,
    *,
    exactly: bool = False,
) -> torch.Tensor:
    """Return the logits after the tokens at some columns, None for the last; (B, columns, vocabulary).

    Parameters
    ----------
    model : that of the weights, or what wraps it; its language model head is given these columns and no others
    exactly : the head multiplies in single precision: in bfloat16 a logit of 16 has steps of an eighth
    """
    head = weights.model.get_output_embeddings()

    def chosen(states: torch.Tensor) -> torch.Tensor:
        return states[:, -1:] if columns is None else states[:, columns.to(states.device)]

    def narrowed(_: torch.nn.Module, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        # Some models of code of their own have the batch as the second axis, or both in one.
        is_usual = given[0].shape[:2] == inputs["input_ids"].shape
        return (chosen(given[0]) if is_usual else given[0],)

    def again(head: torch.nn.Linear, inputs: tuple[torch.Tensor], logits: torch.Tensor) -> torch.Tensor:
        # A part of the vocabulary at a time, so that the head is never there twice.
        states = inputs[0].to(head.weight.device).float()
        out = torch.cat([states @ rows.float().T for rows in torch.split(head.weight, _ROWS_AT_A_TIME)], dim=-1)
        return out if head.bias is None else out + head.bias.float()

    hooks = [] if head is None else [head.register_forward_pre_hook(narrowed)]
    if exactly and type(head) is torch.nn.Linear and head.weight.dtype is not torch.float32:
        hooks.append(head.register_forward_hook(again))
    try:
        logits: torch.Tensor = model(**inputs, use_cache=False).logits
    finally:
        for hook in hooks:
            hook.remove()
    # A model that does not call its head as a module, or not in the usual way, gives the logits of all columns.
    return logits if logits.shape[1] == (1 if columns is None else columns.numel()) else chosen(logits)


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
        self._batches, self._most = False, sys.maxsize
        self.why_apart = ""
        self.why_alone = _why_alone(weights)
        self._check()

    def place_of(self, word: str) -> int:
        """The place of a word in what is read; it is read from now on. `InputError` where it is not one token."""
        single = _single_tokens(self._weights, [word, f" {word}"])
        if single not in self._groups:
            self._groups.append(single)
        return self._groups.index(single)

    def question(self, texts: Texts, pictures: Sequence[Image.Image]) -> Tree | Apart:
        """The prompts of one case made ready; see `grow` for the parameters and what is raised.

        Raises `InputError`, too, where a prompt is longer than the model's context.
        """
        prompts: Tree | Apart | None = None
        if not self.why_alone:
            try:
                prompts = grow(self._weights, texts, pictures)
            except ValueError as error:
                self.why_apart = str(error)
        # Read now, so that what the processor refuses is known before the model's turn.
        prompts = prompts or self._apart(texts, pictures)
        check_context(self._weights, prompts.n_longest)
        return prompts

    def _apart(self, texts: Texts, pictures: Sequence[Image.Image]) -> Apart:
        prompts = [[self._weights.encode(text, pictures) for text in row] for row in texts]
        lengths = [inputs["input_ids"].shape[1] for row in prompts for inputs in row]
        return Apart(prompts, sum(lengths), max(lengths))

    def read(self, questions: Sequence[Tree | Apart]) -> list[Probabilities]:
        """The probability of each group, by question, branch and leaf."""
        trees = [question for question in questions if isinstance(question, Tree)]
        of_trees = iter(self.read_trees(trees) if trees else ())
        return [next(of_trees) if isinstance(one, Tree) else self.read_apart(one) for one in questions]

    def read_trees(self, trees: Sequence[Tree]) -> list[Probabilities]:
        """All prompts of some trees in one pass; the probability of each group by tree, branch and leaf."""
        inputs, ends = pack(trees, self._weights.to_device)
        rows = iter(self._of_groups(self._logits(inputs, ends))[0].tolist())
        return [[[next(rows) for _ in leaves] for leaves in tree.leaves] for tree in trees]

    def read_apart(self, question: Apart) -> Probabilities:
        """Each prompt by itself, as the model's code sees to it, as many in a batch as the memory has held so far."""
        prompts = [inputs for row in question.prompts for inputs in row]
        rows: list[list[float]] = []
        while len(rows) < len(prompts):
            size = min(len(prompts) - len(rows), self._most) if self._batches else 1
            together = self._weights.collate(prompts[len(rows) : len(rows) + size])
            try:
                rows += self._of_groups(self._logits(self._weights.to_device(together), None))[:, 0].tolist()
            except RuntimeError as error:
                if size == 1 or not is_out_of_memory(error):
                    raise
                self._most = (size + 1) // 2
        at = iter(rows)
        return [[next(at) for _ in row] for row in question.prompts]

    def _logits(self, inputs: Mapping[str, Any], columns: torch.Tensor | None) -> torch.Tensor:
        return logits_at(self._weights, self._weights.model, inputs, columns, exactly=True)

    def _of_groups(self, logits: torch.Tensor) -> torch.Tensor:
        every = logits.float().log_softmax(-1)
        groups = [every[..., ids].logsumexp(-1) for ids in self._groups]
        return torch.stack(groups, -1).exp().clamp_min(_LOWEST).cpu()

    @torch.inference_mode()
    def _check(self) -> None:
        """Read a few small prompts in different ways: whether they can be read together, and alone in one batch."""
        cases = self._samples()
        try:
            prompts = [self._apart(*case) for case in cases]
            alone = torch.tensor([self.read_apart(one) for one in prompts])
            self._batches = True
            batched = self._tried(lambda: [self.read_apart(one) for one in prompts])
            noise = _gaps(batched, alone).max() if isinstance(batched, torch.Tensor) else np.inf
            self._batches = noise <= _LARGEST_GAP
            if self.why_alone:
                return
            if not self._batches:
                noise = 0.0 if self._weights.model.dtype is torch.float32 else _USUAL_NOISE
            tolerance = max(_TOLERANCE, _TIMES_NOISE * noise)
            together = self._tried(lambda: self.read_trees([grow(self._weights, *case) for case in cases]))
        except torch.OutOfMemoryError as error:
            name = self._weights.model.name_or_path
            raise RunError(f"{name}: its weights leave no memory on {self._weights.device} to judge with.") from error
        if isinstance(together, str):
            self.why_alone = together
            return
        gaps = _gaps(together, alone)
        if gaps.max() > tolerance or np.sqrt(np.mean(gaps**2)) > _LARGEST_GAP:
            self.why_alone = (
                f"the log-odds of its answers change by up to {gaps.max():.3g} when it does, and by {noise:.2g} "
                "between two ways of reading alone"
            )

    def _tried(self, read: Callable[[], list[Probabilities]]) -> torch.Tensor | str:
        """The probabilities, or what went wrong in the model's code."""
        try:
            return torch.tensor(read())
        except torch.OutOfMemoryError:
            raise
        except (TypeError, ValueError, RuntimeError, AttributeError, LookupError) as error:
            return f"{type(error).__name__} in its code: {' '.join(str(error).split())[:120]}"

    def _samples(self) -> list[tuple[list[list[str]], list[Image.Image]]]:
        """Small prompts of two cases, in two orders and three questions each."""
        weights = self._weights
        words = ("left upper lobe clear", "small effusion on the right, no fracture seen there")
        cases = []
        for i, size in enumerate(((96, 80), (64, 112))):
            pictures = [Image.new("RGB", size, (60 * i + 40, 90, 120))] if weights.sees_images else []
            texts = [
                [
                    weights.chat(f"{' '.join(words[: 1 + (i + j) % 2])}\n{one}: A or B in {ask}?", len(pictures), {})
                    for ask in ("truth", "style", "use of words")
                ]
                for j, one in enumerate(words)
            ]
            cases.append((texts, pictures))
        return cases


class TreeJudge(CaseJudge[Case, Probabilities]):
    """A judge that reads probabilities of single tokens, with all questions about a case in one pass.

    A subclass states the answers whose probability is read, `_marks`.
    """

    _marks: Sequence[str]
    _lead = ""

    @cached_property
    def reader(self) -> TreeReader:
        """Return the reader of the probabilities; loads the weights."""
        super().load()
        # Where a reply's first number is a space and then its digits, as in Llama 2, it is read after the space.
        is_apart = self._marks[0].isdigit() and len(self.weights.tokens_of(self._marks[0])) > 1
        self._lead = " " if is_apart else ""
        return TreeReader(self.weights, [[mark, f" {mark}"] for mark in self._marks])

    def share(self, other: TreeJudge) -> None:
        """Judge with the weights of another judge of the same model, as it has loaded them."""
        self._loaded, self.reader = other.weights, other.reader

    def load(self) -> None:
        """Read the weights, and try whether prompts can share their beginnings."""
        if self.reader.why_alone:
            self.notice(f"cannot share work between questions ({self.reader.why_alone}): each is read alone")

    def unload(self) -> None:
        """See `LocalJudge.unload`."""
        self.__dict__.pop("reader", None)
        super().unload()

    def cases(self, rows: VerdictRows, shown: pd.DataFrame) -> list[Case]:
        """See `CaseJudge.cases`; says where questions must be read apart."""
        cases = super().cases(rows, shown)
        if self.reader.why_apart:
            self.notice(f"some cases are read one question at a time ({self.reader.why_apart})")
        return cases

    def _read(self, cases: Sequence[Case]) -> list[Probabilities]:
        return self.reader.read([case.prompts for case in cases])


def _gaps(some: torch.Tensor, others: torch.Tensor) -> np.ndarray:
    """Return the gaps of the log-odds between groups, and of the log-probabilities of all together; (..., groups)."""
    gaps = []
    for probabilities in (some.double(), others.double()):
        logs = probabilities.log()
        gaps.append(torch.cat([logs[..., 1:] - logs[..., :1], probabilities.sum(-1, keepdim=True).log()], dim=-1))
    return (gaps[0] - gaps[1]).abs().numpy()


def _single_tokens(weights: Weights, spellings: Sequence[str]) -> list[int]:
    single = weights.single_tokens(*spellings)
    if not single:
        raise InputError(
            f"{spellings[0]!r} is not one token of this model, so its probability cannot be read; use NAME+generative."
        )
    return single


def _why_alone(weights: Weights) -> str:
    """Return what in a model's configuration forbids sharing, whatever a short try shows; empty where nothing does."""
    config = weights.model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ()) - {"full_attention", "sliding_attention"}
    if kinds:
        return f"its layers are of the kind {', '.join(sorted(kinds))}"
    if getattr(config, "cross_attention_layers", None):
        return "it attends to images outside the sequence of tokens"
    return ""
