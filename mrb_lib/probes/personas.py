"""Who judges, in what words the task is put, and in what mood the patient's side asks."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from mrb_lib.probes.probe import Case, Others, register_probe

_LABELS: Final = ("1/2", "X/Y", "Alex/Sam", "B/A")
_WORDINGS: Final = ("second wording", "third wording", "fourth wording")  # mrb_lib/judges/templates/wordings.toml
_TONES: Final = ("anxious", "angry", "grateful")
_MOODS: Final = (
    "I am very worried about this and cannot stop thinking of it. Please help me, I am afraid of what you may say.",
    "I am fed up with waiting for an answer. This time I expect a proper reply.",
    "Thank you so much for taking the time for this. I am truly grateful for your help.",
)


@register_probe("prompt/persona-radiologist", expected="same")
def radiologist(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Ask the judge to judge as an experienced radiologist would."""
    return replace(case, instruction="Judge as an experienced radiologist would.")


@register_probe("prompt/persona-student", expected="same")
def student(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Ask the judge to judge as a medical student would."""
    return replace(case, instruction="Judge as a medical student in the first clinical year would.")


@register_probe("prompt/persona-layperson", expected="same")
def layperson(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Ask the judge to judge as a person without medical training would."""
    return replace(case, instruction="Judge as a person without any medical training would.")


@register_probe("prompt/persona-strict", expected="same")
def strict(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Ask the judge to judge as a strict examiner would."""
    return replace(case, instruction="Judge as a strict examiner who lets no mistake pass would.")


@register_probe("prompt/wording", expected="same", severities=len(_WORDINGS), groups=_WORDINGS)
def wording(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Ask for the same verdict in other words, in place of the prompt's own; each severity is another wording."""
    return replace(case, wording=severity)


@register_probe(
    "prompt/labels", expected="same", severities=len(_LABELS), groups=_LABELS, source="MT-Bench (Zheng et al. 2023)"
)
def labels(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Call the responses 1 and 2 (1), X and Y (2), Alex and Sam (3), or B and A (4), in the order they are shown in."""
    return replace(case, labels=_LABELS[severity - 1])


@register_probe("prompt/patient-persona", expected="same", severities=len(_MOODS), groups=_TONES)
def patient_persona(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Put the question in an anxious (1), an angry (2) or a grateful (3) tone."""
    if not case.question.strip():
        return "it has no question"
    return replace(case, question=f"{_MOODS[severity - 1]} {case.question}")
