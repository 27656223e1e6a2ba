"""Figures of rankings draw what their frame says, for two judges and for thirty-two."""

import numpy as np
import pandas as pd

from mrb_lib.figures import responders as plots
from tests.figures.read import marks, spans


def frame(judges: list[str], responders: list[str]) -> pd.DataFrame:
    """Strengths, and agreements that order the judges as they are given."""
    generator = np.random.default_rng(1)
    rows = []
    for source, judge in [("gold", None), *(("judge", name) for name in judges)]:
        strength = generator.dirichlet(np.ones(len(responders)) * 5)
        rows += [
            {"source": source, "judge": judge, "responder": name, "strength": x, "low": x * 0.8, "high": x * 1.3}
            for name, x in zip(responders, strength, strict=True)
        ]
    strengths = pd.DataFrame(rows).assign(part="strength")
    kendall = np.linspace(1, -1, len(judges))
    agreed = pd.DataFrame({"part": "agreement", "source": "gold", "judge": judges, "kendall": kendall})
    return pd.concat([strengths, agreed], ignore_index=True).assign(dimension="overall")


def test_every_strength_and_interval_is_drawn_beside_the_annotators() -> None:
    rows = frame(["k", "j"], ["p", "q", "r"])
    figure = plots.strengths(rows, dimension="overall", judges=["k", "unseen", "j"])
    rows = rows[rows["part"] == "strength"]
    gold = rows[rows["source"] == "gold"].sort_values("strength", ascending=False)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == gold["responder"].tolist()
    for axes, judge in zip(figure.axes, ["k", "j"], strict=True):
        assert axes.get_title() == judge
        own = rows[rows["judge"] == judge].set_index("responder").loc[gold["responder"]]
        for gid, expected in (("annotators", gold), ("judge", own)):
            points = marks(axes, gid)
            np.testing.assert_allclose(points[np.argsort(points[:, 1]), 0], expected["strength"])
            ends = spans(axes, f"{gid}-intervals")
            found = sorted((span[0, 1], span[0, 0], span[1, 0]) for span in ends)
            np.testing.assert_allclose([item[1:] for item in found], expected[["low", "high"]])
        assert axes.get_xscale() == "log"
