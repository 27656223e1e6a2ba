"""Cases with what was asked, what people chose, and what the judges said."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.textpath import text_to_path

from mrb_lib.benchmarks.images.pictures import thumbnail
from mrb_lib.figures.lettering import label, paragraph, title_case
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, PAGE, Paper, canvas, styled
from mrb_lib.tables.errors import InputError, NotApplicable

CHOICE_COLOURS = {"A": COLOURS["A"], "B": COLOURS["B"], "tie": COLOURS["tie"], "none": COLOURS["missing"]}
_NAMES = {"none": "no verdict"}
_LINE = 0.099
_PICTURE = 1.25
_ROOM = 0.93 * 72 * (PAGE - _PICTURE - 0.4)
_SIZE = 6
_MOST_LINES: Final = {"question": 3, "response_a": 7, "response_b": 7}
_PIXELS = 200
_RESOLUTION = 180


@figure("failures-gallery")
@figure("case-successes")
@figure("case-failures")
@styled
def cards(cases: pd.DataFrame, *, images: Mapping[str, bytes]) -> Paper:
    """Draw one card per case: its first image, the question, both responses, the gold label and the verdicts.

    Parameters
    ----------
    cases : rows of `Study.cases`
    images : the bytes of the images by name; a card says so where its image cannot be read

    Raises
    ------
    NotApplicable
        There is no case, or none with two responses and verdicts.
    """
    if cases.empty or not {"A", "B", "response_b"} <= set(cases):
        raise NotApplicable("no case has two responses and verdicts about them.")
    rows = cases.to_dict("records")
    shown = [name for name in CHOICE_COLOURS if cases[name].any() or cases["gold"].eq(name).any()]
    texts = [_texts(row) for row in rows]
    lines = [sum(text.count("\n") + 1.4 for _, text in each) + 3.6 for each in texts]
    heights = [max(_LINE * count, _PICTURE + 0.15) for count in lines]
    pictures = any(len(names) for names in cases["images"])
    figure = canvas(PAGE, sum(heights) + 0.35, layout=False)
    figure.resolution = _RESOLUTION  # photographs do not shrink as drawings do
    height = figure.get_figheight()
    room = {"left": 0.01, "right": 0.99, "top": 1 - 0.05 / height, "bottom": 0.3 / height}
    grid = figure.subplots(
        len(rows), 2, squeeze=False, height_ratios=heights,
        width_ratios=[_PICTURE if pictures else 0.01, PAGE - _PICTURE],
        gridspec_kw={**room, "wspace": 0.03, "hspace": 0},
    )  # fmt: skip
    for (picture, words), row, text, height in zip(grid, rows, texts, heights, strict=True):
        picture.set_axis_off()
        if pictures:
            _draw_picture(picture, list(row["images"]), images)
        words.set_axis_off()
        words.set_xlim(0, 1)
        words.set_ylim(height / _LINE, 0)
        _draw_votes(words, row, shown, _write(words, text))
    handles: list[Patch | Line2D] = [
        Patch(facecolor=CHOICE_COLOURS[name], edgecolor="#888888", linewidth=0.4, label=_NAMES.get(name, name))
        for name in shown
    ]
    handles.append(Line2D([], [], color=COLOURS["gold"], linewidth=2.2, label="gold label"))
    figure.legend(
        handles=handles, title="verdicts", title_fontsize=6.5, loc="lower right", ncols=len(handles), handlelength=1.2
    )
    return figure


def _texts(row: Mapping[Any, Any]) -> list[tuple[str, str]]:
    """The texts of a card, each with the side it belongs to: the case, the question, both responses."""
    organ = "" if pd.isna(row.get("organ")) else f" \u00b7 {label(title_case(row['organ']), 40)}"
    texts = {name: paragraph(row[name], _letters(row[name]), most) for name, most in _MOST_LINES.items()}
    return [("", label(row["case_id"], 60) + organ), *zip(("", "A", "B"), texts.values(), strict=True)]


def _letters(text: object) -> int:
    """How many letters of a text are as wide as a line."""
    plain = label(text).replace(r"\$", "S")
    width, _, _ = text_to_path.get_text_width_height_descent(plain, FontProperties(size=_SIZE), ismath=False)
    return max(int(_ROOM / (width / len(plain))), 10)


def _write(axes: Axes, texts: Sequence[tuple[str, str]]) -> float:
    """Write the texts of a card one below the other, and return the line below them."""
    y = 0.0
    for i, (side, text) in enumerate(texts):
        style: dict[str, Any] = {"va": "top", "fontsize": _SIZE, "linespacing": 1.05}
        axes.text(0, y, side, color=CHOICE_COLOURS.get(side, "black"), weight="bold", **style)
        axes.text(0.02 if side else 0, y, text, weight="normal" if i else "bold", **style)
        y += text.count("\n") + 1.4
    return y


def _draw_picture(axes: Axes, names: Sequence[str], images: Mapping[str, bytes]) -> None:
    axes.set_axis_on()
    axes.set_anchor("N")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set(visible=True, color="#CCCCCC")
    problem = "" if names else "no image"
    try:
        axes.imshow(thumbnail(images[names[0]], _PIXELS), cmap="gray", vmin=0, vmax=255, gid="picture")
    except IndexError:
        problem = "no image"
    except KeyError:
        problem = "image file missing"
    except InputError:
        problem = "image unreadable"
    if problem:
        axes.set_facecolor(COLOURS["missing"])
        axes.text(
            0.5, 0.5, problem, transform=axes.transAxes, ha="center", va="center", fontsize=_SIZE, color="#555555"
        )
    elif len(names) > 1:
        axes.set_xlabel(f"1 of {len(names)} images", fontsize=_SIZE)


def _draw_votes(axes: Axes, row: Mapping[Any, Any], shown: Sequence[str], y: float) -> None:
    """What people chose, and below it how many verdicts chose what, the gold label underlined."""
    of, votes = row["n_annotators"], row["votes_gold"]
    people = "the only label" if of == 1 else f"{votes:.0f} of {of} annotators"
    judges = f"{row['n_judges']} judge{'s' if row['n_judges'] > 1 else ''}"
    said = f"gold label: {label(row['gold'])} ({people}); verdicts of {judges}:"
    axes.text(0, y, said, va="top", fontsize=_SIZE)
    total, left = max(sum(row[name] for name in shown), 1), 0.0
    for name in shown:
        share = row[name] / total
        axes.barh(y + 1.8, share, left=left, height=1.1, color=CHOICE_COLOURS[name], edgecolor="white", linewidth=0.5)
        if share > 0.03:
            ink = "white" if name in ("A", "B") else "black"
            axes.text(left + share / 2, y + 1.8, f"{row[name]:,}", ha="center", va="center", fontsize=_SIZE, color=ink)
        if name == row["gold"]:
            axes.plot([left, left + share], [y + 2.5, y + 2.5], color=COLOURS["gold"], linewidth=2.2, gid="gold")
        left += share
