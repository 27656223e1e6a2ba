"""`mrb construct filter` and `respond`, as a shell runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.build.construct.work import Work

from ..build.construct.answerers import Script, scripted, started
from .conftest import Result, parsed

ITEMS = pd.DataFrame({"item_id": [f"i{i}" for i in range(8)], "images": [[] for _ in range(8)],
                      "question": "Which organ?", "reference": "liver", "choices": None})  # fmt: skip


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    with scripted(
        tmp_path, ["m1", "m2"], lambda model, item, sample: "liver" if item < "i4" else f"{model}\x1b[2J"
    ) as one:
        yield one


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return started(tmp_path / "work", ITEMS, "simulated")


def test_filter_and_respond_print_their_tables_and_say_simulated(
    mrb: Callable[..., Result], work: Work, script: Script, tmp_path: Path
) -> None:
    roster = ("--roster", script.roster)
    options = ("construct", "filter", work.path, "--model", "m1", "--model", "m2", "--keep", "correct < 2", *roster)
    done = mrb(*options)
    assert done.code == 0, done.err
    assert "models SIMULATED" in done.out and "4 of 8 items go on (SIMULATED)" in done.out
    assert "m1: 8 SIMULATED answers made" in done.err and "m1: 8 of 8 answers" in done.err
    again = parsed(mrb(*options, "--json"))
    assert again["step"] == "filter" and again["data_kind"] == "SIMULATED"
    assert [row["accuracy"] for row in again["models"]] == [0.5, 0.5]
    assert [(row["reason"], row["n"]) for row in again["funnel"]] == [("kept", 4), ("not correct < 2", 4)]
    pool = tmp_path / "pool.toml"
    pool.write_text('[[model]]\nname = "m2"\nprompt = "short-answer"\n')
    answered = mrb("construct", "respond", work.path, "--responder", "m1", "--plan", pool, *roster)
    assert answered.code == 0 and "4 of 4 items go on" in answered.out and "\x1b" not in answered.out + answered.err
    assert [table["prompt"] for table in work.choices("respond")["models"]] == ["open-answer", "short-answer"]


def test_bad_usage_is_one_line_and_exit_code_2(
    mrb: Callable[..., Result], work: Work, script: Script, tmp_path: Path
) -> None:
    model = ("--model", "m1", "--roster", script.roster)
    for arguments, said in (
        (("filter", work.path), "no model is named"),
        (("filter", tmp_path, *model), "is not a work folder"),
        (("filter", work.path, *model, "--keep", "corect"), "'corect' is unknown"),
        (("filter", work.path, *model, "--mark", "guess"), "mark 'guess'"),
        (("filter", work.path, *model, "--mark", "judge"), "--marking-judge"),
        (("filter", work.path, *model, "--retry", "ok"), "retry ok"),
        (("filter", work.path, *model, "--workers", "2"), "need engine ray"),
        (("respond", work.path, "--responder", "m1", "--roster", script.roster), "is alone"),
        (("respond", work.path, "--plan", tmp_path / "none.toml"), "cannot be read"),
    ):
        result = mrb("construct", *arguments)
        assert result.code == 2 and said in result.err and result.out == "", (arguments, result)
        assert [row for row in result.err.splitlines() if row.startswith("mrb: ")] == result.err.splitlines()[-1:]
    assert script.asked == 0
