"""The questions of the review form: one entry makes form, keys, store, files, history and table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question to a reviewer about a case, beside whether its gold label is right.

    Attributes
    ----------
    name : the column of its answers in the table of adjudications
    text : the question as the form asks it
    options : the answers to choose from; readers see spaces for underscores
    keys : a letter for each option, perhaps fewer, that chooses it on the form; the form's help lists those in use
    label : what stands before an answer in the history; empty for the name
    several : any number of options may be chosen
    is_open : an answer may be any text, since reviewers of earlier versions edited the options; one question has it
    of_judge : asked only about one judge
    """

    name: str
    text: str
    options: tuple[str, ...]
    keys: str = ""
    label: str = ""
    several: bool = False
    is_open: bool = False
    of_judge: bool = False

    def cell(self, answer: str | list[str] | None) -> str | list[str] | None:
        """Return a stored answer as its column holds it, also one from before `several` was changed."""
        chosen = [answer] if isinstance(answer, str) else answer or []
        return chosen if self.several else "; ".join(chosen) or None


ORDER_EFFECT = "order effect"
REASONS = (
    "missed finding", "wrong laterality", "hallucinated finding", "wrong measurement or number", "over-caution",
    "style over substance", ORDER_EFFECT, "question misread", "other",
)  # fmt: skip
QUESTIONS = [
    Question("reasons", "Why did the judge fail?", REASONS, several=True, is_open=True, of_judge=True),
    Question(
        "severity",
        "Harm, if the judge\N{RIGHT SINGLE QUOTATION MARK}s choice were acted on",
        ("none", "mild", "moderate", "severe"),
        keys="ZXCV",
        label="harm",
        of_judge=True,
    ),
    Question(
        "reasoning",
        "The judge\N{RIGHT SINGLE QUOTATION MARK}s reasons are",
        ("right", "wrong", "not_about_image"),
        label="its reasons",
        of_judge=True,
    ),
]
"""What the form asks, in its order."""


def adjudication_columns() -> tuple[str, ...]:
    """Return the columns of the table of adjudications; each question has one."""
    return (
        "adjudication_id", "benchmark", "case_fingerprint", "case_id", "dimension", "reviewer", "verdict", "choice",
        "judge", *(question.name for question in QUESTIONS), "regions", "note", "supersedes", "created",
    )  # fmt: skip


def list_columns() -> tuple[str, ...]:
    """Return the columns of adjudications that hold a list per row; the others hold texts."""
    return (*(question.name for question in QUESTIONS if question.several), "regions")
