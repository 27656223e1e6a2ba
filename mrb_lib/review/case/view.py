"""One view of a case, for notebooks, the app and the site: its images, the answers, the votes, the gold, the judges.

Everything from the data is escaped, images are decoded and drawn anew, and it is whole without a script; what a hostile
case says can therefore be read but does nothing. `case.js` adds zoom, pan and the window of grey images.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.bundle import style as style_of
from mrb_lib.review.case.facts import FactMark, Stretch, marks, word_differences
from mrb_lib.review.case.images import SIDE, image_html
from mrb_lib.review.case.label_sets import label_sets_html
from mrb_lib.review.case.markdown import MarkdownText, marked_html, read_markdown
from mrb_lib.review.case.replies import replies_html
from mrb_lib.review.case.verdicts import choice_html, gold_of, is_text, verdicts_html
from mrb_lib.review.failures.kinds import scale_of
from mrb_lib.review.text import OWN_KEYS, escaped, isolated, visible
from mrb_lib.tables.schema import CHOICES
from mrb_lib.verdicts.manifest import Manifest

STYLES: Final = ("case/case", "case/overlay")
SCRIPTS: Final = ("case/overlay", "case/picture", "case/case")
_ORIGIN = {
    "organ": "Organ",
    "department": "Department",
    "modality": "Modality",
    "question_type": "Question type",
    "dataset": "Source",
}
_PARTS = ("numbers, sides, denials or anatomical words", "number, side, denial or anatomical word")


def case_html(
    case: pd.Series,
    *,
    images: Mapping[str, bytes],
    annotations: pd.DataFrame,
    gold: pd.DataFrame,
    verdicts: pd.DataFrame,
    manifests: Mapping[str, Manifest] | None = None,
    meta: BenchmarkMeta | None = None,
    note: str = "",
    blind: bool = False,
    level: int = 3,
    style: bool = True,
    side: int = SIDE,
) -> str:
    """Show one case.

    Parameters
    ----------
    case : one row of the cases table
    images : the bytes of the images by name; in the place of one that is missing or cannot be read stands what is wrong
    annotations, gold, verdicts : the tables, of this case or of all; only rows of this case are shown. Verdicts with
        `p_a` show the probability of what they chose; those with `reply` and `error` show these, whole, on demand.
        Those that are `seen` (`mrb_lib.verdicts.training.mark_seen`) are of judges that were trained on the case.
    manifests : of the runs, by the judge's name in the verdicts; with them each reply opens what was asked
    meta : of the benchmark, which says whether one response a case is rated, and by which categories; None for
        preferences between two
    note : a sentence to show above it, as for simulated data
    blind : for someone who has yet to judge: no vote, no gold, no judge, no responder, no reference, nothing marked
    level : of the heading; the parts have the next one
    style : put the style sheet into it. A page with several cases needs it in one of them, or has
        `bundle.style(*STYLES)` of its own.
    side : the longest side of an image, in pixels

    Returns
    -------
    str
        A `<section>` that needs nothing else. Validated by tests/review/case/test_view.py.
    """
    here, scale = str(case["case_id"]), None if meta is None else scale_of(meta)
    rated = scale is not None
    title, heading = f"h{level}", f"h{level + 1}"
    pictures = "".join(image_html(name, images, side, i) for i, name in enumerate(case["images"]))
    body = [
        f"<style>{style_of(*STYLES)}</style>" if style else "",
        f'<p class="mrb-simulated mrb-note">{isolated(note)}</p>' if note else "",
        f'<header><{title} class="mrb-title">Case {isolated(here)}</{title}>{origin_html(case)}</header>',
        '<div class="mrb-stage">',
        f'<div class="mrb-images">{pictures}</div>' if pictures else "",
        f'<div class="mrb-asked"><{heading}>Question</{heading}>{_text(case["question"])}</div>',
        rated_answer_html(case, heading, blind=blind) if rated else answers_html(case, heading, blind=blind),
        "" if blind else _reference(case.get("reference"), heading),
        "</div>",
    ]
    if not blind:
        votes, labels, own_verdicts = (rows_of(table, here) for table in (annotations, gold, verdicts))
        replies = replies_html(case, own_verdicts, heading, manifests or {}, scale)
        categories, several = (CHOICES, []) if meta is None else (meta.categories, list(meta.labels))
        of_one = votes[~votes["dimension"].isin(several)]
        body += [
            f"<{heading}>Annotators</{heading}>{votes_html(of_one, labels, categories)}",
            meanings_html(meta) if meta is not None and rated else "",
            f"<{heading}>Judges</{heading}>{verdicts_html(own_verdicts, labels, scale)}"
            f"{label_sets_html(votes, own_verdicts, scale, heading)}{replies}",
        ]
    name = escaped(here)
    return (
        f'<section class="mrb mrb-case" data-case="{name}" aria-label="case {name}" tabindex="-1" '
        f"{OWN_KEYS}>{''.join(body)}</section>"
    )


def rows_of(table: pd.DataFrame, case_id: str) -> pd.DataFrame:
    """The rows of a table that are about a case."""
    column = table["case_id"]
    return table[(column if pd.api.types.is_string_dtype(column) else column.astype("str")) == case_id]


def _text(value: object) -> str:
    return f'<div class="mrb-text mrb-question" dir="auto" tabindex="0" {OWN_KEYS}>{escaped(value)}</div>'


def _reference(value: object, heading: str) -> str:
    if not is_text(value):
        return ""
    text = visible(value)
    body = f'<div class="mrb-text" dir="auto" tabindex="0" {OWN_KEYS}>{answer_html(text, read_markdown(text))}</div>'
    return f'<div class="mrb-asked mrb-reference"><{heading}>Reference</{heading}>{body}</div>'


def origin_html(case: pd.Series) -> str:
    """Organ, department, modality, kind of question and source, as far as the case names them."""
    named = [
        (label, case[name] if name == "dataset" else str(case[name]).replace("_", " "))
        for name, label in _ORIGIN.items()
        if is_text(case.get(name))
    ]
    items = "".join(f"<div><dt>{label}</dt><dd>{isolated(value)}</dd></div>" for label, value in named)
    return f'<dl class="mrb-place">{items}</dl>' if items else ""


def answers_html(case: pd.Series, heading: str, *, blind: bool) -> str:
    """The two answers side by side, each in a box that scrolls; facts that only one of them states are marked."""
    texts = [visible(case["response_a"]), visible(case["response_b"])]
    read = [read_markdown(text) for text in texts]
    plain = [text if one is None else one.plain for text, one in zip(texts, read, strict=True)]
    marked: tuple[list[FactMark], list[FactMark]] = ([], []) if blind else marks(*plain)
    differing: tuple[list[Stretch], list[Stretch]] = ([], []) if blind else word_differences(*plain)
    switches = ""
    if any(marked):
        count = sum(map(len, marked))
        switches = (
            f'<label class="mrb-switch"><input type="checkbox" class="mrb-marks" checked {OWN_KEYS}> '
            f"mark what only one answer states: {count} {_PARTS[count == 1]} (found by rules, not a judgement)</label>"
        )
    if any(differing):
        switches += (
            f'<label class="mrb-switch"><input type="checkbox" class="mrb-words" aria-keyshortcuts="D" {OWN_KEYS}> '
            "underline every word that is not in the other answer <kbd>D</kbd></label>"
        )
    reference = None if blind else case.get("reference")
    if any(read) or (is_text(reference) and read_markdown(visible(reference))):
        switches += raw_switch(marked=bool(switches))
    switches = f'<div class="mrb-switches">{switches}</div>' if switches else ""
    models = (None, None) if blind else (case.get("model_a"), case.get("model_b"))
    both = "".join(
        _answer(side, answer_html(text, one, facts, words), model, heading)
        for side, text, one, facts, words, model in zip("AB", texts, read, marked, differing, models, strict=True)
    )
    return f'<div class="mrb-answers"><div class="mrb-pair">{both}</div>{switches}</div>'


def rated_answer_html(case: pd.Series, heading: str, *, blind: bool) -> str:
    """The one response of a rating, in a box that scrolls, below the steps before it where it is a step."""
    text = visible(case["response_a"])
    markdown = read_markdown(text)
    title = "Response" if (step := step_of(case)) is None else f"Step {step}"
    by = case.get("model_a")
    name = f' <span class="mrb-by">{isolated(by)}</span>' if is_text(by) and not blind else ""
    shown = answer_html(text, markdown)
    body = f'<div class="mrb-text mrb-answer-text" dir="auto" tabindex="0" {OWN_KEYS}>{shown}</div>'
    reference = None if blind else case.get("reference")
    written = markdown or (is_text(reference) and read_markdown(visible(reference)))
    switches = f'<div class="mrb-switches">{raw_switch(marked=False)}</div>' if written else ""
    return (
        f'<div class="mrb-answers mrb-one">{before_html(case, heading)}<div class="mrb-pair">'
        f'<article class="mrb-answer" data-mrb="answer"><{heading}>{title}{name}</{heading}>{body}</article></div>'
        f"{switches}</div>"
    )


def step_of(case: pd.Series) -> int | None:
    """Which step of a response the case is, from 1; None where it is a whole response."""
    step = case.get("step")
    return None if step is None or pd.isna(step) else int(step)


def before_html(case: pd.Series, heading: str) -> str:
    """The steps before the one in sight; empty where there are none."""
    before = case.get("before")
    if step_of(case) is None or not is_text(before) or not str(before).strip():
        return ""
    return (
        f'<section class="mrb-before-it"><{heading}>Steps before it</{heading}>'
        f'<div class="mrb-text" dir="auto" tabindex="0" {OWN_KEYS}>{escaped(before)}</div></section>'
    )


def answer_html(
    text: str, markdown: MarkdownText | None, facts: Sequence[FactMark] = (), differing: Sequence[Stretch] = ()
) -> str:
    """What stands in the box of an answer: the text, or where it has Markdown its rendering and the text beside it.

    Parameters
    ----------
    text : as `visible` makes it
    markdown : what `read_markdown` makes of it
    facts, differing : the marks of the text, or of the `plain` of its Markdown
    """
    if markdown is None:
        return marked_html(text, facts, differing)
    return (
        f'<div class="mrb-markdown">{markdown.html(facts, differing)}</div>'
        f'<div class="mrb-written" dir="auto">{escaped(text)}</div>'
    )


def raw_switch(*, marked: bool) -> str:
    """The switch from the rendering of Markdown to the text as it was written; the style sheet does what it says."""
    without = ", without marks" if marked else ""
    return (
        f'<label class="mrb-switch"><input type="checkbox" class="mrb-raw" aria-keyshortcuts="W" {OWN_KEYS}> '
        f"show answers as written{without} <kbd>W</kbd></label>"
    )


def _answer(side: str, marked: str, model: object, heading: str) -> str:
    by = f' <span class="mrb-by">{isolated(model)}</span>' if is_text(model) else ""
    body = f'<div class="mrb-text mrb-answer-text" dir="auto" tabindex="0" {OWN_KEYS}>{marked}</div>'
    return (
        f'<article class="mrb-answer mrb-{side.lower()}" data-mrb="answer">'
        f"<{heading}>{choice_html(side)} Response {side}{by}</{heading}>{body}</article>"
    )


def votes_html(votes: pd.DataFrame, labels: pd.DataFrame, categories: Sequence[str] = CHOICES) -> str:
    """A row a dimension: the gold choice, how many annotators chose what (in the order of the categories), and who."""
    if votes.empty and labels.empty:
        return "<p>none</p>"
    annotators = sorted(votes["annotator"].unique())
    chosen = {
        (str(d), str(who)): c for d, who, c in votes[["dimension", "annotator", "choice"]].itertuples(index=False)
    }
    gold = gold_of(labels)
    rows = []
    for dimension in dict.fromkeys([*gold, *votes["dimension"].astype("str")]):
        cast = [chosen.get((dimension, str(annotator))) for annotator in annotators]
        cells = "".join(f"<td>{choice_html(choice)}</td>" for choice in cast)
        label = choice_html(gold.get(dimension))
        rows.append(
            f'<tr><th scope="row">{isolated(dimension)}</th><td class="mrb-gold">{label}</td>'
            f'<td class="mrb-counts">{_counts(cast, categories)}</td>{cells}</tr>'
        )
    head = "".join(f'<th scope="col">{isolated(name)}</th>' for name in annotators)
    return (
        f'<div class="mrb-wide" tabindex="0" {OWN_KEYS}><table><thead><tr><th scope="col">dimension</th>'
        f'<th scope="col">gold</th><th scope="col">votes</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _counts(cast: Iterable[object], categories: Sequence[str]) -> str:
    choices = [str(choice) for choice in cast if is_text(choice)]
    each = [f"{choices.count(name)} {isolated(name)}" for name in categories if name in choices]
    return " · ".join(each) or "&ndash;"


def meanings_html(meta: BenchmarkMeta) -> str:
    """What dimensions, categories and labels mean, to open; empty where the benchmark does not say."""
    labels = [name for own in meta.labels.values() for name in own]
    named = (*meta.dimensions, *meta.categories, *dict.fromkeys(labels))
    each = "".join(
        f"<div><dt>{isolated(name)}</dt><dd>{isolated(meta.definitions[name])}</dd></div>"
        for name in named
        if meta.definitions.get(name)
    )
    if not each:
        return ""
    what = "categories and labels" if meta.labels else "categories"
    return (
        f"<details><summary {OWN_KEYS}>What the {what} mean</summary>"
        f'<dl class="mrb-meanings" tabindex="0" {OWN_KEYS}>{each}</dl></details>'
    )
