"""Every figure of a table, drawn from real rows of few, many and hostile judges: complete, readable, as text."""

import inspect
import re
from collections.abc import Callable
from string import Formatter

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from mrb_lib.figures.registry import FIGURES, FigureSpec, figure
from mrb_lib.figures.style import PAGE, Paper, canvas, mark_simulated
from mrb_lib.report.links import LISTS
from mrb_lib.stats.columns import TABLES
from tests.figures.read import JUDGES, beside_others, draw, shown, titles
from tests.stats.small_tables import OF_PREFERENCES

NAMED = ("judge", "judge_1", "judge_2", "base", "tuned", "responder")
UNNAMED = ("subfield", "annotator", "annotator_1", "annotator_2")
HOSTILE = ("$\\frac{a}{b}$ {x}", "<script>alert(1)</script>\0", "\u202eevil\n\tname" + "x" * 90)
# Of what this benchmark does not have: domains left out of training.
LACKING = ("transfer-losses", "transfer-trained")
# What these show is drawn in part, or otherwise than as itself: see the files of these figures.
OTHERWISE = ("adjudication-moves", "gold-confusion", "gold-ranks", "leaderboard", "models-difficulty",
             "ppi-win-rates", "probe-profile", "probe-severity", "responder-strengths", "risk-coverage")  # fmt: skip
# Of these one of two values has an interval.
WITHOUT_ENDS = ("ceiling-annotators", "transfer-predictions")
# Their rows are of no subfield, whatever the table is made by.
WHOLE = ("calibration-shift", "learning-curve", "power", "risk-coverage", "training-ingredients")
# They name judges otherwise than by ticks and titles.
NAMED_OTHERWISE = ("adjudication-reasons", "probe-severity", "responder-strengths", "significance-differences",
                   "significance-p")  # fmt: skip
# They leave out what is missing, or draw something else where it is.
LEFT_OUT = ("adjudication-moves", "adjudication-reasons", "gold-ranks", "jury-sizes", "leaderboard", "learning-curve",
            "models-difficulty", "models-suspicion", "overconfidence", "power", "probe-severity", "rank-agreement",
            "reliability", "risk-coverage", "subfields-mean", "transfer-predictions")  # fmt: skip
# They have a panel per dimension; of others rows of another dimension cannot be made, or are drawn in other ways.
PANELS = ("agreement-pairs", "ceiling-alternative", "ceiling-annotators", "ceiling-distances", "group-contrasts",
          "leaderboard", "models-effects", "order-consistency", "overconfidence", "position-bias", "rank-agreement",
          "training-gains")  # fmt: skip
OF_ALL_DIMENSIONS = ("adjudication-reasons", "agreement-dimensions", "every-dimension")
MANY = [tuple(f"{name} of group {i}" for name in JUDGES) for i in range(10)]
SPECS = [spec for spec in FIGURES.values() if spec.table in OF_PREFERENCES and spec.id not in LACKING]


def figures_but(*ids: str, where: Callable[[FigureSpec], object] = lambda spec: spec.shows) -> pytest.MarkDecorator:
    """Run a test on every figure of which something holds, but for those of which it cannot be true."""
    specs = [spec for spec in SPECS if spec.id not in ids and where(spec)]
    return pytest.mark.parametrize("spec", specs, ids=lambda spec: spec.id)


def drawn(spec: FigureSpec, groups: list[tuple[str, ...]]) -> Paper:
    """The figure of the judges' rows, once under the names of each group."""
    rows, copies = shown(spec.id), []
    if groups[0] is HOSTILE:
        others = {"eye": HOSTILE[0], "lung": HOSTILE[1], "a": HOSTILE[2], "b": HOSTILE[1]}
        rows = rows.assign(**{each: rows[each].replace(others) for each in UNNAMED if each in rows})
    for i, names in enumerate(groups):
        renamed = dict(zip(JUDGES, names, strict=True))
        own = rows.assign(**{each: rows[each].replace(renamed) for each in NAMED if each in rows})
        judged = own[[each for each in NAMED if each in own]].isin(names).any(axis=1)
        copies.append(own if i == 0 else own[judged])
    return draw(spec.id, pd.concat(copies, ignore_index=True), tuple(name for names in groups for name in names))


def numbers(figure: Figure) -> np.ndarray:
    """Every number that is drawn as a point, an end of an interval or a colour."""
    found = [line.get_xydata() for each in figure.axes for line in each.lines if line.get_gid()]
    for points in (points for each in figure.axes for points in each.collections):
        found += [points.get_offsets()] + [points.get_array()] * (points.get_array() is not None)
        found += list(points.get_segments()) if isinstance(points, LineCollection) else []
    return np.concatenate([np.ma.filled(np.ma.asarray(each, float), np.nan).ravel() for each in found])


def names_on(figure: Figure) -> list[str]:
    """The judges that ticks and titles name, in the order in which they do."""
    named = []
    for axes in figure.axes:
        ticks = [*axes.get_yticklabels(), *axes.get_xticklabels()]
        named += [axes.get_title().split("\n")[0], *(text.get_text() for text in ticks)]
    return list(dict.fromkeys(name for name in named if name in JUDGES))


def gaps(figure: Figure) -> int:
    """How many values are marked as not available."""
    return len(
        figure.findobj(lambda artist: artist.get_gid() == "not-available" or getattr(artist, "_text", "") == "n/a")
    )


