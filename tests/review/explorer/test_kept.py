"""Tags on cases, named views and small pictures: what the explorer answers, to whom, and what it refuses."""

from __future__ import annotations

import csv
import io
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
from mrb_lib.review.explorer.adjudicate import NO_STORE, Reviews
from mrb_lib.review.explorer.answers import SIDE, ExplorerAnswers
from mrb_lib.review.explorer.data import ExplorerData, explorer_data
from mrb_lib.review.failures.query import Query, from_fragment
from mrb_lib.review.records.exchange import guarded
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.errors import InputError
from tests.browser.hostile import ATTACKS

ME, OTHER = {"reviewer": "Dr A"}, {"reviewer": "Dr B"}


@pytest.fixture(scope="module")
def data(pictured: Benchmark) -> ExplorerData:
    return explorer_data(pictured)


@pytest.fixture
def made(data: ExplorerData, tmp_path: Path) -> Callable[..., ExplorerAnswers]:
    def make(*, blind: bool = False) -> ExplorerAnswers:
        reviews = Reviews(data.benchmark.meta.name, tmp_path / "r.sqlite")
        return ExplorerAnswers(data, reviews, blind=blind)

    return make


def _tag(answers: ExplorerAnswers, position: int, tag: str, **more: Any) -> list[str]:
    seen = answers.case({"position": position})
    sight = {name: seen[name] for name in ("position", "case_id", "version")}
    return [one["tag"] for one in answers.tag({**sight, "tag": tag, **ME, **more})["tags"]]


def _where(answers: ExplorerAnswers, where: str, **who: Any) -> list[int]:
    found = answers.select({"query": {"where": where}, **(who or ME)})
    return [row["position"] for row in found["rows"]]


def _csv(answers: ExplorerAnswers, **who: Any) -> dict[str, str]:
    text = answers.export({"query": {}, "format": "csv", **who}).content.decode()
    return {row["case_id"]: row["tags"] for row in csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))}


def test_a_tag_is_shown_filtered_by_exported_and_removed(made: Callable[..., ExplorerAnswers]) -> None:
    answers = made()
    assert _tag(answers, 3, "artefact") == ["artefact"]
    assert _tag(answers, 3, " old \n film ") == ["artefact", "old film"]
    assert _tag(answers, 5, "artefact", **OTHER) == ["artefact"]
    assert _where(answers, "tag == 'artefact'") == [3, 5]
    assert _where(answers, "tag == 'artefact' and tag != 'old film'") == [5]
    assert len(_where(answers, "tag is None")) == 16
    rows = answers.rows({"query": {}, "start": 0, **ME})["rows"]
    assert [row["tags"] for row in rows[3:6]] == [["artefact", "old film"], [], ["artefact"]]
    exported = _csv(answers, **ME)
    assert exported[rows[3]["id"]] == "artefact; old film"
    shown = answers.tags({"position": 5, **ME})
    assert [(one["mine"], one["by"]) for one in shown["tags"]] == [(False, ["Dr B"])]
    assert shown["known"] == ["artefact", "old film"]
    assert _tag(answers, 3, "artefact", removed=True) == ["old film"]
    assert _tag(answers, 5, "artefact", removed=True) == ["artefact"], "another's tag is theirs to remove"
    with open_store(answers.reviews.where, create=False) as store:
        assert len(store.tags(answers.reviews.benchmark, history=True)) == 5


def test_a_tag_is_about_the_case_in_sight_and_needs_a_name(made: Callable[..., ExplorerAnswers]) -> None:
    answers = made()
    seen, another = answers.case({"position": 3}), answers.case({"position": 4})
    sight = {name: seen[name] for name in ("position", "case_id", "version")}
    for wrong in ({"case_id": another["case_id"]}, {"version": another["version"]}, {"position": 4}, {"version": None}):
        with pytest.raises(InputError, match="the case in your window is not the one"):
            answers.tag({**sight, "tag": "x", **ME, **wrong})
    for wrong, said in (({"reviewer": " "}, "nobody is signed in"), ({"tag": " "}, "empty"), ({"tag": "x" * 41}, "40")):
        with pytest.raises(InputError, match=said):
            answers.tag({**sight, "tag": "x", **ME, **wrong})
    assert answers.reviews.history("tags").empty


