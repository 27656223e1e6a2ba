"""What is wrong with the annotations and with the columns that sort cases into subfields and clusters."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.audit.report import ANNOTATIONS_FILE, CASES_FILE, case_finding
from mrb_lib.benchmarks.audit.text import folded
from mrb_lib.tables.names import spellings, visible
from mrb_lib.tables.schema import DEPARTMENTS, ORGAN_DEPARTMENT, ORGANS, SUBFIELDS
from mrb_lib.tables.validation import Finding

PANEL_SHARE = 0.8  # of the cases an annotator labelled, to belong to a panel that labels all
DESIGN_SHARE = 0.8  # of the cells with the usual number of annotators, for that number to be the design
_SHOWN_ROWS = 5
_TYPING_ERROR = 0.88  # of one letter: "Cardiolgy" is 0.95 like Cardiology; Radiology 0.84, Urology 0.88 like Neurology
_GROUP_ID = re.compile(
    r"^(?:question|prompt|item|group|source|original|patient|study|instruction|query|dialog(?:ue)?|conversation|image)"
    r"s?_?(?:id|idx|index|key|slug)$",
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
    The design is read off the data. If the annotators who labelled at least 80 % of
    the cases are as many as annotators usually label a case and dimension, they are a panel, and
    every label one of them did not give is missing. Otherwise, where 80 % of the cells (a case and
    dimension) have the usual number, the cells with fewer are short.
    Tested by tests/benchmarks/audit/test_audit_labels.py.
    """
    if cases.empty:
        return []
    if annotations.empty:
        problem = "there are no annotations, so there is no gold and nothing to score judges against"
        return [Finding("info", ANNOTATIONS_FILE, None, None, problem, "import them if the source has any")]
    first = np.flatnonzero(~cases["case_id"].duplicated())
    position = pd.Index(cases["case_id"].iloc[first]).get_indexer(pd.Index(annotations["case_id"]))
    case = np.where(position >= 0, first[position], -1)
    cells = pd.DataFrame({"case": case, "row": np.arange(len(annotations))})
    cells["annotator"], annotators = pd.factorize(annotations["annotator"], sort=True)
    cells["dimension"] = pd.Index(dimensions).get_indexer(pd.Index(annotations["dimension"]))
    cells = cells[(cells["case"] >= 0) & (cells["dimension"] >= 0) & (cells["annotator"] >= 0)]
    bare = np.setdiff1d(first, cells["case"].unique())
    findings = [
        case_finding(cases, i, "case_id", "the case has no annotation", "add its annotations, or remove the case")
        for i in bare
    ]
    return findings + list(_missing_labels(cases["case_id"], cells, np.asarray(annotators), dimensions))


def _missing_labels(
    ids: pd.Series, cells: pd.DataFrame, annotators: np.ndarray, dimensions: Sequence[str]
) -> Iterator[Finding]:
    used = np.sort(cells["dimension"].unique())
    cases = np.sort(cells["case"].unique())
    grid = pd.MultiIndex.from_product([cases, used])
    count = cells.groupby(["case", "dimension"])["annotator"].nunique().reindex(grid, fill_value=0)
    usual = int(count.mode().iloc[0])
    reach = cells.groupby("annotator")["case"].nunique()
    panel = reach.index[reach >= PANEL_SHARE * len(cases)].to_numpy()
    first_row = cells.groupby("case")["row"].min()
    if len(panel) == usual:
        absent = _absent_from_panel(cells, panel, cases, used)
        texts = absent.map(
            lambda pairs: "; ".join(
                f"{annotators[who]} gave no label on {', '.join(dimensions[d] for d in missing)}"
                for who, missing in pairs
            )
        )
    elif (count == usual).mean() >= DESIGN_SHARE:
        short = count[count < usual].reset_index()
        short.columns = pd.Index(["case", "dimension", "n"])
        shortfalls = short.apply(
            lambda r: f"{r['n']} of {usual} annotators on {dimensions[int(r['dimension'])]}", axis=1
        )
        texts = shortfalls.groupby(short["case"]).agg("; ".join) if len(short) else pd.Series(dtype="str")
    else:
        sizes = ", ".join(f"{n} in {times}" for n, times in count.value_counts().sort_index().items())
        problem = f"annotators per case and dimension vary: {sizes} ({len(annotators)} annotators)"
        yield Finding("info", ANNOTATIONS_FILE, None, "annotator", problem, "agreement allows for it; nothing to do")
        return
    texts = texts.sort_index()
    for i, text in zip(texts.index.to_numpy(dtype=int), texts, strict=True):
        row = int(first_row.loc[i]) + 1
        cure = "add the label if it exists; otherwise gold and agreement rest on the others here"
        yield Finding("warning", ANNOTATIONS_FILE, row, "annotator", str(text), cure, str(ids.iloc[i]))


