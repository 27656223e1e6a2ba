"""What a judge was asked, from the run that keeps its answers: written again by the code that asks.

A run holds the template, not each prompt. What is written here is therefore what was sent only if template, code and
case are the same, and says so where one of them is known to differ. A run's folder may come from anyone, so a template
that does more than put texts in their places is shown, not carried out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import pandas as pd
from jinja2 import TemplateError, nodes

from mrb_lib.judges.context import Context, context_of
from mrb_lib.judges.points import rubric_of
from mrb_lib.judges.prompt_files import prompt_from_text
from mrb_lib.judges.prompts import DEFINITIONS, RANKINGS, Prompt, sandbox
from mrb_lib.judges.roster.engines import ENGINES
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.verdicts.orders import EVIDENCE, FIRST, OF_PLAN, SECOND, WEAK, to_shown_frame

LONGEST: Final = 50_000
"""Characters of a template that are looked at."""

_PLAIN_NODES: Final = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Block, nodes.Name, nodes.Const, nodes.If, nodes.CondExpr,
    nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Concat, nodes.Getitem, nodes.Test,
)  # fmt: skip
_FILTERS: Final = frozenset({"join", "length", "lower", "upper", "trim", "capitalize"})
_BESIDE: Final = {WEAK: "reference_weak", EVIDENCE: "evidence"}
_LISTS: Final = frozenset({"dimensions", "definitions", "options", "marks", "labels", "criteria"})


@dataclass(frozen=True)
class Sent:
    """What is known of a request to a judge.

    Attributes
    ----------
    text : the prompt; empty where it is not known
    note : what is to be known of it, or why there is none
    images : the names of the images that went with it
    """

    text: str
    note: str
    images: Sequence[str] = ()


def shown_case(case: pd.Series, order: str) -> pd.Series:
    """One row of the cases table as a judge sees it: the responses in an order, and nothing that it is not to see.

    The weak reference and the evidence are there for judges that are shown them; worked examples are not.
    """
    own = case.drop(list(OF_PLAN), errors="ignore")
    beside = {name: case.get(column) for name, column in _BESIDE.items()}
    row: pd.Series = to_shown_frame(pd.DataFrame([{**own, **beside}]).assign(order=order)).iloc[0]
    return row


def sent(manifest: Manifest, case: Mapping[str, pd.Series], order: str, dimension: str, probe: str = NO_PROBE) -> Sent:
    """What the judge of a run was asked about a case.

    Parameters
    ----------
    manifest : of the run
    case : as judges saw it, by the order of the responses, as `shown_case` makes it
    order : "AB" or "BA", which response was shown first
    dimension : which the verdict is on; a prompt that asks for all dimensions is the same for each
    probe : how the case was changed before it was shown

    Returns
    -------
    Sent
        Validated by tests/judges/test_sent.py, which compares it with what a server is sent.
    """
    if manifest.source:
        return Sent("", "the run does not say what was asked")
    if not manifest.prompt_text:
        return Sent("", "this judge takes no prompt")
    if probe != NO_PROBE:
        return Sent("", f"the run does not say what was asked: the probe {probe} changed the case before it was shown")
    prompt = _trusted(manifest.prompt_id, manifest.prompt_text)
    if prompt is None:
        note = "the template of the run, not filled in: it does more than put the texts of a case in their places"
        return Sent(manifest.prompt_text, note)
    if prompt.hash != manifest.prompt_hash:
        return Sent(
            manifest.prompt_text, "the run's template, not filled in: this library would fill it in differently"
        )
    if prompt.asks in RANKINGS:
        return Sent(manifest.prompt_text, "the run's template, not filled in: it shows all responses to the item")
    shown = case[order]
    reference = shown.get("reference")
    reference = reference if isinstance(reference, str) else None
    before = shown.get("before")
    if prompt.needs_reference and reference is None:
        return Sent("", "nothing was asked: the prompt needs a reference answer, and the case has none")
    row = {str(name): value for name, value in shown.items()}
    try:
        context = _context(manifest.spec, row)
        criteria = [one.text for one in rubric_of(row)] if prompt.checks else []
    except InputError as error:
        return Sent("", f"nothing was asked: {error}")
    images = [str(name) for name in shown["images"]] if _sees(manifest) else []
    alone = prompt.asks == "rating" or prompt.checks
    first, second = str(shown[FIRST]), str(shown[SECOND])
    responses = [[first], [second]] if alone else [[first]] if prompt.rates else [[first, second]]
    labels = _labels(manifest.spec)
    asked = labels.get(dimension, [""]) if manifest.spec.get("engine") in ("packed", "rating") else [""]
    try:
        texts = [
            prompt.render(
                str(shown["question"]),
                some,
                _dimensions(manifest, dimension),
                "" if prompt.asks in ("all", "categories") else dimension,
                reference=reference,
                before=before if isinstance(before, str) else None,
                label_sets=labels,
                label=label,
                n_images=len(images),
                scale=_scale(manifest.spec),
                choices=manifest.choices,
                definitions=_definitions(manifest.spec),
                ordered=manifest.spec.get("ordered") is True,
                numbered=manifest.spec.get("engine") == "rating",
                criteria=criteria,
                context=context,
            ).text
            for some in responses
            for label in asked
        ]
    except InputError as error:
        return Sent("", f"what was asked cannot be written again: {error}")
    return Sent("\n\n".join(texts), _note(manifest, prompt, alone=alone), images)


def _context(spec: Mapping[str, object], row: Mapping[str, object]) -> Context:
    """What a run showed beside a case, without worked examples; `InputError` where the case lacks it."""
    level = _shown(spec, "reference").get("level")
    has_evidence = bool(_shown(spec, "evidence"))
    return context_of(row, level if isinstance(level, str) else None, evidence=has_evidence, examples=0)


@lru_cache(maxsize=64)
def _trusted(prompt_id: str, text: str) -> Prompt | None:
    """The prompt of a run, if its template can be filled in for a stranger: its work grows with the case alone."""
    if len(text) > LONGEST:
        return None
    try:
        tree = sandbox().parse(text)
        if not all(_is_plain(node) for node in tree.find_all(nodes.Node)):
            return None
        return prompt_from_text(prompt_id, text)
    except (TemplateError, InputError, RecursionError):
        return None


def _is_plain(node: nodes.Node) -> bool:
    if isinstance(node, nodes.For):
        return isinstance(node.iter, nodes.Name) and node.iter.name in _LISTS and not any(node.find_all(nodes.For))
    if isinstance(node, nodes.Call):
        return isinstance(node.node, nodes.Name) and node.node.name in ("fence", "section")
    if isinstance(node, nodes.Filter):
        return node.name in _FILTERS
    return isinstance(node, _PLAIN_NODES)


def _shown(spec: Mapping[str, object], name: str) -> Mapping[str, object]:
    """What a run says of something that it showed beside the cases; empty where it showed no such thing."""
    shown = spec.get("shown")
    one = shown.get(name) if isinstance(shown, Mapping) else None
    return one if isinstance(one, Mapping) else {}


def _sees(manifest: Manifest) -> bool:
    """Whether images were shown."""
    return manifest.spec.get("images") is not False and not manifest.spec.get("without_images")


def _dimensions(manifest: Manifest, dimension: str) -> list[str]:
    named = manifest.spec.get("dimensions")
    return [str(name) for name in named] if isinstance(named, list | tuple) else [dimension]


def _definitions(spec: Mapping[str, object]) -> dict[str, str]:
    stated = spec.get("definitions")
    own = stated if isinstance(stated, Mapping) else {}
    return DEFINITIONS | {str(name): str(text) for name, text in own.items()}


def _labels(spec: Mapping[str, object]) -> dict[str, list[str]]:
    stated = spec.get("labels")
    named = stated if isinstance(stated, Mapping) else {}
    return {str(name): [str(one) for one in own] for name, own in named.items() if isinstance(own, list | tuple)}


def _scale(spec: Mapping[str, object]) -> int:
    scale = spec.get("scale")
    return scale if isinstance(scale, int) else 5


def _note(manifest: Manifest, prompt: Prompt, *, alone: bool) -> str:
    notes = ["written again from the run's template and the case as it is now"]
    if prompt.asks == "criterion":
        notes.append("one prompt for each response and criterion, of which those of the first criterion are shown")
    elif alone:
        notes.append("one prompt for each response")
    k = _shown(manifest.spec, "examples").get("k")
    notes += [f"before it came {k} worked examples, which are not shown here"] if isinstance(k, int) else []
    engine = str(manifest.spec.get("engine"))
    if engine not in ENGINES or ENGINES[engine].model != "server":
        notes.append("around it lay the model's chat template, and marks of its tokenizer in the texts were broken")
    return "; ".join(notes)
