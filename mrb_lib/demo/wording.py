"""From a responder's plan to the text of its response."""

from typing import cast

import numpy as np

from mrb_lib.demo.canvas import toml_data
from mrb_lib.demo.questions import SimulatedQuestion
from mrb_lib.demo.responders import ResponsePlan
from mrb_lib.demo.scenes import Facts, FindingKind, Scene, Site, pick

_NUMBERS = ("no", "one", "two", "three", "four")
_VISUAL = ("finding", "site", "side", "size", "count", "shape", "brightness")


def article(phrase: str) -> str:
    """The phrase with "a" or "an" before it."""
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


class Phrasing:
    """The phrases that one set of claims allows: an aspect that is not claimed is left unsaid."""

    def __init__(self, claims: dict[str, object], scene: Scene) -> None:
        self.view = scene.view
        self.kind = cast("FindingKind | None", claims.get("finding"))
        self.site = cast("Site | None", claims.get("site"))
        self.side = cast("str | None", claims.get("side"))
        self.size = cast("int | None", claims.get("size"))
        self.count = cast("int | None", claims.get("count"))
        self.shape = cast("str | None", claims.get("shape"))
        self.impression = cast("str", claims.get("impression", ""))
        self.plan = cast("str", claims.get("plan", ""))
        bright = claims.get("brightness")
        self.term = None if bright is None else self.view.terms[0 if bright else 1]

    @property
    def is_several(self) -> bool:
        return (self.count or 1) > 1

    @property
    def noun(self) -> str:
        one, several = ("lesion", "lesions") if self.kind is None else (self.kind.noun, self.kind.plural)
        return several if self.is_several else one

    def noun_phrase(self) -> str:
        phrase = " ".join(word for word in (self.shape, self.term, self.noun) if word)
        if self.count is None:
            return article(phrase)
        return f"{_NUMBERS[self.count] if self.is_several else 'a single'} {phrase}"

    def counted(self) -> str:
        return f"{_NUMBERS[self.count or 1] if self.is_several else 'only one'} {self.noun}"

    def place(self) -> str:
        if self.site is not None:
            name = self.site.name.format(side=self.side or "")
            return f"in the {' '.join(name.split())}"
        if self.side is not None:
            return f"on the patient's {self.side} side"
        return f"in {self.view.region}"

    def length(self) -> str:
        return f"{self.size} {self.view.unit}"

    def largest(self) -> str:
        return f"{'the largest ' if self.is_several else ''}measuring about {self.length()}"


def write_response(plan: ResponsePlan, scene: Scene, question: SimulatedQuestion, rng: np.random.Generator) -> str:
    """The text of a response: exactly what its plan says, in the responder's manner."""
    writer = _ResponseWriter(plan, scene, question, rng)
    findings, conclusions = writer.body()
    answer = writer.answer()
    extra = writer.extras()
    if plan.responder.style == "report" and findings:
        findings = [f"Findings: {findings[0]}", *findings[1:]]
        conclusions = [f"Assessment: {conclusions[0]}", *conclusions[1:]] if conclusions else conclusions
    sentences = [*findings, *extra, *conclusions] if rng.random() < 0.5 else [*findings, *conclusions, *extra]
    if plan.directness == 2:
        sentences = [answer, *sentences]
    elif plan.directness == 1:
        late = pick(rng, toml_data("phrases")["style"]["late"])
        sentences = [
            writer.say("style", "opening"),
            *sentences,
            f"{late} {answer[0].lower() if answer[1:2].islower() else answer[0]}{answer[1:]}",
        ]
    else:
        sentences = [answer, *sentences] if rng.random() < 0.5 else [*sentences, answer]
        if plan.responder.style == "chatty":
            sentences = [writer.say("style", "opening"), *sentences]
    for sentence in writer.fill():
        position = 1 + int(rng.integers(len(sentences)))
        sentences.insert(position, sentence)
    return " ".join(sentences)


