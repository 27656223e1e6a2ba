"""The prompt of a verdict, written again from the run that keeps it, by the code that asks.

A run holds the template, not each prompt. What is written here is therefore what was sent only if template, code and
case are the same, and says so where one of them is known to differ. A run's folder may come from anyone, so a template
that does more than put texts in their places is shown, not carried out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast, get_args

import pandas as pd

from mrb_lib.judges.context import ReferenceLevel
from mrb_lib.judges.prompts import RANKINGS, Prompt, builtin_prompts, load_prompt
from mrb_lib.judges.roster.engines import ENGINES
from mrb_lib.judges.settings import Settings
from mrb_lib.judges.tasks import PromptWriter, responses_of
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.verdicts.orders import EVIDENCE, OF_PLAN, WEAK, to_shown_frame

_BESIDE: Final = {WEAK: "reference_weak", EVIDENCE: "evidence"}


@dataclass(frozen=True)
class Sent:
    """A request to a judge, as far as it is known.

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
    """Return what the judge of a run was asked about a case.

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
    # A template may come from anyone, and its work be without end: only this library's own are filled in.
    prompt = load_prompt(manifest.prompt_id) if manifest.prompt_id in builtin_prompts() else None
    if prompt is None or (prompt.hash, prompt.text) != (manifest.prompt_hash, manifest.prompt_text):
        return Sent(
            manifest.prompt_text, "the run's template, not filled in: it is not a prompt of this version of the library"
        )
    if prompt.asks in RANKINGS:
        return Sent(manifest.prompt_text, "the run's template, not filled in: it shows all responses to the item")
    row = {str(name): value for name, value in case[order].items()}
    spec = manifest.spec
    try:
        writer = PromptWriter(prompt, _settings(manifest, dimension))
        images = writer.images(row)
        alone = prompt.asks == "rating" or prompt.checks
        first, second = responses_of(row)
        asked = "" if prompt.asks in ("all", "categories") else dimension
        texts = [
            writer.write(row, responses, asked).text
            for responses in ([[first], [second]] if alone else [[first]] if prompt.rates else [[first, second]])
        ]
    except InputError as error:
        return Sent("", f"nothing was asked: {error}")
    return Sent("\n\n".join(texts), _note(spec, prompt, alone=alone), images)


def _settings(manifest: Manifest, dimension: str) -> Settings:
    """Return what a run says of the settings that shape its prompts; it holds no worked examples."""
    spec = manifest.spec
    dimensions = spec.get("dimensions")
    level = _mapping(_mapping(spec.get("shown")).get("reference")).get("level")
    return Settings(
        dimensions=tuple(map(str, dimensions)) if isinstance(dimensions, list | tuple) else (dimension,),
        choices=tuple(manifest.choices),
        task="rating" if spec.get("task") == "rating" else "preference",
        is_ordered=spec.get("ordered") is True,
        definitions={str(name): str(text) for name, text in _mapping(spec.get("definitions")).items()},
        labels={
            str(name): tuple(map(str, own))
            for name, own in _mapping(spec.get("labels")).items()
            if isinstance(own, list | tuple)
        },
        reference=cast("ReferenceLevel", level) if level in get_args(ReferenceLevel) else None,
        evidence=bool(_mapping(spec.get("shown")).get("evidence")),
        without_images=spec.get("images") is False or bool(spec.get("without_images")),
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _note(spec: Mapping[str, object], prompt: Prompt, *, alone: bool) -> str:
    notes = ["written again from the run's template and the case as it is now"]
    if prompt.asks == "criterion":
        notes.append("one prompt for each response and criterion, of which those of the first criterion are shown")
    elif alone:
        notes.append("one prompt for each response")
    k = _mapping(_mapping(spec.get("shown")).get("examples")).get("k")
    notes += [f"before it came {k} worked examples, which are not shown here"] if isinstance(k, int) else []
    engine = str(spec.get("engine"))
    if engine not in ENGINES or ENGINES[engine].model == "weights":
        notes.append("around it lay the model's chat template, and marks of its tokenizer in the texts were broken")
    return "; ".join(notes)