@pytest.mark.parametrize("groups", [[HOSTILE], MANY], ids=["hostile", "many"])
@figures_but(where=bool)
def test_text_is_inside_readable_and_apart(
    flaws: Callable[[Figure], list[str]], spec: FigureSpec, groups: list[tuple[str, ...]]
) -> None:
    figure = drawn(spec, groups)
    mark_simulated(figure)
    assert flaws(figure) == []
    assert figure.get_figwidth() <= PAGE
    assert groups is MANY or b"\0" not in figure.svg()


@figures_but(*OTHERWISE)
def test_every_value_of_the_dimension_and_its_interval_are_drawn(spec: FigureSpec) -> None:
    rows = shown(spec.id)
    here = rows["dimension"].eq("overall")
    here &= rows["subfield"].notna().eq(spec.by) if "subfield" in rows else True
    here &= rows["kind"].ne("reference") if "kind" in rows else True
    figure = draw(spec.id, rows)
    ends = TABLES[spec.table].column(spec.shows).ends
    has_intervals = figure.findobj(lambda artist: "intervals" in str(artist.get_gid()))
    found = numbers(figure)
    for name in (spec.shows, *(ends if has_intervals and spec.id not in WITHOUT_ENDS else ())):
        for value in rows.loc[here, name].dropna().astype(float):
            assert np.isclose(found, value, rtol=0, atol=1e-12).any(), (name, value)


@figures_but(*WHOLE, where=lambda spec: spec.shows and not spec.by and "subfield" in shown(spec.id))
def test_rows_of_subfields_are_not_drawn(spec: FigureSpec) -> None:
    rows = shown(spec.id)
    parts = rows.assign(subfield="lung", by="organ", **{spec.shows: 0.0123})
    every = pd.concat([rows, parts.astype(rows.dtypes.to_dict())], ignore_index=True)
    np.testing.assert_array_equal(np.sort(numbers(draw(spec.id, every))), np.sort(numbers(draw(spec.id, rows))))


@figures_but(*OF_ALL_DIMENSIONS)
def test_rows_of_another_dimension_are_not_drawn_or_have_a_panel(spec: FigureSpec) -> None:
    rows = shown(spec.id)
    figure = draw(spec.id, beside_others(rows, **{spec.shows: 0.0123}))
    if spec.id in PANELS:
        assert {"Overall", "Accuracy"} <= {title.title() for title in titles(figure)}
    else:
        np.testing.assert_array_equal(np.sort(numbers(figure)), np.sort(numbers(draw(spec.id, rows))))


@figures_but(*NAMED_OTHERWISE, where=lambda spec: "judges" in inspect.signature(spec.draw).parameters)
def test_judges_stand_in_the_order_of_the_report(spec: FigureSpec) -> None:
    for order in (JUDGES, JUDGES[::-1]):
        found = names_on(draw(spec.id, shown(spec.id), ("unseen", *order)))
        assert found == [name for name in order if name in found]
        assert len(found) >= 2


@figures_but(*LEFT_OUT)
def test_a_value_that_is_missing_is_marked_as_such(spec: FigureSpec) -> None:
    rows = shown(spec.id)
    known = rows[rows[spec.shows].notna() & rows["dimension"].eq("overall")]
    known = known[known["subfield"].notna() == spec.by] if "subfield" in known else known
    one = known.index[len(known) // 2]
    column = TABLES[spec.table].column(spec.shows)
    without = rows.copy()
    without.loc[one, [spec.shows, *column.ends]] = np.nan
    assert gaps(draw(spec.id, without)) > gaps(draw(spec.id, rows))


OWN_WORDS = {
    "comparison": {"then", "now"},
    "construction-left": {"by"},
    "estimates": {"what"},
}
"""Words that a figure of no table is given by whoever draws it."""


def sentences(text: str) -> int:
    return len(re.findall(r"[.?](?=\s|$)", re.sub(r"\b(e\.g|i\.e|vs)\.", "", text)))


@pytest.mark.parametrize("spec", FIGURES.values(), ids=lambda spec: spec.id)
def test_every_figure_says_in_a_few_sentences_what_it_shows_and_how_to_read_it(spec) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", spec.id)
    assert spec.title[0].isupper() or spec.title[0] == "{"
    assert not spec.title.endswith(".")
    assert 1 <= sentences(spec.caption) <= 2
    assert 1 <= sentences(spec.reading) <= 3
    _, *options = inspect.signature(spec.draw).parameters.values()
    assert all(option.kind is inspect.Parameter.KEYWORD_ONLY for option in options)


@pytest.mark.parametrize("spec", FIGURES.values(), ids=lambda spec: spec.id)
def test_every_word_in_braces_and_every_column_is_one_of_the_table(spec) -> None:
    used = {
        name for text in (spec.title, spec.caption, spec.reading) for _, name, *_ in Formatter().parse(text) if name
    }
    table = TABLES[spec.table] if spec.table else None
    known = {"dimension", "by", "correction"} | {*(table.options if table else ())} | OWN_WORDS.get(spec.id, set())
    assert used <= known
    assert not spec.cases or spec.cases in LISTS
    if table:
        assert not spec.shows or spec.shows in table.columns


def test_an_id_is_registered_once_and_a_table_has_one_main_figure_per_kind() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        figure("leaderboard", title="T", caption="C.", reading="R.")(lambda frame: canvas(1, 1))
    mains = [(spec.table, spec.by) for spec in FIGURES.values() if spec.is_main and spec.table]
    assert len(mains) == len(set(mains))
