"""The verdicts on a case: what each judge chose, whether that agrees with gold, what it was asked and replied."""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import groupby
from math import isfinite
from typing import Any, Final, NamedTuple

import pandas as pd

from mrb_lib.benchmarks.votes import voting
from mrb_lib.review.failures.kinds import Kinds, Scale
from mrb_lib.review.pages import macro
from mrb_lib.stats.verdicts import label_gold
from mrb_lib.stats.where import OUTCOMES, OVERALL
from mrb_lib.tables.schema import NO_PROBE, split_labels
from mrb_lib.verdicts.manifest import Manifest

LONGEST_PROMPT: Final = 50_000
_STATUSES: Final = {
    "ok": "read without leniency",
    "repaired": "read with leniency in its form, or not for every dimension",
    "unparsed": "no choice could be read from it",
    "refused": "it declines to judge",
    "error": "no reply came",
}
_AMOUNTS: Final = {
    "latency_s": "{:,.2f} s",
    "prompt_tokens": "{:,.0f} tokens asked",
    "completion_tokens": "{:,.0f} tokens replied",
}

VerdictRow = Mapping[Hashable, object]


class Cell(NamedTuple):
    """What stands in a cell of a verdict.

    Attributes
    ----------
    choice : None where there is none; of a label whether it was given
    sure : how probable the judge held it; None where it does not say
    right : whether it agrees with gold; None where nobody can say
    off : how many categories it is above the gold one, where they are ordered
    status : empty where all went well
    changed : whether it is another choice than on the plain case
    """

    choice: object
    sure: float | None = None
    right: bool | None = None
    off: int = 0
    status: str = ""
    changed: bool = False


def is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def finite(value: object) -> float | None:
    """A number, or None for whatever stands for a missing one."""
    return value if isinstance(value, float) and isfinite(value) else None


def gold_of(labels: pd.DataFrame) -> dict[str, object]:
    """The gold choice by dimension."""
    return dict(zip(labels["dimension"].astype("str"), labels["choice"], strict=True))


def judged_dimensions(verdicts: pd.DataFrame, gold: Mapping[str, object]) -> list[str]:
    """The dimensions of some verdicts, those with gold labels first, in their order."""
    judged = dict.fromkeys(verdicts["dimension"].astype("str"))
    return [name for name in dict.fromkeys([*gold, *judged]) if name in judged]


def presented(verdicts: pd.DataFrame, *, by_order: bool = False) -> Iterator[tuple[dict[str, Any], list[VerdictRow]]]:
    """The verdicts of each judge and way of presenting the case: repeat, probe and perhaps order.

    Yields
    ------
    dict, list
        `judge`, `how`, the way in words, and `seen`, whether the judge was trained on the case; and its verdicts.
    """
    keys = ["judge", *(["order"] if by_order else []), "repeat", "probe"]
    # Not by pandas, whose sorting by several columns takes longer than all else of a case.
    rows: Sequence[VerdictRow] = sorted(
        verdicts.to_dict("records"),
        key=lambda row: [row[name] if isinstance(row[name], int) else str(row[name]) for name in (*keys, "dimension")],
    )
    for key, group in groupby(rows, key=lambda row: [str(row[name]) for name in keys]):
        way, own = dict(zip(keys, key, strict=True)), list(group)
        how = [f"{way['order'][:1]} first"] if by_order else []
        how += [f"repeat {way['repeat']}"] if way["repeat"] != "0" else []
        how += [f"probe {way['probe']}"] if way["probe"] != NO_PROBE else []
        yield {"judge": way["judge"], "how": ", ".join(how), "seen": any(row.get("seen") is True for row in own)}, own


def verdicts_html(verdicts: pd.DataFrame, labels: pd.DataFrame, scale: Scale | None = None) -> str:
    """A table with a row a judge (and repeat, and probe) and, for each dimension, a column an order.

    A cell holds the choice, how probable the judge held it, and whether it agrees with the gold choice. A judge that
    was trained on the case is marked, and its verdicts are neither right nor wrong. Ratings have one order; below them
    stands the probability of each category, where judges give it.

    Parameters
    ----------
    scale : of ratings; None of preferences. Dimensions of several labels are left to `label_sets_html`
    """
    verdicts = verdicts if scale is None else verdicts[~verdicts["dimension"].isin(list(scale.labels))]
    gold = gold_of(labels)
    dimensions = judged_dimensions(verdicts, gold)
    orders = sorted(set(verdicts["order"].astype("str")))[: None if scale is None else 1]
    rows, probabilities = [], []
    for about, own in presented(verdicts):
        known = {} if about["seen"] else gold
        verdict_on = {(str(one["dimension"]), str(one["order"])): one for one in own}
        cells = [cell(verdict_on.get((name, o)), known.get(name), scale) for name in dimensions for o in orders]
        agree = [one["choice"] == label for one in own if is_text(label := known.get(str(one["dimension"])))]
        chosen = {(one["dimension"], one["choice"]) for one in own if is_text(one["choice"])}
        turned = 0 if about["seen"] else len(chosen) - len({dimension for dimension, _ in chosen})
        counted = f"{sum(agree)} of {len(agree)}" if agree else "no gold"
        rows.append(about | {"cells": cells, "sum": "not counted" if about["seen"] else counted, "turned": turned})
        for name, one in ((name, one) for name in dimensions for one in own if one["dimension"] == name):
            shares, expected = shares_of(one, scale), finite(one.get("score_a"))
            if scale is not None and (shares or expected is not None):
                more = {"dimension": name, "gold": known.get(name), "shares": shares, "expected": expected}
                probabilities.append(about | {"seen": False} | more)
    below = [f"{order[:1]} first" for order in orders] if scale is None else []
    return macro("case_tables", "all_verdicts")(rows, dimensions, below, probabilities, scale)


