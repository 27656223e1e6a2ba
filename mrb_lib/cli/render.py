"""Tables as text, JSON, CSV and LaTeX."""

import json

import pandas as pd

from mrb_lib.cli.listing import aligned
from mrb_lib.report.tabular import table_text, to_latex

MARK = "SIMULATED"


def as_text(frame: pd.DataFrame) -> str:
    """An aligned table: intervals beside their estimates, and no column without any value."""
    shown = table_text(frame.dropna(axis="columns", how="all") if len(frame) else frame, raw=True)
    return "\n".join(aligned([list(shown.columns), *shown.rows], shown.numeric))


def as_json(
    frame: pd.DataFrame,
    *,
    table: str,
    policy: str | None,
    simulated: bool,
    cluster: str | None = None,
    where: str = "",
) -> str:
    """`{"table": ..., "policy": ..., "cluster": ..., "rows": [...]}`; missing values are null, and so are the policy
    and the unit of resampling where none is read.

    Simulated data adds `"data_kind": "SIMULATED"`, a filter `"where"`.
    """
    head = {"table": table, "policy": policy, "cluster": cluster}
    head |= ({"where": where} if where else {}) | ({"data_kind": MARK} if simulated else {})
    return json.dumps({**head, "rows": json_rows(frame)}, allow_nan=False)


def json_rows(frame: pd.DataFrame) -> list[dict[str, object]]:
    """The rows as JSON has them; missing values are null."""
    return [
        {str(name): None if pd.isna(value) else _plain(value) for name, value in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]


def _plain(value: object) -> object:
    """A number of NumPy's as Python's own."""
    item = getattr(value, "item", None)
    return value if item is None else item()


def as_csv(frame: pd.DataFrame, *, simulated: bool) -> str:
    """CSV in full precision; simulated data adds the column `data_kind`."""
    return (frame.assign(data_kind=MARK) if simulated else frame).to_csv(index=False)


def as_latex(frame: pd.DataFrame, *, caption: str, label: str) -> str:
    """A LaTeX table, every text escaped."""
    return to_latex(table_text(frame), caption, label)
