"""One view of a case, for notebooks, the app and the site: its images, the answers, the votes, the gold, the judges.

Everything from the data is escaped, images are decoded and drawn anew, and it is whole without a script; what a hostile
case says can therefore be read but does nothing. `case.js` adds zoom, pan and the window of grey images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.case.facts import FactMark, Stretch, marks, word_differences
from mrb_lib.review.case.images import SIDE, image_html
from mrb_lib.review.case.markdown import MarkdownText, marked_html, read_markdown
from mrb_lib.review.case.verdicts import gold_of, is_text, label_sets_html, replies_html, verdicts_html
from mrb_lib.review.failures.kinds import scale_of
from mrb_lib.review.pages import macro, template
from mrb_lib.review.text import visible
from mrb_lib.tables.schema import CHOICES
from mrb_lib.verdicts.manifest import Manifest

STYLES: Final = ("case/case",)
SCRIPTS: Final = ("case/overlay", "case/picture", "case/case")


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
    level : of the heading; the parts have the next one
    style : put the style sheet into it. A page with several cases needs it in one of them, or has
        `pages.style(*STYLES)` of its own.
    side : the longest side of an image, in pixels

    Returns
    -------
    str
        A `<section>` that needs nothing else. Validated by tests/review/case/test_view.py.
    """
    here, scale = str(case["case_id"]), None if meta is None else scale_of(meta)
    heading, reference = f"h{level + 1}", reference_of(case)
    votes, labels, own = (rows_of(table, here) for table in (annotations, gold, verdicts))
    of_one = votes if scale is None else votes[~votes["dimension"].isin(list(scale.labels))]
    judged = verdicts_html(own, labels, scale) + label_sets_html(votes, own, scale, heading)
    return template("case").render(
        case=case, case_id=here, note=note, level=level, style=style,
        meta=None if scale is None else meta,
        votes=votes_html(of_one, labels, CHOICES if scale is None else scale.categories),
        judged=judged + replies_html(case, own, heading, manifests, scale),
        pictures=[image_html(name, images, side, i) for i, name in enumerate(case["images"])],
        answers=answers_html(case, heading, rated=scale is not None),
        reference=answer_html(reference, read_markdown(reference)) if reference else "",
    )  # fmt: skip


def rows_of(table: pd.DataFrame, case_id: str) -> pd.DataFrame:
    """The rows of a table that are about a case."""
    column = table["case_id"]
    return table[(column if pd.api.types.is_string_dtype(column) else column.astype("str")) == case_id]


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
    marked = (marked_html(text, facts, differing), None) if markdown is None else ("", markdown.html(facts, differing))
    return macro("case_text", "answer")(text, *marked)


def answers_html(case: pd.Series, heading: str, *, rated: bool = False) -> str:
    """The two answers side by side, with marks on what only one of them states; or the one response that is rated."""
    texts = [visible(case[f"response_{side}"]) for side in ("a" if rated else "ab")]
    read = [read_markdown(text) for text in texts]
    facts: Sequence[Sequence[FactMark]] = ((), ())
    differing: Sequence[Sequence[Stretch]] = ((), ())
    if not rated:
        plain = [text if one is None else one.plain for text, one in zip(texts, read, strict=True)]
        facts, differing = marks(*plain), word_differences(*plain)
    bodies = list(map(answer_html, texts, read, facts, differing))
    return macro("case_text", "answers")(
        case, bodies, heading, step_of(case), before_of(case) if rated else "",
        sum(map(len, facts)), any(differing), any(read) or read_markdown(reference_of(case)) is not None,
    )  # fmt: skip


def reference_of(case: pd.Series) -> str:
    """The reference answer, made visible; empty where there is none."""
    return visible(case["reference"]) if is_text(case.get("reference")) else ""


def step_of(case: pd.Series) -> int | None:
    """Return which step of a response the case is, from 1; None where it is a whole response."""
    step = case.get("step")
    return None if step is None or pd.isna(step) else int(step)


def before_of(case: pd.Series) -> str:
    """Return the steps before the one in sight; empty where there are none."""
    before = case.get("before")
    return str(before) if step_of(case) is not None and is_text(before) else ""


def votes_html(votes: pd.DataFrame, labels: pd.DataFrame, categories: Sequence[str] = CHOICES) -> str:
    """A row a dimension: the gold choice, how many annotators chose what (in the order of the categories), and who."""
    annotators = sorted(votes["annotator"].unique())
    rows = zip(votes["dimension"].astype("str"), votes["annotator"], votes["choice"], strict=True)
    chosen = {(dimension, who): choice for dimension, who, choice in rows}
    gold = gold_of(labels)
    dimensions = dict.fromkeys([*gold, *votes["dimension"].astype("str")])
    cast = {name: [chosen.get((name, who)) for who in annotators] for name in dimensions}
    return macro("case_tables", "votes")(annotators, cast, gold, categories)
