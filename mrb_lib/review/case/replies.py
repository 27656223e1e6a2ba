"""What each judge was asked, what it replied, and what was read from that: why a verdict is as it is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

import pandas as pd

from mrb_lib.replies import parse
from mrb_lib.replies.multi import parse_ratings
from mrb_lib.review.failures.kinds import Scale
from mrb_lib.review.text import OWN_KEYS, escaped, isolated
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
    in_order = _Shown(case)
    shown = []
    for judge, how, own in presented(verdicts, keys):
        rows_of: dict[tuple[str | None, str | None], list[VerdictRow]] = {}
        for row in own:
            texts = _text_of(row.get("reply")), _text_of(row.get("error"))
            if texts != (None, None):
                rows_of.setdefault(texts, []).append(row)
        if not rows_of:
            continue
        manifest = (manifests or {}).get(judge)
        several = len(rows_of) > 1
        names = [", ".join(str(row["dimension"]) for row in rows) if several else "" for rows in rows_of.values()]
        asked = [_asked(in_order, rows[0], manifest) for rows in rows_of.values()]
        body = "".join(
            _reply(name, prompt, reply, error, rows, manifest, scale)
            for name, prompt, ((reply, error), rows) in zip(names, _said_once(asked), rows_of.items(), strict=True)
        )
        amount = _amount(reply for reply, _ in rows_of)
        head = f"{isolated(judge)} <span>{f'{isolated(how)} &middot; ' if how else ''}{amount}</span>"
        shown.append(f'<details data-mrb="reply"><summary {OWN_KEYS}>{head}</summary>{body}</details>')
    return f'<{heading}>Replies</{heading}><div class="mrb-replies">{"".join(shown)}</div>' if shown else ""


def presented(verdicts: pd.DataFrame, keys: list[str]) -> Iterator[tuple[str, str, list[VerdictRow]]]:
    """The verdicts of each judge and way of presenting the case, with the judge's name and the way in words."""
    # Not by pandas, whose sorting by several columns takes longer than all else of a case.
    rows: Sequence[VerdictRow] = sorted(
        verdicts.to_dict("records"), key=lambda row: tuple(_sortable(row[name]) for name in (*keys, "dimension"))
    )
    for key, own in groupby(rows, key=lambda row: [str(row[name]) for name in keys]):
        presented = dict(zip(keys, key, strict=True))
        how = [order_words(presented["order"])] if "order" in presented else []
        how += [f"repeat {presented['repeat']}"] if presented["repeat"] != "0" else []
        how += [f"probe {presented['probe']}"] if presented["probe"] != NO_PROBE else []
        yield presented["judge"], ", ".join(how), list(own)


def _sortable(value: object) -> int | str:
    return value if isinstance(value, int) else str(value)


def _text_of(value: object) -> str | None:
    """A text, or None for whatever stands for a missing one: of those NaN equals nothing, not even itself."""
    return value if isinstance(value, str) else None


def order_words(order: str) -> str:
    """Which answer was shown first."""
    return f"{order[:1]} first"


class _Shown(dict[str, pd.Series]):
    """The case as judges saw it, by the order of the responses; made once for all who saw it so."""

    def __init__(self, case: pd.Series) -> None:
        super().__init__()
        self._case = case

    def __missing__(self, order: str) -> pd.Series:
        from mrb_lib.judges.sent import shown_case

        self[order] = shown_case(self._case, order)
        return self[order]


def _asked(shown: Mapping[str, pd.Series], row: VerdictRow, manifest: Manifest | None) -> str:
    """The prompt behind a verdict, to open, or why there is none."""
    if manifest is None:
        return _unasked(_UNSAID)
    from mrb_lib.judges.sent import sent  # only where a run is at hand, since its templates are slow to import

    request = sent(manifest, shown, str(row["order"]), str(row["dimension"]), str(row.get("probe", NO_PROBE)))
    if not request.text:
        return _unasked(request.note)
    whole, images = len(request.text), ", ".join(isolated(name) for name in request.images)
    cut = f"; its first {LONGEST_PROMPT:,} of {whole:,} characters" if whole > LONGEST_PROMPT else ""
    return (
        f'<details class="mrb-prompt"><summary {OWN_KEYS}>What was asked <span>{whole:,} characters</span></summary>'
        f'<p class="mrb-answers-to mrb-unasked">{escaped(request.note)}{cut}</p>'
        + (f'<p class="mrb-answers-to mrb-unasked">with {images}</p>' if images else "")
        + f'<div class="mrb-text mrb-reply" dir="auto" tabindex="0" {OWN_KEYS}>{escaped(request.text[:LONGEST_PROMPT])}'
        "</div></details>"
    )