class _ResponseWriter:
    """Chooses and fills the sentences of one response."""

    def __init__(self, plan: ResponsePlan, scene: Scene, question: SimulatedQuestion, rng: np.random.Generator) -> None:
        self.plan, self.scene, self.question, self.rng = plan, scene, question, rng
        self.words = Phrasing(plan.claims, scene)
        self.unsaid = [aspect for aspect in plan.claims if aspect in _VISUAL]

    def say(self, section: str, name: str, **slots: str) -> str:
        """One of the sentences of this name, its slots filled and its first letter raised."""
        view, words = self.scene.view, self.words
        values = {
            "picture": view.picture,
            "region": view.region,
            "tissue": view.tissue,
            "modality": view.modality if view.modality.isupper() else view.modality.lower(),
            "np": words.noun_phrase(),
            "place": words.place(),
            "impression": words.impression,
            "plan": words.plan,
            "shape": words.shape or "",
            "term": words.term or "",
            "size": words.length(),
            "count": words.counted(),
            "largest": words.largest(),
            "are": "are" if words.is_several else "is",
            **slots,
        }
        return _capital(pick(self.rng, toml_data("phrases")[section][name]).format(**values))

    def answer(self) -> str:
        """The sentence that answers the question, or the one that evades it."""
        if self.plan.directness == 0:
            return str(pick(self.rng, toml_data("phrases")["style"]["deflection"]))
        if self.question.type != "closed":
            return self.say("answers", self.question.type)
        words, supposed = self.words, self.question.hypothesis
        yes = words.is_several if supposed == "several" else supposed in (words.side, words.term)
        reasons = {
            "side": f"it lies on the patient's {words.side} side",
            "count": f"there {'are' if words.is_several else 'is'} {words.counted()}",
            "brightness": f"it is {words.term} relative to the {self.scene.view.tissue}",
        }
        return f"{self.say('answers', 'yes' if yes else 'no')}: {reasons[self.question.aspects[0]]}."

    def body(self) -> tuple[list[str], list[str]]:
        """Sentences on what is seen, and on what follows from it; what the answer has said is not repeated."""
        if self.plan.directness:
            self._leave_out_answered()
        findings: list[str] = []
        if self.plan.compact and len(self.unsaid) >= 2:
            placed = {"site", "side"} & set(self.unsaid) or not {"site", "side"} & self.plan.claims.keys()
            sentence = self.say("facts", "seen" if placed else "finding").rstrip(".")
            findings.append(f"{sentence}, {self.words.largest()}." if self.words.size is not None else f"{sentence}.")
        else:
            findings = self._one_by_one()
        conclusions = []
        answered = self.question.type if self.plan.directness else ""
        if self.words.impression and answered != "diagnosis":
            conclusions.append(self.say("facts", "impression"))
        if self.words.plan and answered != "next_step":
            conclusions.append(self.say("facts", "plan"))
        return findings, conclusions

    def _leave_out_answered(self) -> None:
        stated = {
            "open": tuple(aspect for aspect in _VISUAL if aspect != "size"),
            "description": ("finding", "shape", "brightness", "count"),
            "location": ("site", "side"),
            "measurement": ("finding", "count", "size"),
            "diagnosis": ("finding", "shape", "brightness", "count"),
            "closed": self.question.aspects,
            "next_step": (),
        }[self.question.type]
        self.unsaid = [aspect for aspect in self.unsaid if aspect not in stated]

    def _one_by_one(self) -> list[str]:
        sentences, noun = [], self.words.noun
        for aspect in self.unsaid:
            if aspect == "finding":
                sentences.append(self.say("facts", aspect, np=noun if self.words.is_several else article(noun)))
            elif aspect != "side" or "site" not in self.unsaid:
                sentences.append(self.say("facts", "place" if aspect in ("site", "side") else aspect))
        return sentences

    def extras(self) -> list[str]:
        """Return what goes beyond the main finding: the second one, what is absent, limits, insight, rivals."""
        plan, view = self.plan, self.scene.view
        sentences = []
        if plan.second is not None:
            sentences.append(self.say("facts", "second", **_named(plan.second, self.scene)))
        start = int(self.rng.integers(len(view.negatives)))
        sentences += [view.negatives[(start + k) % len(view.negatives)] for k in range(plan.negatives)]
        if plan.limitation:
            sentences.append(self.say("facts", "limitation"))
        kind = self.words.kind or self.scene.main.kind
        first = int(self.rng.integers(2))
        sentences += [kind.insight[(first + k) % len(kind.insight)] for k in range(plan.insights)]
        if plan.differential:
            is_stated = kind.alternative == self.words.impression
            rival = self.scene.main.kind.impression if is_stated else kind.alternative
            sentences.append(self.say("facts", "differential", alternative=rival, Alternative=_capital(rival)))
        return sentences

    def fill(self) -> list[str]:
        """Sentences off the topic, and sentences that say nothing."""
        view, lines = self.scene.view, list[str]()
        for name, n in (("drift", self.plan.drift), ("padding", self.plan.padding)):
            known = toml_data("phrases")["style"][name]
            lines += [known[k] for k in self.rng.permutation(len(known))[:n]]
        return [line.format(region=view.region, picture=view.picture) for line in lines]


def _named(facts: Facts, scene: Scene) -> dict[str, str]:
    """The noun phrase and the place of a finding, all of it stated."""
    words = Phrasing(facts.claims, scene)
    return {"np": words.noun_phrase(), "place": words.place(), "largest": words.largest()}


def reference_answer(scene: Scene) -> str:
    """The truth of a case in words."""
    main, kind = _named(scene.main, scene), scene.main.kind
    sentences = [f"{_capital(main['np'])} {main['place']}, {main['largest']}."]
    if scene.second is not None:
        second = _named(scene.second, scene)
        sentences.append(f"Second finding: {second['np']} {second['place']}.")
    return " ".join([*sentences, f"Most in keeping with {kind.impression}.", f"Next step: {kind.next}."])
