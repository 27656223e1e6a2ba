"""How every figure looks: sizes, type, colours, and the formats it is written in.

A colour has one meaning in all figures (`COLOURS`). Widths are those of a printed
column and page; no text is smaller than 6 points at that size.
"""

import io
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import wraps
from math import ceil
from typing import Any, Final, ParamSpec

import matplotlib as mpl
import numpy as np
from fontTools import subset
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike
from PIL import Image

from mrb_lib.figures.lettering import USUAL_FONT, Letters, label, labels, lettering

P = ParamSpec("P")

COLUMN = 3.5
PAGE = 7.2
SMALLEST_TYPE = 6.0
TALLEST = 8.8  # with the strip, 9
RESOLUTION = 250
STRIP = 0.2

COLOURS = {
    "A": "#0072B2",
    "B": "#D55E00",
    "tie": "#999999",
    "gold": "#E69F00",
    "human": "#009E73",
    "judge": "#333333",
    "cases": "#56779A",
    "missing": "#EDEDED",
    "simulated": "#B00020",
}
SERIES: tuple[tuple[str, str], ...] = (
    ("#332288", "o"),
    ("#CC6677", "s"),
    ("#117733", "^"),
    ("#3C9BC9", "D"),
    ("#882255", "v"),
    ("#999933", "P"),
)
SEQUENTIAL = "viridis"
DIVERGING = "PRGn"
NOT_AVAILABLE = "n/a"

RC: dict[str, object] = {
    "font.size": 7.0,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.0,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "grid.linewidth": 0.4,
    "grid.color": "#DDDDDD",
    "lines.linewidth": 1.0,
    "hatch.linewidth": 0.4,
    "figure.dpi": 150,
    "figure.facecolor": "white",
    "savefig.dpi": RESOLUTION,
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "mrb",
    "pdf.fonttype": 42,
    "image.interpolation": "antialiased",
}


def house_style(families: Iterable[str] = ()) -> AbstractContextManager[None]:
    """The settings of all figures, for the length of a `with` block; `families` have what the usual font lacks."""
    settings = RC | {"font.family": [USUAL_FONT, *families]}
    return mpl.rc_context(settings)  # type: ignore[arg-type]  # the stubs want each key's own literal type


_CANVASES: Final = {"raw": FigureCanvasAgg, "svg": FigureCanvasSVG, "pdf": FigureCanvasPdf}


@contextmanager
def _fonts_without_layout() -> Iterator[None]:
    """Leave the tables that lay out text out of embedded fonts: a PDF says where each letter stands.

    To read them and cut them down to a figure's letters took .35 of the .5 s of its PDF, and a report has a hundred.
    matplotlib takes no option for it.
    """
    load = subset.load_font

    def load_without(file: Any, options: subset.Options) -> Any:
        font = load(file, options)
        for table in {"GDEF", "GPOS", "GSUB", "kern"} & set(font.keys()):
            del font[table]
        return font

    subset.load_font = load_without
    try:
        yield
    finally:
        subset.load_font = load


