"""An engine is one decorated class or function; every place that names engines follows from it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges import ENGINES, JudgeRequest, PromptlessJudge, engine
from mrb_lib.judges.roster.roster import entries, entry_of
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import KEYS
from mrb_lib.verdicts.store import load_verdicts


@pytest.fixture
def toy() -> Iterator[None]:
    """An engine that needs no model, registered as a plugin registers one, and taken away again."""

    @engine("toy", about="the response with more capital letters")
    class ToyJudge(PromptlessJudge):
        def __init__(self, request: JudgeRequest) -> None:
            self.name = request.entry.name

        def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
            first, second = (shown[side].str.count("[A-Z]") for side in ("first", "second"))
            pick = np.select([first > second, first < second], ["first", "second"], "tie")
            return shown[list(KEYS)].assign(pick=pick, status="ok")

    yield
    del ENGINES._features["toy"]


def test_every_engine_of_the_roster_is_registered_and_says_what_it_does() -> None:
    assert {entry.engine for entry in entries()} <= set(ENGINES)
    for name, one in ENGINES.items():
        assert one.name == name
        assert 10 < len(one.about) < 100
        assert one.missing_packages() == []


def test_a_registered_engine_is_a_judge_of_its_own_name_and_judges_for_others(
    toy: None, pictured: Benchmark, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('[common]\nengine = "toy"\n[[judge]]\nname = "mine"\n', encoding="utf-8")
    names = ["toy", "qwen2-vl-7b+toy", "mine"]
    judge(pictured, tmp_path / "runs", names, extra=[mine], settings=Settings(), limit=3)
    choices = load_verdicts(tmp_path / "runs").groupby("judge")["choice"].agg(list)
    assert set(choices.index) == set(names)
    assert choices["toy"] == choices["mine"] == choices["qwen2-vl-7b+toy"]
    [entry] = [entry for entry in entries() if entry.name == "toy"]
    assert (entry.engine, entry.about) == ("toy", "the response with more capital letters")
    with pytest.raises(InputError, match=r"engines are .*, toy\b"):
        entry_of("qwen2-vl-7b+magic")


def test_an_engine_is_registered_once() -> None:
    with pytest.raises(ValueError, match="'packed' is registered twice"):
        engine("packed", about="again")(lambda request: pytest.fail("never made"))


def test_a_package_that_is_missing_is_named_with_how_to_install_it() -> None:
    one = ENGINES["packed"]
    absent = type(one)("absent", "needs what nobody has", one.build, packages=("no_such_package",))
    with pytest.raises(InputError, match="judge 'j': needs no_such_package; install it with `pip install no_such_pack"):
        absent.check_packages("j")
