"""Tags on cases, named views and small pictures: what the explorer answers, to whom, and what it refuses."""

import json
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.explorer.answers import SIDE, ExplorerAnswers
from mrb_lib.review.failures.query import Query, from_fragment
from mrb_lib.review.records.exchange import guarded
from mrb_lib.tables.errors import InputError
from tests.browser.hostile import ATTACKS
from tests.pictures import png
from tests.review.explorer.asking import exported, opened, rows_of, sight

ME, OTHER = {"reviewer": "Dr A"}, {"reviewer": "Dr B"}
Made = Callable[..., ExplorerAnswers]


@pytest.fixture
def made(pictured: Benchmark, tmp_path: Path) -> Made:
    return lambda **more: opened(pictured, None, tmp_path / "r.sqlite", **more)


def _tag(answers: ExplorerAnswers, position: int, tag: str, **more: Any) -> list[str]:
    return [one["tag"] for one in answers.tag({**sight(answers, position), "tag": tag, **ME, **more})["tags"]]


def _where(answers: ExplorerAnswers, where: str, **who: Any) -> list[int]:
    found = answers.select({"query": {"where": where}, **(who or ME)})
    return [row["position"] for row in found["rows"]]


def _tags(answers: ExplorerAnswers) -> dict[str, str]:
    return {row["case_id"]: row["tags"] for row in rows_of(exported(answers, {}, **ME))}


def test_a_tag_is_about_the_case_in_sight_and_needs_a_name(made: Made) -> None:
    answers = made()
    here, another = sight(answers, 3), sight(answers, 4)
    for wrong, said in (
        *((other, "the case in your window is not the one") for other in (
            {"case_id": another["case_id"]}, {"version": another["version"]}, {"position": 4})),
        ({"reviewer": " "}, "reviewer is empty"), ({"tag": " "}, "empty"), ({"tag": "x" * 41}, "40"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            answers.tag({**here, "tag": "x", **ME, **wrong})
    assert answers.reviews.history("tags").empty


def test_hostile_texts_are_kept_as_texts(made: Made) -> None:
    answers, tags = made(), list[str]()
    for text in ATTACKS:
        plain = " ".join(text.replace("\0", "\ufffd").split())
        view = answers.keep_view({"name": plain[:80], "query": {"where": f"question == {text!r}"}, **ME})["views"]
        assert plain[:80].strip() in [one["name"] for one in view]
        json.dumps(view, ensure_ascii=False).encode()
        tags.append(plain[:40].strip())
        assert sorted(_tag(answers, 2, tags[-1])) == sorted(tags)
        assert _where(answers, f"tagged[{tags[-1]!r}]") == [2]
    for position, tag in enumerate(one for one in tags if one.startswith(("=", "+", "-", "@"))):
        _tag(answers, 3 + position, tag)
        cell = _tags(answers)[str(answers.data.benchmark.cases["case_id"].iloc[3 + position])]
        assert cell == guarded(tag) != tag, "no spreadsheet runs it"


def test_pictures_are_small_and_the_unreadable_have_a_plain_mark(pictured: Benchmark) -> None:
    tall = png(np.full((900, 300), 7, dtype=np.uint8))
    images = {
        "a.png": tall, "deep.png": png(np.full((60, 60), 7, dtype=np.uint16)), "torn.png": tall[:40],
        "b": png(Image.new("1", (20_000, 20_000))),
        "script.png": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    }  # fmt: skip
    names = [["a.png", "torn.png"], ["deep.png"], [], ["torn.png"], ["gone.png"], ["b"], ["script.png"]]
    cases = pictured.cases.head(len(names)).assign(images=names)
    own = pictured.annotations["case_id"].isin(cases["case_id"])
    answers = opened(replace(pictured, cases=cases, annotations=pictured.annotations[own], images=images))
    assert [row["pictured"] for row in answers.rows({"query": {}})["rows"]] == [True, True, False, *[True] * 4]
    for i in range(2, 8):
        with pytest.raises(InputError, match=r"image|too large|no such case"):
            answers.thumbnail({"position": i})
    for i, size in ((0, (round(SIDE / 3), SIDE)), (1, (60, 60))):
        file = answers.thumbnail({"position": i})
        assert file.kind == "image/jpeg"
        assert Image.open(BytesIO(file.content)).size == size


def test_a_tag_is_shown_filtered_by_exported_and_removed(made: Made) -> None:
    answers = made()
    assert _tag(answers, 3, "artefact") == ["artefact"]
    assert _tag(answers, 3, " old \n film ") == ["artefact", "old film"]
    assert _tag(answers, 5, "artefact", **OTHER) == ["artefact"]
    assert _where(answers, "tagged['artefact']") == [3, 5]
    assert _where(answers, "tagged['artefact'] and not tagged['old film']") == [5]
    assert len(_where(answers, "tags == 0")) == 16
    rows = answers.rows({"query": {}, "start": 0, **ME})["rows"]
    assert [row["tags"] for row in rows[3:6]] == [["artefact", "old film"], [], ["artefact"]]
    assert _tags(answers)[rows[3]["id"]] == "artefact; old film"
    shown = answers.tags({"position": 5, **ME})
    assert [(one["mine"], one["by"]) for one in shown["tags"]] == [(False, ["Dr B"])]
    assert shown["known"] == ["artefact", "old film"]
    before = answers.select({"query": {"where": "tagged['artefact']"}, **ME})
    assert _tag(answers, 3, "artefact", removed=True) == ["old film"]
    assert _tag(answers, 5, "artefact", removed=True) == ["artefact"], "another's tag is theirs to remove"
    scope = {"query": {"where": "tagged['artefact']"}, **ME, "as_of": before["as_of"], "start": 0}
    assert [row["position"] for row in answers.rows(scope)["rows"]] == [3, 5], "the list stays while one works on it"
    assert _where(answers, "tagged['artefact']") == [5]


def test_a_view_is_kept_and_removed_for_everyone(made: Made) -> None:
    answers, elsewhere = made(), made()
    eyes = {"organ": "eye", "where": "length > 10", "sort": "confidence"}
    kept = answers.keep_view({"name": " Eyes ", "query": eyes, **ME})["views"]
    assert [(one["name"], one["by"]) for one in kept] == [("Eyes", "Dr A")]
    query, _ = from_fragment(elsewhere.views({})["views"][0]["fragment"])
    assert query == Query(organ="eye", where="length > 10", sort="confidence")
    assert answers.keep_view({"name": "Eyes", "query": eyes, **OTHER})["views"][0]["by"] == "Dr B"
    with pytest.raises(InputError, match="Eyes is there already, by Dr B; remove it, or choose another name"):
        elsewhere.keep_view({"name": "Eyes", "query": {}, **OTHER})
    assert elsewhere.remove_view({"name": "Eyes", **ME})["views"] == []
    for wrong, said in (({"name": ""}, "empty"), ({"reviewer": ""}, "reviewer is empty"), ({"name": "x" * 81}, "80")):
        with pytest.raises(InputError, match=said):
            answers.keep_view({"name": "x", "query": {}, **ME, **wrong})