def test_a_list_stays_as_it_is_while_tags_are_removed(made: Callable[..., ExplorerAnswers]) -> None:
    answers = made()
    for position in (3, 5, 7):
        _tag(answers, position, "artefact")
    query = {"where": "tag == 'artefact'"}
    before = answers.select({"query": query, **ME})
    _tag(answers, 5, "artefact", removed=True)
    scope = {"query": query, **ME, "as_of": before["as_of"], "start": 0}
    assert [row["position"] for row in answers.rows(scope)["rows"]] == [3, 5, 7]
    assert _where(answers, query["where"]) == [3, 7]
    json.dumps(before)


def test_tags_of_others_wait_for_ones_own_review(made: Callable[..., ExplorerAnswers]) -> None:
    answers = made(blind=True)
    _tag(answers, 3, "gold looks wrong", **OTHER)
    hidden = answers.tags({"position": 3, **ME})
    assert (hidden["tags"], hidden["hidden"], hidden["known"]) == ([], 1, [])
    assert _where(answers, "tag == 'gold looks wrong'") == []
    assert _where(answers, "tag == 'gold looks wrong'", **OTHER) == [3]
    assert "gold looks wrong" not in json.dumps(answers.rows({"query": {}, "start": 0, **ME}))
    assert set(_csv(answers, **ME).values()) == {""}
    seen = answers.case({"position": 3})
    sight = {name: seen[name] for name in ("position", "case_id", "version")}
    given = {"verdict": "ambiguous", "dimension": "overall", "adjudication_id": "0" * 32}
    answers.save({**sight, **given, **ME})
    shown = answers.tags({"position": 3, **ME})
    assert ([one["tag"] for one in shown["tags"]], shown["hidden"]) == (["gold looks wrong"], 0)
    assert _where(answers, "tag == 'gold looks wrong'") == [3]
    assert answers.rows({"query": {}, "start": 3, **ME})["rows"][0]["tags"] == ["gold looks wrong"]


def test_a_view_is_kept_replaced_and_removed_for_everyone(made: Callable[..., ExplorerAnswers]) -> None:
    answers, elsewhere = made(), made()
    eyes = {"organ": "eye", "where": "length > 10", "sort": "confidence"}
    kept = answers.keep_view({"name": " Eyes ", "query": eyes, **ME})["views"]
    assert [(one["name"], one["by"]) for one in kept] == [("Eyes", "Dr A")]
    query, _ = from_fragment(elsewhere.views({})["views"][0]["fragment"])
    assert query == Query(organ="eye", where="length > 10", sort="confidence")
    taken = elsewhere.keep_view({"name": "Eyes", "query": {}, **OTHER})
    assert taken["taken"]["by"] == "Dr A"
    assert taken["views"] == kept
    replaced = elsewhere.keep_view({"name": "Eyes", "query": {}, **OTHER, "replaced": kept[0]["created"]})["views"]
    assert [(one["fragment"], one["by"]) for one in replaced] == [("", "Dr B")]
    assert elsewhere.remove_view({"name": "Eyes", **ME})["views"] == []
    for wrong, said in (({"name": ""}, "empty"), ({"reviewer": ""}, "nobody is signed in"), ({"name": "x" * 81}, "80")):
        with pytest.raises(InputError, match=said):
            answers.keep_view({"name": "x", "query": {}, **ME, **wrong})


