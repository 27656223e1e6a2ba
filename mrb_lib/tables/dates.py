"""Dates of the precision at which they are known: a year, a month or a day."""

import re
from datetime import date
from typing import Final

import pandas as pd

_FORM: Final = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?", re.ASCII)


def day_span(text: str) -> tuple[date, date] | None:
    """The first and the last day that an ISO date may mean; None where the text is not one.

    Parameters
    ----------
    text : `2023`, `2023-05` or `2023-05-17`
    """
    if not _FORM.fullmatch(text):
        return None
    try:
        period = pd.Period(text)
    except ValueError:
        return None
    return period.start_time.date(), period.end_time.date()