def _in_palette(drawn: Image.Image) -> Image.Image:
    """A chart in 256 colours: its 80 commonest as they are, and the nearest of 176 others for all the rest."""
    codes = np.asarray(drawn.convert("RGBA")).view(np.uint32)[..., 0]
    seen, counts = np.unique(codes[::4, ::4], return_counts=True)
    common = np.sort(seen[np.argsort(-counts, kind="stable")[:80]])
    kept = drawn.quantize(176, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    place = np.searchsorted(common, codes).clip(max=len(common) - 1).astype(np.uint8)
    made = Image.fromarray(np.where(common[place] == codes, place + np.uint8(176), np.asarray(kept)))
    others = [*(kept.getpalette() or []), *[0] * 528][:528]
    made.putpalette([*others, *common.view(np.uint8).reshape(-1, 4)[:, :3].ravel().tolist()])
    return made


@dataclass(frozen=True)
class Mark:
    """What is drawn in a part of an axes: see `Paper.mark`."""

    axes: Axes
    y: tuple[float, float] | None
    x: tuple[float, float] | None
    names: dict[str, str]

    def box(self, figure: Figure) -> list[float]:
        """Left, top, width and height as shares of a figure that is laid out."""
        corners = self.axes.bbox.get_points()
        if self.y is not None:
            corners = self.axes.transData.transform(np.column_stack([self.x or self.axes.get_xlim(), self.y]))
        points = figure.transFigure.inverted().transform(corners)
        (left, bottom), (right, top) = points.min(axis=0), points.max(axis=0)
        return [round(float(share), 4) for share in (left, 1 - top, right - left, top - bottom)]


class Paper(Figure):
    """A figure that is drawn in the house style wherever and whenever it is drawn.

    Ticks are made while a figure is drawn, long after the function that planned it
    has returned; the style therefore belongs to the drawing, not to that function.

    Attributes
    ----------
    resolution : pixels an inch of the PNG
    letters : labels beyond the usual font
    """

    resolution = RESOLUTION
    _png: bytes | None = None
    _is_undrawn: bool = False
    _marks: list[Mark] | None = None

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.letters = Letters()

    def mark(
        self,
        axes: Axes,
        names: dict[str, str],
        y: tuple[float, float] | None = None,
        x: tuple[float, float] | None = None,
    ) -> None:
        """Say what is drawn in a part of an axes, so that a page can lead from there to what stands behind it.

        Parameters
        ----------
        names : of what is drawn, such as `judge` (or another `row`) and `subfield`
        y, x : its ends in data; without `x` the whole width of the axes, without `y` all of the axes
        """
        self._marks = [*(self._marks or []), Mark(axes, y, x, names)]

    def boxes(self) -> list[tuple[dict[str, str], list[float]]]:
        """The names of all marks with left, top, width and height as shares of the figure; finishes it."""
        self.png()
        return [(mark.names, mark.box(self)) for mark in self._marks or []]

    @property
    def finished(self) -> bool:
        """Whether the layout is fixed; a finished figure is not to be changed any more."""
        return self._png is not None

    @contextmanager
    def undrawn(self) -> Iterator[None]:
        """Draw nothing in this block, as what is drawn before all is planned is thrown away."""
        self._is_undrawn = True
        try:
            yield
        finally:
            self._is_undrawn = False

    def draw(self, renderer: RendererBase) -> None:
        """Draw in the house style."""
        if not self._is_undrawn:
            with house_style(self.letters.families):
                super().draw(renderer)

    def png(self) -> bytes:
        """The figure as PNG, the same bytes for the same figure; lays it out for good, so that all formats are alike.

        The solver of the layout does its sums in an order that differs from run to run;
        positions are rounded to what can be seen, so that their last digits do not decide the bytes.
        """
        if self._png is None:
            with house_style(self.letters.families):
                self._lay_out()
                self.set_layout_engine("none")
                for axes in self.axes:
                    axes.set_position(Bbox(axes.get_position(original=True).get_points().round(5)))
            self._png = self._quantized()
        return self._png

    def _lay_out(self) -> None:
        """What drawing does before it draws, without the drawing.

        Axes without a name have its place fixed: each drawing would else look where all their ticks end, to put nothing
        there, which took a twelfth of the time of a figure's files.
        """
        for axis in (axis for axes in self.axes for axis in (axes.xaxis, axes.yaxis)):
            if not axis.get_label_text():
                axis.set_label_coords(0, 0)
        engine = self.get_layout_engine()
        if engine is not None and self.axes:
            engine.execute(self)

    def _quantized(self) -> bytes:
        """At most 256 colours: a third of the size, and no difference that an eye can see in a chart.

        The commonest keep their place, so that no pale cell of a matrix turns grey; the others are spread over all that
        occur, for the edges of letters. Photographs keep all of theirs.
        """
        pixels = self._saved("raw", None, self.resolution)
        width = int(round(self.get_size_inches()[0] * self.resolution, 6))  # a size that is whole but for a last digit
        drawn = Image.frombuffer("RGBA", (width, len(pixels) // (4 * width)), pixels)
        kept = drawn.convert("RGB")
        if not any(getattr(picture.get_array(), "ndim", 0) == 3 for axes in self.axes for picture in axes.get_images()):
            kept = _in_palette(kept)
        stream = io.BytesIO()
        kept.save(stream, format="PNG", optimize=True, dpi=(self.resolution, self.resolution))
        return stream.getvalue()

    def svg(self) -> bytes:
        """The figure as SVG with its letters as text, the same bytes for the same figure; finishes it."""
        self.png()
        return self._saved("svg", {"Date": None, "Creator": None}, 150)

    def pdf(self) -> bytes:
        """The figure as PDF with its letters as text, the same bytes for the same figure; finishes it."""
        self.png()
        with _fonts_without_layout():
            return self._saved("pdf", dict.fromkeys(("CreationDate", "Creator", "Producer")), RESOLUTION)

    def _saved(self, kind: str, metadata: dict[str, None] | None, resolution: int) -> bytes:
        """What `savefig` writes, which draws a figure twice, in case that its layout is not fixed yet."""
        stream = io.BytesIO()
        shown, dpi = self.canvas, self.dpi
        try:
            with house_style(self.letters.families):
                self.dpi = resolution
                getattr(_CANVASES[kind](self), f"print_{kind}")(stream, metadata=metadata)
        finally:
            self.set_canvas(shown)
            self.dpi = dpi
        return stream.getvalue()

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, bytes], dict[str, dict[str, int]]]:
        """What a notebook shows: a PNG for dense screens, at 110 pixels an inch."""
        width, height = self.get_size_inches()
        size = {"width": round(width * 110), "height": round(height * 110)}
        if self.letters.numbered:
            warnings.warn(self.letters.legend, stacklevel=2)
        return {"image/png": self.png()}, {"image/png": size}


def styled(plot: Callable[P, Paper]) -> Callable[P, Paper]:
    """Run a plotting function in the house style; again, with more fonts, if its labels need them."""

    @wraps(plot)
    def run(*args: P.args, **kwargs: P.kwargs) -> Paper:
        letters = Letters()
        with lettering(letters), house_style():
            paper = plot(*args, **kwargs)
        if letters.families:
            with lettering(letters), house_style(letters.families):
                paper = plot(*args, **kwargs)
        paper.letters = letters
        return paper

    return run


def canvas(width: float, height: float, *, layout: bool = True) -> Paper:
    """An empty figure of a size in inches that lays itself out without overlaps, unless the caller does."""
    figure = Paper(figsize=(width, height), layout="constrained" if layout else None)
    FigureCanvasAgg(figure)
    return figure


def mark_simulated(figure: Paper) -> None:
    """Say on the figure's face that its data are simulated, in a strip added above it.

    Raises
    ------
    ValueError
        The figure is finished already.
    """
    if any(text.get_gid() == "simulated" for text in figure.texts):
        return
    if figure.finished:
        raise ValueError("a finished figure cannot be marked; mark it first")
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + STRIP)
    share = height / (height + STRIP)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.set(rect=(0, 0, 1, share))  # type: ignore[call-arg]  # the constrained engine takes it
    else:
        for axes in figure.axes:
            left, bottom, across, up = axes.get_position(original=True).bounds
            axes.set_position((left, bottom * share, across, up * share))
    top = 1 - 0.04 / (height + STRIP)
    for text in figure.texts:
        if text.get_gid() == "mark":  # stands in the same strip
            text.set_in_layout(False)
            text.set_y(top)
    with house_style():
        text = figure.text(
            1 - 0.05 / width,
            top,
            "SIMULATED DATA",
            ha="right",
            va="top",
            weight="bold",
            color=COLOURS["simulated"],
            gid="simulated",
        )
    text.set_in_layout(False)


