"""Writing the published layout, so that the published evaluation script reads it.

The layout holds one image and one organ a case, one label a case and dimension for
exactly the six dimensions, and verdicts with the first response shown first. What a
benchmark has beyond that is counted in what `write` returns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.data.benchmark import Benchmark, gold
from mrb_lib.data.formats.base import counted
from mrb_lib.data.formats.official.cases import NOTE, ORDER, ORGAN, RENAMED
from mrb_lib.data.formats.official.images import COLUMN as IMAGE
from mrb_lib.data.formats.official.result_export import write_results
from mrb_lib.errors import InputError
from mrb_lib.schema import CONSENSUS, DIMENSIONS, ORGAN_DEPARTMENT
from mrb_lib.validation import Finding

COPIED = ("dataset", "question_type", "image_id", "body_part")
_OURS = {ours: theirs for theirs, ours in RENAMED.items()}
_DERIVED = ("images", "organ")
_IMAGE_TYPE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_ROWS_A_GROUP = 16
_FILE = "export"


def write(benchmark: Benchmark, verdicts: pd.DataFrame, out: Path) -> list[Finding]:
    """Write a benchmark and its verdicts in the published layout.

    Parameters
    ----------
    verdicts : those with order AB, repeat 0 and probe none are written, others are counted
    out : the folder to write into; it becomes the data root

    Returns
    -------
    list of Finding
        What the layout could not hold, counted. The label of a case is the majority
        of its annotators; a case without a majority in every dimension is written
        without ground truth, which the published script leaves out. A label or a
        choice `tie` is written as "tie": the published script then counts as policy
        `official` does. Cases without an organ or with several images are left out.

    Raises
    ------
    InputError
        The benchmark lacks one of the six dimensions, its labels are not a
        preference, no case has an organ, or an organ's name cannot name a file.

    Notes
    -----
    Columns beyond the layout are written as further columns of the parquet files, and
    a note in the file's metadata keeps the order of rows and columns and the kind of
    the benchmark, so that reading it back gives identical tables. Validated by
    tests/data/formats/test_official.py.
    """
    out = Path(out)
    findings: list[Finding] = []
    _refuse_unfit(benchmark)
    cases = _expressible(benchmark.cases, findings)
    labels = _consensus(benchmark, cases, findings)
    _write_pairs(benchmark, cases, out, findings)
    for organ, rows in cases.groupby("organ", sort=True):
        lines = [
            json.dumps({"question_id": case_id, "human_answer": labels[case_id]}, ensure_ascii=False) + "\n"
            for case_id in rows["case_id"]
            if case_id in labels
        ]
        if lines:
            (out / "pair_gt_all" / f"{organ}.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")
        else:
            problem = f"no case of {organ} has a label in every dimension, so it has no ground truth file"
            findings.append(Finding("warning", _FILE, None, "choice", problem, "leave the organ out of --modalities"))
    write_results(verdicts, cases, out, findings)
    return findings


def _refuse_unfit(benchmark: Benchmark) -> None:
    meta = benchmark.meta
    if not meta.is_preference:
        raise InputError(
            f"benchmark {meta.name}: its labels are {', '.join(meta.categories)}, and the official layout holds "
            "preferences only; export it as table."
        )
    absent = [name for name in DIMENSIONS if name not in meta.dimensions]
    if absent:
        raise InputError(
            f"benchmark {meta.name}: has no dimension {', '.join(absent)}, and the official layout needs all six; "
            "export it as table."
        )
    organs = list(benchmark.cases["organ"].dropna().unique()) if "organ" in benchmark.cases.columns else []
    if len(organs) == 0:
        raise InputError(
            f"benchmark {meta.name}, column organ: no case has an organ, and the official layout files cases "
            "by organ; export it as table."
        )
    for organ in organs:
        if not re.fullmatch(r"\w[\w-]{0,99}", organ) or organ in ("all", "parquet"):
            raise InputError(f"benchmark {meta.name}, column organ: {organ!r} cannot name a file; rename the organ.")
    taken = {IMAGE, ORGAN, ORDER, *RENAMED} - {"question"} & set(benchmark.cases.columns)
    if taken:
        raise InputError(
            f"benchmark {meta.name}, column {min(taken)}: the official layout uses this name; rename the column."
        )


def _expressible(cases: pd.DataFrame, findings: list[Finding]) -> pd.DataFrame:
    homeless = cases["organ"].isna()
    several = cases["images"].map(len) > 1
    findings += counted(int(homeless.sum()), "warning", _FILE, "cases have no organ", "they are left out", "organ")
    lost = int((several & ~homeless).sum())
    findings += counted(lost, "warning", _FILE, "cases have several images", "they are left out", "images")
    kept = cases[~homeless & ~several]
    if kept.empty:
        raise InputError("cases: none has an organ and at most one image; export the benchmark as table.")
    return kept


def _consensus(benchmark: Benchmark, cases: pd.DataFrame, findings: list[Finding]) -> dict[str, dict[str, str]]:
    """The labels of the cases that have one in each of the six dimensions."""
    annotators = set(benchmark.annotations["annotator"])
    if annotators - {CONSENSUS}:
        problem = f"annotations of {len(annotators)} annotators became one label a case and dimension, by majority"
        findings.append(Finding("info", _FILE, None, "annotator", problem, "export as table to keep them"))
    beyond = [name for name in benchmark.meta.dimensions if name not in DIMENSIONS]
    findings += counted(len(beyond), "warning", _FILE, "dimensions are not in the layout", f"left out: {beyond}")
    label = gold(benchmark)
    label = label[label["dimension"].isin(list(DIMENSIONS)) & label["case_id"].isin(cases["case_id"])]
    decided = label.dropna(subset=["choice"])
    complete = decided.groupby("case_id")["dimension"].transform("size") == len(DIMENSIONS)
    undecided = int(label.loc[label["choice"].isna(), "case_id"].nunique())
    unlabelled = len(cases) - int(complete.sum()) // len(DIMENSIONS)
    problem = f"cases lack a label in some dimension ({undecided:,} of them for want of a majority)"
    findings += counted(unlabelled, "warning", _FILE, problem, "they are written without ground truth", "choice")
    lost = int((~complete).sum())
    findings += counted(lost, "warning", _FILE, "labels of such cases are not written", "export as table to keep them")
    written = decided[complete]
    ties = int((written["choice"] == "tie").sum())
    cure = "the published prompt offers no tie, so its judges count as wrong there"
    findings += counted(ties, "warning", _FILE, "labels are ties", cure, "choice")

    labels: dict[str, dict[str, str]] = {}
    for case_id, dimension, choice in zip(written["case_id"], written["dimension"], written["choice"], strict=True):
        labels.setdefault(case_id, {})[dimension] = choice
    return {case_id: {name: given[name] for name in DIMENSIONS} for case_id, given in labels.items()}


def _write_pairs(benchmark: Benchmark, cases: pd.DataFrame, out: Path, findings: list[Finding]) -> None:
    table = _pairs_table(cases)
    note = _metadata(benchmark, cases, table.schema)
    schema = table.schema.insert(1, pa.field(IMAGE, _IMAGE_TYPE)).with_metadata(note)

    folder = out / "pair_gt_all" / "parquet"
    folder.mkdir(parents=True)
    imageless = int((cases["images"].map(len) == 0).sum())
    gone = 0
    for organ, rows in cases.reset_index(drop=True).groupby("organ", sort=True):
        with pq.ParquetWriter(folder / f"{organ}.parquet", schema, compression="zstd") as writer:
            for start in range(0, len(rows), _ROWS_A_GROUP):
                part = rows.iloc[start : start + _ROWS_A_GROUP]
                images = [_image(names, benchmark.images) for names in part["images"]]
                gone += sum(image is None for image in images)
                chunk = table.take(pa.array(part.index))
                chunk = chunk.add_column(1, schema.field(IMAGE), [pa.array(images, _IMAGE_TYPE)])
                writer.write_table(chunk.cast(schema))

    cure = "the published script needs one to judge them"
    findings += counted(imageless, "warning", _FILE, "cases have no image", cure, "images")
    findings += counted(gone - imageless, "warning", _FILE, "images could not be found", cure, "images")


def _image(names: list[str], images: Mapping[str, bytes]) -> dict[str, object] | None:
    if not names or names[0] not in images:
        return None
    return {"bytes": images[names[0]], "path": names[0]}


def _pairs_table(cases: pd.DataFrame) -> pa.Table:
    """The columns of the parquet files without the image, the layout's own first."""
    frame = pd.DataFrame({theirs: cases[ours] for ours, theirs in _OURS.items()})
    frame[ORGAN] = cases["organ"]
    for name in COPIED:
        frame[name] = cases[name] if name in cases.columns else pd.Series(None, index=cases.index, dtype="str")
    for name in cases.columns:
        if name not in _OURS and name not in _DERIVED and name not in frame.columns:
            frame[name] = cases[name]
    if "department" in frame.columns and frame["department"].equals(cases["organ"].map(ORGAN_DEPARTMENT).astype("str")):
        frame = frame.drop(columns="department")
    if not cases["organ"].is_monotonic_increasing:
        frame[ORDER] = range(len(frame))
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    except pa.ArrowException as error:
        raise InputError(f"cases: a column mixes types ({error}); make its values alike.") from error
    plain = {pa.null(): pa.string(), pa.large_string(): pa.string()}
    return table.cast(pa.schema([pa.field(f.name, plain.get(f.type, f.type)) for f in table.schema]))


def _metadata(benchmark: Benchmark, cases: pd.DataFrame, schema: pa.Schema) -> dict[bytes, bytes]:
    """The Hub's description of the columns, by which `datasets` decodes the image, and our own note."""
    flat = [field for field in schema if not pa.types.is_nested(field.type)]
    features: dict[str, object] = {field.name: {"dtype": str(field.type), "_type": "Value"} for field in flat}

    features[IMAGE] = {"_type": "Image"}
    meta = benchmark.meta
    texts = ("name", "kind", "description", "source", "licence", "citation", "revision")
    note = {"meta": {name: getattr(meta, name) for name in texts}, "columns": list(cases.columns)}
    hub = {"info": {"features": features}}
    return {b"huggingface": json.dumps(hub).encode(), NOTE: json.dumps(note, ensure_ascii=False).encode()}
