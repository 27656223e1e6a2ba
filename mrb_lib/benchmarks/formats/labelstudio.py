"""Label Studio's JSON export of pairwise comparisons: tasks with the annotations of their annotators.

A task's `data` holds the texts. A result of type `pairwise` selects `left` or `right`, which are the first and the
second response; one of type `choices` may name a tie too. Predictions are verdicts of their `model_version`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple
from urllib.parse import unquote

import pandas as pd

from mrb_lib.benchmarks.benchmark import LazyImages
from mrb_lib.benchmarks.formats.base import Imported, import_tables, reads
from mrb_lib.benchmarks.formats.images import ImageFiles
from mrb_lib.benchmarks.formats.labels import winner
from mrb_lib.benchmarks.formats.sources import SourceRow, id_text, read_json_array, renamed
from mrb_lib.benchmarks.meta import dimensions_of, meta_from
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.validation import Finding, counted

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "instruction", "text"),
    "response_a": ("response_a", "answer1", "answer_a", "response1", "text1", "left", "response_1"),
    "response_b": ("response_b", "answer2", "answer_b", "response2", "text2", "right", "response_2"),
    "images": ("images", "image", "img"),
}
"""The keys of `data` in which Label Studio's templates keep each field, the first that is there; else `--map`."""


@reads("labelstudio", about="Label Studio's JSON export of pairwise comparisons")
def read(
    src: Path,
    *,
    images: Annotated[Path | None, "the folder of the images"] = None,
    kind: Annotated[str | None, "clinical, general or simulated"] = None,
) -> Imported:
    """Read the tasks of an export, the labels of its annotators and the verdicts of its predictions.

    Parameters
    ----------
    src : the file that Label Studio exports as JSON
    images : the folder that holds the uploaded images; by default none is read

    Returns
    -------
    Imported
        Annotators are the e-mail addresses or numbers in `completed_by`. The dimension is `overall` where the tasks
        have one comparison, else the name of each control. Skipped annotations and results of other types are counted.

    Raises
    ------
    InputError
        The file is damaged, a task lacks a text, or a comparison selects neither response.

    Notes
    -----
    Validated by tests/benchmarks/formats/test_labelstudio.py.
    """
    counts: Counter[str] = Counter()
    tasks = read_json_array(Path(src))
    texts = renamed([_data(task) for task in tasks], Path(src))
    labels = [label for task in tasks for label in _labels(task, counts)]
    comparing = {label.control for label in labels if winner(label.choice)} or {label.control for label in labels}
    counts["other"] += sum(label.control not in comparing for label in labels)
    labels = [_read_choice(label, str(src)) for label in labels if label.control in comparing]
    several = len({label.control for label in labels}) > 1
    findings: list[Finding] = []
    findings += counted(counts["skipped"], "warning", src, "annotations were skipped", "they are left out")
    findings += counted(counts["other"], "warning", src, "results compare no responses", "they are left out")
    frame = pd.DataFrame({"dimension": [label.control if several else "overall" for label in labels]}, dtype="str")
    if not tasks:
        raise InputError(f"{src}: holds no tasks; export those that are labelled.")
    meta = meta_from({"name": Path(src).stem, "kind": kind or "general"}, str(src), dimensions_of([frame]))
    rows = list(zip(labels, frame["dimension"], strict=True))
    people = [(one.case_id, one.by, dimension, one.choice) for one, dimension in rows if not one.is_prediction]
    judged = [(one.by, one.case_id, dimension, "AB", one.choice, "ok", None) for one, dimension in rows
              if one.is_prediction]  # fmt: skip
    cases = pd.DataFrame([_case(text, task.id("id")) for text, task in zip(texts, tasks, strict=True)])
    named = {name for names in cases["images"] for name in names}
    files = None if images is None else ImageFiles(images, recursive=True)
    found = {name: path for name in named if files is not None and (path := files.find(name)) is not None}
    absent = len(named) - len(found)
    findings += counted(absent, "warning", src, "images are not there", "name their folder with --images", "images")
    pictures = LazyImages(found, lambda name: found[name].read_bytes())
    return import_tables(meta, cases, people, judged, findings, source=Path(src), images=pictures)


class _Label(NamedTuple):
    case_id: str
    by: str
    control: str
    choice: str
    is_prediction: bool


def _data(task: SourceRow) -> SourceRow:
    data = task.get("data")
    if not isinstance(data, dict):
        raise task.error("data", "is no object with the texts of the task", "export as JSON, not as JSON-MIN")
    return replace(task, values=data)


def _case(data: SourceRow, case_id: str) -> dict[str, object]:
    keys = {ours: next((key for key in theirs if key in data.values), ours) for ours, theirs in _FIELDS.items()}
    fields: dict[str, object] = {
        "case_id": case_id,
        **{ours: data.text(keys[ours]) for ours in ("question", "response_a", "response_b")},
    }
    stated = data.values.get(keys["images"]) or []
    # An upload is at /data/upload/PROJECT/NAME; behind ?d= stands the path of a file in a local storage.
    names = [unquote(str(each)).rpartition("?d=")[2] for each in (stated if isinstance(stated, list) else [stated])]
    return data.case(fields) | {"images": [PurePosixPath(name).name for name in names]}


def _labels(task: SourceRow, counts: Counter[str]) -> Iterator[_Label]:
    for key, is_prediction in (("annotations", False), ("predictions", True)):
        for entry in _objects(task.values.get(key)):
            if entry.get("was_cancelled"):
                counts["skipped"] += 1
                continue
            by = entry.get("model_version") if is_prediction else entry.get("completed_by")
            name = by.get("email") or by.get("id") if isinstance(by, dict) else by
            for result in _objects(entry.get("result")):
                value = result.get("value")
                if result.get("type") not in ("pairwise", "choices") or not isinstance(value, dict):
                    counts["other"] += 1
                    continue
                selected = value.get("selected") or ", ".join(map(str, value.get("choices") or [None]))
                control = str(result.get("from_name") or "overall")
                yield _Label(task.id("id"), id_text(name) or "annotator", control, str(selected), is_prediction)


def _read_choice(label: _Label, src: str) -> _Label:
    choice = winner(label.choice)
    if choice is None:
        problem = f"{label.choice[:60]!r} is neither left nor right nor a tie"
        raise InputError(f"{src}, task {label.case_id}, control {label.control}: {problem}; correct it.")
    return label._replace(choice=choice)


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
