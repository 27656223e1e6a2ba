"""The layout in which Med-RewardBench is published: cases by organ, ground truth, and one result file a judge.

`read` makes a benchmark and its verdicts of a folder in it; `write` makes such a folder, which the published
evaluation script reads. Pairs with their images are in `pair_gt_all/parquet/<organ>.parquet`, labels in
`pair_gt_all/<organ>.jsonl`: one image, one organ, and a label in each of the six dimensions per case.

Results are in `.../<organ>/pair_<judge>.jsonl` and `.../all/pair_<judge>.jsonl`; a slash in the judge's name makes a
subfolder. A raw file's `chosen_answer` is the judge's reply, a normalized file's an object of choices. The same
verdicts stand in several trees. A raw reply is read anew, because the published parser takes the article "a" for a
verdict, and drops a reply for one unreadable dimension; how many choices differ from those of the normalized file is
counted. Only a case without a raw reply is taken from there.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.benchmark import Benchmark, open_parquet
from mrb_lib.benchmarks.formats.base import Imported, import_tables, reads, writes
from mrb_lib.benchmarks.formats.images import ParquetImages, read_without_bytes
from mrb_lib.benchmarks.formats.mapping import column_map
from mrb_lib.benchmarks.formats.sources import SourceRow, by_id, id_text, read_json
from mrb_lib.benchmarks.meta import BenchmarkMeta, meta_from
from mrb_lib.benchmarks.votes import gold
from mrb_lib.replies.reading import choices_in_object, parse, plain_choice
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import inside, is_safe_name, slug
from mrb_lib.tables.schema import CASES, CONSENSUS, DIMENSIONS, NO_PROBE, ORGAN_DEPARTMENT, SIMULATED
from mrb_lib.tables.validation import Finding, counted, inspect, raise_on_error

DATA, ALL = "pair_gt_all", "all"
PREFIX = "pair_"
RENAMED = {"question_id": "case_id", "question": "question", "answer1_text": "response_a", "answer2_text": "response_b"}
IMAGE, ORGAN, ORDER, NOTE = "image", "modality_type", "mrb_order", b"mrb"
_TAKEN = {"case_id", "response_a", "response_b", "images", "organ"}
OFFICIAL = {name: official for official, name in RENAMED.items()}
_TEXT = {f"source_{ORGAN}", *(column.name for column in CASES if column.type == "str")} - {"organ"}
_META: Mapping[str, object] = {
    "kind": "clinical",
    "description": "Imported from the published Med-RewardBench layout",
    "citation": "Med-RewardBench, arXiv 2508.21430",
}
COPIED = ("dataset", "question_type", "image_id", "body_part")
_IMAGE_TYPE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_ROWS_A_GROUP = 16
_FILE = "export"
RAW, NORMALIZED = "data/benchmark_result_parquet1", "data/benchmark_result_parquet_normalized1"
_WRITTEN = {"judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "status", "reply"}
_LINE = ("dataset", ORGAN, "question_type", "question", "chosen_answer", "image_id", "body_part")
"""The keys of a result line between `question_id` and `answer_model`, in their order."""
Labels = Mapping[str, str]
Verdict = tuple[str | None, ...]


class Organ(NamedTuple):
    """One organ: its cases, whose ids are those of the file; their labels by question; and the note of our export."""

    name: str
    cases: pd.DataFrame
    labels: Mapping[str, Labels]
    note: Mapping[str, object]


@reads("official", about="the published layout of Med-RewardBench, with every result file below the folder")
def read(src: Path) -> Imported:
    """Read a data root of the published layout, and every result file under it.

    Parameters
    ----------
    src : the folder that contains `pair_gt_all`; result files below it are read

    Returns
    -------
    Imported
        `case_id` is the question id as text (`<organ>/<question id>` for all cases
        where two organs share an id), `organ` the file's name, `department` follows
        from it. Columns the layout does not know are kept. One annotator,
        `consensus`. Labels are A and B, and tie where one occurs. Pairs without
        ground truth are cases without annotations; ground truth without a pair is
        left out and counted.

    Raises
    ------
    InputError
        A file is missing, damaged or ambiguous; names file, row and column.

    Notes
    -----
    Validated by tests/benchmarks/formats/test_official.py (round trip of the sample, the
    published metric recomputed) and test_official_traps.py (each known trap).
    """
    src = Path(src)
    data = src / DATA
    if not data.is_dir():
        raise InputError(f"{src}: holds no {DATA} folder; give the data root, the folder that contains {DATA}.")
    paths = sorted((data / "parquet").glob("[!.]*.parquet"))
    if not paths:
        raise InputError(f"{data / 'parquet'}: holds no .parquet file; restore the data from its source.")
    for truth in sorted(data.glob("[!.]*.jsonl")):
        if (missing := data / "parquet" / f"{truth.stem}.parquet") not in paths:
            raise InputError(f"{missing}: the file is missing; restore it, or remove {truth.name}.")
    for theirs, ours in column_map().names.items():
        if ours in _TAKEN:
            raise InputError(f"{src}, column {theirs}: the format fills {ours}; leave out --map {theirs}={ours}.")
    findings: list[Finding] = []
    images = ParquetImages()
    organs = [_read_organ(path, images, findings) for path in paths]
    owners = Counter(question for organ in organs for question in organ.cases["case_id"])
    shared = sum(count > 1 for count in owners.values())
    problem = "question ids occur in several organs, so each case id is <organ>/<question_id>"
    findings += counted(shared, "info", data, problem, "use those ids in your own tables", "question_id")
    case_ids = {
        (organ.name, question): f"{organ.name}/{question}" if shared else question
        for organ in organs
        for question in organ.cases["case_id"]
    }
    cases = _arranged(organs, list(case_ids.values()))
    labels = {case_ids.get((organ.name, key)): own for organ in organs for key, own in organ.labels.items()}
    rows = [
        (case_id, CONSENSUS, dimension, choice)
        for case_id in cases["case_id"]
        for dimension, choice in labels.get(case_id, {}).items()
    ]
    ties = sum(row[3] == "tie" for row in rows)
    findings += counted(ties, "warning", data, "labels are ties", "the published script counts every judge wrong there")
    meta = _meta(organs, data, ("A", "tie", "B") if ties else ("A", "B"))
    verdicts = _verdicts(src, case_ids, cases["case_id"].tolist(), findings)
    return import_tables(meta, cases, rows, verdicts, findings, source=data, images=images)


def _read_organ(path: Path, images: ParquetImages, findings: list[Finding]) -> Organ:
    """Read one organ's rows and labels, and take in its images.

    Raises
    ------
    InputError
        The file is damaged, or a column is missing, has a wrong type or a missing
        value, or a question id occurs twice.
    """
    frame, pictures = read_without_bytes(path, (IMAGE,), findings)
    if frame.empty:
        raise InputError(f"{path}: has no rows; restore the file from its source.")
    if IMAGE in frame:
        raise InputError(f"{path}, column {IMAGE}: holds no image bytes; save it as a struct of bytes and path.")
    cases = _with_our_names(frame, path, findings)
    problems = inspect(cases, "cases", str(path))
    raise_on_error(replace(one, column=OFFICIAL.get(str(one.column), one.column)) for one in problems)
    cases = cases.astype({name: "str" for name in cases if name in _TEXT})
    ids = cases["case_id"].tolist()
    names: pd.Series = pd.Series([[] for _ in ids], dtype=object)
    if pictures is None:
        problem = "the column is missing, so no case has an image"
        findings.append(Finding("warning", str(path), None, IMAGE, problem, "judges see the text only"))
    else:
        names = images.add(path, pictures, [f"{path.stem}/{slug(question)}" for question in ids], findings)
    try:
        note = json.loads((open_parquet(path).schema_arrow.metadata or {}).get(NOTE, b"{}"))
    except ValueError as error:
        raise InputError(f"{path}: the note of the export is damaged ({error}); export again.") from error
    labels = _ground_truth(path.parents[1] / f"{path.stem}.jsonl", path, ids, findings)
    return Organ(path.stem, cases.assign(images=names, organ=path.stem), labels, note if isinstance(note, dict) else {})


def _with_our_names(frame: pd.DataFrame, path: Path, findings: list[Finding]) -> pd.DataFrame:
    """Return the columns under our names; those whose name means something else here begin with `source_`."""
    taken = [name for name in frame if name in _TAKEN]
    cases = frame.rename(columns=RENAMED | {name: f"source_{name}" for name in (ORGAN, *taken)})
    texts = [name for name in cases if name in _TEXT]
    cases = cases.assign(**{name: cases[name].map(lambda value: id_text(value) or value) for name in texts})
    stated = cases.get(f"source_{ORGAN}")
    other = 0 if stated is None else int((stated.notna() & (stated != path.stem)).sum())
    cure = f"the file's name decides; what they say is kept as source_{ORGAN} (the published script fails on them)"
    findings += counted(other, "warning", path, f"rows do not say {path.stem}", cure, ORGAN)
    return cases if other else cases.drop(columns=f"source_{ORGAN}", errors="ignore")


def _ground_truth(path: Path, pairs: Path, ids: Collection[str], findings: list[Finding]) -> Mapping[str, Labels]:
    """Return the labels of one organ by question id, as text, and dimension.

    Raises
    ------
    InputError
        The file is damaged or empty, a question id occurs twice (the published script takes the last and shrinks its
        denominators), a label is unknown, or none is about one of the pairs.
    """
    if not path.is_file():
        findings.append(Finding("warning", str(path), None, None, "there is no ground truth", "restore the file"))
        return {}
    truth = {question: _labels(record) for question, record in by_id(read_json(path), "question_id").items()}
    if not truth:
        raise InputError(f"{path}: is empty; restore it from its source.")
    matched = len(truth.keys() & set(ids))
    if not matched:
        raise InputError(
            f"{pairs}, column question_id: no id occurs in {path.name} ({next(iter(ids))!r} here, "
            f"{min(truth)!r} there); write the ids the same way."
        )
    absent = sum(len(DIMENSIONS) - len(labels) for labels in truth.values())
    cure = "those cases are unlabelled on those dimensions"
    findings += counted(absent, "warning", path, "labels are absent", cure, "human_answer")
    problem, cure = "pairs have no ground truth", "they are cases without annotations"
    findings += counted(len(ids) - matched, "warning", pairs, problem, cure, "question_id")
    problem = "labelled questions have no pair"
    findings += counted(len(truth) - matched, "warning", path, problem, "they are left out", "question_id")
    return truth


def _labels(record: SourceRow) -> dict[str, str]:
    answer = record.get("human_answer")
    if not isinstance(answer, dict):
        raise record.error("human_answer", "is not an object with a label for each dimension", "restore the line")
    stated = {name: answer[name] for name in DIMENSIONS if answer.get(name) is not None}
    labels = {name: choice for name, value in stated.items() if (choice := plain_choice(value)) is not None}
    for name in stated.keys() - labels.keys():
        raise record.error(f"human_answer.{name}", f"{str(stated[name])[:60]!r} is not a label", "use A, B or tie")
    return labels


def _arranged(organs: list[Organ], case_ids: list[str]) -> pd.DataFrame:
    """Return the cases of all organs, columns in the order of the plan; or all as our own export noted it."""
    frame = pd.concat([organ.cases for organ in organs], ignore_index=True).infer_objects()
    default = frame["organ"].map(ORGAN_DEPARTMENT).astype("str")
    department = frame["department"].fillna(default) if "department" in frame else default
    frame = frame.assign(case_id=pd.Series(case_ids, dtype="str"), department=department)
    if ORDER in frame:
        frame = frame.sort_values(ORDER, kind="stable", ignore_index=True).drop(columns=ORDER)
    noted = organs[0].note.get("columns")
    order = [*(column.name for column in CASES), *frame]
    if isinstance(noted, list) and {"case_id", *RENAMED.values()} <= set(noted):
        order = noted
    return frame[[name for name in dict.fromkeys(order) if name in frame]]


def _meta(organs: list[Organ], data: Path, categories: tuple[str, ...]) -> BenchmarkMeta:
    """The metadata; what our own export noted goes before the defaults, and simulated stays simulated."""
    notes = [note for note in (organ.note.get("meta") for organ in organs) if isinstance(note, dict)]
    raw: dict[str, object] = {"name": data.resolve().parent.name or DATA, **_META, **(notes[0] if notes else {})}
    if any(note.get("kind") == "simulated" for note in notes):
        raw["kind"] = "simulated"
    raw["dimensions"], raw["categories"] = list(DIMENSIONS), list(categories)
    return meta_from(raw, str(data))


def _verdicts(
    src: Path, case_ids: Mapping[tuple[str, str], str], order: list[str], findings: list[Finding]
) -> list[Verdict]:
    """Return the verdicts of all result files in the order AB, as rows for `import_tables`.

    Parameters
    ----------
    case_ids : the case id by organ and question id
    order : of the cases, which the verdicts follow

    Returns
    -------
    list of tuples
        Six rows a judge and case that has a row in a result file. Where there is a raw
        reply, choice and status are what `mrb_lib.replies.reading` reads in it, whatever
        the normalized file says. Where there is only a normalized object, its choices are
        `ok`, and a dimension without one is `unparsed`.

    Raises
    ------
    InputError
        A file is damaged, two files give different verdicts of a judge on a case, or
        none of a judge's rows is about a case of this data.
    """
    organs_of: dict[str, dict[str, str]] = defaultdict(dict)
    for (organ, question), name in case_ids.items():
        organs_of[question][organ] = name
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    answers: dict[tuple[str, str, type], tuple[object, SourceRow]] = {}
    for judge, group, record in _results(src, {organ for organ, _ in case_ids}, findings):
        case_id = _case_of(record, group, organs_of.get(record.id("question_id"), {}))
        counts[judge]["unknown" if case_id is None else "read"] += 1
        if case_id is None:
            continue
        answer = record.get("chosen_answer")
        if answer is not None and not isinstance(answer, (str, dict)):
            raise record.error("chosen_answer", f"is {type(answer).__name__}, not text or an object", "restore it")
        kind = dict if isinstance(answer, dict) else str
        known, first = answers.setdefault((judge, case_id, kind), (answer, record))
        if known != answer:
            problem = f"differs from the verdict on the same case in {first.file}, {first.location}"
            raise record.error("chosen_answer", problem, "remove the result files of one of the two runs")
    rows: list[Verdict] = []
    for judge, count in sorted(counts.items()):
        if not count["read"]:
            raise InputError(f"{src}: no verdict of judge {judge} is about a case of this data; check the folder.")
        for case_id in order:
            reply, published = (answers.get((judge, case_id, kind)) for kind in (str, dict))
            if reply or published:
                rows += _rows_of(judge, case_id, reply and reply[0], published and published[0], count)
            else:
                count["absent"] += 1
        findings += _counted(judge, count, src)
    return rows


def _results(src: Path, organs: Collection[str], findings: list[Finding]) -> Iterator[tuple[str, str, SourceRow]]:
    """Yield the rows of result files, each with its judge and its group: an organ, or `all`."""
    for path in sorted(src.rglob("*.jsonl")):
        parts = path.relative_to(src).parts
        start = next((i for i, part in enumerate(parts) if i and part.startswith(PREFIX)), None)
        if start is None or DATA in parts:
            continue
        group, judge = parts[start - 1], "/".join(parts[start:]).removeprefix(PREFIX).removesuffix(".jsonl")
        if group not in organs and group != ALL:
            problem = f"{group} is not an organ of this data, so its results are left out"
            findings.append(Finding("warning", str(path), None, None, problem, "add the organ's files or remove it"))
            continue
        if not judge:
            raise InputError(f"{path}: the name states no judge; name the file pair_<judge>.jsonl.")
        records = read_json(path)
        if not records:
            problem, cure = "is empty (the published script empties it before it judges)", "judge again or restore it"
            findings.append(Finding("warning", str(path), None, None, problem, cure))
        yield from ((judge, group, record) for record in records)


def _case_of(record: SourceRow, group: str, organs: Mapping[str, str]) -> str | None:
    """Return the case of a result row; None where the data have none. `organs` are the cases with its question id."""
    if len(organs) < 2:
        return next(iter(organs.values()), None)
    stated = [organ for organ in (str(record.values.get(ORGAN)), group) if organ in organs]
    if not stated:
        question = record.id("question_id")
        raise record.error(ORGAN, f"question {question} occurs in {', '.join(organs)}", "state one of them")
    return organs[stated[0]]


def _rows_of(judge: str, case_id: str, reply: object, published: object, count: Counter[str]) -> Iterator[Verdict]:
    """Yield the verdicts of a judge on a case, from its reply if there is one, else from the normalized object."""
    choices: Mapping[str, str | None] = choices_in_object(published, DIMENSIONS) if isinstance(published, dict) else {}
    shown = reply if isinstance(reply, str) else None
    if shown is not None:
        reading = parse(shown, DIMENSIONS)
        changed = sum(choices.get(name) != reading.choices.get(name) for name in DIMENSIONS)
        count["changed"] += 0 if published is None else changed
        read = {name: (reading.choices.get(name), reading.status_of(name)) for name in DIMENSIONS}
    else:
        shown = None if published is None else json.dumps(published, ensure_ascii=False)
        read = {name: (choices.get(name), "ok" if name in choices else "unparsed") for name in DIMENSIONS}
    for name, (choice, status) in read.items():
        count[status] += 1
        yield judge, case_id, name, "AB", choice, status, shown


def _counted(judge: str, count: Counter[str], src: Path) -> list[Finding]:
    by, stay = f"judge {judge}", "they stay, without a choice"
    findings: list[Finding] = []
    for key, problem, cure in (
        ("unknown", f"rows of {by} are about no case of this data", "they are left out"),
        ("changed", f"verdicts of {by} differ from the normalized file", "the choice in the reply counts"),
        ("unparsed", f"verdicts of {by} are unparsed", stay),
        ("refused", f"verdicts of {by} are refused", stay),
        ("absent", f"cases have no row of {by}", "the published script counts them wrong"),
    ):
        findings += counted(count[key], "warning", src, problem, cure)
    return findings


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
        lines = [{"question_id": name, "human_answer": labels[name]} for name in rows["case_id"] if name in labels]
        if lines:
            _write_lines(lines, out / DATA / f"{organ}.jsonl")
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
    imageless = 0
    for organ, rows in cases.reset_index(drop=True).groupby("organ", sort=True):
        with pq.ParquetWriter(folder / f"{organ}.parquet", schema, compression="zstd") as writer:
            for start in range(0, len(rows), _ROWS_A_GROUP):
                cases_of_group = rows.iloc[start : start + _ROWS_A_GROUP]
                present = [[name for name in names if name in benchmark.images] for names in cases_of_group["images"]]
                images = [{"bytes": benchmark.images[one[0]], "path": one[0]} if one else None for one in present]
                imageless += images.count(None)
                chunk = table.take(pa.array(cases_of_group.index))
                chunk = chunk.add_column(1, schema.field(IMAGE), [pa.array(images, _IMAGE_TYPE)])
                writer.write_table(chunk.cast(schema))

    problem = "cases have no image, or one that could not be found"
    findings += counted(imageless, "warning", _FILE, problem, "the published script needs one", "images")


def _pairs_table(cases: pd.DataFrame) -> pa.Table:
    """The columns of the parquet files without the image, the layout's own first."""
    first = [*OFFICIAL, "organ", *COPIED]
    others = [name for name in cases.columns if name not in (*first, "images")]
    frame = cases.reindex(columns=[*first, *others]).rename(columns={**OFFICIAL, "organ": ORGAN})
    frame = frame.astype({name: "str" for name in COPIED if name not in cases.columns})
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
    return verdicts[kept]


def _file_name(judge: str, findings: list[Finding]) -> str:
    """Return the judge's name where it can name a file (a slash makes a subfolder), else a name made from it."""
    if is_safe_name(judge) and judge.isprintable() and all(len(part) <= 100 for part in judge.split("/")):
        return judge
    name = slug(judge)
    problem = f"the judge's name {judge!r} cannot name a file"
    findings.append(Finding("warning", _FILE, None, "judge", problem, f"it is written, and reads back, as {name}"))
    return name
