"""Verdicts in tables: a row a dimension, or a column a dimension."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mrb_lib.replies.canonical import canonical
from mrb_lib.replies.names import DimensionNames
from mrb_lib.replies.phrases import exact_choice, value_choice
from mrb_lib.replies.statements import Statement

_RULE = frozenset(" \t|:+-")
_DIMENSION = re.compile(
    r"(?:\d{1,2}[.)]? )?#(\d+)(?: (?:winner|verdict|choice|preference|is)){0,2} ?(?:\([^()]{0,80}\))? ?:?"
)
_VERDICT = re.compile(
    r"\b(?:winner|verdict|choice|better|best|preferred|preference|judge?ment|decision|result|selection|pick|winning)\b"
)
_MARKS = re.compile(r"[✓✔✅☑🏆⭐]|:white_check_mark:")


def split_tables(lines: Sequence[str], names: DimensionNames) -> Iterator[tuple[list[str], bool]]:
    """The lines in blocks, each with whether it is a table."""
    block: list[str] = []
    piped = False
    for line in [*lines, ""]:
        if ("|" in line) != piped:
            yield block, piped and _is_table(block, names)
            block, piped = [], "|" in line
        block.append(line)
    yield block, False


def table_statement(lines: Sequence[str], names: DimensionNames) -> Statement | None:
    """What a table says; a dimension with two different choices in it has none."""
    rows = [cells for line in lines if not _is_rule(line) and (cells := _cells(line))]
    if not rows:
        return None
    read = [[canonical(cell, names) for cell in cells] for cells in rows]
    pairs = _columns(read) or _rows(rows, read)
    choices: dict[str, str | None] = {}
    for index, choice in pairs:
        name = names.asked[index]
        choices[name] = choice if choices.get(name, choice) == choice else None
    return Statement(choices, firm=True) if choices else None


def _is_table(lines: Sequence[str], names: DimensionNames) -> bool:
    if any(_is_rule(line) for line in lines) or all(line.lstrip().startswith("|") for line in lines):
        return True
    return all(len(cells) > 1 and _dimension(canonical(cells[0], names)) is not None for cells in map(_cells, lines))


def _is_rule(line: str) -> bool:
    return "-" in line and _RULE.issuperset(line)


def _cells(line: str) -> list[str]:
    return line.strip().removeprefix("|").removesuffix("|").split("|")


def _dimension(cell: str) -> int | None:
    match = _DIMENSION.fullmatch(cell)
    return None if match is None else int(match.group(1))


def _columns(read: Sequence[Sequence[str]]) -> list[tuple[int, str | None]]:
    """A dimension a column: the last row with choices, or the last that calls itself the verdict."""
    heads = [(column, index) for column, cell in enumerate(read[0]) if (index := _dimension(cell)) is not None]
    if not heads or (len(heads) == 1 and heads[0][0] == 0 and len(read[0]) > 1):
        return []
    answers = []
    for row in read[1:]:
        pairs = [(index, exact_choice(row[column]) if column < len(row) else None) for column, index in heads]
        if any(choice for _, choice in pairs):
            answers.append((bool(_VERDICT.search(row[0])), pairs))
    named = [pairs for verdict, pairs in answers if verdict]
    return (named or [pairs for _, pairs in answers] or [[]])[-1]


def _rows(rows: Sequence[Sequence[str]], read: Sequence[Sequence[str]]) -> list[tuple[int, str | None]]:
    """A dimension a row: the choice in the verdict's column, or the one choice of the row."""
    head = read[0] if _dimension(read[0][0]) is None else []
    verdict = next((column for column, cell in enumerate(head) if column and _VERDICT.search(cell)), None)
    sides = {exact_choice(cell): column for column, cell in enumerate(head) if column}
    pairs: list[tuple[int, str | None]] = []
    for raw, row in zip(rows, read, strict=True):
        first = next((column for column, cell in enumerate(row[:2]) if _dimension(cell) is not None), None)
        if first is None or (index := _dimension(row[first])) is None:
            continue
        if verdict is not None:
            choice = value_choice(row[verdict]) if verdict < len(row) else None
        else:
            choices = [choice for cell in row[first + 1 :] if (choice := exact_choice(cell)) is not None]
            marked = [
                side
                for side in ("A", "B")
                if (column := sides.get(side)) is not None and column < len(raw) and _MARKS.search(raw[column])
            ]
            choices = choices or marked
            choice = choices[0] if len(choices) == 1 else None
        pairs.append((index, choice))
    return pairs
