"""Faults of annotations and of the columns of cases: those that sort them, and those that may identify a patient."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from mrb_lib.tables.names import spellings, visible
from mrb_lib.tables.schema import COLUMNS, DEPARTMENTS, ORGANS, SUBFIELDS, TableName
from mrb_lib.tables.validation import ANNOTATIONS_FILE, CASES_FILE, Finding, case_finding

DESIGN_SHARE = 0.8  # of the cells with the usual number of annotators, for that number to be the design
_TYPING_ERROR = 0.88  # of one letter: "Cardiolgy" is 0.95 like Cardiology; Radiology 0.84, Urology 0.88 like Neurology
_GROUP_ID = re.compile(
    r"^(?:question|prompt|item|group|source|original|patient|study|instruction|query|dialog(?:ue)?|conversation|image)"
    r"s?_?(?:id|idx|index|key|slug)$",
    re.IGNORECASE,
)
_IDENTIFIES = re.compile(
    r"patient|^mrn$|medical.?record|accession|^dob$|birth|geburt|naissance|(sur|last|first|family|full).?name|nachname|vorname"
    r"|^ssn$|social.?security|insurance|versicher|e.?mail|phone|telefon|address|adresse",
    re.IGNORECASE,
)


def annotation_findings(cases: pd.DataFrame, annotations: pd.DataFrame, dimensions: Sequence[str]) -> list[Finding]:
    """Audit who annotated what.

    Parameters
    ----------
    cases, annotations : the two tables with their required columns
    dimensions : the benchmark's dimensions

    Returns
    -------
    list of Finding
        Cases without any annotation; labels missing from the design; or, where the
        numbers vary too much for there to be a design, their distribution (info).

    Notes
    -----
    The design is read off the data: where 80 % of the cells (a case and dimension) have the usual number of
    annotators, the cells with fewer are short.
    Tested by tests/benchmarks/audit/test_audit_labels.py.
    """
    if cases.empty:
        return []
    if annotations.empty:
        problem = "there are no annotations, so there is no gold and nothing to score judges against"
        return [Finding("info", ANNOTATIONS_FILE, None, None, problem, "import them if the source has any")]
    known = annotations[annotations["case_id"].isin(cases["case_id"]) & annotations["dimension"].isin(list(dimensions))]
    bare = ~cases["case_id"].isin(known["case_id"]) & ~cases["case_id"].duplicated()
    findings = [
        case_finding(cases, i, "case_id", "the case has no annotation", "add its annotations, or remove the case")
        for i in np.flatnonzero(bare)
    ]
    return findings + list(_missing_labels(known))


def _missing_labels(known: pd.DataFrame) -> Iterator[Finding]:
    """Yield the cases with fewer annotators than usual; `known` holds annotations of known cases and dimensions."""
    cells = pd.MultiIndex.from_product([known[name].unique() for name in ("case_id", "dimension")])
    counts = known.groupby(["case_id", "dimension"])["annotator"].nunique().reindex(cells, fill_value=0)
    if counts.empty:
        return
    usual = int(counts.mode().iloc[0])
    if (counts == usual).mean() < DESIGN_SHARE:
        sizes = ", ".join(f"{n} in {times}" for n, times in counts.value_counts().sort_index().items())
        problem = f"annotators per case and dimension vary: {sizes} ({known['annotator'].nunique()} annotators)"
        yield Finding("info", ANNOTATIONS_FILE, None, "annotator", problem, "agreement allows for it; nothing to do")
        return
    first = dict(zip(known["case_id"][::-1], known.index[::-1], strict=True))
    for case_id, short in counts[counts < usual].groupby(level=0, sort=False):
        of_dimension = zip(short.index.get_level_values(1), short, strict=True)
        where = ", ".join(f"{n} of {usual} annotators on {dimension}" for dimension, n in of_dimension)
        cure = "add the label if it exists; otherwise gold and agreement rest on the others here"
        yield Finding("warning", ANNOTATIONS_FILE, int(first[case_id]) + 1, "annotator", where, cure, str(case_id))


def subfield_findings(cases: pd.DataFrame) -> Iterator[Finding]:
    """Yield a warning for each unknown organ and department."""
    for column, vocabulary in (("organ", ORGANS), ("department", DEPARTMENTS)):
        values = cases[column] if column in cases.columns else pd.Series(dtype="str")
        unknown = values[values.notna() & ~values.isin(list(vocabulary))]
        by_lower = {name.lower(): name for name in vocabulary}
        for value, rows in unknown.groupby(unknown, sort=False):
            close = difflib.get_close_matches(str(value).lower(), by_lower, 1, _TYPING_ERROR)
            cure = f"write {by_lower[close[0]]}" if close else "keep it if it is meant: tables list it by its own name"
            problem = f"{str(value)!r} is not a known {column} ({len(rows):,} cases)"
            yield case_finding(cases, int(rows.index[0]), column, problem, cure)


def spelling_findings(cases: pd.DataFrame, annotations: pd.DataFrame | None) -> list[Finding]:
    """Report ids, annotators, dimensions, labels and subfields of which two differ by what readers overlook."""
    named = [(CASES_FILE, cases, name) for name in ("case_id", *SUBFIELDS, "model_a", "model_b")]
    if annotations is not None:
        named += [(ANNOTATIONS_FILE, annotations, name) for name in ("annotator", "dimension", "choice")]
    return [
        alike_names(file, name, group)
        for file, frame, name in named
        if name in frame
        for group in spellings(frame[name].dropna().astype("str"))
        if not {*ORGANS, *DEPARTMENTS}.intersection(group)  # then `subfield_findings` says which to write
    ]


def alike_names(file: str, column: str, group: Sequence[str]) -> Finding:
    """Return the warning that names of a column may be one name."""
    problem = f"{' and '.join(map(visible, group[:4]))} differ by case, spaces, width or invisible characters only"
    cure = "write one of them"
    if column not in ("case_id", "model_a", "model_b"):
        cure += ", or import again with --normalize-names, which joins them"
    return Finding("warning", file, None, column, problem, cure)


def cluster_findings(cases: pd.DataFrame) -> list[Finding]:
    """Say when a column that looks like the id of a patient, a question or the like repeats, and is no cluster."""
    if "cluster" in cases.columns and cases["cluster"].notna().any():
        return []
    # Each of several merged benchmarks numbers its own cases.
    own = {"original_id"} if "benchmark" in cases else set()
    candidates = [str(name) for name in cases.columns if _GROUP_ID.match(str(name)) and name not in own]
    for column in sorted(candidates, key=lambda name: int(cases[name].isna().to_numpy().sum())):
        values = cases[column].dropna()
        if 1 < values.nunique() < len(values):
            problem = f"{len(values)} cases share {values.nunique()} values, so they are not independent"
            cure = f"pass --cluster {column} to `mrb analyze`, so that intervals resample these and not cases"
            return [Finding("info", CASES_FILE, None, column, problem, cure)]
    return []


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
