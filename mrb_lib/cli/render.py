"""Tables as text, JSON, CSV and LaTeX."""

from __future__ import annotations

import json

import pandas as pd

MARK = "SIMULATED"


def _show(value: object) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else " ".join(str(value).split())


def condensed(frame: pd.DataFrame) -> pd.DataFrame:
    """For reading: an estimate and its bounds in one column, and no column without any value.

    `low, high` belong to the column before them, `x_low, x_high` to `x`.
    """
    out = frame.dropna(axis="columns", how="all") if len(frame) else frame
    names = [str(name) for name in out.columns]
    for low in [name for name in names if name == "low" or name.endswith("_low")]:
        high = low.removesuffix("low") + "high"
        estimate = names[names.index(low) - 1] if low == "low" else low.removesuffix("_low")
        if high in names and estimate in names:
            bounds = zip(out[estimate], out[low], out[high], strict=True)
            shown = [f"{_show(x)} [{_show(a)}, {_show(b)}]" if pd.notna(a) else _show(x) for x, a, b in bounds]
            out = out.assign(**{estimate: shown}).drop(columns=[low, high])
    return out


def as_text(frame: pd.DataFrame) -> str:
    """An aligned table; missing values are shown as a dash."""
    cells = [[_show(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame.columns]
    heads = [str(name) for name in frame.columns]
    widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(heads)]
    lines = [
        "  ".join(cell.rjust(width) if right else cell.ljust(width)
                  for cell, width, right in zip(row, widths, numeric, strict=True)).rstrip()
        for row in [heads, *cells]
    ]  # fmt: skip
    return "\n".join(lines)


def as_json(frame: pd.DataFrame, *, table: str, policy: str, simulated: bool) -> str:
    """`{"table": ..., "policy": ..., "rows": [...]}`; missing values are null.

    Simulated data adds `"data_kind": "SIMULATED"`.
    """
    head = {"table": table, "policy": policy} | ({"data_kind": MARK} if simulated else {})
    rows = [
        {name: None if pd.isna(value) else value for name, value in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]
    return json.dumps({**head, "rows": rows}, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    item = getattr(value, "item", None)
    if item is None:
        raise TypeError(f"{type(value).__name__} cannot be written as JSON")
    return item()


def as_csv(frame: pd.DataFrame, *, simulated: bool) -> str:
    """CSV in full precision; simulated data adds the column `data_kind`."""
    return (frame.assign(data_kind=MARK) if simulated else frame).to_csv(index=False)


def as_latex(frame: pd.DataFrame, *, caption: str) -> str:
    """A LaTeX table, every text escaped."""
    styled = frame.style.hide(axis="index").format(precision=3, na_rep="--", escape="latex")
    styled = styled.format_index(axis=1, escape="latex")
    return styled.to_latex(hrules=True, caption=caption)
