"""Responses split into steps: a rating benchmark whose cases are judged one step at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations, save
from mrb_lib.benchmarks.formats.base import writes
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.validation import Finding, counted

MOST_STEPS: Final = 100
RULE: Final = (
    'at lines that begin with "Step 1", "Step 2", ...; else at lines that begin with 1., 2., ...; else at blank lines; '
    f"else after sentences; what stands before the first mark belongs to step 1; at most {MOST_STEPS} steps"
)
WRONG, RIGHT = "wrong", "right"

_STEP = re.compile(r"^([ \t]{0,12})[#>*_-]{0,4} ?[*]{0,2}step[ \t]{1,3}(\d{1,3})\b", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"^([ \t]{0,12})[#>*_-]{0,4} ?[*]{0,2}\(?(\d{1,3})[.)](?=[\s*_])", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n\s*")
_WORD = re.compile(r"\S+\s*")
_OPENING: Final = "\"'\u201c\u2018([*_"
_CLOSING: Final = "\"'\u201d\u2019)]}*_"
_ABBREVIATIONS: Final = frozenset(
    ("approx.", "ca.", "cf.", "dr.", "e.g.", "etc.", "fig.", "i.e.", "mr.", "mrs.", "ms.", "no.", "prof.", "st.", "vs.")
)
_LEFT_OUT: Final = frozenset(
    ("case_id", "response_a", "response_b", "model_a", "model_b", "item", "step", "before", "split", "fold", "rubric")
)


@writes("steps", about="each response split into steps, to be rated one by one: a benchmark without labels yet")
def write(benchmark: Benchmark, verdicts: pd.DataFrame, out: Path) -> list[Finding]:
    """Write a rating benchmark in which each distinct response of the benchmark is an item, and each step a case.

    Parameters
    ----------
    verdicts : are about whole responses, and are left out, as are the annotations; people add new ones
    out : the folder to write into

    Returns
    -------
    list of Finding
        What is left out, counted, and responses with more than `MOST_STEPS` steps, whose last holds the rest.

    Raises
    ------
    InputError
        The cases have steps already.

    Notes
    -----
    Responses are distinct if their question, images or text differ. An item is named `CASE-a` or `CASE-b`, a case of it
    `CASE-a-1`; `from_case` names the first case that has the response, `before` holds the earlier steps. Where a case
    states no cluster, its item becomes one, or the case. A split is left out, since short steps are alike across
    its parts, and so are rubrics, which are about whole responses. One dimension, `correctness`, with the ordered
    categories "wrong", "right"; "right" is acceptable. How responses are split stands under `[steps]` in
    `benchmark.toml`; see `split_steps`. Validated by tests/benchmarks/formats/test_steps.py.
    """
    if "step" in benchmark.cases and benchmark.cases["step"].notna().any():
        raise InputError(f"benchmark {benchmark.meta.name}: its cases are steps already; name one of whole responses.")
    rows, seen, cut = list[dict[str, object]](), set[tuple[object, ...]](), 0
    for case in benchmark.cases.to_dict("records"):
        for side in ("a", "b"):
            response = case.get(f"response_{side}")
            key = (case["question"], tuple(case["images"]), response)
            if not isinstance(response, str) or key in seen or (side == "b" and benchmark.meta.is_rating):
                continue
            seen.add(key)
            steps = split_steps(response)
            cut += len(steps) == MOST_STEPS
            rows += _cases({str(name): value for name, value in case.items()}, side, steps)
    save(Benchmark(_meta(benchmark.meta), pd.DataFrame(rows), empty_annotations(), benchmark.images), out)
    again = "label the steps with `mrb annotate`"
    about = "are about whole responses and left out"
    n_rubrics = int(benchmark.cases["rubric"].notna().sum()) if "rubric" in benchmark.cases else 0
    return [
        *counted(len(benchmark.annotations), "info", "annotations", f"annotations {about}", again),
        *counted(int("split" in benchmark.cases), "info", "cases", "split is left out", "make one with `mrb split`"),
        *counted(n_rubrics, "info", "cases", f"rubrics {about}", "rate the steps by what their dimension means"),
        *counted(len(verdicts), "info", "verdicts", f"verdicts {about}", "judge the steps with `mrb judge`"),
        *counted(cut, "warning", "cases", f"responses have {MOST_STEPS} steps or more", "look at their last step"),
    ]


def _cases(case: dict[str, object], side: str, steps: list[str]) -> Iterator[dict[str, object]]:
    """The rows of one response."""
    shared = {name: value for name, value in case.items() if name not in _LEFT_OUT}
    named = [case.get(name) for name in ("cluster", "item", "case_id")]
    shared["cluster"] = next(name for name in named if isinstance(name, str))
    if f"model_{side}" in case:
        shared["model_a"] = case[f"model_{side}"]
    item = f"{case['case_id']}-{side}"
    for place, step in enumerate(steps):
        before = "".join(steps[:place]) or None
        of_step = {"case_id": f"{item}-{place + 1}", "item": item, "step": place + 1, "before": before}
        yield {**of_step, **shared, "response_a": step, "from_case": case["case_id"]}


def _meta(meta: BenchmarkMeta) -> BenchmarkMeta:
    return replace(
        meta,
        name=f"{meta.name}-steps",
        description=f"the steps of the responses of {meta.name}",
        dimensions=("correctness",),
        categories=(WRONG, RIGHT),
        level="ordinal",
        task="rating",
        acceptable=(RIGHT,),
        definitions={
            "correctness": "whether the step is right, given the question, what the image shows and the earlier steps",
            WRONG: "it states something false or unsupported, or does not follow",
            RIGHT: "what it states is true and follows",
        },
        extra={"steps": {"of": meta.name, "rule": RULE}},
    )


def split_steps(text: str) -> list[str]:
    """A response in its steps, of which there is one at least; joined, they are the response to the character.

    Lines that begin with "Step 1", "Step 2", ... begin steps, where there are two such lines or more in this order;
    else lines that begin with 1., 2., ... or 1), 2), ... do. What stands before the first belongs to the first step,
    what follows the last to the last; numbers out of turn or indented otherwise, as of a list within a list, begin
    none. Else blank lines end steps; else full stops, question and exclamation marks do, where the next word does not
    begin with a small letter and what ends is no common abbreviation, initial or digit. Space after a step belongs to
    it.
    """
    starts = _numbered(_STEP, text) or _numbered(_NUMBER, text) or _paragraphs(text) or _sentences(text)
    bounds = [0, *starts[: MOST_STEPS - 1], len(text)]
    return [text[start:end] for start, end in pairwise(bounds)]


def _numbered(mark: re.Pattern[str], text: str) -> list[int]:
    """Where steps 2, 3, ... begin by their numbers; none where there are fewer than two steps."""
    starts, indent = list[int](), ""
    for found in mark.finditer(text):
        if int(found[2]) == len(starts) + 1 and found[1] == (indent if starts else found[1]):
            starts.append(found.start())
            indent = found[1]
    return starts[1:]


def _paragraphs(text: str) -> list[int]:
    first = len(text) - len(text.lstrip())
    return [found.end() for found in _BLANK_LINE.finditer(text) if found.start() > first and found.end() < len(text)]


def _sentences(text: str) -> list[int]:
    starts: list[int] = []
    ended = False
    for found in _WORD.finditer(text):
        word = found[0].rstrip()
        if ended and not word.lstrip(_OPENING)[:1].islower():
            starts.append(found.start())
        bare = word.rstrip(_CLOSING)
        initial = len(bare) == 2 and (bare[0].isupper() or bare[0].isdigit())
        ended = bare.endswith((".", "!", "?")) and bare.lstrip("([").lower() not in _ABBREVIATIONS and not initial
    return starts