def chose_html(
    kinds: Kinds, position: int, judges: Sequence[str], dimension: str | None, gold: Mapping[str, object]
) -> str:
    """The gold label of the case at a position and what judges chose, in a line.

    Parameters
    ----------
    judges : unknown ones are left out; where none is left, there is no line
    dimension : None for overall, or the last one where there is no overall
    gold : the gold choice by dimension
    """
    usual = OVERALL if OVERALL in kinds.dimensions else kinds.dimensions[-1]
    at = kinds.dimensions.index(dimension or usual)
    codes = zip(kinds.judges, kinds.grid("said")[:, at, position], kinds.grid("outcome")[:, at, position], strict=False)
    rows = [(name, kinds.choice_name(said), OUTCOMES[outcome]) for name, said, outcome in codes if name in judges]
    return macro("case_tables", "chose")(kinds.dimensions[at], gold.get(kinds.dimensions[at]), rows)


def cell(row: VerdictRow | None, gold: object, scale: Scale | None = None) -> Cell | None:
    """Return what to show of a verdict beside the gold choice; None where there is no verdict."""
    if row is None:
        return None
    if not is_text(row["choice"]):
        return Cell(None, status=_status(row))
    choice, off = str(row["choice"]), 0
    if scale is None:
        p_a = finite(row.get("p_a"))
        probable = {} if p_a is None else {"A": p_a, "B": 1 - p_a}
    else:
        probable = dict(zip(scale.categories, shares_of(row, scale) or [], strict=False))
        if scale.is_ordered and {choice, gold} <= set(scale.categories):
            off = scale.categories.index(choice) - scale.categories.index(str(gold))
    return Cell(choice, probable.get(choice), choice == gold if is_text(gold) else None, off, _status(row))


def _status(row: VerdictRow) -> str:
    return "" if row["status"] == "ok" else str(row["status"])


def shares_of(row: VerdictRow, scale: Scale | None) -> list[float] | None:
    """The probability of each category by the verdict's `p_categories`; None where there is no such list."""
    stated = row.get("p_categories")
    try:
        found = json.loads(stated) if isinstance(stated, str) and scale is not None else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or scale is None or len(found) != len(scale.categories):
        return None
    return found if all(isinstance(one, int | float) for one in found) else None


def beside_html(verdicts: pd.DataFrame, labels: pd.DataFrame, probe: str, scale: Scale | None = None) -> str:
    """A row a judge, order and repeat, and for each dimension its plain verdict and that under the probe.

    A verdict under the probe that is not the plain choice is marked; where one of the two has no choice, nothing is.

    Parameters
    ----------
    verdicts : of one case, under any probes
    labels : the gold labels of the case
    scale : of ratings; None of preferences
    """
    under = verdicts["probe"].fillna(NO_PROBE).astype("str")
    probed = verdicts[under.eq(probe).to_numpy(dtype=bool)]
    plain = {_key(row): row for row in verdicts[under.eq(NO_PROBE).to_numpy(dtype=bool)].to_dict("records")}
    gold = gold_of(labels)
    dimensions, rows = judged_dimensions(probed, gold), []
    for about, own in presented(probed.assign(probe=NO_PROBE), by_order=scale is None):
        known = {} if about["seen"] else gold
        by_dimension = {str(one["dimension"]): one for one in own}
        cells: list[Cell | None] = []
        changed = []
        for name in dimensions:
            was = cell(plain.get(_key({**own[0], "dimension": name})), known.get(name), scale)
            now = cell(by_dimension.get(name), known.get(name), scale)
            if was and now and None not in (was.choice, now.choice):
                changed.append(was.choice != now.choice)
                now = now._replace(changed=changed[-1])
            cells += [was, now]
        rows.append(about | {"cells": cells, "sum": f"{sum(changed)} of {len(changed)}" if changed else ""})
    return macro("case_tables", "beside")(rows, dimensions, scale is not None)


def _key(row: VerdictRow) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("judge", "order", "repeat", "dimension"))


