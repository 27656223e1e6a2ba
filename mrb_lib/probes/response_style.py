"""Changes of how a response is written that leave what it says as it is."""

from __future__ import annotations

import numpy as np

from mrb_lib.probes.probe import Case, register_response


@register_response("response/repeated", expected="same", source="length bias, as in AlpacaEval (Dubois et al. 2024)")
def repeated(text: str, severity: int, rng: np.random.Generator, case: Case) -> str | None:
    """Say the first sentences of one response again at its end."""
    return f"{text} To repeat: {text}" if text.strip() else None
