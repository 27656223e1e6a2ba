"""What each judge was asked, what it replied, and what was read from that: why a verdict is as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from mrb_lib.replies import parse
from mrb_lib.replies.multi import parse_ratings
from mrb_lib.review.case.verdicts import VerdictRow, finite, presented
from mrb_lib.review.failures.kinds import Scale
from mrb_lib.review.pages import macro
from mrb_lib.tables.schema import CHOICES, NO_PROBE
from mrb_lib.verdicts.manifest import Manifest

LONGEST_PROMPT: Final = 50_000
LONGEST_READ: Final = 20_000
"""Characters of a reply that is read again when its case is shown."""
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
_SHOWN: Final = {"A": "A (shown first)", "B": "B (shown second)", "tie": "tie"}


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
    in_order: dict[str, pd.Series] = {}
    judges = []
    for about, own in presented(verdicts, by_order=scale is None):
        rows_of: dict[tuple[str | None, str | None], list[VerdictRow]] = {}
        for row in own:
            # Of what stands for a missing text, NaN equals nothing, not even itself.
            reply, error = (text if isinstance(text := row.get(name), str) else None for name in ("reply", "error"))
            if (reply, error) != (None, None):
                rows_of.setdefault((reply, error), []).append(row)
        manifest, replies, earlier = (manifests or {}).get(about["judge"]), [], []
        for (reply, error), rows in rows_of.items():
            asked = _asked(case, in_order, rows[0], manifest)
            one = {
                "dimensions": ", ".join(str(row["dimension"]) for row in rows) if len(rows_of) > 1 else "",
                "cost": _cost(rows, manifest),
                "asked": None if asked in earlier else asked,
                "reply": reply,
                "read": _reading(rows, reply, manifest, scale),
                "error": error,
            }
            earlier.append(asked)
            replies.append(one)
        if replies:
            lengths = [len(reply) for reply, _ in rows_of if reply is not None]
            judges.append(about | {"lengths": lengths, "replies": replies})
    return macro("case_replies", "replies")(judges, heading)


def _asked(case: pd.Series, shown: dict[str, pd.Series], row: VerdictRow, manifest: Manifest | None) -> dict[str, Any]:
    """The prompt behind a verdict, or why there is none; `shown` keeps the case as judges saw it, by order."""
    if manifest is None:
        return {"text": None, "note": "the run does not say what was asked"}
    from mrb_lib.judges.sent import sent, shown_case  # slow to import, so only where a run is at hand

    order = str(row["order"])
    if order not in shown:
        shown[order] = shown_case(case, order)
    request = sent(manifest, shown, order, str(row["dimension"]), str(row.get("probe", NO_PROBE)))
    text = request.text[:LONGEST_PROMPT] or None
    return {"text": text, "note": request.note, "length": len(request.text), "images": list(request.images)}


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
