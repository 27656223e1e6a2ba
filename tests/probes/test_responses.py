"""What the probes of responses do to sentences that were written for the purpose, and what they leave alone."""

import re
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from mrb_lib.probes import PROBES, Case, target
from mrb_lib.probes.marking import changed_words
from mrb_lib.probes.probe import EditResponse, Probe
from mrb_lib.probes.wording import sentences

RESPONSE = [name for name, probe in PROBES.items() if probe.response is not None]
REPORT = (
    "The CT scan shows a 12 mm nodule in the left upper lobe of the lung. There is no pleural effusion on the right "
    "side. The heart is not enlarged. It is important to note that metformin was paused. My impression is a granuloma."
)
CASE = Case("c1", "What is seen?", REPORT, REPORT, ("x.png",), "CT", "lung")
STYLED = "**Findings**\n\n- `Mass` in the liver\n- No fluid is *seen* there"
ODD = [
    "", " ", "\n\n", ".", "...", "?!", "\x00\x01\x02", "left", "no", "12 mm", "a\x00left lung\x1bshows no mass.",
    "\u202eright lung\u202c shows a 5 mm nodule.", "```\nleft = 12\n```", "| left | 5 mm |", "ﬀ ß İ left lung", "**",
    "中文。没有。", "-", "[1]", "{A} {B} \\1 \\g<0>", "1. ", "É. L'œil gauche.", "\ud800 left lung shows no mass.",
]  # fmt: skip


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def _edit(name: str) -> EditResponse:
    edit = PROBES[f"response/{name}"].response
    assert edit is not None
    return edit


def _all(name: str, text: str, case: Case = CASE) -> str | None:
    """The text with every error planted, or the style changed as far as it goes."""
    return _edit(name)(text, PROBES[f"response/{name}"].severities, _rng(), case)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("side", "A mass in the left lung.", "A mass in the right lung."),
        ("side", "RIGHT kidney: a cyst. Right eye.", "LEFT kidney: a cyst. Left eye."),
        ("side", "A right-sided stroke, seen on the left.", "A left-sided stroke, seen on the right."),
        ("side", "Bilateral opacities are seen.", "Unilateral opacities are seen."),
        ("negation", "There is no evidence of a mass.", "There is some evidence of a mass."),
        ("negation", "No effusion is seen.", "Some effusion is seen."),
        ("negation", "The heart is not enlarged.", "The heart is enlarged."),
        ("negation", "A cyst without septa.", "A cyst with septa."),
        ("negation", "The scan shows a mass.", "The scan does not show a mass."),
        ("negation", "There is evidence of a bleed.", "There is no evidence of a bleed."),
        ("negation", "The skull is intact.", "The skull is not intact."),
        ("anatomy", "A mass of the Upper lobe.", "A mass of the Lower lobe."),
        ("anatomy", "The FEMORAL artery.", None),
        ("drug", "Take SSRIs daily.", "Take NSAIDs daily."),
        ("drug", "A statin is given.", "An antifungal is given."),
        ("negation", "The tumour, which is enlarged, bleeds.", "The tumour, which is not enlarged, bleeds."),
        ("negation", "(B) Gout: the joint is enlarged.", "(B) Gout: the joint is not enlarged."),
        ("side", "A left lung cyst; the right lung is normal.", "A right lung cyst; the right lung is normal."),
        ("number", "Two lesions are seen.", "Five lesions are seen."),
        ("markdown", "The liver is big. It is red.", "- **The liver** is big.\n- **It is** red."),
        ("finding-dropped", "The CT shows a mass. The patient is old.", "The patient is old."),
        ("finding-dropped", "There is a left cyst. It is round. Bones are fine. Cysts may bleed.", "Bones are fine."),
        ("finding-dropped", "The CT shows a mass. No other mass is seen.", "No other mass is seen."),
        ("finding-dropped", "The spleen contains a cyst. The patient is old.", "The patient is old."),
    ],
)  # fmt: skip
def test_what_a_rule_does(name: str, before: str, after: str | None) -> None:
    found = _all(name, before)
    assert found == after if after is not None else found and found.lower() != before.lower()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("side", "He left the room, and that is right. Take it right away; the right to vote is left alone."),
        ("side", "The left and right lungs are clear. From left to right."),
        ("side", "No mass is seen in the left lung."),
        ("side", "Brightleft copyright leftover."),
        ("number", "In 2019 a 48-year-old man came. 1. First\n2. Second. T2 and L4, at 9 o'clock."),
        ("negation", "No, it is so. Not only that. No doubt. Is the skull intact? If it is normal, wait."),
        ("negation", "The causes of pain are many. It may or may not be."),
        ("negation", "Notable nodules of note. It is important to know."),
        ("negation", "We ask which lobe is enlarged. A gland may swell without fever."),
        ("negation", "If a man who has had a fever for many days is normal, wait."),
        ("negation", "(B) The joint is enlarged.\nC) The lung is not enlarged"),
        ("anatomy", "The liver is of normal size. The spleen looks unremarkable."),
        ("anatomy", "(A) The liver is big."),
        ("side", "The left kidney is normal."),
        ("drug", "A side effect of metformin is nausea.\n(C) Metformin."),
        ("finding-dropped", "A sign that is consistent with a mass. The patient is old."),
        ("finding-dropped", "The CT shows a mass. It is big. The mass may grow."),
        ("hedged", "A is the one that has it. A, B and C are wrong here. A) is wrong and has no use."),
        ("anatomy", "A delivery man with a heart of gold learned it by heart. A stomach bug."),
        ("anatomy", "The liver is not enlarged. He is in the upper class."),
        ("drug", "Vitamin D and water. Insulinoma."),
        ("finding-dropped", "The patient is old. He came on foot."),
        ("finding-dropped", "The CT shows a mass."),
        ("finding-dropped", "There is no mass. A mass would be rare."),
        ("finding-added", ""),
        ("markdown", STYLED),
        ("markdown", "One sentence only."),
        ("hedged", "The mass may be a cyst. Wait! Is the lung clear?"),
        ("typos", "No left 123 mg the without right never."),
    ],
)
def test_where_there_is_nothing_to_change(name: str, text: str) -> None:
    assert _all(name, text) is None


