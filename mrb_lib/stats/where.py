"""Filters of cases, in one small language: `organ == 'eye' and length > 700`.

It is Python's grammar of comparisons, read by Python's own parser; nothing of it is ever evaluated. Beside the columns
of the cases it asks for gold labels, verdicts, reviewers and tags.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.stats.analysis import GivenVerdicts, labels, read_panels
from mrb_lib.stats.estimation import BoolArray, IntArray
from mrb_lib.stats.options import check_choice
from mrb_lib.stats.panel import ABSENT, NULL, Panel, as_panel
from mrb_lib.stats.scoring import score
from mrb_lib.stats.verdicts import Verdicts, labels_of
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, NO_PROBE
from mrb_lib.tables.validation import day_span

OVERALL, TAG, MIXED = "overall", "tag", "mixed"
OUTCOMES: Final = ("right", "half right", "wrong", "not scored", "no gold label", "not judged", "trained on")
RIGHT, HALF, WRONG, UNSCORED, NO_LABEL, NOT_JUDGED, SEEN = OUTCOMES
MIXED_CODE: Final = int(np.iinfo(np.int8).max)
CELL: Final = ["judge", "dimension", "case_id"]
_NO_STORE = "there is no store of reviews; `mrb review BENCH` makes one there, and MRB_STORE names another"
_BESIDE = (
    "gold",
    "outcome['a judge']",
    "says['a judge']",
    "reviewers",
    "reviewed_by['a name']",
    "tags",
    "tagged['a tag']",
)
ByCase = Mapping[str, Sequence[str]]
Lookup = Callable[[str, tuple[str, ...]], pd.Series]
LENGTHS: Final = {"length_question": "question", "length_a": "response_a", "length_b": "response_b"}
_LONGEST = 2000
_COMPARED: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_MIRRORED: Final = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_HOW = "; write like organ == 'eye' and length > 700."


def matching(text: str, lookup: Lookup) -> BoolArray:
    """Return which cases a filter leaves.

    Parameters
    ----------
    text : comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `not in`, `is None`, `is not None`) of names with text,
        numbers, True, False, or lists of them, joined by `and`, `or`, `not` and brackets. `'nodule' in question` looks
        for words in a text, whatever their case. A comparison with a missing value does not hold, nor does `!=`
    lookup : gives the values of a name, and of a name with keys such as `outcome['some judge']`; raises `InputError`
        where there is no such name

    Raises
    ------
    InputError
        The text is not such a filter, or compares text with a number.

    Notes
    -----
    Validated by tests/stats/test_filters.py.
    """
    return _Filter(lookup, text).holds(syntax_tree(text))


def syntax_tree(text: str) -> ast.expr:
    """Return a filter as Python's parser reads it, before there are cases to filter.

    Raises
    ------
    InputError
        The text is too long, or not an expression.
    """
    if len(text) > _LONGEST:
        raise InputError(f"where: has {len(text):,} characters; use at most {_LONGEST:,}.")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"where {text!r}: cannot be read ({error}){_HOW}") from None


def case_lookup(cases: pd.DataFrame, also: Sequence[str] = ()) -> Lookup:
    """Return a lookup of the columns of the cases, of the lengths of their texts in characters, and of `n_images`.

    `length` is that of the longer response. An unknown name is refused with the others, and with those of `also`.
    """
    measured = {name: cases[column].str.len() for name, column in LENGTHS.items() if column in cases}
    if {"length_a", "length_b"} <= measured.keys():
        measured["length"] = pd.concat([measured["length_a"], measured["length_b"]], axis=1).max(axis=1)
    if "images" in cases:
        measured["n_images"] = cases["images"].map(len)
    known = cases.drop(columns="images", errors="ignore").assign(**measured).reset_index(drop=True)

    def look(name: str, keys: tuple[str, ...]) -> pd.Series:
        if keys:
            raise InputError(f"where: {name}[...] is unknown; names of columns have no brackets.")
        if name not in known:
            raise InputError(f"where: {name!r} is unknown; use one of {', '.join([*sorted(map(str, known)), *also])}.")
        return known[name]

    return look


@dataclass(frozen=True)
class _Filter:
    """A filter: what its names stand for, and its text to quote in messages."""

    lookup: Lookup
    text: str

    def fault(self, problem: str) -> InputError:
        return InputError(f"where {self.text!r}: {problem}")

    def holds(self, node: ast.expr) -> BoolArray:
        """Return where an expression holds, case by case."""
        match node:
            case ast.BoolOp(how, parts):
                joined = np.logical_and if isinstance(how, ast.And) else np.logical_or
                return np.asarray(joined.reduce([self.holds(part) for part in parts]))
            case ast.UnaryOp(ast.Not(), part):
                return ~self.holds(part)
            case ast.Compare(left, signs, others):
                pairs = zip([left, *others], signs, others, strict=False)
                return np.asarray(np.all([self.compared(*pair) for pair in pairs], axis=0))
            case ast.Name() | ast.Subscript():
                values = self.values(node)
                if pd.api.types.is_bool_dtype(values):
                    return np.asarray(values, dtype=bool)
                raise self.fault(f"{ast.unparse(node)} is not true or false; compare it with something.")
        raise self.fault(f"{ast.unparse(node)} is not part of the language{_HOW}")

    def compared(self, left: ast.expr, how: ast.cmpop, right: ast.expr) -> BoolArray:
        """Return where a comparison holds; a missing value is equal to nothing, and unequal to nothing."""
        if _is_name(right) and not _is_name(left) and not isinstance(how, ast.In | ast.NotIn):
            left, how, right = right, _MIRRORED.get(type(how), type(how))(), left
        if not (_is_name(left) or _is_name(right)):
            raise self.fault(f"{ast.unparse(left)} is not a name{_HOW}")
        values = self.values(left if _is_name(left) else right)
        known = values.notna()
        match how:
            case ast.Is() | ast.IsNot():
                if not (isinstance(right, ast.Constant) and right.value is None):
                    raise self.fault("`is` asks for None only; compare with ==.")
                found = ~known if isinstance(how, ast.Is) else known
            case ast.In() | ast.NotIn():
                inside = self.contained(values, left, right)
                found = known & (inside if isinstance(how, ast.In) else ~inside)
            case _:
                found = known & self.ordered(values, left, how, right)
        return np.asarray(found, dtype=bool)

    def ordered(self, values: pd.Series, left: ast.expr, how: ast.cmpop, right: ast.expr) -> pd.Series:
        """Return where values are equal to, unlike, above or below others; never where the others are missing."""
        other = self.values(right) if _is_name(right) else self.constant(right)
        is_bool = pd.api.types.is_bool_dtype(values)
        is_numeric = pd.api.types.is_numeric_dtype(values) and not is_bool
        if not isinstance(other, pd.Series):
            is_sorted = not (is_numeric or is_bool or isinstance(how, ast.Eq | ast.NotEq))
            words = [text for text in values.dropna().astype("str") if not day_span(text)] if is_sorted else []
            if words:  # sorted as text, 7 > 60
                raise self.fault(
                    f"{ast.unparse(left)} holds text, such as {words[0][:40]!r}, and only numbers and dates have an "
                    "order; store its values as numbers, or compare it with ==."
                )
            if is_numeric != (isinstance(other, int | float) and not isinstance(other, bool)):
                raise self.fault(f"{ast.unparse(left)} holds {'numbers' if is_numeric else 'text'}; compare it so.")
        try:
            found: pd.Series = _COMPARED[type(how)](values, other)
        except TypeError:
            raise self.fault(f"{ast.unparse(left)} cannot be compared so.") from None
        return found.fillna(False).astype(bool) & (other.notna() if isinstance(other, pd.Series) else True)

    def contained(self, values: pd.Series, left: ast.expr, right: ast.expr) -> pd.Series:
        """Return whether values are in a list, or a word in a text."""
        if _is_name(right):
            word = self.constant(left)
            if not isinstance(word, str) or pd.api.types.is_numeric_dtype(values):
                raise self.fault("words are looked for in text only.")
            texts = values.astype("str").fillna("").str.casefold()
            return texts.str.contains(word.casefold(), regex=False).astype(bool)
        if not isinstance(right, ast.List | ast.Tuple):
            raise self.fault("`in` needs a list such as ('eye', 'lung'), or the name of a text.")
        return values.isin([self.constant(item) for item in right.elts])

    def values(self, node: ast.expr) -> pd.Series:
        """Return what a name, perhaps with keys in brackets, stands for."""
        match node:
            case ast.Name(name):
                return self.lookup(name, ())
            case ast.Subscript(ast.Name(name), keys):
                each = keys.elts if isinstance(keys, ast.Tuple) else [keys]
                return self.lookup(name, tuple(str(self.constant(key)) for key in each))
        raise self.fault(f"{ast.unparse(node)} is not a name{_HOW}")

    def constant(self, node: ast.expr) -> str | float:
        """Return a text, a number, True or False."""
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, MemoryError, RecursionError):
            value = None
        if isinstance(value, str | int | float):
            return value
        raise self.fault(f"{ast.unparse(node)} is not text, a number, True or False{_HOW}")


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Subscript)


def outcome_codes(panel: Panel, labels: IntArray, policy: str) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the outcome and the choice of every judge on every case.

    Parameters
    ----------
    labels : the gold labels, shape (dimensions, cases), -1 where there is none

    Returns
    -------
    two int8 arrays, shape (judges, dimensions, cases)
        The position in `OUTCOMES` ("right" is a score above 1/2, "half right" 1/2), and the position in the panel's
        categories of the most frequent choice: `MIXED_CODE` where two are, `NULL` where no verdict has a choice,
        `ABSENT` without a verdict.

    Raises
    ------
    InputError
        The policy is unknown.
    """
    worth = np.full(panel.shape, np.nan)
    for i, judge in enumerate(panel.judges):
        own = Verdicts.of(panel.of_judges([judge]))
        worth[i, own.dimension] = np.round(score(own, labels.T, policy).score.T, 12)
    is_so = {SEEN: panel.saw(), NOT_JUDGED: ~panel.judged(), NO_LABEL: np.broadcast_to(labels < 0, panel.shape)}
    is_so |= {RIGHT: worth > 0.5, HALF: worth == 0.5, WRONG: worth < 0.5}
    outcome = np.select(list(is_so.values()), [OUTCOMES.index(name) for name in is_so], OUTCOMES.index(UNSCORED))
    every = panel.with_seen()
    counts = np.stack([(every.choice == code).sum(axis=4).sum(axis=3) for code in range(len(panel.categories))])
    most = counts.max(axis=0)
    unclear = [~every.judged(), most == 0, (counts == most).sum(axis=0) > 1]
    said = np.select(unclear, [ABSENT, NULL, MIXED_CODE], counts.argmax(axis=0))
    return outcome.astype(np.int8), said.astype(np.int8)


