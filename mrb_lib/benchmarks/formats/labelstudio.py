"""Label Studio's JSON export of pairwise comparisons: tasks with the annotations of their annotators.

A task's `data` holds the texts. A result of type `pairwise` selects `left` or `right`, which are the first and the
second response; one of type `choices` may name a tie too. Predictions are verdicts of their `model_version`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final
from urllib.parse import unquote

import pandas as pd

from mrb_lib.benchmarks.formats.base import Imported, import_tables, reads
from mrb_lib.benchmarks.formats.images import with_images
from mrb_lib.benchmarks.formats.labels import winner
from mrb_lib.benchmarks.formats.sources import SourceRow, id_text, read_json, renamed
from mrb_lib.benchmarks.meta import dimensions_of, meta_from
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.validation import counted

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "instruction", "text"),
    "response_a": ("response_a", "answer1", "answer_a", "response1", "text1", "left", "response_1"),
    "response_b": ("response_b", "answer2", "answer_b", "response2", "text2", "right", "response_2"),
    "images": ("images", "image", "img"),
}
"""The keys of `data` in which Label Studio's templates keep each field, the first that is there; else `--map`."""
_LABEL: Final = ("case_id", "by", "dimension", "choice", "order")


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
    images : the folder that holds the uploaded images; by default `images` beside the file, or its folder

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
    tasks = read_json(src)
    if not tasks:
        raise InputError(f"{src}: holds no tasks; export those that are labelled.")
    texts = renamed([_data(task) for task in tasks], src)
    labels = pd.DataFrame(
        [label for task in tasks for label in _labels(task, counts)], columns=list(_LABEL), dtype="str"
    )
    labels = _of_comparisons(labels, str(src), counts)
    findings = [
        *counted(counts["skipped"], "warning", src, "annotations were skipped", "they are left out"),
        *counted(counts["other"], "warning", src, "results compare no responses", "they are left out"),
    ]
    if labels["dimension"].nunique() < 2:
        labels = labels.assign(dimension="overall")
    understood = [f"{src}: Label Studio, {len(tasks):,} tasks"]
    cases = pd.DataFrame([_case(text, task.id("id")) for text, task in zip(texts, tasks, strict=True)])
    cases, pictures = with_images(cases, src, images, understood, findings)
    meta = meta_from({"name": src.stem, "kind": kind or "general"}, str(src), dimensions_of([labels]))
    is_verdict = labels["order"] == "AB"
    people = labels[~is_verdict].drop(columns="order").rename(columns={"by": "annotator"})
    judged = labels[is_verdict].rename(columns={"by": "judge"})
    return import_tables(meta, cases, people, judged, findings, source=src, images=pictures, understood=understood)


def _data(task: SourceRow) -> SourceRow:
    data = task.get("data")
    if not isinstance(data, dict):
        raise task.error("data", "is no object with the texts of the task", "export as JSON, not as JSON-MIN")
    return replace(task, values=data)


def _case(data: SourceRow, case_id: str) -> dict[str, object]:
    keys = {ours: next((key for key in theirs if key in data.values), ours) for ours, theirs in _FIELDS.items()}
    stated = data.values.get(keys.pop("images")) or []
    # An upload is at /data/upload/PROJECT/NAME; behind ?d= stands the path of a file in a local storage.
    names = [unquote(str(each)).rpartition("?d=")[2] for each in (stated if isinstance(stated, list) else [stated])]
    return data.case({"case_id": case_id, **data.texts(**keys)}) | {
        "images": [PurePosixPath(one).name for one in names]
    }


def _labels(task: SourceRow, counts: Counter[str]) -> Iterator[tuple[str, ...]]:
    """Yield the comparisons of a task, in the order of `_LABEL`; those by people have no order."""
    for key, order in (("annotations", ""), ("predictions", "AB")):
        for entry in _objects(task.values.get(key)):
            if entry.get("was_cancelled"):
                counts["skipped"] += 1
                continue
            by = entry.get("model_version" if order else "completed_by")
            name = by.get("email") or by.get("id") if isinstance(by, dict) else by
            for result in _objects(entry.get("result")):
                value = result.get("value")
                if result.get("type") not in ("pairwise", "choices") or not isinstance(value, dict):
                    counts["other"] += 1
                    continue
                selected = value.get("selected") or ", ".join(map(str, value.get("choices") or [None]))
                control = str(result.get("from_name") or "overall")
                yield task.id("id"), id_text(name) or "annotator", control, str(selected), order


def _of_comparisons(labels: pd.DataFrame, src: str, counts: Counter[str]) -> pd.DataFrame:
    """Return the labels with their choices as A, B, tie, without those of controls that only ask something else."""
    choice = labels["choice"].map(winner).astype("str")
    comparing = labels["dimension"][choice.notna() if choice.notna().any() else choice.isna()]
    compares = labels["dimension"].isin(comparing)
    counts["other"] += int((~compares).sum())
    for _, label in labels[compares & choice.isna()].iterrows():
        problem = f"{label['choice'][:60]!r} is neither left nor right nor a tie"
        raise InputError(f"{src}, task {label['case_id']}, control {label['dimension']}: {problem}; correct it.")
    return labels.assign(choice=choice).loc[compares]


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