def _absent_from_panel(cells: pd.DataFrame, panel: np.ndarray, cases: np.ndarray, used: np.ndarray) -> pd.Series:
    """By case, the panel's annotators and the dimensions they left out."""
    grid = pd.MultiIndex.from_product([cases, panel, used])
    labelled = pd.MultiIndex.from_frame(cells[["case", "annotator", "dimension"]])
    absent = grid[~grid.isin(labelled)].to_frame(index=False, name=["case", "annotator", "dimension"])
    by_annotator = absent.groupby(["case", "annotator"])["dimension"].agg(list).reset_index()
    pairs = pd.Series(
        list(zip(by_annotator["annotator"], by_annotator["dimension"], strict=True)),
        index=by_annotator["case"].to_numpy(),
        dtype=object,
    )
    return pairs.groupby(level=0).agg(list)


def majority_findings(gold: pd.DataFrame) -> list[Finding]:
    """Count, by dimension, the annotated cases without a majority.

    Parameters
    ----------
    gold : the gold table under the majority rule
    """
    undecided = gold["choice"].isna().groupby(gold["dimension"], sort=False).agg(["sum", "size"])
    return [
        Finding(
            "info",
            ANNOTATIONS_FILE,
            None,
            "choice",
            f"{row['sum']} of {row['size']} cases have no majority on {dimension}",
            "they have no gold there and are counted as excluded; nothing to do",
        )
        for dimension, row in undecided.iterrows()
        if row["sum"]
    ]


def subfield_findings(cases: pd.DataFrame) -> list[Finding]:
    """Audit organs and departments: unknown names, and departments that do not belong to the organ.

    A department that differs from the organ's default in every case of that organ is
    taken as meant (the map may be overridden) and is not reported.
    """
    findings = [*_unknown(cases, "organ", ORGANS), *_unknown(cases, "department", DEPARTMENTS)]
    if "organ" not in cases.columns or "department" not in cases.columns:
        return findings
    default = cases["organ"].map(ORGAN_DEPARTMENT)
    comparable = default.notna() & cases["department"].isin(list(DEPARTMENTS))
    differs = comparable & (cases["department"] != default)
    mixed = ~differs[comparable].groupby(cases["organ"][comparable]).transform("all").reindex(
        cases.index, fill_value=True
    )
    for i in np.flatnonzero(differs & mixed):
        organ, department = cases["organ"].iloc[i], cases["department"].iloc[i]
        problem = f"{department} is not the department of {organ} ({default.iloc[i]}), as it is in other cases"
        findings.append(case_finding(cases, i, "department", problem, "correct the organ or the department"))
    return findings


def _unknown(cases: pd.DataFrame, column: str, vocabulary: tuple[str, ...]) -> Iterator[Finding]:
    if column not in cases.columns:
        return
    values = cases[column]
    unknown = values.notna() & ~values.isin(list(vocabulary))
    for value, rows in values[unknown].groupby(values[unknown], sort=False):
        shown = ", ".join(str(int(i) + 1) for i in rows.index[:_SHOWN_ROWS])
        more = f" and {len(rows) - _SHOWN_ROWS} more" if len(rows) > _SHOWN_ROWS else ""
        where = f" (rows {shown}{more})" if len(rows) > 1 else ""
        close = difflib.get_close_matches(str(value).lower(), [name.lower() for name in vocabulary], 1, _TYPING_ERROR)
        meant = next((name for name in vocabulary if close and name.lower() == close[0]), None)
        cure = f"write {meant}" if meant else "keep it if it is meant: tables list it under its own name"
        i = int(rows.index[0])
        yield case_finding(cases, i, column, f"{str(value)!r} is not a known {column}{where}", cure)


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
    cure = "write one of them, or import again with --normalize-names, which joins them"
    return Finding("warning", file, None, column, problem, cure)


def cluster_findings(cases: pd.DataFrame) -> list[Finding]:
    """Say when cases are related and nothing tells the intervals so.

    A column that looks like the id of a question, a patient or the like and repeats,
    or else a question text that repeats among cases without images, suggests a cluster.
    """
    if "cluster" in cases.columns and cases["cluster"].notna().any():
        return []
    bare = cases["images"].map(len) == 0
    candidates = [str(name) for name in cases.columns if _GROUP_ID.match(str(name))]
    candidates.sort(key=lambda name: int(cases[name].isna().to_numpy().sum()))
    for column in [*candidates, "question"]:
        values = folded(cases["question"])[bare] if column == "question" else cases[column].dropna()
        distinct = values.nunique()
        if 1 < distinct < len(values):
            return [
                Finding(
                    "info",
                    CASES_FILE,
                    None,
                    column,
                    f"{len(values)} cases share {distinct} values, so they are not independent",
                    f"pass --cluster {column} to `mrb analyze`, so that intervals resample these and not cases",
                )
            ]
    return []
