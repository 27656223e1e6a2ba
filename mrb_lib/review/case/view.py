"""One view of a case, for notebooks, the app and the site: its images, the answers, the votes, the gold, the judges.

Everything from the data is escaped, images are decoded and drawn anew, and it is whole without a script; what a hostile
case says can therefore be read but does nothing. `case.js` adds zoom, pan and the window of grey images.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from PIL import Image

from mrb_lib.benchmarks.images.pictures import png, read_pixels, shrunk
from mrb_lib.benchmarks.images.pixels import Pixels, windowed
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.app import File, sent
from mrb_lib.review.case.facts import FactMark, Stretch, marks, word_differences
from mrb_lib.review.case.markdown import MarkdownText, marked_html, read_markdown
from mrb_lib.review.case.verdicts import gold_of, is_text, label_sets_html, replies_html, verdicts_html
from mrb_lib.review.failures.kinds import scale_of
from mrb_lib.review.pages import macro, template, visible
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES
from mrb_lib.verdicts.manifest import Manifest

SIDE: Final = 1024
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
    manifests : of the runs, by the judge's name in the verdicts; with them each judge opens its prompt
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
        judged=judged + replies_html(own, heading, manifests, scale),
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
        case, bodies, heading, before_of(case) if rated else "",
        sum(map(len, facts)), any(differing), any(read) or read_markdown(reference_of(case)) is not None,
    )  # fmt: skip


def reference_of(case: pd.Series) -> str:
    """The reference answer, made visible; empty where there is none."""
    return visible(case["reference"]) if is_text(case.get("reference")) else ""


def before_of(case: pd.Series) -> str:
    """Return what the response continues, from the column `before`; empty where there is nothing."""
    return str(case["before"]) if is_text(case.get("before")) else ""


def votes_html(votes: pd.DataFrame, labels: pd.DataFrame, categories: Sequence[str] = CHOICES) -> str:
    """A row a dimension: the gold choice, how many annotators chose what (in the order of the categories), and who."""
    annotators = sorted(votes["annotator"].unique())
    rows = zip(votes["dimension"].astype("str"), votes["annotator"], votes["choice"], strict=True)
    chosen = {(dimension, who): choice for dimension, who, choice in rows}
    gold = gold_of(labels)
    dimensions = dict.fromkeys([*gold, *votes["dimension"].astype("str")])
    cast = {name: [chosen.get((name, who)) for who in annotators] for name in dimensions}
    return macro("case_tables", "votes")(annotators, cast, gold, categories)


def image_html(
    name: object, images: Mapping[str, bytes], side: int = SIDE, index: int | None = 0, called: str = ""
) -> str:
    """One image as a figure, or what is wrong with it.

    Parameters
    ----------
    name : of the image, as the case gives it
    images : the bytes of the images by name
    side : the longest side, in pixels, that is put into the page
    index : its place among the images of the case, by which `case.js` asks for a larger one whole; see `whole`. None
        for a picture that is not one of them, which stays as it is drawn
    called : what the page calls it; its name where that is empty

    Returns
    -------
    str
        A `<figure>` with the picture in its first window. Of grey pictures deeper than 8 bits it carries the values
        too, as `data-packed`. Validated by tests/review/case/test_view.py.
    """
    called = called or str(name)
    try:
        pixels = read_pixels(images[str(name)], called)
    except KeyError:
        return macro("case_image", "missing")(called)
    except InputError as error:
        return macro("case_image", "unreadable")(error)
    height, width = pixels.values.shape[:2]
    is_shrunk = max(height, width) > side
    data: dict[str, object] = {}
    if index is not None:
        data = {"index": index, **_shades(pixels)}
        data |= {"wide": width, "tall": height} if is_shrunk else {}
        data |= {"frames": pixels.frames} if pixels.frames > 1 else {}
        data |= {"packed": _address(packed_png(pixels, side))} if pixels.deep else {}
    address, smaller = _address(plain_png(pixels, side)), side if is_shrunk else None
    return macro("case_image", "figure")(called, address, data, width, height, pixels, smaller)


def whole(name: object, images: Mapping[str, bytes], frame: int = 1, called: str = "") -> File:
    """One frame of an image, from 1, with every pixel it has, as a PNG: packed where it is grey and deeper than 8 bits.

    What its stored values stand for and the window to start with are its `shades`, as the figure's `data-` attributes.

    Parameters
    ----------
    called : what an error calls it, where its name may tell too much; its name where that is empty

    Raises
    ------
    InputError
        It is missing, or cannot be read.
    """
    if str(name) not in images:
        raise InputError("the image is missing; load the page again.")
    pixels = read_pixels(images[str(name)], called or str(name), frame)
    side = max(pixels.values.shape[:2])
    picture = packed_png(pixels, side) if pixels.deep else plain_png(pixels, side)
    return File(picture, "image/png", {"shades": _shades(pixels)})


def image_asked(question: Mapping[str, Any], case: pd.Series) -> str:
    """Return the name of the image of a case that a page asks for by its index; `InputError` where it has none."""
    index = sent(question, "image", int)
    if not 0 <= index < len(case["images"]):
        raise InputError("there is no such image; load the page again.")
    return str(case["images"][index])


def _shades(pixels: Pixels) -> dict[str, str]:
    """Return what a script needs to measure, and to put the values of a grey picture through a window."""
    shades = {"unit": pixels.unit} if pixels.unit else {}
    if pixels.spacing:
        shades["spacing"] = f"{pixels.spacing[0]:.10g} {pixels.spacing[1]:.10g}"
    if pixels.grey:
        numbers = ("low", "high", "centre", "width", "offset", "step")
        shades |= {name: f"{getattr(pixels, name):.10g}" for name in numbers}
        shades["inverted"] = str(int(pixels.inverted))
    return shades


def _address(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def plain_png(pixels: Pixels, side: int) -> bytes:
    """The picture in its window as an 8-bit PNG without metadata, its longest side at most `side` pixels."""
    return png(Image.fromarray(windowed(shrunk(pixels, side))))


def packed_png(pixels: Pixels, side: int) -> bytes:
    """The stored values of a grey picture as a colour PNG, red the high byte and green the low one.

    A browser hands out 8 bits a channel; so a script has all 16, and puts them through a window itself.
    """
    values = shrunk(pixels, side).values.astype(np.uint16)
    channels = (values >> 8, values & 255, np.zeros_like(values))
    return png(Image.fromarray(np.stack(channels, axis=-1).astype(np.uint8)))