def test_without_a_store_it_is_said_why(data: ExplorerData) -> None:
    answers = ExplorerAnswers(data, Reviews(data.benchmark.meta.name, None))
    for ask in (answers.views, lambda _: _tag(answers, 3, "x")):
        with pytest.raises(InputError, match=NO_STORE):
            ask({})
    assert answers.tags({"position": 3, **ME})["tags"] == []
    assert len(_where(answers, "tag is None")) == 18


@pytest.mark.parametrize("text", ATTACKS)
def test_hostile_texts_are_kept_as_texts(made: Callable[..., ExplorerAnswers], text: str) -> None:
    answers = made()
    plain = " ".join(text.replace("\0", "\ufffd").split())
    view = answers.keep_view({"name": plain[:80], "query": {"where": f"question == {text!r}"}, **ME})["views"]
    assert [one["name"] for one in view] == [plain[:80].strip()]
    tag = plain[:40].strip()
    assert _tag(answers, 2, tag) == [tag]
    assert _where(answers, f"tag == {tag!r}") == [2]
    cell = _csv(answers, **ME)[str(answers.data.benchmark.cases["case_id"].iloc[2])]
    assert not cell.startswith(("=", "+", "-", "@")), "no spreadsheet runs it"
    assert cell == guarded(tag)
    json.dumps(view, ensure_ascii=False).encode()


def _png(height: int, width: int, values: type = np.uint8) -> bytes:
    stream = BytesIO()
    Image.fromarray(np.full((height, width), 7, dtype=values)).save(stream, "png")
    return stream.getvalue()


def _bench(pictured: Benchmark, images: dict[str, bytes], names: list[list[str]]) -> Benchmark:
    cases = pictured.cases.head(len(names)).assign(images=names)
    own = pictured.annotations["case_id"].isin(cases["case_id"])
    return replace(pictured, cases=cases, annotations=pictured.annotations[own], images=images)


def test_pictures_are_small_and_the_unreadable_have_a_plain_mark(pictured: Benchmark) -> None:
    bomb = Image.new("1", (20_000, 20_000))
    stream = BytesIO()
    bomb.save(stream, "png")
    images = {
        "a.png": _png(900, 300),
        "deep.png": _png(60, 60, np.uint16),
        "torn.png": _png(9, 9)[:40],
        "b": stream.getvalue(),
    }
    images["script.png"] = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    names = [["a.png", "torn.png"], ["deep.png"], [], ["torn.png"], ["gone.png"], ["b"], ["script.png"]]
    answers = ExplorerAnswers(explorer_data(_bench(pictured, images, names)), Reviews("b", None))
    assert [row["pictured"] for row in answers.rows({"query": {}})["rows"]] == [True, True, False, *[True] * 4]
    for i in range(2, 7):
        with pytest.raises(InputError, match=r"image|too large"):
            answers.thumbnail({"position": i})
    for i, size in ((0, (round(SIDE / 3), SIDE)), (1, (60, 60))):
        file = answers.thumbnail({"position": i})
        assert file.kind == "image/jpeg"
        assert Image.open(BytesIO(file.content)).size == size


def test_a_picture_is_made_once(pictured: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def small(content: bytes, side: int, name: str) -> Image.Image:
        made.append(name)
        return Image.new("L", (4, 4))

    monkeypatch.setattr("mrb_lib.review.explorer.answers.thumbnail", small)
    bench = _bench(pictured, {"a.png": b"x", "b.png": b"x"}, [["a.png"], ["b.png"]])
    answers = ExplorerAnswers(explorer_data(bench), Reviews("b", None))
    assert answers.thumbnail({"position": 0}) == answers.thumbnail({"position": 0})
    answers.thumbnail({"position": 1})
    assert made == ["a.png", "b.png"]


@pytest.mark.parametrize("wrong", [None, 18, -1, "0", [0]])
def test_a_picture_of_no_case_is_refused(made: Callable[..., ExplorerAnswers], wrong: object) -> None:
    with pytest.raises(InputError):
        made().thumbnail({"position": wrong})
