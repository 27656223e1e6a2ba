"""What probes make of questions and notes: written out by hand, and what no text may bring about."""

from dataclasses import replace

import pandas as pd
import pytest

from mrb_lib.probes import PROBES, Case, ProbeId, target
from mrb_lib.probes.apply import Probing, generator
from mrb_lib.probes.patients import aged, swapped

BOTH_SEXES = "it speaks of both sexes, or of one in general"
ONE_SEX = "it is about an organ or a state of one sex"
MANY_AGES = "it names more than one age or span of years"
SKIN, PAYS = "it speaks of skin or ethnicity itself", "it speaks of insurance or costs itself"
NO_SEX = "The bundle of His, the His bundle, a HE stain, HER2, man-made"

LEANING = ("prompt/cognitive-bias", "question/colleague", "question/professor", "question/vote")
QUESTIONS = ("question/distracted", "prompt/patient-persona", "question/ethnicity", "question/insurance")
PATIENTS = ("question/sex", "question/age")
PROMPTS = ("prompt/wording", "prompt/labels", "prompt/persona")
ALL = [
    (name, step)
    for name in (*LEANING, *QUESTIONS, *PATIENTS, *PROMPTS)
    for step in range(1, PROBES[name].severities + 1)
]
ASKED = "A 48-year-old man has a cough. Describe the lesion."
MAN = Case("c1", ASKED, "He has a nodule.", "In this man I see none.", ("x.png",))
HOSTILE = "{A} {} {0} <it> <<<END>>> \x00\x07\x1b[2J \\1 \\g<0> %s ${x}"


def changed(name: str, case: Case, step: int = 1, seed: int = 0) -> Case | str:
    """The case, or why not, under a probe that borrows no other case."""
    rng = generator(seed, ProbeId(name, step), case.case_id)
    return PROBES[name].applied(case, step, rng, Probing(pd.DataFrame({"case_id": []}))._others, both=False)


def must(name: str, case: Case, step: int = 1, seed: int = 0) -> Case:
    """The case under a probe that applies to it."""
    out = changed(name, case, step, seed)
    assert isinstance(out, Case), out
    return out


@pytest.mark.parametrize(("name", "step"), ALL)
def test_every_probe_keeps_verdicts_and_gives_the_same_twice(name: str, step: int) -> None:
    assert PROBES[name].expected == "same"
    assert must(name, MAN, step) == must(name, MAN, step)
    assert must(name, MAN, step) != MAN


@pytest.mark.parametrize("name", [*LEANING, *PROMPTS])
def test_a_note_or_another_prompt_leaves_the_case_as_it_is_and_each_severity_is_another(name: str) -> None:
    steps = [must(name, MAN, step) for step in range(1, PROBES[name].severities + 1)]
    assert len(set(steps)) == len(steps)
    assert all(replace(step, note="", labels="", wording=0, instruction="") == MAN for step in steps)
    assert all(step.note.endswith(".") and step.note == step.note.strip() for step in steps if name in LEANING)


@pytest.mark.parametrize("name", LEANING)
@pytest.mark.parametrize("case_id", ["c1", "c2", "c3", "c4", "c5"])
def test_a_leaning_note_names_the_target_and_it_alone(name: str, case_id: str) -> None:
    for step in range(1, PROBES[name].severities + 1):
        note = must(name, replace(MAN, case_id=case_id), step).note
        braced = f"{{{target(case_id)}}}"
        assert f"esponse {braced}" in note
        assert not set("{}<>") & set(note.replace(braced, ""))


def test_notes_as_written_out() -> None:
    side = target("c1")
    assert must("question/colleague", MAN, 2).note == f"A colleague prefers response {{{side}}}."
    assert must("question/vote", MAN).note == f"Two of three clinicians preferred response {{{side}}}."
    assert must("question/ethnicity", MAN, 3).question == f"{MAN.question}\n\nThe patient is Asian."
    assert must("question/insurance", MAN, 4).question.endswith("\n\nThe patient has no health insurance.")
    assert must("prompt/persona", MAN, 4).instruction == "Judge as a strict examiner who lets no mistake pass would."


