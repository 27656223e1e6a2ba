"""Input of a judge that ranks all responses to an item: these responses, and all cases of an item at once."""

import hashlib
from dataclasses import replace
from typing import Literal, Protocol, runtime_checkable

import pandas as pd

from mrb_lib.benchmarks.case_digests import item_keys
from mrb_lib.runs.plan import Plan
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import ITEM_RESPONSES
from mrb_lib.verdicts.protocol import Judge


@runtime_checkable
class RanksItems(Protocol):
    """A judge whose prompt shows all responses to an item."""

    @property
    def ranks_items(self) -> Literal[True]: ...


def by_items(plan: Plan, judge: Judge, cases: pd.DataFrame) -> Plan:
    """Return the plan as a judge needs it: for one that ranks items with the column `item_responses`, and `items`.

    Parameters
    ----------
    cases : all of the benchmark, so that a row is shown with the same responses however few are judged

    Returns
    -------
    Plan
        Cases are of one item where they share what `items_of` names.

    Raises
    ------
    InputError
        The plan has probes, which change one case and not the others of its item.
    """
    if not isinstance(judge, RanksItems):
        return plan
    if plan.probing is not None:
        raise InputError(
            f"judge {judge.name}: ranks all responses to an item together, and a probe changes one case alone; "
            "leave out the probes, or name the judge without +batch."
        )
    item = items_of(cases)
    texts = pd.concat([cases["response_a"], cases["response_b"]]).to_numpy()
    responses = pd.Series(texts).groupby([*item, *item]).agg(lambda own: sorted(set(own)))
    own_items = plan.cases["case_id"].map(item)
    return replace(
        plan, cases=plan.cases.assign(**{ITEM_RESPONSES: own_items.map(responses)}), items=own_items.to_numpy()
    )


def items_of(cases: pd.DataFrame) -> pd.Series:
    """Return the item of each case, as a number, by `case_id`.

    Cases are of one item where they share `item` (see `items.item_keys`) and all else that a prompt shows
    of them: question, images and reference.
    """
    shown = pd.DataFrame({"item": item_keys(cases), "question": cases["question"]})
    shown["images"] = cases["images"].map("\n".join, na_action="ignore") if "images" in cases else None
    shown["reference"] = cases.get("reference")
    codes = shown.groupby(list(shown), sort=False, dropna=False).ngroup()
    return pd.Series(codes.to_numpy(), index=cases["case_id"])


def digest_of_items(cases: pd.DataFrame) -> str:
    """Return a digest of which cases are of one item: a run of a judge that ranks items is of this grouping."""
    items = items_of(cases)
    text = "\0".join(f"{case}\t{item}" for case, item in zip(items.index, items, strict=True))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
