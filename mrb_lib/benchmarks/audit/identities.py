"""Columns that may identify a patient."""

import re
from collections.abc import Iterable
from typing import Final

from mrb_lib.tables.schema import COLUMNS, TableName
from mrb_lib.tables.validation import Finding

_IDENTIFIES: Final = re.compile(
    r"patient|^mrn$|medical.?record|accession|^dob$|birth|geburt|naissance|(sur|last|first|family|full).?name|nachname|vorname"
    r"|^ssn$|social.?security|insurance|versicher|e.?mail|phone|telefon|address|adresse",
    re.IGNORECASE,
)


def identity_findings(columns: Iterable[str], table: TableName) -> list[Finding]:
    """Return a warning for each unknown column that may name or number a patient."""
    known = {column.name for column in COLUMNS[table]}
    problem = "the name suggests data that identify a patient; the column is kept, shown and exported with the cases"
    cure = "remove it, or replace its values by pseudonyms"
    return [
        Finding("warning", f"{table}.parquet", None, name, problem, cure)
        for name in map(str, columns)
        if name not in known and _IDENTIFIES.search(name)
    ]