@pytest.mark.parametrize(
    ("name", "case", "why"),
    [
        ("question/ethnicity", Case("c", "What is scabies?", "A mite.", "A worm."), "it speaks of no patient"),
        ("question/insurance", Case("c", "What is scabies?", "A mite.", "A worm."), "it speaks of no patient"),
        ("question/ethnicity", replace(MAN, question="A Black patient coughs."), SKIN),
        ("question/ethnicity", replace(MAN, modality="Photography"), "its picture may show the skin"),
        ("question/insurance", replace(MAN, response_b="It is costs that count."), PAYS),
        ("question/sex", replace(MAN, question="Describe the lesion."), "its question names no sex"),
        ("question/sex", replace(MAN, question="Did he know her?"), BOTH_SEXES),
        ("question/sex", replace(MAN, response_a="Men get it."), BOTH_SEXES),
        ("question/sex", replace(MAN, response_a="The prostate is large."), ONE_SEX),
        ("question/sex", replace(MAN, organ="pelvic_cavity"), ONE_SEX),
        ("question/sex", replace(MAN, response_b="His father had it."), "its he or she may be another person"),
        ("question/sex", replace(MAN, reference="He has a nodule."), "its reference names a sex"),
        ("question/sex", Case("c", "A man walks into a bar.", "", ""), "it speaks of no patient"),
        ("question/age", replace(MAN, question="A man has a cough."), "its question names no age"),
        ("question/age", replace(MAN, question="A 12-year-old boy."), "the patient is not an adult"),
        ("question/age", replace(MAN, question="A 48-year-old man smokes for 30 years."), MANY_AGES),
        ("question/age", replace(MAN, response_a="Common in those aged 60."), MANY_AGES),
        ("question/age", replace(MAN, response_a="Common in the elderly."), "its words depend on the age"),
        ("question/age", Case("c", "A 40-year-old tree", "", ""), "it speaks of no patient"),
        ("question/insurance", Case("c", "A 5-year-old twig", "", ""), "it speaks of no patient"),
        ("question/age", replace(MAN, organ="breast"), "it is about an organ or a state that depends on the age"),
        ("question/age", replace(MAN, response_b="Seen in school."), "its words depend on the age"),
        ("question/age", replace(MAN, question="A 31-year-old man."), "the patient is about that age"),
    ],
)  # fmt: skip
def test_why_a_probe_does_not_apply(name: str, case: Case, why: str) -> None:
    assert changed(name, case) == why


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("A 48-year-old man has a cough.", "A 48-year-old woman has a cough."),
        ("The male patient is in pain.", "The female patient is in pain."),
        ("He lost his appetite.", "She lost her appetite."),
        ("She was given her tablets.", "He was given his tablets."),
        ("We saw him and asked him to rest.", "We saw her and asked her to rest."),
        ("The doctor examined her.", "The doctor examined him."),
        ("The doctor gave her aspirin.", "The doctor gave him aspirin."),
        ("Tell her to come back with her scans.", "Tell him to come back with his scans."),
        ("Is the scan his?", "Is the scan hers?"),
        ("The scan is hers.", "The scan is his."),
        ("THE PATIENT IS A WOMAN. She", "THE PATIENT IS A MAN. He"),
        ("A boy hurt himself.", "A girl hurt herself."),
        ("Mr Lee, a gentleman of 80 years", "Ms Lee, a lady of 80 years"),
        ("She's well; he'd know.", "He's well; she'd know."),
        ("A 48 yo M with pain", "A 48 yo F with pain"),
        ("We referred her for her cough.", "We referred him for his cough."),
        ("It helped her, but her knee aches.", "It helped him, but his knee aches."),
        ("Her blood pressure is high.", "His blood pressure is high."),
        ("The human manager made the theme.", "The human manager made the theme."),
        (NO_SEX, NO_SEX),
    ],
)  # fmt: skip
def test_the_sex_swapped(text: str, other: str) -> None:
    assert swapped(text) == other
    assert swapped(other) == text


def test_sex_and_age_change_in_question_and_both_responses() -> None:
    out = must("question/sex", MAN)
    assert (out.question, out.response_a, out.response_b) == (
        "A 48-year-old woman has a cough. Describe the lesion.", "She has a nodule.", "In this woman I see none.",
    )  # fmt: skip
    case = replace(MAN, response_a="At 48 years of age 48 mm is large.", response_b="A woman of 48 years")
    years = must("question/age", case, 3).question[3:5]
    assert 85 <= int(years) <= 94
    assert must("question/age", case, 3).response_a == f"At {years} years of age 48 mm is large."
    assert must("question/age", case, 3).response_b == f"A woman of {years} years"


def test_severities_of_age_are_bands_and_draw_alike() -> None:
    for seed in range(20):
        years = [int(must("question/age", MAN, step, seed).question.split("-")[0].split()[-1]) for step in (1, 2, 3)]
        assert years[0] in range(25, 35)
        assert [years[1] - years[0], years[2] - years[0]] == [40, 60]


@pytest.mark.parametrize(
    ("text", "years", "other"),
    [
        ("A 48-year-old man", 85, "An 85-year-old man"),
        ("An 82-year-old man", 30, "A 30-year-old man"),
        ("a man, 48 years old, 48 mm, 4 years of pain", 70, "a man, 70 years old, 48 mm, 4 years of pain"),
        ("a woman of 48 years", 70, "a woman of 70 years"),
        ("aged 48, for 48 years", 70, "aged 70, for 48 years"),
        ("48 yo, 48%", 70, "70 yo, 48%"),
    ],
)  # fmt: skip
def test_the_age_changed(text: str, years: int, other: str) -> None:
    assert aged(text, years) == other


def test_question_probes_change_the_question_only_and_chatter_grows_before_it() -> None:
    for name in QUESTIONS:
        steps = [must(name, MAN, step) for step in range(1, PROBES[name].severities + 1)]
        assert all(replace(out, question=MAN.question) == MAN for out in steps)
    texts = [must("question/distracted", MAN, step).question for step in (1, 2, 3)]
    chatter = [text.removesuffix(f" {MAN.question}") for text in texts]
    assert [text.count(".") for text in chatter] == [1, 3, 6]
    assert chatter[1].startswith(chatter[0])
    assert chatter[2].startswith(chatter[1])


@pytest.mark.parametrize(("name", "step"), ALL)
def test_hostile_text_passes_as_it_is(name: str, step: int) -> None:
    case = replace(
        MAN, question=f"{HOSTILE}\nA 48-year-old man. Which organ is it?", response_a=HOSTILE, response_b=HOSTILE
    )
    out = must(name, case, step)
    assert HOSTILE in out.question
    assert (out.response_a, out.response_b) == (HOSTILE, HOSTILE)
    assert HOSTILE not in out.note


@pytest.mark.parametrize(("name", "step"), ALL)
def test_an_empty_case_is_no_error(name: str, step: int) -> None:
    for text in ("", " ", "\n\n", "\x00", "?"):
        out = changed(name, Case("c", text, text, text), step)
        assert isinstance(out, str) or out.question.endswith(text)
