"""Dates of the precision at which they are known: a year, a month or a day."""

import calendar
import re
from datetime import date
from typing import Final

_FORM: Final = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)


def day_span(text: str) -> tuple[date, date] | None:
    """The first and the last day that an ISO date may mean; None where the text is not one.

    Parameters
    ----------
    text : `2023`, `2023-05` or `2023-05-17`
    """
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    year, month, day = form.groups()
    first, last = int(month or 1), int(month or 12)
    try:
        start = date(int(year), first, int(day or 1))
        return start, date(int(year), last, int(day or calendar.monthrange(int(year), last)[1]))
    except ValueError:
        return None
