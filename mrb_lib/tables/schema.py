"""The tables that cross module boundaries, and their vocabularies; `mrb_lib.tables.validation` checks them.

Three tables are stored: `cases` (one row a case), `annotations` (one row a case,
annotator and dimension) and `verdicts` (one row a judge, case, dimension, order,
repeat and probe). Columns a table does not know are carried along untouched.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal, get_args

Choice = Literal["A", "B", "tie"]
Order = Literal["AB", "BA"]
Status = Literal["ok", "repaired", "unparsed", "refused", "error"]
Bound = Literal["at least", "at most"]
Kind = Literal["clinical", "general", "simulated"]
Task = Literal["preference", "rating"]
Level = Literal["nominal", "ordinal", "interval"]
SplitName = Literal["train", "validation", "test"]
TableName = Literal["cases", "annotations", "verdicts"]

CHOICES: tuple[str, ...] = get_args(Choice)
ORDERS: tuple[str, ...] = get_args(Order)
STATUSES: tuple[str, ...] = get_args(Status)
POLICIES = ("official", "balanced", "strict", "net", "answered")
KINDS: tuple[str, ...] = get_args(Kind)
LEVELS: tuple[str, ...] = get_args(Level)
SPLITS: tuple[str, ...] = get_args(SplitName)
TRAIN, VALIDATION, TEST = SPLITS

ANSWERED_STATUSES = ("ok", "repaired")
CONSENSUS = "consensus"
NO_PROBE = "none"
ANSWER = "answer"
"""The one dimension of runs that keep a model's answers, not verdicts; see `answers.answering`."""
WORK_RECORD = "construction.toml"
"""The file that marks a work folder; see `mrb_lib.build.construct.work`."""
SIMULATED = "SIMULATED"
"""The source of verdicts that were drawn, and what everything made of simulated data says."""

DIMENSIONS = ("accuracy", "relevance", "comprehensiveness", "creativity", "responsiveness", "overall")
ORGAN_DEPARTMENT: dict[str, str] = {
    "abdomen": "Gastroenterology",
    "brain": "Neurology",
    "breast": "Gynecology",
    "chest": "Pulmonology",
    "eye": "Ophthalmology",
    "foot": "Orthopedics",
    "gastrointestinal_tract": "Gastroenterology",
    "heart": "Cardiology",
    "lower_limb": "Orthopedics",
    "lung": "Pulmonology",
    "oral_cavity": "Stomatology",
    "pelvic_cavity": "Gynecology",
    "upper_limb": "Orthopedics",
}
ORGANS = tuple(ORGAN_DEPARTMENT)
DEPARTMENTS = tuple(dict.fromkeys(ORGAN_DEPARTMENT.values()))

SUBFIELDS = ("organ", "department", "modality", "question_type", "dataset", "institution", "split")
"""The optional columns of the cases that a table may be broken down by."""

NO_LABEL = "none"
"""The choice, in a dimension of several labels, that none of them applies."""
SEPARATOR = "; "


def joined_labels(chosen: Collection[str], labels: Sequence[str]) -> str:
    """A choice in a dimension of several labels: those that apply, in their order, or "none"."""
    return SEPARATOR.join(name for name in labels if name in chosen) or NO_LABEL


def split_labels(choice: str) -> tuple[str, ...]:
    """The labels that such a choice names."""
    return () if choice == NO_LABEL else tuple(choice.split(SEPARATOR))


def are_numbers(categories: Iterable[str]) -> bool:
    """Return True if all labels are finite numbers."""
    try:
        return all(isfinite(float(name)) for name in categories)
    except ValueError:
        return False


def category_numbers(categories: Sequence[str]) -> tuple[float, ...]:
    """The numbers of ordered categories: the categories themselves where all are numbers, else 1, 2, ..."""
    if are_numbers(categories):
        return tuple(float(name) for name in categories)
    return tuple(float(place + 1) for place in range(len(categories)))


ColumnType = Literal["str", "int", "float", "names", "date", "rubric"]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    type : "str", "int", "float", "names" (a list of file names), "date" (text, see `mrb_lib.tables.validation`) or
        "rubric" (JSON text, see `mrb_lib.tables.rubrics`)
    required : the column must be there
    nullable : a value may be missing
    values : the closed vocabulary, if there is one
    default : the value filled in where an optional column is absent
    low, high : inclusive bounds of a number
    """

    name: str
    type: ColumnType = "str"
    required: bool = True
    nullable: bool = False
    values: tuple[str, ...] | None = None
    default: str | int | None = None
    low: float = -inf
    high: float = inf


def _optional(name: str, type_: ColumnType = "str", low: float = -inf, high: float = inf) -> Column:
    return Column(name, type_, required=False, nullable=True, low=low, high=high)


_CASE_TEXTS = (
    "organ", "department", "modality", "question_type", "dataset", "model_a", "model_b", "reference", "cluster",
    "item", "split", "fold", "original_id",
)  # fmt: skip
CASES = (
    *(Column(name) for name in ("case_id", "question", "response_a", "response_b")),
    Column("images", "names", required=False),
    *(_optional(name) for name in _CASE_TEXTS),
    _optional("before"),
    _optional("date", "date"),
    _optional("rubric", "rubric"),
)
SEEN_BY_JUDGES = (
    "question", "before", "response_a", "response_b", "images", "reference", "rubric", "organ", "department",
    "modality", "question_type",
)  # fmt: skip
"""The columns of the cases that may reach a judge; who wrote a response, which split a case is in and since when it is
public may not.
"""

ANNOTATIONS = (Column("case_id"), Column("annotator"), Column("dimension"), Column("choice"))
VERDICTS = (
    *(Column(name) for name in ("judge", "case_id", "dimension")),
    Column("order", values=ORDERS),
    Column("repeat", "int", required=False, default=0, low=0, high=999_999),
    Column("probe", required=False, default=NO_PROBE),
    Column("choice", nullable=True, values=CHOICES),
    _optional("p_a", "float", low=0.0, high=1.0),
    Column("p_a_bound", required=False, nullable=True, values=get_args(Bound)),
    _optional("p_categories"),
    *(_optional(name, "float") for name in ("score_a", "score_b")),
    _optional("criteria"),
    Column("status", required=False, values=STATUSES),
    *(_optional(name) for name in ("reply", "prompt_id")),
    *(_optional(name, "float", low=0.0) for name in ("latency_s", "prompt_tokens", "completion_tokens")),
)

COLUMNS: dict[TableName, tuple[Column, ...]] = {"cases": CASES, "annotations": ANNOTATIONS, "verdicts": VERDICTS}
KEYS: dict[TableName, tuple[str, ...]] = {
    "cases": ("case_id",),
    "annotations": ("case_id", "annotator", "dimension"),
    "verdicts": ("judge", "case_id", "dimension", "order", "repeat", "probe"),
}
