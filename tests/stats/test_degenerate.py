"""Data that tell little: values keep to their ranges, intervals have a width, nulls have a reason."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analyze import TABLES, analyze
from mrb_lib.tables.errors import InputError
from tests.stats.every_table import KNOWN, full_benchmark
from tests.stats.small_tables import OF_PREFERENCES

BENCHMARK, VERDICTS = full_benchmark()


LABELS = gold(BENCHMARK).set_index("case_id")["choice"]


RIGHT, SURE = VERDICTS["case_id"].map(LABELS).fillna("tie"), {"A": 1.0, "B": 0.0, "tie": 0.5}


FEW = BENCHMARK.cases["case_id"].head(2)


DATA = {
    "always right and certain": (BENCHMARK, VERDICTS.assign(choice=RIGHT, p_a=RIGHT.map(SURE))),
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


REASONS = {
    "accuracy": {
        "always the first": ["cohen_kappa: gold or verdicts contain one category only", "the cases do not differ"],
        "one judge and order": ["verdicts came in one order only, so position bias is not averaged out"],
        "two cases": ["gold names a side in fewer than 5 clusters"],
        "no label": ["no case can be scored"],
    },
    "agreement": {
        "one cluster": ["fewer than two clusters", "nominal labels: no weighted kappa, AC2 or ICC"],
        "two cases": ["share fewer than 20 cases"],
        "no label": ["there are no annotations"],
    },
    "best_of_n": {"no label": ["no item has so many responses with a gold label on every pair"]},
    "bias": {
        "always right and certain": ["a predictor decides all or nearly all choices", "_accuracy is undefined"],
        "always the first": ["fewer clusters than ten for each predictor"],
        "two cases": ["undefined: fewer than ten cases with a verdict show it"],
        "no label": ["association only: no case has two annotators", "no case with a verdict has a gold label"],
    },
    "calibration": {
        "always right and certain": ["temperature has no best value", "not recalibrated"],
        "one cluster": ["fewer than two clusters"],
        "two cases": ["wrong_at_high_confidence is undefined: no confidence reaches .9"],
    },
    "ceiling": {
        "two cases": ["no annotator is tested: fewer than 30 independent cases", "no verdict: fewer than 30 cases",
                      "no interval of difference: the cases do not differ"],
        "no label": ["there are no annotations"],
    },
    "consistency": {"one judge and order": ["no case was presented in both orders"]},
    "contamination": {
        "two cases": ["no scored case is dated after the cut-off", "its own may be later"],
        "no label": ["no scored case has a date that tells its side"],
    },
    "criteria": {"no label": ["it never separates responses", "no case can be scored", "no verdict is wrong"]},
    "dif": {
        "always right and certain": ["no finite odds ratio"], "one cluster": ["more than three quarters of the cases"],
        "one judge and order": ["matching by difficulty needs two judges or more"],
    },
    "difficulty": {
        "always right and certain": ["no difficulty: judges fail together", "no judge gave another label"],
        "no label": ["no model: fewer than two judges are scored"],
    },
    "groups": {"two cases": ["fewer than 3 families"], "no label": ["no judge of a group is scored here"]},
    "jury": {"one cluster": ["no other cluster has a labelled case"], "no label": ["no case can be scored"]},
    "models": {
        "always right and certain": ["always right: the log odds are infinite"],
        "always the first": ["no finite estimate"], "one judge and order": ["not identified"],
        "two cases": ["no interval of estimate, marginal_effect: fewer than 5 clusters"],
        "no label": ["no verdict on a case with a decisive gold label"],
    },
    "power": {"one judge and order": ["a comparison takes two judges"]},
    "ppi": {"no label": ["fewer than two labelled cases"], "always the first": ["correlation is undefined"]},
    "probes": {"no label": ["accuracy is undefined: no case that is judged in both has a gold label"]},
    "ranking": {"no label": ["no item whose responses gold and judge both put in an order", "no case can be scored"]},
    "significance": {
        "always right and certain": ["the judges do not differ on any case"],
        "one cluster": ["the same in every cluster"], "one judge and order": ["there is one judge only"],
        "no label": ["could not be tested against every judge", "fewer than two cases are scored for every judge"],
    },
    "transfer": {
        "always right and certain": ["it takes two judges that are not equal", "sampling error is taken as binomial"],
        "always the first": ["same score throughout", "clusters lie in several domains", "it needs three domains"],
        "one cluster": ["no interval of accuracy: every domain is one cluster"],
    },
}  # fmt: skip
"""Some of the reasons that rows of each table give."""


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("table", OF_PREFERENCES)
def test_estimates_are_in_range_and_nulls_are_explained(table: str, data: str) -> None:
    spec = TABLES[table]
    try:
        rows = analyze(*DATA[data], table, resamples=40, **KNOWN)
    except InputError as error:
        assert str(error).endswith(".")
        return
    said = "; ".join(rows["reason"].dropna().unique())
    assert [reason for reason in REASONS.get(table, {}).get(data, []) if reason not in said] == []
    for column in spec.declared:
        values = pd.to_numeric(rows[column.name], errors="coerce").astype(float)
        low, high = RANGES.get(column.unit, (-np.inf, np.inf))
        if column.name != "position_preference":  # an unbiased estimate of a share near 0 may be below it
            assert values.dropna().between(low - 1e-12, high + 1e-12).all(), column.name
        if not column.ends:
            continue
        below, above = (rows[end].astype(float) for end in column.ends)
        known = below.notna() & above.notna()
        assert values[known].between(below[known] - 1e-9, above[known] + 1e-9).all(), column.name
        wide = known & ~(values.isin([0, 1]) & (column.unit in ("difference", "coefficient")))  # copies do not differ
        assert (below[wide] < above[wide]).all(), f"{column.name} is certain"
        own = rows["part"].isin(column.parts) if column.parts else pd.Series(True, rows.index)
        bare = rows["reason"][own & values.notna() & ~known]
        assert bare.fillna("").str.contains(column.name, regex=False).all(), f"no interval of {column.name}"
