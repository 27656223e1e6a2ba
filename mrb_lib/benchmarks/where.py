"""One small language to filter cases by: `organ == 'eye' and length > 700`.

It is Python's grammar of comparisons, read by Python's own parser; nothing of it is ever evaluated.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.tables.dates import day_span
from mrb_lib.tables.errors import InputError

Mask = NDArray[np.bool_]


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


def matching(text: str, lookup: Lookup) -> Mask:
    """Which cases a filter leaves.

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
    Validated by tests/benchmarks/test_where.py.
    """
    return _Filter(lookup, text).holds(syntax_tree(text))


def syntax_tree(text: str) -> ast.expr:
    """A filter as Python's parser reads it: known before there are cases to filter.

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
    """The values of the columns of the cases, of the lengths of their texts in characters, and of `n_images`.

    `length` is that of the longer response. A name that is unknown is told the others, and those of `also`.
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

    def holds(self, node: ast.expr) -> Mask:
        """Where an expression holds, case by case."""
        if isinstance(node, ast.BoolOp):
            parts = [self.holds(value) for value in node.values]
            return np.asarray(np.all(parts, axis=0) if isinstance(node.op, ast.And) else np.any(parts, axis=0))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.holds(node.operand)
        if isinstance(node, ast.Compare):
            ends = [node.left, *node.comparators]
            parts = [self.compared(*triple) for triple in zip(ends, node.ops, node.comparators, strict=False)]
            return np.asarray(np.all(parts, axis=0))
        if _is_name(node):
            values = self.values(node)
            if pd.api.types.is_bool_dtype(values):
                return np.asarray(values, dtype=bool)
            raise self.fault(f"{ast.unparse(node)} is not true or false; compare it with something.")
        raise self.fault(f"{ast.unparse(node)} is not part of the language{_HOW}")

    def compared(self, left: ast.expr, how: ast.cmpop, right: ast.expr) -> Mask:
        """Where a comparison holds; a missing value is equal to nothing, and unequal to nothing."""
        if _is_name(right) and not _is_name(left) and not isinstance(how, ast.In | ast.NotIn):
            left, how, right = right, _MIRRORED.get(type(how), type(how))(), left
        named = {ast.unparse(node): self.values(node) for node in (left, right) if _is_name(node)}
        values = next(iter(named.values()), None)
        if values is None:
            raise self.fault(f"{ast.unparse(left)} is not a name{_HOW}")
        if isinstance(how, ast.Is | ast.IsNot):
            if not (isinstance(right, ast.Constant) and right.value is None):
                raise self.fault("`is` asks for None only; compare with ==.")
            return np.asarray(values.isna() if isinstance(how, ast.Is) else values.notna(), dtype=bool)
        known = values.notna()
        if isinstance(how, ast.In | ast.NotIn):
            inside = self.contained(values, left, right)
            return np.asarray(known & (inside if isinstance(how, ast.In) else ~inside), dtype=bool)
        other = named[ast.unparse(right)] if _is_name(right) else self.constant(right)
        is_bool = pd.api.types.is_bool_dtype(values)
        is_numeric = pd.api.types.is_numeric_dtype(values) and not is_bool
        if isinstance(other, pd.Series):
            known &= other.notna()
        elif type(how) not in (ast.Eq, ast.NotEq) and not is_numeric | is_bool:
            words = [text for text in values.dropna().astype("str") if not day_span(text)]
            if words:  # sorted as text, 7 > 60
                raise self.fault(
                    f"{ast.unparse(left)} holds text, such as {words[0][:40]!r}, and only numbers and dates have an "
                    "order; store its values as numbers, or compare it with ==."
                )
        if not isinstance(other, pd.Series) and is_numeric != _is_number(other):
            raise self.fault(f"{ast.unparse(left)} holds {'numbers' if is_numeric else 'text'}; compare it so.")
        try:
            found = _COMPARED[type(how)](values, other)
        except TypeError:
            raise self.fault(f"{ast.unparse(left)} cannot be compared so.") from None
        return np.asarray(found.fillna(False).astype(bool) & known, dtype=bool)

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
        if isinstance(node, ast.Name):
            return self.lookup(node.id, ())
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return self.lookup(node.value.id, tuple(str(self.constant(key)) for key in keys))
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


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
