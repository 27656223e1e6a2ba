"""What sways a judge besides quality: errors towards a kind of response, and the pull of length and style."""

from collections.abc import Sequence

import pandas as pd

from mrb_lib.figures.intervals import overall, panels, rows_of
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import Paper
from mrb_lib.tables.errors import NotApplicable

_LINEAR_TO = 4.0
_HELD = {"estimate": "beyond quality", "association": "given the gold label"}


@figure("bias-errors", table="bias", shows="error_asymmetry")
def error_asymmetries(bias: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw how much more often each judge errs towards a kind of response than away from it, in a panel per kind.

    Parameters
    ----------
    bias : the table `bias`; rows of subfields, style and other dimensions are not drawn, nor kinds without an estimate
    judges : all judges from the first to the last; empty orders them by the errors towards longer responses
    """
    here = rows_of(overall(bias), dimension=dimension)
    return panels(
        _with_estimates(here[here["bias"] != "style"], "bias", "error_asymmetry"),
        value="error_asymmetry",
        panel="bias",
        order=judges,
        order_by="length",
        axis_label="errors towards minus errors away from it (percentage points)",
        line_at=0.0,
    )


@figure("bias-pull", table="bias", is_main=True)
def log_odds(bias: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw the pull of length and of each marker of style, in log odds per standard deviation.

    Parameters
    ----------
    bias : the table `bias`; rows of subfields, authorship and other dimensions are not drawn, nor markers without an
        estimate. Where no judge has an `estimate`, as with one annotator per case, the `association` is drawn.
    judges : all judges from the first to the last; empty orders them by the pull of length

    Raises
    ------
    NotApplicable
        Neither is defined.
    """
    here = rows_of(overall(bias), dimension=dimension)
    here = here[here["bias"].isin(["length", "style"])]
    here = here.assign(marker=here["marker"].fillna("length"))
    value = "estimate" if here["estimate"].notna().any() else "association"
    if here[value].isna().all() and "reason" in here:
        raise NotApplicable(next(iter(here["reason"].dropna()), "no pull of length or style is defined") + ".")
    is_wide = bool(here[value].abs().max() > _LINEAR_TO)
    scale = " (logarithmic beyond 1)" if is_wide else ""
    figure = panels(
        _with_estimates(here, "marker", value),
        value=value,
        panel="marker",
        order=judges,
        order_by="length",
        axis_label=f"log odds per standard deviation, {_HELD[value]}{scale}",
        line_at=0.0,
        in_percent=False,
    )
    for axes in figure.axes:
        if is_wide:
            axes.set_xscale("symlog", linthresh=1.0)
            axes.set_xticks([-10, -1, 0, 1, 10], ["\u221210", "\u22121", "0", "1", "10"])
        else:
            axes.locator_params(axis="x", nbins=5)
    return figure


def _with_estimates(rows: pd.DataFrame, panel: str, value: str) -> pd.DataFrame:
    """The rows of length, and those of panels where some judge has a value."""
    return rows[(rows[panel] == "length") | (rows.groupby(panel)[value].transform("count") > 0)]
