"""One small language to filter cases by: `organ == 'eye' and length > 700`.

It is Python's grammar of comparisons, read by Python's own parser; nothing of it is ever evaluated.
"""

from __future__ import annotations

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


@dataclass(frozen=True)
class Several:
    """What a case may have any number of, such as tags: a tuple of texts for each case.

    A comparison holds where it holds for one of them; `!=` and `not in` hold where `==` and `in` do not.
    """

    values: pd.Series


Lookup = Callable[[str, tuple[str, ...]], "pd.Series | Several"]
LENGTHS: Final = {"length_question": "question", "length_a": "response_a", "length_b": "response_b"}
_LONGEST = 2000
_MOSTLY = 0.5  # of the values of a column of texts that are numbers, to compare it as numbers
_COMPARED: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
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
    return _holds(syntax_tree(text), lookup, text)


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


def case_lookup(cases: pd.DataFrame, also: Sequence[str] = ()) -> Callable[[str, tuple[str, ...]], pd.Series]:
    """The values of the columns of the cases, of the lengths of their texts in characters, and of `n_images`.

    `length` is that of the longer response. A name that is unknown is told the others, and those of `also`.
    """

    def look(name: str, keys: tuple[str, ...]) -> pd.Series:
        if keys:
            raise InputError(f"where: {name}[...] is unknown; names of columns have no brackets.")
        if name in LENGTHS and LENGTHS[name] in cases:
            return cases[LENGTHS[name]].str.len().reset_index(drop=True)
        if name == "length":
            both = pd.concat([cases[column].str.len() for column in ("response_a", "response_b")], axis=1)
            return both.max(axis=1).reset_index(drop=True)
        if name == "n_images":
            return cases["images"].map(len).reset_index(drop=True)
        if name not in cases.columns or name == "images":
            known = sorted({*cases.columns, *LENGTHS, "length", "n_images"} - {"images"})
            raise InputError(f"where: {name!r} is unknown; use one of {', '.join([*known, *also])}.")
        return cases[name].reset_index(drop=True)

    return look


def _holds(node: ast.expr, lookup: Lookup, text: str) -> Mask:
    """Where an expression holds, case by case."""
    if isinstance(node, ast.BoolOp):
        parts = [_holds(value, lookup, text) for value in node.values]
        joined: Mask = (np.logical_and if isinstance(node.op, ast.And) else np.logical_or).reduce(parts)
        return joined
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_holds(node.operand, lookup, text)
    if isinstance(node, ast.Compare):
        ends = [node.left, *node.comparators]
        parts = [
            _compared(left, how, right, lookup, text)
            for left, how, right in zip(ends, node.ops, node.comparators, strict=False)
        ]
        both: Mask = np.logical_and.reduce(parts)
        return both
    if isinstance(node, ast.Name | ast.Subscript):
        values = _values(node, lookup, text)
        if pd.api.types.is_bool_dtype(values):
            return np.asarray(values, dtype=bool)
        raise InputError(f"where {text!r}: {ast.unparse(node)} is not true or false; compare it with something.")
    raise InputError(f"where {text!r}: {ast.unparse(node)} is not part of the language{_HOW}")


def _compared(left: ast.expr, how: ast.cmpop, right: ast.expr, lookup: Lookup, text: str) -> Mask:
    for name, against in ((left, right), (right, left)):
        several = _looked_up(name, lookup, text) if _is_name(name) else None
        if isinstance(several, Several):
            return _of_several(several.values, how, against, text, within=name is right)
    if isinstance(how, ast.In | ast.NotIn):
        found = _contained(left, right, lookup, text)
        present = found.notna().to_numpy(dtype=bool)
        inside = found.fillna(False).to_numpy(dtype=bool)
        return np.asarray(present & (inside if isinstance(how, ast.In) else ~inside), dtype=bool)
    if isinstance(how, ast.Is | ast.IsNot):
        if not (isinstance(right, ast.Constant) and right.value is None):
            raise InputError(f"where {text!r}: `is` asks for None only; compare with ==.")
        missing = _values(left, lookup, text).isna().to_numpy(dtype=bool)
        return np.asarray(missing if isinstance(how, ast.Is) else ~missing, dtype=bool)
    if _is_name(right) and not _is_name(left):
        mirrored = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}.get(type(how), type(how))
        return _compared(right, mirrored(), left, lookup, text)
    values = _values(left, lookup, text)
    other: object = _values(right, lookup, text) if _is_name(right) else _constant(right, text)
    numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    given = isinstance(other, int | float) and not isinstance(other, bool)
    orders = not numeric and not isinstance(how, ast.Eq | ast.NotEq)
    if orders and (given or _is_number(other)) and _holds_numbers(values, 0.0 if given else _MOSTLY):
        values, other, numeric, given = _numbers(values, ast.unparse(left), text), float(str(other)), True, True
    if not isinstance(other, pd.Series) and numeric != given:
        raise InputError(
            f"where {text!r}: {ast.unparse(left)} holds {'numbers' if numeric else 'text'}; compare it so."
        )
    try:
        compared = _COMPARED[type(how)](values, other)
    except TypeError:
        raise InputError(f"where {text!r}: {ast.unparse(left)} cannot be compared so.") from None
    known = values.notna() & (other.notna() if isinstance(other, pd.Series) else True)
    return np.asarray(compared.fillna(False).astype(bool) & known, dtype=bool)


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(np.isfinite(float(value)))
    except ValueError:
        return False


