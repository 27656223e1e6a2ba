"""Controls draw again what is chosen, and where no page answers what is drawn first is all there is."""

from __future__ import annotations

from typing import Any

import ipywidgets
import pytest

from mrb_lib.review import controls
from mrb_lib.review.controls import choose
from mrb_lib.tables.errors import InputError

from .boards.judged import judged


class Drawn:
    """What was drawn, and what was shown of it or said instead."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.calls: list[dict[str, Any]] = []
        self.shown: list[object] = []
        self._capsys = capsys
        monkeypatch.setattr(controls, "can_run", lambda: True)
        monkeypatch.setattr("IPython.display.display", self.shown.append)

    def draw(self, dimension: str, judges: list[str], policy: str, by: str | None) -> int:
        self.calls.append({"dimension": dimension, "judges": judges, "policy": policy, "by": by})
        if policy == "net":
            raise InputError("net: choose another.")
        return len(self.calls)

    def said(self) -> str:
        return self._capsys.readouterr().out


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Drawn:
    return Drawn(monkeypatch, capsys)


def _controls(view: Any) -> dict[str, Any]:
    row, shown = view.children
    assert isinstance(shown, ipywidgets.Output)
    return {control.description: control for control in row.children}


def test_there_is_a_control_for_each_parameter_and_each_change_is_drawn(drawn: Drawn) -> None:
    benchmark, verdicts = judged()
    names = sorted(verdicts["judge"].unique())
    offered = _controls(choose(benchmark, verdicts, drawn.draw, policy="strict"))
    assert list(offered) == ["dimension", "policy", "by", "judges"]
    assert [value for _, value in offered["judges"].options] == names
    assert [value for _, value in offered["dimension"].options] == list(benchmark.meta.dimensions)
    first = {"dimension": "overall", "judges": names, "policy": "strict", "by": None}
    assert drawn.calls == [first]
    offered["dimension"].value = "accuracy"
    offered["judges"].value = names[1:2]
    offered["by"].value = "organ"
    changed = first | {"dimension": "accuracy"}
    fewer = changed | {"judges": names[1:2]}
    assert drawn.calls[1:] == [changed, fewer, fewer | {"by": "organ"}]
    assert drawn.shown == [1, 2, 3, 4]


def test_only_what_is_drawn_with_has_a_control(drawn: Drawn) -> None:
    benchmark, _ = judged()
    assert list(_controls(choose(benchmark, None, lambda policy: policy))) == ["policy"]
    assert drawn.shown == ["balanced"]
    with pytest.raises(InputError, match="takes none of dimension, policy, by, judges"):
        choose(benchmark, None, lambda: 1)
    with pytest.raises(InputError, match="no verdicts"):
        choose(benchmark, None, lambda judges: judges)


def test_what_cannot_be_drawn_is_said_in_its_place(drawn: Drawn) -> None:
    benchmark, verdicts = judged()
    offered = _controls(choose(benchmark, verdicts, drawn.draw))
    offered["policy"].value = "net"
    assert "net: choose another." in drawn.said()
    offered["policy"].value = "balanced"
    offered["judges"].value = ()
    assert "at least one judge" in drawn.said()
    assert [call["policy"] for call in drawn.calls] == ["balanced", "net", "balanced"]
    assert drawn.shown == [1, 3]


def test_without_a_page_the_first_choice_is_drawn_once(drawn: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controls, "can_run", lambda: False)
    benchmark, verdicts = judged()
    judge = sorted(verdicts["judge"].unique())[0]
    assert choose(benchmark, verdicts, drawn.draw, dimension="accuracy", judges=[judge], by="organ") == 1
    assert drawn.calls == [{"dimension": "accuracy", "judges": [judge], "policy": "balanced", "by": "organ"}]
    assert drawn.shown == []


@pytest.mark.parametrize("wrong", [{"dimension": "odd"}, {"policy": "odd"}, {"by": "odd"}, {"judges": ["odd"]}])
def test_a_first_choice_that_is_not_on_offer_is_refused(drawn: Drawn, wrong: dict[str, Any]) -> None:
    benchmark, verdicts = judged()
    with pytest.raises(InputError, match="odd"):
        choose(benchmark, verdicts, drawn.draw, **wrong)
    assert not drawn.calls
