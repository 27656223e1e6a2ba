"""Prompts about a case of a few words."""

import json
import re
from collections.abc import Mapping, Sequence

from mrb_lib.judges.prompts import Prompt, Rendered
from mrb_lib.judges.settings import Settings
from mrb_lib.replies.labels import Labels
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.verdicts.orders import EXAMPLES


def render(
    prompt: Prompt,
    question: str,
    responses: Sequence[str],
    dimensions: Sequence[str] = DIMENSIONS,
    dimension: str = "",
    *,
    n_images: int = 0,
    criteria: Sequence[str] = (),
    examples: Sequence[Mapping[str, object]] = (),
    settings: Mapping[str, object] | None = None,
    criterion: int = 0,
    labels: Labels | None = None,
    marks: re.Pattern[str] | None = None,
    **columns: object,
) -> Rendered:
    """Return a prompt about a case with so many images, these criteria and examples, and further columns."""
    row = {"question": question, "images": ["x.png"] * n_images, EXAMPLES: json.dumps(list(examples)), **columns}
    row["rubric"] = json.dumps([{"criterion": text, "weight": 1} for text in criteria])
    given = Settings(**{"dimensions": tuple(dimensions), "examples": len(examples), **(settings or {})})
    return prompt.render(row, responses, given, dimension, criterion=criterion, labels=labels, marks=marks)


def example(question: str, responses: Sequence[str], choices: Mapping[str, str]) -> dict[str, object]:
    """Return a worked example, as a plan holds it."""
    named = dict(zip(("response_a", "response_b"), responses, strict=False))
    return {"question": question, **named, "choices": dict(choices)}