def outcome_rows(
    outcome: NDArray[np.int8], said: NDArray[np.int8], judges: Sequence[str], dimensions: Sequence[str],
    case_ids: Sequence[str], categories: Sequence[str],
) -> pd.DataFrame:  # fmt: skip
    """Return the table of `outcomes` from the codes of `outcome_codes`."""
    at = np.nonzero(said != ABSENT)
    names = zip(CELL, at, (judges, dimensions, case_ids), strict=True)
    cells = {name: pd.Categorical.from_codes(codes, pd.Index(list(own), dtype="str")) for name, codes, own in names}
    texts = np.array([*categories, MIXED, ""], dtype=object)
    code = np.where(said[at] == MIXED_CODE, len(categories), said[at])  # -1, no choice, is the last text
    return pd.DataFrame({**cells, "outcome": np.array(OUTCOMES, dtype=object)[outcome[at]], "said": texts[code]})


def outcomes(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    dimensions: Sequence[str] | None = None,
    policy: str = "balanced",
    categories: Sequence[str] = CHOICES,
) -> pd.DataFrame:
    """Return what became of each judge's verdicts on each case.

    Parameters
    ----------
    verdicts : of one probe; where a column `seen` is true, the judge was trained on the case
    gold : `case_id, dimension, choice`
    dimensions : the dimensions to keep; None for all that are judged
    policy, categories : as in `mrb_lib.stats.scoring.correctness`

    Returns
    -------
    DataFrame
        One row per judge, dimension and case with a verdict, as categories in the order of the judges' names, of the
        dimensions and of the cases: `outcome`, one of `OUTCOMES`, and `said`, the most frequent choice, "mixed" where
        several are, empty where no verdict has a choice.

    Raises
    ------
    InputError
        The policy is unknown, or a verdict is about an unknown case.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions, categories)
    labels = labels_of(gold, cases["case_id"], panel.dimensions, panel.categories).T
    codes = outcome_codes(panel, labels, policy)
    return outcome_rows(*codes, panel.judges, panel.dimensions, cases["case_id"].tolist(), panel.categories)


def cases_where(
    text: str, cases: pd.DataFrame, *, gold: pd.DataFrame, outcomes: Callable[[], pd.DataFrame],
    reviewers: Callable[[], ByCase], dimensions: Sequence[str], tags: Callable[[], ByCase] = dict,
) -> BoolArray:  # fmt: skip
    """Return the cases that a filter leaves, see `matching`.

    Beside the columns of the cases and their lengths: `gold` (the label on "overall", or on the last dimension where
    there is none) and `gold['accuracy']`; `outcome['a judge']` and `outcome['a judge', 'accuracy']`, one of `OUTCOMES`;
    `says['a judge']`, A, B, tie or mixed, of ratings a category or mixed; `reviewers`, how many reviewed the case, and
    `reviewed_by['a name']`; `tags`, how many they gave it, and `tagged['artefact']`.

    Parameters
    ----------
    gold : the gold labels
    outcomes : returns the table of `outcomes`; called only if the filter asks for it, as the next ones are
    reviewers : returns who reviewed each case
    dimensions : of the benchmark
    tags : returns the tags of each case
    """
    ids, of_columns = cases["case_id"].reset_index(drop=True), case_lookup(cases, _BESIDE)
    counted, naming = {"reviewers": reviewers, "tags": tags}, {"reviewed_by": reviewers, "tagged": tags}

    def on_dimension(rows: pd.DataFrame, keys: tuple[str, ...]) -> pd.DataFrame:
        if len(keys) > 1:
            raise InputError("where: name a judge and a dimension at most.")
        name = keys[0] if keys else OVERALL if OVERALL in dimensions else dimensions[-1]
        check_choice("dimension", name, dimensions)
        return rows[rows["dimension"] == name].set_index("case_id")

    def look(name: str, keys: tuple[str, ...]) -> pd.Series:
        if name == "gold" and "gold" not in cases:
            return ids.map(on_dimension(gold, keys)["choice"])
        if name in ("outcome", "says") and keys:
            found = outcomes()
            check_choice("judge", keys[0], [*found["judge"].cat.categories])
            found = on_dimension(found[found["judge"] == keys[0]], keys[1:])
            if name == "says":
                return ids.map(found["said"]).replace("", None)
            return ids.map(found["outcome"]).fillna(NOT_JUDGED)
        if name in counted and not keys and name not in cases:
            return ids.map({case: len(names) for case, names in counted[name]().items()}).fillna(0).astype("int64")
        if name in naming and len(keys) == 1:
            return ids.isin({case for case, names in naming[name]().items() if keys[0] in names})
        return of_columns(name, keys)

    return matching(text, look)


def restricted(
    benchmark: Benchmark, verdicts: GivenVerdicts, where: str, *, policy: str = "balanced",
    adjudications: pd.DataFrame | None = None, tags: pd.DataFrame | None = None,
) -> tuple[Benchmark, GivenVerdicts]:  # fmt: skip
    """Return a benchmark and its verdicts without the cases that a filter drops; see `cases_where`.

    Parameters
    ----------
    adjudications, tags : the reviewers' adjudications and tags, see `store.Store`; None without a store

    Raises
    ------
    InputError
        The filter cannot be read, or leaves no case.
    """
    cases, gold = benchmark.cases, labels(benchmark)

    def of_judges() -> pd.DataFrame:
        by_probe = read_panels(benchmark, [verdicts]) if isinstance(verdicts, pd.DataFrame) else verdicts or {}
        if NO_PROBE not in by_probe:
            raise InputError(f"where {where!r}: asks what judges say, and there are no verdicts.")
        return outcomes(by_probe[NO_PROBE], gold, cases, policy=policy)

    def of_reviewers(rows: pd.DataFrame | None, column: str, asked: str) -> ByCase:
        if rows is None:
            raise InputError(f"where {where!r}: asks {asked}, and {_NO_STORE}.")
        return values_by_case(rows, column)

    kept = cases_where(
        where, cases, gold=gold, outcomes=of_judges, dimensions=benchmark.meta.dimensions,
        reviewers=lambda: of_reviewers(adjudications, "reviewer", "who reviewed"),
        tags=lambda: of_reviewers(tags, TAG, "for tags"),
    )  # fmt: skip
    if not kept.any():
        raise InputError(f"where {where!r}: leaves none of {len(cases)} cases.")
    ids = cases.loc[kept, "case_id"]
    annotations = benchmark.annotations[benchmark.annotations["case_id"].isin(ids)].reset_index(drop=True)
    smaller = replace(benchmark, cases=cases[kept].reset_index(drop=True), annotations=annotations)
    if isinstance(verdicts, Mapping):
        return smaller, {name: panel.of_cases(kept) for name, panel in verdicts.items()}
    return smaller, None if verdicts is None else verdicts[verdicts["case_id"].isin(ids)].reset_index(drop=True)


def asks_for_tags(text: str) -> bool:
    """Return whether a filter may ask for tags; wrong only where a text contains the word."""
    return re.search(r"\b(tags|tagged)\b", text) is not None


def asks_for_reviews(text: str) -> bool:
    """Return whether a filter may ask what reviewers did: for tags, or who reviewed."""
    return asks_for_tags(text) or re.search(r"\b(reviewers|reviewed_by)\b", text) is not None


def values_by_case(rows: pd.DataFrame, column: str) -> dict[str, list[str]]:
    """Return, by case, the different values of a column in alphabetical order."""
    return {str(case): sorted(set(values)) for case, values in rows.groupby("case_id")[column]}
