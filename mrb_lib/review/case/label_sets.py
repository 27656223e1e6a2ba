"""Several labels in one dimension on a case: a row a label, with the annotators and the judges who gave it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from mrb_lib.benchmarks.votes import voting
from mrb_lib.review.case.replies import VerdictRow, presented
from mrb_lib.review.case.verdicts import SEEN_MARK, agreement_html, choice_html, shares_of
from mrb_lib.review.failures.kinds import Scale
from mrb_lib.review.text import OWN_KEYS, escaped, isolated
from mrb_lib.stats.verdicts import label_gold
from mrb_lib.tables.schema import split_labels

_LEGEND = (
    '<p class="mrb-legend">Each label: whether more than half of the annotators gave it (gold; unknown where just half '
    "did), which of them did, and for each judge whether it did, the probability it gave the label, and "
    '<span class="mrb-yes">✓</span> agrees or <span class="mrb-no">✗</span> disagrees with gold.</p>'
)


def label_sets_html(votes: pd.DataFrame, verdicts: pd.DataFrame, scale: Scale | None, heading: str) -> str:
    """A table a dimension of several labels; empty where there is none.

    Parameters
    ----------
    votes, verdicts : the annotations and verdicts of one case
    heading : the tag of the headings
    """
    several = {} if scale is None else scale.labels
    parts = []
    for dimension, labels in several.items():
        own_votes, own = (table[table["dimension"] == dimension] for table in (votes, verdicts))
        table = _table(own_votes, own, dimension, labels) if len(own_votes) or len(own) else "<p>none</p>"
        parts.append(f"<{heading}>Labels: {isolated(dimension)}</{heading}>{table}")
    return "".join(parts)


def _table(votes: pd.DataFrame, verdicts: pd.DataFrame, dimension: str, labels: Sequence[str]) -> str:
    chosen = {str(who): split_labels(str(said)) for who, said in zip(votes["annotator"], votes["choice"], strict=True)}
    case_ids = votes["case_id"].drop_duplicates()
    gold = label_gold(voting(votes), case_ids, {dimension: labels})[0] if len(votes) else [float("nan")] * len(labels)
    judges = [(judge, how, row) for judge, how, own in presented(verdicts, ["judge", "repeat", "probe"]) for row in own]
    rows = []
    for place, (name, label) in enumerate(zip(labels, gold, strict=True)):
        who = [isolated(annotator) for annotator in sorted(chosen) if name in chosen[annotator]]
        named = f"{len(who)} of {len(chosen)}" + (f": {', '.join(who)}" if who else "") if chosen else "&ndash;"
        known = {0.0: False, 1.0: True}.get(float(label))
        cells = "".join(_cell(row, labels, place, known) for _, _, row in judges)
        rows.append(
            f'<tr><th scope="row">{isolated(name)}</th><td class="mrb-gold">{_yes_or_no(known)}</td><td>{named}</td>'
            f"{cells}</tr>"
        )
    head = "".join(f'<th scope="col">{_judge(judge, how, row)}</th>' for judge, how, row in judges)
    return (
        f'{_LEGEND}<div class="mrb-wide" tabindex="0" {OWN_KEYS} data-mrb="labels">'
        '<table class="mrb-verdicts mrb-rated"><thead><tr><th scope="col">label</th><th scope="col">gold</th>'
        f'<th scope="col">annotators</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _judge(judge: str, how: str, row: VerdictRow) -> str:
    shown = isolated(judge) + (f' <span class="mrb-how">{escaped(how)}</span>' if how else "")
    return shown + (SEEN_MARK if row.get("seen") is True else "")


def _yes_or_no(given: bool | None) -> str:
    if given is None:
        return choice_html(None)
    return choice_html("yes") if given else '<span class="mrb-none">no</span>'


def _cell(row: VerdictRow, labels: Sequence[str], place: int, gold: bool | None) -> str:
    """Whether a judge gave a label, how probable it held it, and the agreement; the status unless all went well."""
    choice, status = row["choice"], str(row["status"])
    mark = f' <span class="mrb-status">({escaped(status)})</span>' if status != "ok" else ""
    if not isinstance(choice, str):
        return f"<td>{mark.strip() or '&ndash;'}</td>"
    given, shares = labels[place] in split_labels(choice), shares_of(row, Scale(tuple(labels)))
    small = "" if shares is None else f' <small class="mrb-p">{shares[place]:.2f}</small>'
    kind = agreement = ""
    if gold is not None and row.get("seen") is not True:
        kind = f' class="mrb-{"right" if given == gold else "wrong"}"'
        agreement = agreement_html(given == gold)
    return f"<td{kind}>{_yes_or_no(given)}{small}{agreement}{mark}</td>"