@pytest.mark.parametrize("value", ["30", "1,200", "2.5", "1", "90"])
@pytest.mark.parametrize("kind", [" mm", "%", " mg"])
def test_a_number_changes_by_a_factor_that_matters(value: str, kind: str) -> None:
    for seed in range(8 if (value, kind) != ("1,200", "%") else 0):
        found = _edit("number")(f"It is {value}{kind} now.", 1, _rng(seed), CASE)
        changed = re.fullmatch(r"It is ([\d.,]+)(.*) now\.", found or "")
        assert changed is not None
        new, old = float(changed[1].replace(",", "")), float(value.replace(",", ""))
        assert max(new / old, old / new) >= 2.5
        assert changed[2] == kind
        assert kind != "%" or new <= 100
        assert changed[1].count(".") == value.count(".")


def test_both_ends_of_a_range_change_and_stay_in_order() -> None:
    for seed in range(8):
        found = _edit("number")("Take it for 7-8 days.", 1, _rng(seed), CASE)
        low, high = map(int, re.findall(r"\d+", found or ""))
        assert low < high
        assert low not in (7, 8)


def test_an_error_in_one_place_up_to_three_and_everywhere_each_among_those_of_the_next() -> None:
    text = " ".join(f"Cyst {name} lies in the left lung." for name in "abcdefg")
    found = [_edit("side")(text, severity, _rng(3), CASE) or "" for severity in (1, 2, 3)]
    places = [{i for i, word in enumerate(text.split()) if word == "right"} for text in found]
    assert [len(some) for some in places] == [1, 3, 7]
    assert places[0] < places[1] < places[2]


@pytest.mark.parametrize("name", ["drug", "anatomy"])
def test_what_is_named_instead_is_another_of_its_kind(name: str) -> None:
    text = {"drug": "Take Ibuprofen twice.", "anatomy": "A cyst in the Liver of the man."}[name]
    for seed in range(20):
        found = _edit(name)(text, 1, _rng(seed), CASE) or ""
        [(before, after)] = changed_words(text, found)
        assert before.lower() in ("ibuprofen", "liver")
        assert after[0].isupper()
        assert after.lower() not in ("naproxen", "aspirin", "ibuprofen", "liver")


def test_false_findings_fit_the_organ_and_are_not_in_the_case_yet() -> None:
    text = "The lung is clear. The heart is small. A pneumothorax is there."
    for seed in range(10):
        found = _edit("finding-added")(text, 3, _rng(seed), CASE) or ""
        assert found.startswith("The lung is clear.")
        assert found.endswith("A pneumothorax is there.")
        assert found.count("pneumothorax") == 1
        assert len(sentences(found)) == 5  # two of the three are new
    assert _all("finding-added", text, replace(CASE, organ="toe")) is None
    assert _all("finding-added", "A poem.", Case("c", "q", "A poem.", "A poem.")) is None


@pytest.mark.parametrize("severity", range(1, 6))
def test_typos_leave_alone_what_matters(severity: int) -> None:
    more = "Without 500 micrograms of ivermectin the bilateral haemorrhages never stopped, see https://a.bc/lesions."
    text = " ".join([REPORT, more] * 5)
    found = _edit("typos")(text, severity, _rng(), CASE)
    assert found is not None
    pairs = list(zip(text.split(), found.split(), strict=True))
    differ = [(old, new) for old, new in pairs if old != new]
    assert 0 < len(differ) < 3 * (0.02, 0.05, 0.1, 0.15, 0.25)[severity - 1] * len(pairs)
    for old, new in differ:
        assert len(old) >= 5 and old[0] == new[0] and not Counter(new) - Counter(old)
    kept = r"\d+|mm|without|left|right|bilateral|upper|lobe|no|not|micrograms|ivermectin|metformin|never|\S+lesions\."
    assert re.findall(kept, found.lower()) == re.findall(kept, text.lower())


