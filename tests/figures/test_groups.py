"""What the figures of groups draw is what the tables say."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mrb_lib.tables.schema import DIMENSIONS
from tests.figures.read import draw, marks, shown, ticks


@pytest.mark.parametrize("n", [2, len(DIMENSIONS)])
def test_contrasts_are_readable_and_named_by_their_groups(flaws: Callable[[Figure], list[str]], n: int) -> None:
    rows = shown("group-contrasts")
    table = pd.concat([rows.assign(dimension=name) for name in DIMENSIONS[-n:]], ignore_index=True)
    table.loc[0, ["difference", "low", "high"]] = np.nan
    drawn = draw("group-contrasts", table)
    assert flaws(drawn) == []
    values = np.concatenate([marks(axes)[:, 0] for axes in drawn.axes])
    assert sorted(values[~np.isnan(values)]) == sorted(table["difference"].dropna())
    contrast, descendants = (rows[rows["part"] == part].iloc[0] for part in ("contrast", "descendants"))
    names = [f"{row.group_1} {row.n_judges_1} \u2212 {other} {row.n_judges_2}"
             for row, other in ((contrast, contrast.group_2), (descendants, "their bases"))]  # fmt: skip
    assert sorted(ticks(drawn.axes[0])) == sorted(names)


@pytest.mark.parametrize("count", [2, 17])
def test_gains_are_filled_where_they_are_significant(flaws: Callable[[Figure], list[str]], count: int) -> None:
    gain = np.linspace(0.1, -0.05, count)
    table = pd.concat([shown("gains").assign(tuned=f"tuned-{i}") for i in range(count)], ignore_index=True)
    table = table.assign(gain=gain, low=gain - 0.04, high=gain + 0.04, p_adjusted=np.where(abs(gain) > 0.04, 0.01, 0.5))
    table.loc[count - 1, ["accuracy_base", "accuracy_tuned", "gain", "low", "high", "p_adjusted"]] = np.nan
    drawn = draw("gains", pd.concat([table, table.assign(dimension="accuracy", gain=0.7)]))
    assert flaws(drawn) == []
    ends = {line.get_gid(): line.get_xdata() for axes in drawn.axes for line in axes.get_lines()}
    known = table.dropna(subset="gain")
    for gid, column in (("base", "accuracy_base"), ("tuned", "accuracy_tuned")):
        assert ends[gid][: len(known)] == pytest.approx(known[column])
    assert ends["values"] == pytest.approx(known["gain"])
    open_ones = np.asarray(ends["not-shown"], dtype=float)
    assert open_ones[~np.isnan(open_ones)] == pytest.approx(known.loc[known["p_adjusted"] > 0.05, "gain"])
