"""Data that tell little: values keep to their ranges, intervals have a width, nulls have a reason."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analyze import TABLES, analyze
from mrb_lib.tables.errors import InputError
from tests.stats.every_table import KNOWN, full_benchmark
from tests.stats.small_tables import (
    OF_PREFERENCES,
)

BENCHMARK, VERDICTS = full_benchmark()


LABELS = gold(BENCHMARK).set_index("case_id")["choice"]


RIGHT = VERDICTS["case_id"].map(LABELS).fillna("tie")


FEW = BENCHMARK.cases["case_id"].head(2)


DATA = {
    "always right and certain": (
        BENCHMARK,
        VERDICTS.assign(choice=RIGHT, p_a=RIGHT.map({"A": 1.0, "B": 0.0, "tie": 0.5})),
    ),
    "always the first": (BENCHMARK, VERDICTS.assign(choice=VERDICTS["order"].str[0], p_a=0.9)),
    "one cluster": (replace(BENCHMARK, cases=BENCHMARK.cases.assign(cluster="one")), VERDICTS),
    "two cases": (
        replace(BENCHMARK, cases=BENCHMARK.cases.head(2), annotations=BENCHMARK.annotations.query("case_id in @FEW")),
        VERDICTS.query("case_id in @FEW"),
    ),
    "one judge and order": (BENCHMARK, VERDICTS.query("judge == 'j1' and order == 'AB'")),
    "no label": (replace(BENCHMARK, annotations=BENCHMARK.annotations.head(0)), VERDICTS),
}


RANGES = {"share 0-1": (0, 1), "difference": (-1, 1), "p 0-1": (0, 1), "odds ratio": (0, np.inf)}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("table", OF_PREFERENCES)
def test_estimates_are_in_range_and_nulls_are_explained(table: str, data: str) -> None:
    spec = TABLES[table]
    try:
        rows = analyze(*DATA[data], table, resamples=40, **KNOWN)
    except InputError as error:
        assert str(error).endswith(".")
        return
    for column in spec.declared:
        values = pd.to_numeric(rows[column.name], errors="coerce").astype(float)
        low, high = RANGES.get(column.unit, (-np.inf, np.inf))
        if column.name != "position_preference":  # an unbiased estimate of a share near 0 may be below it
            assert values.dropna().between(low - 1e-12, high + 1e-12).all(), column.name
        if not column.ends:
            continue
        below, above = (rows[end].astype(float) for end in column.ends)
        known = below.notna() & above.notna()
        assert (below[known] <= values[known] + 1e-9).all() and (values[known] <= above[known] + 1e-9).all(), (
            column.name
        )
        wide = (
            known if column.unit not in ("difference", "coefficient") else known & ~values.isin([0, 1])
        )  # copies do not differ
        assert (below[wide] < above[wide]).all(), f"{column.name} is certain"
        own = rows["part"].isin(column.parts) if column.parts else pd.Series(True, rows.index)
        bare = rows["reason"][own & values.notna() & ~known]
        assert bare.fillna("").str.contains(column.name, regex=False).all(), f"no interval of {column.name}"


def ends(table: pd.DataFrame, low: str = "low", high: str = "high") -> list[list[float]]:
    assert len(table)
    return table[[low, high]].drop_duplicates().to_numpy(dtype=float).tolist()