def label_sets_html(votes: pd.DataFrame, verdicts: pd.DataFrame, scale: Scale | None, heading: str) -> str:
    """A table a dimension of several labels: a row a label, with the annotators and the judges who gave it.

    Parameters
    ----------
    votes, verdicts : the annotations and verdicts of one case
    heading : the tag of the headings
    """
    tables = []
    for dimension, labels in ({} if scale is None else scale.labels).items():
        cast, own = (table[table["dimension"] == dimension] for table in (votes, verdicts))
        chosen = {
            str(who): split_labels(str(said)) for who, said in zip(cast["annotator"], cast["choice"], strict=True)
        }
        ids = cast["case_id"].drop_duplicates()
        shares = label_gold(voting(cast), ids, {dimension: labels})[0] if len(ids) else [0.5] * len(labels)
        judges = [(about, one) for about, rows in presented(own) for one in rows]
        rows = []
        for label, gold in zip(labels, ({0.0: False, 1.0: True}.get(float(share)) for share in shares), strict=True):
            cells = [_label_cell(one, labels, label, gold) for _, one in judges]
            rows.append((label, gold, sorted(who for who in chosen if label in chosen[who]), cells))
        tables.append((dimension, [about for about, _ in judges], len(chosen), rows if len(cast) or len(own) else []))
    return macro("case_tables", "label_sets")(tables, heading)


def _label_cell(row: VerdictRow, labels: Sequence[str], label: str, gold: bool | None) -> Cell:
    """Whether a judge gave a label, how probable it held it, and the agreement; the status unless all went well."""
    if not isinstance(row["choice"], str):
        return Cell(None, status=_status(row))
    given = label in split_labels(row["choice"])
    sure = dict(zip(labels, shares_of(row, Scale(tuple(labels))) or [], strict=False)).get(label)
    return Cell(given, sure, None if gold is None or row.get("seen") is True else given == gold, status=_status(row))


def replies_html(
    verdicts: pd.DataFrame,
    heading: str,
    manifests: Mapping[str, Manifest] | None = None,
    scale: Scale | None = None,
) -> str:
    """What each judge wrote, and why it failed, to open one by one; dimensions that share a reply share its place.

    Parameters
    ----------
    verdicts : those on one case
    manifests : of the runs, by the judge's name; a judge without one has no prompt to show
    scale : of ratings, which have one order; None of preferences
    """
    judges = []
    for about, own in presented(verdicts, by_order=scale is None):
        rows_of: dict[tuple[str | None, str | None], list[VerdictRow]] = {}
        for row in own:
            # Of what stands for a missing text, NaN equals nothing, not even itself.
            reply, error = (text if isinstance(text := row.get(name), str) else None for name in ("reply", "error"))
            if (reply, error) != (None, None):
                rows_of.setdefault((reply, error), []).append(row)
        manifest, replies = (manifests or {}).get(about["judge"]), []
        for (reply, error), rows in rows_of.items():
            one = {
                "dimensions": ", ".join(str(row["dimension"]) for row in rows) if len(rows_of) > 1 else "",
                "cost": _cost(rows, manifest),
                "reply": reply,
                "read": _reading(rows),
                "error": error,
            }
            replies.append(one)
        if replies:
            lengths = [len(reply) for reply, _ in rows_of if reply is not None]
            judges.append(about | {"lengths": lengths, "asked": _asked(manifest), "replies": replies})
    return macro("case_replies", "replies")(judges, heading)


def _asked(manifest: Manifest | None) -> dict[str, Any]:
    """The prompt's template as the run keeps it, or why there is none."""
    if manifest is None or manifest.source:
        return {"text": None, "note": "the run does not say what was asked"}
    if not manifest.prompt_text:
        return {"text": None, "note": "this judge takes no prompt"}
    text = manifest.prompt_text
    return {"text": text[:LONGEST_PROMPT], "note": "the run's template, not filled in", "length": len(text)}


def _cost(rows: Sequence[VerdictRow], manifest: Manifest | None) -> list[tuple[str, object]]:
    """How long a reply took, how many tokens it is of, by which prompt and settings, as far as these are known."""
    cost: list[tuple[str, object]] = []
    for name, words in _AMOUNTS.items():
        known = [value for row in rows if (value := finite(row.get(name))) is not None]
        cost += [(words.format(sum(known)), None)] if known else []
    spec = manifest.spec if manifest is not None else {}
    prompt, most = rows[0].get("prompt_id"), spec.get("max_new_tokens") or spec.get("max_tokens")
    cost += [("prompt", prompt)] if isinstance(prompt, str) and prompt else []
    cost += [(name, spec[name]) for name in ("temperature", "seed") if spec.get(name) is not None]
    return cost if most is None else [*cost, ("at most", f"{most} tokens")]


def _reading(rows: Sequence[VerdictRow]) -> str:
    """Say why a reply counts as it does: its status in words, and its choices in the case's frame."""
    statuses = dict.fromkeys(str(row["status"]) for row in rows)
    words = "; ".join(_STATUSES.get(status, status) for status in statuses)
    read = [f"{row['dimension']} {row['choice']}" for row in rows if is_text(row["choice"])]
    unread = [str(row["dimension"]) for row in rows if not is_text(row["choice"])]
    words += f"; read as {', '.join(read)}" if read else ""
    return words + (f"; nothing for {', '.join(unread)}" if read and unread else "")