def write_mark(figure: Paper, mark: str) -> None:
    """Write on the figure's face, above all else, what no reader may miss; nothing where that is empty."""
    if mark:
        mark = "; ".join(filter(None, (figure.get_suptitle(), mark)))
        style: dict[str, Any] = {"fontsize": 7.5, "weight": "bold", "color": COLOURS["simulated"], "gid": "mark"}
        with lettering(figure.letters):
            text = label(mark)
        with house_style(figure.letters.families):
            figure.suptitle(text, x=0.01, ha="left", **style)


def rows_height(rows: int, each: float, rest: float) -> float:
    """The height in inches of a figure with `rows` rows; at least three rows' room, and at most a page."""
    return min(max(rows, 3) * each + rest, TALLEST)


def write_missing(axes: Axes, heights: Iterable[float], text: str = NOT_AVAILABLE, *, x: float = 0.5) -> None:
    """Write into rows of an axes that they have no value; `x` is a share of its width, beyond 1 to its right."""
    for height in heights:
        axes.text(
            x,
            height,
            text,
            transform=axes.get_yaxis_transform(),
            ha="center" if x == 0.5 else "left" if x > 1 else "right",
            va="center",
            fontsize=SMALLEST_TYPE,
            color="#777777",
            gid="not-available",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )


