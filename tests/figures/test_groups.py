"""What the figures of groups draw is what the tables say."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mrb_lib.figures.groups import gains, group_contrasts
from mrb_lib.tables.schema import DIMENSIONS

LONG = "medgemma-27b-with-a-very-long-name+generative@medgemma-27b-0123abcd"


def contrasts(dimensions: tuple[str, ...]) -> pd.DataFrame:
    """Two contrasts and the descendants on each dimension; one contrast is undefined on the last."""
    rows = [
        ("contrast", "open", "medical", 12, 7, 0.03, -0.02, 0.08),
        ("contrast", "proprietary", "medical", 3, 7, 0.1, 0.04, 0.16),
        ("contrast", "open", "a group with $ and a name that is rather long", 12, 1, 0.2, np.nan, np.nan),
        ("descendants", "medical", "base", 5, 3, 0.01, -0.05, 0.07),
    ]
    names = ["part", "group_1", "group_2", "n_judges_1", "n_judges_2", "difference", "low", "high"]
    frames = [pd.DataFrame(rows, columns=names).assign(dimension=dimension, subfield=None) for dimension in dimensions]
    table = pd.concat(frames, ignore_index=True)
    table.loc[len(table) - 4, ["difference", "low", "high"]] = np.nan
    of_eyes = table.assign(subfield="eye", difference=0.9)
    return pd.concat([table, of_eyes], ignore_index=True)


def pairs(count: int) -> pd.DataFrame:
    base = np.linspace(0.5, 0.6, count)
    gain = np.linspace(0.1, -0.05, count)
    table = pd.DataFrame(
        {"base": [f"base-{i}" for i in range(count)], "tuned": [f"tuned-{i}" for i in range(count)],
         "dimension": "overall", "subfield": None, "accuracy_base": base, "accuracy_tuned": base + gain, "gain": gain,
         "low": gain - 0.04, "high": gain + 0.04, "p_adjusted": np.where(np.abs(gain) > 0.04, 0.01, 0.5)}
    )  # fmt: skip
    table.loc[0, ["base", "tuned"]] = LONG
    table.loc[count - 1, ["accuracy_base", "accuracy_tuned", "gain", "low", "high", "p_adjusted"]] = np.nan
    return table


@pytest.mark.parametrize("dimensions", [("overall",), DIMENSIONS[:2], DIMENSIONS], ids=len)
def test_contrasts_are_readable_and_drawn_where_the_table_has_them(
    flaws: Callable[[Figure], list[str]], dimensions: tuple[str, ...]
) -> None:
    table = contrasts(dimensions)
    drawn = group_contrasts(table, dimension=dimensions[-1])
    assert flaws(drawn) == []
    shown = [line for axes in drawn.axes for line in axes.get_lines() if line.get_gid() == "values"]
    values = np.concatenate([line.get_xdata() for line in shown])
    expected = table[table["subfield"].isna()]["difference"].dropna()
    assert sorted(values) == sorted(expected)
    names = [text.get_text() for text in drawn.axes[0].get_yticklabels()]
    assert names[1] == "proprietary 3 \u2212 medical 7"
    assert "medical 5 \u2212 their bases 3" in names


@pytest.mark.parametrize("count", [2, 17])
def test_gains_are_readable_and_filled_where_they_are_shown(flaws: Callable[[Figure], list[str]], count: int) -> None:
    table = pairs(count)
    drawn = gains(pd.concat([table, table.assign(dimension="accuracy", gain=0.7)]), dimension="overall")
    assert flaws(drawn) == []
    left, right = drawn.axes
    ends = {line.get_gid(): line.get_xdata() for axes in (left, right) for line in axes.get_lines()}
    known = table.dropna(subset="gain")
    assert ends["base"][: len(known)] == pytest.approx(known["accuracy_base"])
    assert ends["tuned"][: len(known)] == pytest.approx(known["accuracy_tuned"])
    assert ends["values"] == pytest.approx(known["gain"])
    open_ones = np.asarray(ends["not-shown"], dtype=float)
    assert open_ones[~np.isnan(open_ones)] == pytest.approx(known.loc[known["p_adjusted"] > 0.05, "gain"])
