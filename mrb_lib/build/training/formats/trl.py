"""Rows for the trainers of TRL: replies to learn (sft), replies to prefer (dpo), responses to prefer (reward)."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Final, cast

import pandas as pd

from mrb_lib.benchmarks.audit.splits import check_split
from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats import writes
from mrb_lib.benchmarks.formats.base import Write
from mrb_lib.benchmarks.splits import SPLIT
from mrb_lib.build.training.examples import ExampleOptions, Examples, References, Ties, examples
from mrb_lib.build.training.formats.rows import RowFormat, readable, write_rows
from mrb_lib.build.training.replies import label_keys, learnable, message, one_of_two, reply_rows
from mrb_lib.judges.fences import defuse, marks_pattern
from mrb_lib.judges.prompts import Prompt, load_prompt
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import SPLITS, TRAIN
from mrb_lib.tables.validation import Finding

SINGLE: Final = "single"
REFERENCE: Final = "reference"
NO_IMAGE: Final = "cases with an image that is missing or cannot be read"

_MARKS: Final = marks_pattern(())
_COMMON: Final = {
    "case_id": "the case",
    "dimension": "the one the row is on; absent where a reply holds several",
    "order": "which response the prompt shows first",
    "weight": "how much the label counts; TRL's trainers do not read it",
}
_PROMPT: Final = "a user's message, as judges are asked"
_SFT: Final = RowFormat("sft", {"prompt": _PROMPT, "completion": "the reply that labels give", **_COMMON})
_PAIR: Final = {"chosen": "the reply or response that labels prefer", "rejected": "the other one", **_COMMON}
_DPO: Final = RowFormat("dpo", {"prompt": _PROMPT, **_PAIR})
_OF_RESPONSES: Final = {"prompt": "the question", **{name: about for name, about in _PAIR.items() if name != "order"}}
_REWARD: Final = RowFormat("reward", _OF_RESPONSES)

SplitName = Annotated[str, "which cases: train, validation or test; train unless given"]
Dimensions = Annotated[list[str] | None, "a dimension to learn, repeatable; all unless given"]
PromptName = Annotated[str, "id or file of the prompt, single unless given: plain and its like hold all in one reply"]
NoSwap = Annotated[bool, "show every case in order AB alone, to see what that does"]
Reference = Annotated[str, "the reference answer in prompts: drop, keep, or half of the cases"]
TieRule = Annotated[str, "a tie counts half for either response (half), or is left out (drop)"]
Seed = Annotated[int, "of the draw of references"]


def _writer_of_replies(form: RowFormat) -> Write:
    def write(
        benchmark: Benchmark,
        verdicts: pd.DataFrame,
        out: Path,
        *,
        split: SplitName = TRAIN,
        dimension: Dimensions = None,
        prompt: PromptName = SINGLE,
        no_swap: NoSwap = False,
        reference: Reference = "drop",
        ties: TieRule = "half",
        seed: Seed = 0,
    ) -> list[Finding]:
        options = _options(dimension, ties)
        options = replace(options, swap=not no_swap, reference=cast(References, reference), seed=seed)
        asked = load_prompt(prompt)
        with_reference = _with_reference(asked, options)
        made, left_out = _examples(benchmark, split, options)
        rows, lost = learnable(reply_rows(benchmark, made, (asked, with_reference)), as_pairs=form is _DPO)
        rows = rows.assign(completion=rows["chosen"])
        for name in ("completion", "chosen", "rejected"):
            rows[name] = pd.Series([message("assistant", text) for text in rows[name]], rows.index, dtype=object)
        stated = {**_stated(split, options), "prompt_id": asked.id, "prompt_hash": asked.hash, "prompt": asked.text}
        return write_rows(out, benchmark, rows, form, stated=stated, left_out=left_out | lost)

    return write


writes("sft", about="rows for supervised fine-tuning with TRL: prompt and completion, with images")(
    _writer_of_replies(_SFT)
)
writes("dpo", about="rows for direct preference optimisation with TRL: prompt, chosen and rejected reply, with images")(
    _writer_of_replies(_DPO)
)


@writes("reward", about="rows for a reward model with TRL: the question, the preferred response and the other one")
def write_reward(
    benchmark: Benchmark,
    verdicts: pd.DataFrame,
    out: Path,
    *,
    split: SplitName = TRAIN,
    dimension: Dimensions = None,
    ties: TieRule = "half",
) -> list[Finding]:
    """Write the labels of a split as preferences between the two responses, each as the assistant's to the question.

    Parameters
    ----------
    verdicts : have no place in such rows
    split, dimension, ties : as the options of `mrb export` say

    Notes
    -----
    A tie that counts half is two rows of half the weight, one for either response. What a model could take for a mark
    of its own is broken as engine `reward` breaks it. Validated by tests/build/training/test_export.py.
    """
    options = _options(dimension, ties)
    made, left_out = _examples(benchmark, split, options)
    cases = benchmark.cases.set_index("case_id")
    rows = []
    for label in made.rows.to_dict("records"):
        case = cases.loc[label["case_id"]]
        texts = [defuse(str(case[name]), _MARKS) for name in ("response_a", "response_b")]
        for chosen, rejected, weight in one_of_two(str(label["pick"]), texts, float(label["weight"])):
            question = message("user", defuse(str(case["question"]), _MARKS))
            answers = {"chosen": message("assistant", chosen), "rejected": message("assistant", rejected)}
            rows.append({**label_keys(label), "prompt": question, **answers, "weight": weight})
    stated = _stated(split, options)
    return write_rows(out, benchmark, pd.DataFrame(rows), _REWARD, stated=stated, left_out=left_out)


def _options(dimension: list[str] | None, ties: str) -> ExampleOptions:
    return ExampleOptions(dimensions=tuple(dimension) if dimension else None, swap=False, ties=cast(Ties, ties))


def _with_reference(prompt: Prompt, options: ExampleOptions) -> Prompt:
    """The prompt of rows that show the reference answer."""
    if prompt.gives_reason:
        raise InputError(f"--prompt {prompt.id}: asks for a reason, which no label gives; use single or plain.")
    if prompt.needs_reference or options.reference == "drop":
        if prompt.needs_reference and options.reference != "keep":
            raise InputError(f"--prompt {prompt.id}: always shows the reference answer; add --reference keep.")
        return prompt
    if prompt.asks == "one":
        raise InputError(f"--reference {options.reference}: prompt {prompt.id} shows none; add --prompt plain.")
    return load_prompt(REFERENCE)


def _examples(benchmark: Benchmark, split: str, options: ExampleOptions) -> tuple[Examples, dict[str, int]]:
    """The labels of a split whose images can be read, and what was left out."""
    if split not in SPLITS:
        raise InputError(f"--split {split!r}: use {', '.join(SPLITS)}.")
    check_split(benchmark)
    case_ids = list(benchmark.cases.loc[benchmark.cases[SPLIT] == split, "case_id"])
    if not case_ids:
        raise InputError(f"--split {split}: holds no case; name another, or run `mrb split` with a share for it.")
    case_ids, n_unreadable = readable(benchmark, case_ids)
    made = examples(benchmark, case_ids, options)
    return made, {NO_IMAGE: n_unreadable, **{f"labels, for {reason}": n for reason, n in made.left_out.items()}}


def _stated(split: str, options: ExampleOptions) -> dict[str, object]:
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(options).items()}
    return {"exported_split": split, "options": {name: value for name, value in values.items() if value is not None}}