def _holds_numbers(texts: pd.Series, more_than: float) -> bool:
    """Return True if more than a share of texts are numbers; dates, which may be years, are ordered as text."""
    given = texts.dropna().astype("str")
    numbers = sum(map(_is_number, given))
    return numbers > more_than * len(given) and not all(map(day_span, given))


def _numbers(values: pd.Series, name: str, text: str) -> pd.Series:
    """Return numbers that a source holds as text; sorted as text, 7 would come after 60.

    Raises
    ------
    InputError
        A value is no number.
    """
    numbers = pd.to_numeric(values, errors="coerce")
    words = values[values.notna() & numbers.isna()]
    if len(words):
        raise InputError(
            f"where {text!r}: {name} holds text that is no number in {len(words):,} of {values.notna().sum():,} cases, "
            f"such as {str(words.iloc[0])[:40]!r}; leave those cells empty, or compare it with ==."
        )
    return numbers.astype("float64")


def _of_several(values: pd.Series, how: ast.cmpop, other: ast.expr, text: str, *, within: bool) -> Mask:
    """Where a comparison holds for what a case has several of; `within` is the form `'word' in name`."""
    membership = isinstance(how, ast.In | ast.NotIn)
    if isinstance(how, ast.Is | ast.IsNot) and isinstance(other, ast.Constant) and other.value is None:
        holds = [not own for own in values]
    elif membership and within:
        word = str(_constant(other, text)).casefold()
        holds = [any(word in one.casefold() for one in own) for own in values]
    elif membership and isinstance(other, ast.List | ast.Tuple):
        listed = {_constant(item, text) for item in other.elts}
        holds = [not listed.isdisjoint(own) for own in values]
    elif isinstance(how, ast.Eq | ast.NotEq):
        wanted = _constant(other, text)
        holds = [wanted in own for own in values]
    else:
        raise InputError(f"where {text!r}: what has several values is asked with ==, !=, in, not in or is None.")
    found = np.array(holds, dtype=bool)
    return ~found if isinstance(how, ast.NotEq | ast.NotIn | ast.IsNot) else found


def _contained(left: ast.expr, right: ast.expr, lookup: Lookup, text: str) -> pd.Series:
    """Whether values are in a list, or words in a text; missing where either is."""
    if _is_name(right):
        word = _constant(left, text)
        values = _values(right, lookup, text)
        if not isinstance(word, str) or pd.api.types.is_numeric_dtype(values):
            raise InputError(f"where {text!r}: words are looked for in text only.")
        found: pd.Series = values.astype("str").str.casefold().str.contains(word.casefold(), regex=False)
        return found.astype(object).where(values.notna(), None)
    if not isinstance(right, ast.List | ast.Tuple):
        raise InputError(f"where {text!r}: `in` needs a list such as ('eye', 'lung'), or the name of a text.")
    values = _values(left, lookup, text)
    inside: pd.Series = values.isin([_constant(item, text) for item in right.elts])
    return inside.astype(object).where(values.notna(), None)


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Subscript)


def _values(node: ast.expr, lookup: Lookup, text: str) -> pd.Series:
    values = _looked_up(node, lookup, text)
    if isinstance(values, Several):
        raise InputError(f"where {text!r}: {ast.unparse(node)} has several values; compare it with text.")
    return values


def _looked_up(node: ast.expr, lookup: Lookup, text: str) -> pd.Series | Several:
    if isinstance(node, ast.Name):
        return lookup(node.id, ())
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return lookup(node.value.id, tuple(str(_constant(key, text)) for key in keys))
    raise InputError(f"where {text!r}: {ast.unparse(node)} is not a name{_HOW}")


def _constant(node: ast.expr, text: str) -> object:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        if isinstance(value, int | float):
            return -value
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        return node.value
    raise InputError(f"where {text!r}: {ast.unparse(node)} is not text, a number, True or False{_HOW}")
