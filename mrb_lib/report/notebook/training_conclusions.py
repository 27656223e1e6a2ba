"""The sentences that the notebooks about training end with; see `mrb_lib.report.notebook.conclusions`."""

from __future__ import annotations

import pandas as pd

from mrb_lib.report.notebook.absent import Absent, Frame, reason_of
from mrb_lib.report.notebook.live.training import BLANKED
from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.phrases import on, opening, percent, points

_CHANGES = {
    "consistency": "the same choice in both orders",
    "first_rate": "choices for the response shown first",
    "longer_rate": "choices for the longer response",
}


def training(gains: pd.DataFrame, *, dimension: str, note: str, looks: str) -> str:
    """Say what training gained, what else it changed, what contributed, and whether the judge looks.

    Parameters
    ----------
    gains : the table `gains`
    note : what is to be said first
    looks : see `looks`
    """
    here = gains[(gains["dimension"] == dimension) & gains["subfield"].isna()]
    if not here["part"].eq("accuracy").any():
        return f"{note} No judge here is known to be trained further from another {on(dimension)}.".strip()
    said = [note, TABLES["gains"].says(here), _changed(here)]
    said.append(looks)
    return " ".join(filter(None, said))


def _changed(gains: pd.DataFrame) -> str:
    """What else changed in the judge that gained most."""
    accuracy = gains[gains["part"] == "accuracy"].dropna(subset="gain")
    if accuracy.empty:
        return ""
    most = accuracy.nlargest(1, "gain").iloc[0]
    own = gains[(gains["base"] == most["base"]) & (gains["tuned"] == most["tuned"]) & (gains["p_adjusted"] <= ALPHA)]
    changes = [f"{words} {points(row, 'gain')}" for part, words in _CHANGES.items() for _, row in _of(own, part)]
    changes += [
        f"Brier score {row['gain']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]" for _, row in _of(own, "brier")
    ]
    if not changes:
        return f"Cannot tell whether anything else changed in {most['tuned']}."
    return f"Of {most['tuned']} also changed: {'; '.join(changes)}."


def _of(rows: pd.DataFrame, part: str) -> list[tuple[object, pd.Series]]:
    return list(rows[rows["part"] == part].iterrows())


def looks(images: Frame, *, dimension: str) -> str:
    """Whether the most accurate trained judge uses the images, or judges by the texts.

    Parameters
    ----------
    images : see `mrb_lib.report.notebook.live.training.without_images`; where absent, the reason is said
    """
    if isinstance(images, Absent):
        return f"Whether it looks at the images is not known: {reason_of(images)}."
    rows = images[(images["dimension"] == dimension) & images["subfield"].isna() & (images["part"] == "accuracy")]
    rows = rows.dropna(subset="gain")
    own = rows[rows["base"] == rows["tuned"] + BLANKED].sort_values(["value_tuned", "tuned"], ascending=[False, True])
    if own.empty:
        return f"What the images contribute is not known {on(dimension)}."
    row = own.iloc[0]
    over = rows[rows["tuned"] == row["base"]]
    left, by_text = "", False
    if len(over):
        base = over.iloc[0]
        left = f", and with images blanked it gains {points(base, 'gain')} over {base['base']}"
        by_text = bool(base["low"] > 0)
    shown = "uses the images" if row["low"] > 0 else "judges by the texts" if by_text else "is not shown to look"
    return f"{row['tuned']} {shown}: with the images its accuracy differs by {points(row, 'gain')}{left}."


def left_out(table: pd.DataFrame, elsewhere: pd.DataFrame, *, by: str, dimension: str, note: str) -> str:
    """What judges lose on a domain that they were trained without, in all and where most.

    Parameters
    ----------
    table : the table `gains`
    elsewhere : the rows of the table `accuracy` of judges that were trained on another benchmark, with `trained_on`
    by : the column of the domains that were left out
    note : what is to be said first
    """
    rows = table[(table["part"] == "out_of_domain") & (table["by"] == by) & (table["dimension"] == dimension)]
    known = rows.dropna(subset="gain")
    if known.empty:
        cannot = f"What leaving a {by} out of training costs cannot be told {on(dimension)}."
        return " ".join(filter(None, (note, cannot, _elsewhere(elsewhere))))
    whole, parts = known[known["subfield"].isna()], known[known["subfield"].notna()]
    said = [note]
    if len(whole):
        row = whole.iloc[0]
        low, high = row["low"], row["high"]
        shown = "is worse" if high < 0 else "is better" if low > 0 else "does not differ significantly"
        said.append(
            f"{opening(dimension)}, a judge that was trained without a {by} {shown} there: {points(row, 'gain')} "
            f"against judges that were trained with it, over {int(row['n']):,} cases."
        )
    if len(parts) > 1:
        worst = parts.nsmallest(1, "gain").iloc[0]
        said.append(f"The difference is lowest on {worst['subfield']}, {points(worst, 'gain')}.")
    said.append(_elsewhere(elsewhere))
    return " ".join(filter(None, said))


def _elsewhere(rows: pd.DataFrame) -> str:
    """How judges do that were trained on another benchmark."""
    rows = rows.dropna(subset="accuracy")
    if rows.empty:
        return ""
    best = rows.sort_values(["accuracy", "judge"], ascending=[False, True]).iloc[0]
    return (
        f"Of judges trained on another benchmark, {best['judge']} ({best['trained_on']}) is the most accurate here: "
        f"{percent(best, 'accuracy', 'low', 'high')}."
    )
