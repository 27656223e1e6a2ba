"""Label Studio's JSON export: its pairwise comparisons become annotations, its predictions verdicts."""

import json
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.benchmarks.formats import Imported, read_source
from mrb_lib.tables.errors import InputError


def result(*selected: str, control: str = "comparison") -> dict[str, Any]:
    shape = {"type": "pairwise", "value": {"selected": selected[0]}}
    if selected[0] not in ("left", "right"):
        shape = {"type": "choices", "value": {"choices": selected}}
    return {"from_name": control, "to_name": "answer1,answer2", **shape}


def task(number: int, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    data = {"prompt": f"What shows film {number}?", "answer1": "An effusion.", "answer2": f"Nothing {number}."}
    entry = {"id": 10 * number, "completed_by": {"id": 4, "email": "kim@clinic.org"}, "was_cancelled": False}
    return {"id": number, "data": data, "annotations": [{**entry, "result": list(results)}], **more}


def export(path: Path, tasks: list[dict[str, Any]], **options: Any) -> Imported:
    path.write_text(json.dumps(tasks))
    return read_source("labelstudio", path, **options)


def test_comparisons_are_annotations_and_predictions_verdicts(tmp_path: Path) -> None:
    tasks = [task(1, result("left")), task(2, result("right")), task(3, result("Tie"), {"type": "textarea"})]
    tasks[0]["annotations"].append({"completed_by": 9, "was_cancelled": True, "result": []})
    tasks[1]["predictions"] = [{"model_version": "judge-1", "result": [result("left")]}]
    imported = export(tmp_path / "project.json", tasks)
    labels = imported.benchmark.annotations.to_numpy().tolist()
    assert labels == [[str(i), "kim@clinic.org", "overall", choice] for i, choice in enumerate(("A", "B", "tie"), 1)]
    assert imported.verdicts[["judge", "case_id", "order", "choice"]].to_numpy().tolist() == [
        ["judge-1", "2", "AB", "A"]
    ]
    assert imported.benchmark.cases["response_b"].tolist() == ["Nothing 1.", "Nothing 2.", "Nothing 3."]
    said = "\n".join(map(str, imported.findings))
    assert "1 annotations were skipped" in said
    assert "1 results compare no responses" in said


def test_several_controls_are_dimensions_and_other_keys_are_mapped(tmp_path: Path) -> None:
    tasks = [task(1, result("left", control="accuracy"), result("right", control="tone"))]
    tasks[0]["data"] = {"case text": "Q?", "bot one": "a", "bot two": "b", "image": "/data/upload/3/ab-film%201.png"}
    names = ["case text=question", "bot one=response_a", "bot two=response_b"]
    imported = export(tmp_path / "p.json", tasks, map_=names)
    assert imported.benchmark.meta.dimensions == ("accuracy", "tone")
    assert imported.benchmark.cases["images"].tolist() == [["ab-film 1.png"]]
    assert "1 images are not there; name their folder with --images" in str(imported.findings[-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": None}, "row 1, column data: is no object with the texts of the task"),
        ({"data": {"prompt": "q", "answer1": "a"}}, "row 1, column response_b: the field is missing"),
        ({"annotations": [{"result": [result("maybe")]}]}, "'maybe' is neither left nor right nor a tie"),
        ({"annotations": [{"result": [result("A", "B")]}]}, "'A, B' is neither left nor right nor a tie"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        export(tmp_path / "p.json", [task(1, result("left")) | change])


def test_a_control_that_compares_nothing_is_left_out_and_an_empty_export_named(tmp_path: Path) -> None:
    quality = result("Good image") | {"from_name": "quality"}
    imported = export(tmp_path / "p.json", [task(1, result("left"), quality)])
    assert imported.benchmark.annotations[["dimension", "choice"]].to_numpy().tolist() == [["overall", "A"]]
    assert "1 results compare no responses; they are left out" in "\n".join(map(str, imported.findings))
    with pytest.raises(InputError, match="holds no tasks"):
        export(tmp_path / "p.json", [])
