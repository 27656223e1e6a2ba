"""Wilson's interval as Newcombe (1998), Statistics in Medicine 17:857, table I, method 3, prints it."""

import numpy as np
import pytest

from mrb_lib.stats.intervals import wilson


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_newcombes_examples(right: int, n: int, low: float, high: float) -> None:
    found = wilson(np.array([right / n]), np.array([n]))
    assert [float(end[0]) for end in found] == pytest.approx([low, high], abs=5e-5)