@pytest.mark.parametrize(
    "word", ["infarction", "pleural", "splitting", "meets", "colonic", "perfect", "fascial", "mucous", "complaint"]
)
def test_a_typo_makes_no_other_word(word: str) -> None:
    others = {"infraction", "plural", "slitting", "mets", "clonic", "prefect", "facial", "mucus", "compliant"}
    for seed in range(40):
        found = _edit("typos")(word, 5, _rng(seed), CASE)
        assert found is None or (found not in others and found != word)


def test_style_adds_to_the_text_and_takes_nothing_away() -> None:
    for name in ("lengthened", "repeated", "credentials", "instruction"):
        for severity in range(1, PROBES[f"response/{name}"].severities + 1):
            found = _edit(name)(REPORT, severity, _rng(), CASE)
            assert found is not None
            assert all(before == "" or before in after for before, after in changed_words(REPORT, found)), name
    assert "radiologist" in (_all("credentials", REPORT) or "")
    assert len({len(_edit("lengthened")(REPORT, s, _rng(), CASE) or "") for s in (1, 2, 3)}) == 3


def test_a_hedge_opens_a_sentence() -> None:
    found = _all("hedged", "The lung is clear.") or ""
    assert re.fullmatch(r"(I \w+ that|As far as I can tell,) the lung is clear\.", found)


@pytest.mark.parametrize("name", RESPONSE)
def test_hostile_texts_do_no_harm(name: str) -> None:
    probe = PROBES[name]
    assert probe.response is not None
    for text, severity in product(ODD, range(1, probe.severities + 1)):
        for case in (CASE, Case("c", "", text, text)):
            found = probe.response(text, severity, _rng(), case)
            assert found is None or (isinstance(found, str) and text.strip()), text


def _cases() -> list[Case]:
    texts = [REPORT, STYLED, f"I think it is a cyst. {REPORT}"]
    return [replace(CASE, case_id=f"c{i}", response_a=text, response_b=text) for i, text in enumerate(texts * 3)]


@pytest.mark.parametrize("name", RESPONSE)
def test_the_same_draws_give_the_same_text_and_other_draws_may_not(name: str) -> None:
    probe = PROBES[name]
    for severity in range(1, probe.severities + 1):
        once, again = ([_applied(probe, case, severity) for case in _cases()] for _ in range(2))
        assert once == again
    assert any(isinstance(_applied(probe, case, probe.severities), Case) for case in _cases())


@pytest.mark.parametrize("name", RESPONSE)
def test_only_the_target_changes_unless_both_are_asked_for(name: str) -> None:
    probe = PROBES[name]
    for case in _cases():
        assert _applied(probe, case, 0) == case
        one, both = (_applied(probe, case, probe.severities, both=both) for both in (False, True))
        if isinstance(one, str) or isinstance(both, str):
            assert isinstance(one, str)
            assert isinstance(both, str)
            continue
        side = target(case.case_id)
        other = "B" if side == "A" else "A"
        assert one.response(side) != case.response(side)
        assert one.response(other) == case.response(other)
        assert both.response_a == both.response_b == one.response(side)


def _applied(probe: Probe, case: Case, severity: int, *, both: bool = False) -> Case | str:
    return probe.applied(case, severity, _rng(), None, both=both)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "runs"),
    [
        ("", "", []),
        ("a b", "a b", []),
        ("", "a b", [("", "a b")]),
        ("a b", "", [("a b", "")]),
        ("A cyst in the left lung.", "A cyst in the right lung.", [("left", "right")]),
        ("a b c d e", "a x c y e", [("b", "x"), ("d", "y")]),
        ("It is 12 mm wide.", "It is not 12 cm wide.", [("", "not"), ("mm", "cm")]),
    ],
)
def test_which_words_changed(before: str, after: str, runs: list[tuple[str, str]]) -> None:
    assert changed_words(before, after) == runs


def test_which_words_changed_in_a_long_text() -> None:
    before = [f"Sentence {i} says that cyst {i} lies in the left lung." for i in range(3000)]
    after = [text.replace("left", "right") if i % 100 == 50 else text for i, text in enumerate(before)]
    assert changed_words(" ".join(before), " ".join(after)) == [("left", "right")] * 30
    [(gone, new)] = changed_words(" ".join(before), " ".join(before[:70] + before[71:]))
    assert (len(gone.split()), new) == (len(before[70].split()), "")
