"""Writing the published layout, so that the published evaluation script reads it.

The layout holds one image and one organ a case, one label a case and dimension for
exactly the six dimensions, and verdicts with the first response shown first. What a
benchmark has beyond that is counted in what `write` returns.
"""

import json
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats.base import writes
from mrb_lib.benchmarks.formats.official.reading import ALL, DATA, IMAGE, NOTE, OFFICIAL, ORDER, ORGAN, PREFIX, RENAMED
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import inside, is_safe_name, slug
from mrb_lib.tables.schema import CONSENSUS, DIMENSIONS, NO_PROBE, ORGAN_DEPARTMENT, SIMULATED
from mrb_lib.tables.validation import Finding, counted

COPIED = ("dataset", "question_type", "image_id", "body_part")
_IMAGE_TYPE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_ROWS_A_GROUP = 16
_FILE = "export"
RAW, NORMALIZED = "data/benchmark_result_parquet1", "data/benchmark_result_parquet_normalized1"
_READ_AGAIN = "the reply decides it anew when it is read back"
_WRITTEN = {"judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "status", "reply"}
_LINE = ("dataset", ORGAN, "question_type", "question", "chosen_answer", "image_id", "body_part")
"""The keys of a result line between `question_id` and `answer_model`, in their order."""


@writes("official", about="the published layout, which the published evaluation script reads", has_verdicts=True)
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
    tests/benchmarks/formats/test_official.py.
    """
    out = Path(out)
    findings: list[Finding] = []
    _refuse_unfit(benchmark)
    cases = _expressible(benchmark.cases, findings)
    labels = _consensus(benchmark, cases, findings)
    _write_pairs(benchmark, cases, out, findings)
    for organ, rows in cases.groupby("organ", sort=True):
        labelled = [case_id for case_id in rows["case_id"] if case_id in labels]
        if labelled:
            lines = [{"question_id": case_id, "human_answer": labels[case_id]} for case_id in labelled]
            _write_lines(lines, out / DATA / f"{organ}.jsonl")
        else:
            problem = f"no case of {organ} has a label in every dimension, so it has no ground truth file"
            findings.append(Finding("warning", _FILE, None, "choice", problem, "annotate it, or expect no score of it"))
    _write_results(verdicts, cases, out, findings)
    return findings


def _write_lines(lines: Iterable[Mapping[str, object]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, ensure_ascii=False, default=str) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8", newline="\n")


def _refuse_unfit(benchmark: Benchmark) -> None:
    meta, columns = benchmark.meta, set(benchmark.cases.columns)
    absent = ", ".join(name for name in DIMENSIONS if name not in meta.dimensions)
    organs = list(benchmark.cases["organ"].dropna().unique()) if "organ" in columns else []
    unfit = [organ for organ in organs if not re.fullmatch(r"\w[\w-]{0,99}", organ) or organ in (ALL, "parquet")]
    taken = ({IMAGE, ORGAN, ORDER, *RENAMED} - {"question"}) & columns
    labels = ", ".join(meta.categories)
    for is_unfit, fault in (
        (not meta.is_preference, f"its labels are {labels}, and the official layout holds preferences only"),
        (absent, f"has no dimension {absent}, and the official layout needs all six"),
        (not organs, "no case has an organ, and the official layout files cases by organ"),
        (unfit, f"the organ {next(iter(unfit), '')!r} cannot name a file"),
        (taken, f"the official layout itself uses the name of the column {min(taken, default='')}"),
    ):
        if is_unfit:
            raise InputError(f"benchmark {meta.name}: {fault}; export it as table.")


def _expressible(cases: pd.DataFrame, findings: list[Finding]) -> pd.DataFrame:
    homeless = cases["organ"].isna()
    several = ~homeless & (cases["images"].map(len) > 1)
    findings += counted(int(homeless.sum()), "warning", _FILE, "cases have no organ", "they are left out", "organ")
    problem = "cases have several images"
    findings += counted(int(several.sum()), "warning", _FILE, problem, "they are left out", "images")
    kept = cases[~homeless & ~several]
    if kept.empty:
        raise InputError("cases: none has an organ and at most one image; export the benchmark as table.")
    return kept


def _consensus(benchmark: Benchmark, cases: pd.DataFrame, findings: list[Finding]) -> Mapping[Hashable, object]:
    """The labels of the cases that have one in each of the six dimensions."""
    annotators = set(benchmark.annotations["annotator"])
    if annotators - {CONSENSUS}:
        problem = f"annotations of {len(annotators)} annotators became one label a case and dimension, by majority"
        findings.append(Finding("info", _FILE, None, "annotator", problem, "export as table to keep them"))
    beyond = [name for name in benchmark.meta.dimensions if name not in DIMENSIONS]
    findings += counted(len(beyond), "warning", _FILE, "dimensions are not in the layout", f"left out: {beyond}")
    label = gold(benchmark)
    label = label[label["dimension"].isin(list(DIMENSIONS)) & label["case_id"].isin(cases["case_id"])]
    labels = label.pivot(index="case_id", columns="dimension", values="choice").reindex(columns=list(DIMENSIONS))
    complete = labels.dropna()
    undecided = int(label.loc[label["choice"].isna(), "case_id"].nunique())
    problem = f"cases lack a label in some dimension ({undecided:,} of them for want of a majority)"
    unlabelled, cure = len(cases) - len(complete), "they are written without ground truth"
    findings += counted(unlabelled, "warning", _FILE, problem, cure, "choice")
    lost, cure = int(labels.notna().to_numpy().sum()) - complete.size, "export as table to keep them"
    findings += counted(lost, "warning", _FILE, "labels of such cases are not written", cure, "choice")
    cure = "the published prompt offers no tie, so its judges count as wrong there"
    ties = int((complete == "tie").to_numpy().sum())
    findings += counted(ties, "warning", _FILE, "labels are ties", cure, "choice")
    return complete.to_dict("index")


def _write_pairs(benchmark: Benchmark, cases: pd.DataFrame, out: Path, findings: list[Finding]) -> None:
    table = _pairs_table(cases)
    note = _metadata(benchmark, cases, table.schema)
    schema = table.schema.insert(1, pa.field(IMAGE, _IMAGE_TYPE)).with_metadata(note)

    folder = out / DATA / "parquet"
    folder.mkdir(parents=True)
    imageless = int((cases["images"].map(len) == 0).sum())
    gone = 0
    for organ, rows in cases.reset_index(drop=True).groupby("organ", sort=True):
        with pq.ParquetWriter(folder / f"{organ}.parquet", schema, compression="zstd") as writer:
            for start in range(0, len(rows), _ROWS_A_GROUP):
                cases_of_group = rows.iloc[start : start + _ROWS_A_GROUP]
                present = [[name for name in names if name in benchmark.images] for names in cases_of_group["images"]]
                images = [{"bytes": benchmark.images[one[0]], "path": one[0]} if one else None for one in present]
                gone += images.count(None)
                chunk = table.take(pa.array(cases_of_group.index))
                chunk = chunk.add_column(1, schema.field(IMAGE), [pa.array(images, _IMAGE_TYPE)])
                writer.write_table(chunk.cast(schema))

    cure = "the published script needs one to judge them"
    findings += counted(imageless, "warning", _FILE, "cases have no image", cure, "images")
    findings += counted(gone - imageless, "warning", _FILE, "images could not be found", cure, "images")


def _pairs_table(cases: pd.DataFrame) -> pa.Table:
    """The columns of the parquet files without the image, the layout's own first."""
    first = [*OFFICIAL, "organ", *COPIED]
    others = [name for name in cases.columns if name not in (*first, "images")]
    frame = cases.reindex(columns=[*first, *others]).rename(columns={**OFFICIAL, "organ": ORGAN})
    frame = frame.astype({name: "str" for name in COPIED if name not in cases.columns})
    if "department" in frame and frame["department"].equals(cases["organ"].map(ORGAN_DEPARTMENT).astype("str")):
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
    hub = {"info": {"features": features | {IMAGE: {"_type": "Image"}}}}
    texts = ("name", "kind", "description", "source", "licence", "citation", "revision")
    note = {"meta": {name: getattr(benchmark.meta, name) for name in texts}, "columns": list(cases.columns)}
    return {b"huggingface": json.dumps(hub).encode(), NOTE: json.dumps(note, ensure_ascii=False).encode()}


def _write_results(verdicts: pd.DataFrame, cases: pd.DataFrame, out: Path, findings: list[Finding]) -> None:
    """Write `pair_<judge>.jsonl` under the raw and the normalized tree.

    Parameters
    ----------
    cases : the cases that are written; verdicts on others are counted and left out

    Notes
    -----
    A raw row's `chosen_answer` is the judge's reply to the case. Where the judge gave
    a reply to each dimension, or none, it is the JSON object of its choices. A
    normalized row holds the choices there are; a case without any has none, as in the
    published pipeline.
    """
    rows = _selected(verdicts, cases, findings)
    lost = sorted(str(name) for name in rows.columns if name not in _WRITTEN and rows[name].notna().any())
    findings += counted(len(lost), "info", _FILE, f"columns cannot be written: {', '.join(lost)}", "export as table")
    frame = cases.assign(**{ORGAN: cases["organ"]}).reindex(columns=["case_id", *_LINE])
    shown = frame.astype(object).where(frame.notna(), None).set_index("case_id").to_dict("index")
    place = {case_id: i for i, case_id in enumerate(shown)}
    rows = rows.sort_values("case_id", key=lambda ids: ids.map(place), kind="stable")
    names = {judge: _file_name(str(judge), findings) for judge in rows["judge"].unique()}
    replaced = 0
    files: dict[str, list[Mapping[str, object]]] = defaultdict(list)
    for (judge, case_id), of_case in rows.groupby(["judge", "case_id"], sort=False):
        chosen = of_case.dropna(subset="choice").set_index("dimension")["choice"].to_dict()
        choices = {dimension: chosen[dimension] for dimension in DIMENSIONS if dimension in chosen}
        replies = list(of_case["reply"].unique()) if "reply" in of_case else []
        reply = replies[0] if len(replies) == 1 and isinstance(replies[0], str) else None
        if choices and reply in (None, SIMULATED):  # a drawn verdict has no reply that could be read back
            reply = json.dumps({**choices, "reason": SIMULATED} if reply else choices)
            replaced += 1
        line = {str(key): value for key, value in shown[case_id].items()}
        line = {"question_id": case_id, **line, "chosen_answer": reply, "answer_model": judge}
        organ, name = line[ORGAN], f"{PREFIX}{names[judge]}.jsonl"
        files[f"{RAW}/{ALL}/{name}"].append(line)
        files[f"{RAW}/{organ}/{name}"].append(line)
        if choices:
            files[f"{NORMALIZED}/{organ}/{name}"].append(line | {"chosen_answer": choices})
    cure = "its choices are written as JSON"
    findings += counted(replaced, "info", _FILE, "cases have no single reply of a judge", cure, "reply")
    for file, lines in files.items():
        if (path := inside(out, file)).exists():
            raise InputError(f"{path}: two judges would share this file; rename one of them.")
        _write_lines(lines, path)


def _selected(verdicts: pd.DataFrame, cases: pd.DataFrame, findings: list[Finding]) -> pd.DataFrame:
    kept = pd.Series(True, index=verdicts.index)
    for column, allowed, what in (
        ("order", ["AB"], "verdicts have the order BA"),
        ("repeat", [0], "verdicts are repeats"),
        ("probe", [NO_PROBE], "verdicts are about a probed case"),
        ("dimension", list(DIMENSIONS), "verdicts are on a dimension the layout lacks"),
        ("case_id", list(cases["case_id"]), "verdicts are on cases left out"),
    ):
        fits = verdicts[column].isin(allowed)
        findings += counted(int((kept & ~fits).sum()), "warning", _FILE, what, "they are left out", column)
        kept &= fits
    rows = verdicts[kept]
    for status, cure in (("repaired", _READ_AGAIN), ("refused", _READ_AGAIN), ("error", "they read back as unparsed")):
        count = int((rows["status"] == status).sum())
        problem = f"verdicts have status {status}"
        findings += counted(count, "info", _FILE, problem, cure, "status")
    return rows


def _file_name(judge: str, findings: list[Finding]) -> str:
    """Return the judge's name where it can name a file (a slash makes a subfolder), else a name made from it."""
    if is_safe_name(judge) and judge.isprintable() and all(len(part) <= 100 for part in judge.split("/")):
        return judge
    name = slug(judge)
    problem = f"the judge's name {judge!r} cannot name a file"
    findings.append(Finding("warning", _FILE, None, "judge", problem, f"it is written, and reads back, as {name}"))
    return name
