"""The alternative annotator test on data of its authors (Calderon, Reichart and Dror, ACL 2025, arXiv 2501.10970).

MT-Bench: three people and two models prefer one of two conversations, after their first and after
their second turn (labels of Zheng et al. 2023, CC-BY 4.0, and of the authors' repository nitaytech/AltTest, whose
example prints winning rates and advantage probabilities at epsilon .2).
"""

import numpy as np
import pandas as pd
import pytest

from tests.stats.small_tables import alternative_annotator

RATERS = ("author_0", "author_4", "expert_24", "gemini_flash", "gemini_pro")
LABELS = """
82l BA AA -- BA AA | 82v -- AB TT BB BB | 84a -- BB TB BB BB | 85c TT -- TA BB AB
85v TT -- AA AA BB | 86a BB -- BB BB BB | 87g -- BT TA BB BB | 91l AA AA -- AB AA
91v TA BA BA BB AA | 92c AB AA -- AA AA | 92g -- BA BA BB AA | 92v BB -- TB BA BB
93g -- BT TB BB BB | 95c -- AB AB BB BB | 96a BT -- BB BB BB | 97g BB -- BB BB BB
99c BT -- BT AA AA | 100a -- AT AB BB BB | 100c -- BB BB BB BB | 100v -- TT AA BB BB
103g -- BB BB BB BB | 103v -- TA TA BB BB | 104g -- TA TA BB AA | 104v TA AA -- AA AA
105g -- TT BB AA TT | 105v TT TT -- AA AA | 106v TT -- TT BB TT | 107c TT -- TT AA AA
109c -- TT TT AA BB | 109v -- BT BT BB BB | 110c -- TA TT AA AA | 112c -- TA TT TT TT
114a TT BB -- BB BB | 115a BB -- BB BB BB | 115c BB -- BB AA AA | 117g BB BB -- AA AA
117v AA -- AA AA AA | 118a BT BT -- AA AB | 118l -- AA AT AA BA | 123g -- TB TT BB TB
130l AA -- AA AA AA | 131l AA -- AA AA AA | 133l -- AA AA AA AA | 133v TA AA -- AA AA
134a TB TB -- BB BB | 135a -- BB BB BB BB | 137a BB BB -- BB BB | 138a BT BB -- BB BB
138g TT AA TB BB AA | 138l -- AA AA AA AA | 140l AA AA -- AA AA | 141l AA -- AA AA AA
149l AA AA -- AA AA | 150v BB BA AB BB BB | 155v -- BA TA AA AA | 156v BB -- TB BB AA
158a TB BB -- BB BB | 159a BT -- BB BB BB | 159v TB -- TT BB BB | 160v TA TT -- BB BB
"""


@pytest.fixture(scope="module")
def labels() -> pd.DataFrame:
    rows = []
    for conversation in LABELS.replace("\n", "|").split("|"):
        if conversation.strip():
            name, *given = conversation.split()
            rows.extend(
                (f"{name}{turn}", rater, {"A": "A", "B": "B", "T": "tie"}[letter])
                for rater, letters in zip(RATERS, given, strict=True)
                for turn, letter in enumerate(letters)
                if letter != "-"
            )
    return pd.DataFrame(rows, columns=["case_id", "annotator", "choice"]).astype("str").assign(dimension="overall")


def test_the_authors_numbers_on_mt_bench(labels: pd.DataFrame) -> None:
    people = labels["annotator"].isin(RATERS[:3])
    table = alternative_annotator(
        labels[~people].rename(columns={"annotator": "judge"}),
        labels[people],
        pd.DataFrame({"case_id": labels["case_id"].unique()}),
        epsilon=0.2,
        resamples=200,
    )
    rows = table[table["part"] == "alt_test"].set_index("judge")
    assert rows["n_annotators"].tolist() == [3, 3]
    for judge, advantage in (("gemini_flash", 0.72), ("gemini_pro", 0.76)):
        assert rows.loc[judge, "winning_rate"] == 0.0
        assert not rows.loc[judge, "passes"]
        assert round(float(rows.loc[judge, "advantage_probability"]), 2) == pytest.approx(advantage, abs=1e-9)
    assert np.isfinite(table.loc[table["part"] == "alt_test_annotator", "p_value"]).all()
