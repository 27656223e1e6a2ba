"""Cases side by side with what was asked, what the humans chose and what the judges said."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mrb_lib.benchmarks.images import thumbnail
from mrb_lib.figures.lettering import label, paragraph, title_case
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, PAGE, Paper, canvas, styled
from mrb_lib.tables.errors import InputError

CHOICE_COLOURS = {"A": COLOURS["A"], "B": COLOURS["B"], "tie": COLOURS["tie"], "none": COLOURS["missing"]}
_CARD = 1.95
_PICTURE = 1.2
_EDGE = 0.06
_FOOT = 0.25
_PIXELS = 200
_RESOLUTION = 180


@figure(
    "failures-gallery",
    title="Cases with the lowest scores",
    caption=(
        "The {n_shown} cases with the lowest mean score over {n_judges} judges on {dimension} (ties drawn at random): "
        "image, question, beginnings of both responses, gold choice with the annotators' votes, and all verdicts."
    ),
    reading=(
        "The bar counts verdicts over judges, orders and repeats; what is underlined in orange agrees with the "
        "annotators."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@figure(
    "case-successes",
    title="Cases that judges get right",
    caption="Case studies on {dimension} over {n_judges} judges. {rule}.",
    reading="They were chosen for being easy: read what an easy case looks like, not how often there is one.",
    needs=("preferences", "annotations", "verdicts"),
)
@figure(
    "case-failures",
    title="Cases that judges get wrong",
    caption="Case studies on {dimension} over {n_judges} judges. {rule}.",
    reading=(
        "All annotators chose what is underlined in orange, and most judges did not: look in the image and in the "
        "answers for what the judges missed. They were chosen for being hard, and do not say how often that happens."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def failures(cards: pd.DataFrame, *, images: Mapping[str, bytes]) -> Paper:
    """Draw one card a case: its first image, the question, both responses, the gold choice and the verdicts.

    Parameters
    ----------
    cards : case_id, question, response_a, response_b, images (list of names), gold, votes (text), and the number of
        verdicts for each choice: A, B, tie, none; `organ` (may be null or absent)
    images : the bytes of the images by name; one that cannot be read is drawn as such
    """
    bands = max(ceil(len(cards) / 2), 1)
    height = _CARD * bands + _FOOT
    figure = canvas(PAGE, height, layout=False)
    figure.resolution = _RESOLUTION  # photographs do not shrink as drawings do
    pictures = any(len(names) for names in cards["images"])
    for i, (_, card) in enumerate(cards.iterrows()):
        corner = ((i % 2) * PAGE / 2, height - (i // 2 + 1) * _CARD)
        _draw_card(figure, corner, card, images if pictures else None)
    handles: list[Patch | Line2D] = [
        Patch(facecolor=colour, edgecolor="#888888", linewidth=0.4, label=name if name != "none" else "no verdict")
        for name, colour in CHOICE_COLOURS.items()
    ]
    handles.append(Line2D([], [], color=COLOURS["gold"], linewidth=2.2, label="gold choice"))
    figure.legend(handles=handles, loc="lower center", ncols=len(handles), handlelength=1.2, title_fontsize=6.5)
    return figure


def _draw_card(
    figure: Figure, corner: tuple[float, float], card: pd.Series, images: Mapping[str, bytes] | None
) -> None:
    """One card, `corner` its lower left in inches; without `images` the text takes their room."""
    width, height = figure.get_size_inches()

    def add_axes(left: float, bottom: float, across: float, up: float) -> Axes:
        rectangle = ((corner[0] + left) / width, (corner[1] + bottom) / height, across / width, up / height)
        return figure.add_axes(rectangle)

    room = PAGE / 2 - 2 * _EDGE
    votes = add_axes(_EDGE, 0.1, room, 0.34)
    indent = _PICTURE + 0.08 if images is not None else 0.0
    words = add_axes(_EDGE + indent, 0.52, room - indent, _CARD - 0.58)
    wide = 44 if images is not None else 70
    if images is not None:
        _draw_picture(add_axes(_EDGE, 0.55, _PICTURE, _CARD - 0.61), list(card["images"]), images)
    organ = "" if pd.isna(card.get("organ")) else f" \u00b7 {label(title_case(card['organ']), 20)}"
    words.set_axis_off()
    words.set_xlim(0, 1)
    words.set_ylim(0, 1)
    lines = (
        (1.0, 0.0, f"{label(card['case_id'], 24)}{organ}", "black", "bold"),
        (0.89, 0.0, paragraph(card["question"], wide, 3), "black", "normal"),
        (0.62, 0.0, "A", COLOURS["A"], "bold"),
        (0.62, 0.06, paragraph(card["response_a"], wide - 3, 4), "#333333", "normal"),
        (0.28, 0.0, "B", COLOURS["B"], "bold"),
        (0.28, 0.06, paragraph(card["response_b"], wide - 3, 4), "#333333", "normal"),
    )
    for y, x, text, colour, weight in lines:
        words.text(x, y, text, va="top", fontsize=6, color=colour, weight=weight, linespacing=1.05)
    _draw_votes(votes, card)


def _draw_picture(axes: Axes, names: list[str], images: Mapping[str, bytes]) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set(visible=True, color="#CCCCCC")
    if not names:
        problem = "no image"
    else:
        try:
            picture = thumbnail(images[names[0]], _PIXELS)
        except KeyError:
            problem = "image file missing"
        except InputError:
            problem = "image unreadable"
        else:
            axes.imshow(picture, cmap="gray", vmin=0, vmax=255, gid="picture")
            axes.set_anchor("N")
            if len(names) > 1:
                axes.set_xlabel(f"1 of {len(names)} images", fontsize=6)
            return
    axes.set_facecolor(COLOURS["missing"])
    axes.text(0.5, 0.5, problem, transform=axes.transAxes, ha="center", va="center", fontsize=6, color="#555555")


def _draw_votes(axes: Axes, card: pd.Series) -> None:
    """How many verdicts went where, the gold choice framed."""
    axes.set_axis_off()
    total = max(sum(int(card[name]) for name in CHOICE_COLOURS), 1)
    left = 0.0
    for name, colour in CHOICE_COLOURS.items():
        share = int(card[name]) / total
        axes.barh(0, share, left=left, height=1, color=colour, edgecolor="white", linewidth=0.5)
        if share > 0.06:
            ink = "white" if name in ("A", "B") else "black"
            axes.text(left + share / 2, 0, f"{int(card[name])}", ha="center", va="center", fontsize=6, color=ink)
        if name == card["gold"]:
            axes.plot([left, left + share] if share else [left, left], [-0.62, -0.62], color=COLOURS["gold"], lw=2.2)
        left += share
    axes.text(
        0,
        0.62,
        f"gold: {label(card['gold'])} (votes: {label(card['votes'], 40)}); verdicts:",
        va="bottom",
        fontsize=6,
        color="black",
    )
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.75, 1.6)