def _unasked(why: str) -> str:
    return f'<p class="mrb-answers-to mrb-unasked">{isolated(why)}</p>'


def _said_once(parts: Iterable[str]) -> Iterator[str]:
    """The parts, a repeated one left out."""
    said: set[str] = set()
    for part in parts:
        yield "" if part in said else part
        said.add(part)


def _amount(replies: Iterable[object]) -> str:
    lengths = [len(reply) for reply in replies if isinstance(reply, str)]
    if not lengths:
        return "no reply"
    return f"{'1 reply' if len(lengths) == 1 else f'{len(lengths)} replies'}, {sum(lengths):,} characters"


def _cost(rows: Sequence[VerdictRow], manifest: Manifest | None) -> str:
    """How long a reply took, how many tokens it is of, by which prompt and settings; empty where none is known."""
    row, parts = rows[0], []
    seconds = [float(value) for each in rows if isinstance(value := each.get("latency_s"), float) and value == value]
    if seconds:
        parts.append(f"{sum(seconds):,.2f} s")
    for name, words in (("prompt_tokens", "tokens asked"), ("completion_tokens", "tokens replied")):
        tokens = [float(value) for each in rows if isinstance(value := each.get(name), float) and value == value]
        parts += [f"{sum(tokens):,.0f} {words}"] if tokens else []
    prompt = _text_of(row.get("prompt_id"))
    parts += [f"prompt {isolated(prompt)}"] if prompt else []
    parts += [f"{name} {isolated(value)}" for name, value in _settings(manifest).items()]
    return " &middot; ".join(parts)


def _settings(manifest: Manifest | None) -> dict[str, object]:
    """How a judge's words were drawn, as far as its run says."""
    spec = manifest.spec if manifest is not None else {}
    named = {"temperature": "temperature", "seed": "seed", "max_tokens": "at most", "max_new_tokens": "at most"}
    values = {words: spec[name] for name, words in named.items() if spec.get(name) is not None}
    return values | ({"at most": f"{values['at most']} tokens"} if "at most" in values else {})


def _reading(rows: Sequence[VerdictRow], reply: str | None, manifest: Manifest | None, scale: Scale | None) -> str:
    """Why a reply counts as it does: its status in words, and what the parser finds in it now."""
    statuses = dict.fromkeys(str(row["status"]) for row in rows)
    words = "; ".join(_STATUSES.get(status, status) for status in statuses)
    # What somebody else read, as far as is known, is not read again where all was well.
    foreign = (manifest is None or bool(manifest.source)) and set(statuses) == {"ok"}
    if foreign or not reply or len(reply) > LONGEST_READ:
        return f'<p class="mrb-answers-to mrb-read">{isolated(words)}</p>'
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
    return f'<p class="mrb-answers-to mrb-read">{isolated("; ".join([words, *filter(None, found)]))}</p>'


def _ends_named(reply: str) -> str:
    """A reply as HTML in which white space at its ends, which a page does not show, is named where it is long."""
    whole = reply.strip()
    start = len(reply) - len(reply.lstrip())
    if not whole:
        return _spaces(reply) or "(empty)"
    before, after = reply[:start], reply[start + len(whole) :]
    return f"{_spaces(before)}{escaped(whole)}{_spaces(after)}"


def _spaces(text: str) -> str:
    breaks, others = text.count("\n"), len(text) - text.count("\n")
    counts = [(breaks, "line break"), (others, "space")]
    words = " and ".join(f"{n} {name}{'' if n == 1 else 's'}" for n, name in counts if n)
    return f'<span class="mrb-none">({words})</span>' if len(text) > _FEW_SPACES else escaped(text)


def _reply(
    dimensions: str,
    asked: str,
    reply: str | None,
    error: str | None,
    rows: Sequence[VerdictRow],
    manifest: Manifest | None,
    scale: Scale | None,
) -> str:
    cost = _cost(rows, manifest)
    parts = [
        f'<p class="mrb-answers-to">{isolated(dimensions)}</p>' if dimensions else "",
        f'<p class="mrb-answers-to">{cost}</p>' if cost else "",
        asked,
        f'<div class="mrb-text mrb-reply" dir="auto" tabindex="0" {OWN_KEYS}>{_ends_named(reply)}</div>'
        if isinstance(reply, str)
        else "",
        _reading(rows, reply, manifest, scale),
        f'<p class="mrb-text mrb-status">error: {isolated(error)}</p>' if isinstance(error, str) else "",
    ]
    return "".join(parts)
