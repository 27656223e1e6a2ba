"""The dense layout of verdicts holds every row once, and refuses what it cannot hold."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.panel import as_panel, panels
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import cases_of, verdicts_of


def test_costs_are_kept_by_dimension_order_and_repeat() -> None:
    said = {("j", "AB", 0): "AB", ("j", "BA", 0): "AB", ("j", "AB", 4): "A-"}
    verdicts = pd.concat([verdicts_of(said), verdicts_of({("j", "AB"): "BB"}, "accuracy")], ignore_index=True)
    verdicts["prompt_tokens"] = np.arange(len(verdicts), dtype=float)
    cases, keys = cases_of(2)["case_id"], ["dimension", "order", "repeat"]
    panel = as_panel(verdicts, cases)
    expected = verdicts.groupby(keys)["prompt_tokens"].agg(["size", "mean"])
    found = panel.costs.set_index(keys)[["n_verdicts", "prompt_tokens"]]
    assert found.to_dict("index") == expected.set_axis(found.columns, axis=1).to_dict("index")
    one = as_panel(panel, cases, ["overall", "creativity"])
    assert one.costs["dimension"].tolist() == ["overall"] * 3
    assert as_panel(verdicts.drop(columns="prompt_tokens"), cases, ["accuracy"]).costs.empty


def test_what_cannot_be_laid_out_is_refused() -> None:
    verdicts = verdicts_of({("j", "AB"): "AB"})
    with pytest.raises(InputError, match=r"two verdicts of one kind on case c1"):
        as_panel(pd.concat([verdicts, verdicts.tail(1)]), cases_of(2)["case_id"])
    with pytest.raises(InputError, match="'c1' is not one of"):
        as_panel(verdicts, cases_of(1)["case_id"])
    with pytest.raises(InputError, match="in two tables"):
        panels([verdicts, verdicts], cases_of(2)["case_id"])
    with pytest.raises(InputError, match="panel of 2 cases does not fit 3"):
        as_panel(as_panel(verdicts, cases_of(2)["case_id"]), cases_of(3)["case_id"])
