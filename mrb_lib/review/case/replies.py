"""What each judge was asked, what it replied, and what was read from that: why a verdict is as it is."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import pandas as pd

from mrb_lib.replies import parse
from mrb_lib.replies.multi import parse_ratings
from mrb_lib.review.case.formulas import Part
from mrb_lib.review.failures.kinds import Scale
from mrb_lib.review.pages import macro
from mrb_lib.tables.schema import CHOICES, NO_PROBE
from mrb_lib.verdicts.manifest import Manifest

LONGEST_PROMPT: Final = 50_000
LONGEST_READ: Final = 20_000
"""Characters of a reply that is read again when its case is shown."""
_FEW_SPACES: Final = 2
_UNSAID: Final = "the run does not say what was asked"
_STATUSES: Final = {
    "ok": "read without leniency",
    "repaired": "read with leniency in its form, or not for every dimension",
    "unparsed": "no choice could be read from it",
    "refused": "it declines to judge",
    "error": "no reply came",
}
_SHOWN: Final = {"A": "A (shown first)", "B": "B (shown second)", "tie": "tie"}

VerdictRow = Mapping[Hashable, object]


def replies_html(
    case: pd.Series,
    verdicts: pd.DataFrame,
    heading: str,
    manifests: Mapping[str, Manifest] | None = None,
    scale: Scale | None = None,
) -> str:
    """What each judge wrote, and why it failed, to open one by one; dimensions that share a reply share its place.

    Parameters
    ----------
    case : one row of the cases table
    verdicts : those on this case
    manifests : of the runs, by the judge's name; a judge without one has no prompt to show
    scale : of ratings, which have one order; None of preferences
    """
    keys = ["judge", *(["order"] if scale is None else []), "repeat", "probe"]
    in_order: dict[str, pd.Series] = {}
    judges = []
    for about, own in presented(verdicts, keys):
        rows_of: dict[tuple[str | None, str | None], list[VerdictRow]] = {}
        for row in own:
            rows_of.setdefault((_text_of(row.get("reply")), _text_of(row.get("error"))), []).append(row)
        rows_of.pop((None, None), None)
        manifest, replies, earlier = (manifests or {}).get(about["judge"]), [], []
        for (reply, error), rows in rows_of.items():
            asked = _asked(case, in_order, rows[0], manifest)
            one = {
                "dimensions": ", ".join(str(row["dimension"]) for row in rows) if len(rows_of) > 1 else "",
                "cost": _cost(rows, manifest),
                "asked": None if asked in earlier else asked,
                "reply": None if reply is None else _ends_named(reply),
                "read": _reading(rows, reply, manifest, scale),
                "error": error,
            }
            earlier.append(asked)
            replies.append(one)
        if replies:
            judges.append(about | {"amount": _amount(rows_of), "replies": replies})
    return macro("case_replies", "replies")(judges, heading)


def presented(verdicts: pd.DataFrame, keys: list[str]) -> Iterator[tuple[dict[str, Any], list[VerdictRow]]]:
    """The verdicts of each judge and way of presenting the case.

    Yields
    ------
    dict, list
        `judge`, `how`, the way in words, and `seen`, whether the judge was trained on the case; and its verdicts.
    """
    # Not by pandas, whose sorting by several columns takes longer than all else of a case.
    rows: Sequence[VerdictRow] = sorted(
        verdicts.to_dict("records"), key=lambda row: tuple(_sortable(row[name]) for name in (*keys, "dimension"))
    )
    for key, group in groupby(rows, key=lambda row: [str(row[name]) for name in keys]):
        way, own = dict(zip(keys, key, strict=True)), list(group)
        how = [order_words(way["order"])] if "order" in way else []
        how += [f"repeat {way['repeat']}"] if way["repeat"] != "0" else []
        how += [f"probe {way['probe']}"] if way["probe"] != NO_PROBE else []
        seen = any(row.get("seen") is True for row in own)
        yield {"judge": way["judge"], "how": ", ".join(how), "seen": seen}, own


def _sortable(value: object) -> int | str:
    return value if isinstance(value, int) else str(value)


def _text_of(value: object) -> str | None:
    """A text, or None for whatever stands for a missing one: of those NaN equals nothing, not even itself."""
    return value if isinstance(value, str) else None


def order_words(order: str) -> str:
    """Which answer was shown first."""
    return f"{order[:1]} first"


def _asked(case: pd.Series, shown: dict[str, pd.Series], row: VerdictRow, manifest: Manifest | None) -> dict[str, Any]:
    """The prompt behind a verdict, or why there is none; `shown` keeps the case as judges saw it, by order."""
    if manifest is None:
        return {"text": None, "note": _UNSAID}
    from mrb_lib.judges.sent import sent, shown_case  # slow to import, so only where a run is at hand

    order = str(row["order"])
    if order not in shown:
        shown[order] = shown_case(case, order)
    request = sent(manifest, shown, order, str(row["dimension"]), str(row.get("probe", NO_PROBE)))
    text = request.text[:LONGEST_PROMPT] or None
    return {"text": text, "note": request.note, "length": len(request.text), "images": list(request.images)}


def _amount(texts: Mapping[tuple[str | None, str | None], object]) -> str:
    lengths = [len(reply) for reply, _ in texts if reply is not None]
    if not lengths:
        return "no reply"
    return f"{'1 reply' if len(lengths) == 1 else f'{len(lengths)} replies'}, {sum(lengths):,} characters"


def _cost(rows: Sequence[VerdictRow], manifest: Manifest | None) -> list[tuple[str, object]]:
    """How long a reply took, how many tokens it is of, by which prompt and settings, as far as these are known."""
    cost: list[tuple[str, object]] = []
    for name, words in (
        ("latency_s", "{:,.2f} s"),
        ("prompt_tokens", "{:,.0f} tokens asked"),
        ("completion_tokens", "{:,.0f} tokens replied"),
    ):
        known = [value for row in rows if isinstance(value := row.get(name), float) and value == value]
        cost += [(words.format(sum(known)), None)] if known else []
    prompt = _text_of(rows[0].get("prompt_id"))
    cost += [("prompt", prompt)] if prompt else []
    spec = manifest.spec if manifest is not None else {}
    cost += [(name, spec[name]) for name in ("temperature", "seed") if spec.get(name) is not None]
    most = [spec[name] for name in ("max_new_tokens", "max_tokens") if spec.get(name) is not None]
    return cost + [("at most", f"{n} tokens") for n in most[:1]]


def _reading(rows: Sequence[VerdictRow], reply: str | None, manifest: Manifest | None, scale: Scale | None) -> str:
    """Why a reply counts as it does: its status in words, and what the parser finds in it now."""
    statuses = dict.fromkeys(str(row["status"]) for row in rows)
    words = "; ".join(_STATUSES.get(status, status) for status in statuses)
    # What somebody else read, as far as is known, is not read again where all was well.
    foreign = (manifest is None or bool(manifest.source)) and set(statuses) == {"ok"}
    if foreign or not reply or len(reply) > LONGEST_READ:
        return words
    own = [str(row["dimension"]) for row in rows]
    named = manifest.spec.get("dimensions") if manifest is not None and manifest.spec.get("asks") == "all" else None
    asked = [str(name) for name in named] if isinstance(named, list) and set(own) <= set(map(str, named)) else own
    if scale is None:
        choices = parse(reply, asked, CHOICES if manifest is None else manifest.choices).choices
    else:
        choices = parse_ratings(reply, asked, scale.categories, scale.labels).choices
    read = ", ".join(f"{name} {_SHOWN.get(choice, choice)}" for name in own if (choice := choices[name]) is not None)
    unread = ", ".join(name for name in own if choices[name] is None)
    found = [f"the parser reads {read}" if read else "", f"it finds nothing for {unread}" if unread else ""]
    return "; ".join([words, *filter(None, found)])


def _ends_named(reply: str) -> list[Part]:
    """A reply in which white space at its ends, which a page does not show, is named where it is long."""
    whole = reply.strip()
    start = len(reply) - len(reply.lstrip())
    return [*_spaces(reply[:start]), whole, *_spaces(reply[start + len(whole) :])] if reply else ["(empty)"]


def _spaces(text: str) -> list[Part]:
    if len(text) <= _FEW_SPACES:
        return [text]
    breaks = text.count("\n")
    counts = [(breaks, "line break"), (len(text) - breaks, "space")]
    words = " and ".join(f"{n} {name}{'' if n == 1 else 's'}" for n, name in counts if n)
    return [("span", {"class": "mrb-none"}), f"({words})", ("/span", {})]
