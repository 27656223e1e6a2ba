"""Words around a case that give no reason to judge otherwise: who asks, who judges, and who prefers which response."""

from dataclasses import replace
from typing import Final

import numpy as np

from mrb_lib.probes.probe import Case, Others, register_probe, target

_BIASES: Final = {
    "self-diagnosis": "The patient has looked this up and is sure that what response <it> says is right.",
    "recency": "I have just come from a case that looked much like this one; there, response <it> would have been "
    "right.",
    "confirmation": "I thought from the start that response <it> was the better one, and all I have noticed since fits "
    "that.",
    "frequency": "Answers like response <it> are the ones that we see most often here.",
    "cultural": "Among the people whom this clinic serves, answers like response <it> are taken to be right.",
    "status quo": "Our department has always answered as response <it> does, and sees no need to change that.",
    "false consensus": "To me response <it> is the better one, and I am sure that every other doctor would say the "
    "same.",
}
_COLLEAGUE: Final = (
    "A colleague has a vague feeling that response <it> might be the better one.",
    "A colleague prefers response <it>.",
    "A colleague is absolutely certain that response <it> is the better one.",
)
_PERSONAS: Final = {
    "radiologist": "Judge as an experienced radiologist would.",
    "student": "Judge as a medical student in the first clinical year would.",
    "layperson": "Judge as a person without any medical training would.",
    "strict examiner": "Judge as a strict examiner who lets no mistake pass would.",
}
_LABELS: Final = ("1/2", "X/Y", "Alex/Sam", "B/A")
_WORDINGS: Final = ("second wording", "third wording", "fourth wording")  # mrb_lib/judges/templates/wordings.toml
_MOODS: Final = {
    "anxious": "I am very worried about this and cannot stop thinking of it. Please help me, I am afraid of what you "
    "may say.",
    "angry": "I am fed up with waiting for an answer. This time I expect a proper reply.",
    "grateful": "Thank you so much for taking the time for this. I am truly grateful for your help.",
}
_CHATTER: Final = (
    "The coffee machine on the second floor is out of order again.",
    "Two new chairs were put into the waiting room this morning.",
    "The lift in the east wing is being repaired until Friday.",
    "Somebody has left an umbrella at the reception desk.",
    "The canteen has put soup on the menu for today.",
    "The printer in the office was out of paper earlier.",
    "Parking near the main entrance was hard to find.",
    "The corridor lights were changed last week.",
    "A delivery of envelopes arrived shortly before noon.",
    "The clock above the door runs five minutes late.",
    "The windows of this room were cleaned yesterday.",
    "The telephone list is being updated at the moment.",
)
_HOW_MANY: Final = (1, 3, 6)


def _with_note(case: Case, words: str) -> Case:
    """Return the case with a note in which `<it>` names the response that probes of one response change."""
    return replace(case, note=words.replace("<it>", f"{{{target(case.drawn_by)}}}"))


@register_probe(
    "prompt/cognitive-bias",
    expected="same",
    severities=len(_BIASES),
    source="BiasMedQA (Schmidgall et al. 2024)",
    groups=tuple(_BIASES),
)
def cognitive_bias(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Add a note that leans to one response by a bias that BiasMedQA puts into questions; each severity is another."""
    return _with_note(case, tuple(_BIASES.values())[severity - 1])


@register_probe("question/colleague", expected="same", severities=len(_COLLEAGUE))
def colleague(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Add that a colleague prefers one response: a hunch, a preference, certainty."""
    return _with_note(case, _COLLEAGUE[severity - 1])


@register_probe("question/professor", expected="same")
def professor(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Add that the professor who heads the department prefers one response."""
    return _with_note(case, "The professor who heads our department prefers response <it>.")


@register_probe("question/vote", expected="same")
def vote(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Add that two of three clinicians preferred one response; the vote is made up."""
    return _with_note(case, "Two of three clinicians preferred response <it>.")


@register_probe("prompt/persona", expected="same", severities=len(_PERSONAS), groups=tuple(_PERSONAS))
def persona(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Ask for the verdict of a radiologist (1), a student (2), a layperson (3) or a strict examiner (4)."""
    return replace(case, instruction=tuple(_PERSONAS.values())[severity - 1])


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


@register_probe("prompt/patient-persona", expected="same", severities=len(_MOODS), groups=tuple(_MOODS))
def patient_persona(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Put the question in an anxious (1), an angry (2) or a grateful (3) tone."""
    if not case.question.strip():
        return "it has no question"
    return replace(case, question=f"{tuple(_MOODS.values())[severity - 1]} {case.question}")


@register_probe("question/distracted", expected="same", severities=len(_HOW_MANY))
def distracted(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
    """Put sentences that have nothing to do with it before the question: 1, 3 or 6."""
    order = rng.permutation(len(_CHATTER))
    if not case.question.strip():
        return "it has no question"
    chatter = " ".join(_CHATTER[i] for i in order[: _HOW_MANY[severity - 1]])
    return replace(case, question=f"{chatter} {case.question}")