def name_rows(axes: Axes, names: Iterable[object], width: int, *, upwards: bool = False) -> None:
    """Write the names of rows at 0, 1, 2, ... down the vertical axis, or up it, shortened to `width` letters."""
    texts = labels(names, width)
    axes.set_yticks(range(len(texts)), texts)
    ends = (len(texts) - 0.4, -0.6)
    axes.set_ylim(*(ends[::-1] if upwards else ends))
    axes.tick_params(axis="y", length=0)


def percent_axis(axis: Axis, ticks: int = 8, *, signed: bool = False) -> None:
    """Write fractions as percentages at about so many ticks; `signed` puts a plus before what is above zero."""

    def text(value: float, _: int) -> str:
        number = round(100 * value, 6) + 0.0
        return f"{number:{'+' if signed and number else ''}.3g}".replace("-", "\u2212")

    axis.set_major_locator(MaxNLocator(nbins=ticks, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(text))


def draw_zero(axes: Axes, x: float = 0.0) -> None:
    """Draw the dashed vertical line that means: no difference."""
    axes.axvline(x, color="#888888", linewidth=0.6, linestyle=(0, (2, 2)), zorder=1)


def panel_grid(figure: Figure, count: int, columns: int, *, shared: bool = True, polar: bool = False) -> list[Axes]:
    """So many panels in rows of `columns`, with the same axes if `shared`; the rest of the last row stays empty."""
    kind = {"projection": "polar"} if polar else None
    bands = ceil(max(count, 1) / columns)
    grid = figure.subplots(bands, columns, squeeze=False, sharex=shared, sharey=shared, subplot_kw=kind)
    panels: list[Axes] = list(grid.flat)
    for empty in panels[count:]:
        empty.set_axis_off()
    for lowest in panels[max(count - columns, 0) : count]:
        lowest.tick_params(labelbottom=True)
    return panels[:count]


def not_available(axes: Axes, x: float, y: float, width: float = 1.0, height: float = 1.0) -> None:
    """Fill one cell of a matrix with the hatched grey that means: there is no value here."""
    axes.add_patch(
        Rectangle(
            (x, y),
            width,
            height,
            facecolor=COLOURS["missing"],
            edgecolor="#BBBBBB",
            hatch="/////",
            linewidth=0,
            gid="not-available",
        )
    )


def ink_on(colour: ArrayLike) -> str:
    """Black or white, whichever can be read on a colour (relative luminance, WCAG 2)."""
    rgb = np.asarray(colour, dtype=float)[:3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ np.array([0.2126, 0.7152, 0.0722]))
    return "black" if luminance > 0.179 else "white"
