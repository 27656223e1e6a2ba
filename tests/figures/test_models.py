"""Marginal effects and DIF are drawn as their frames say."""

import numpy as np
import pandas as pd

from mrb_lib.figures.models import dif_matrix


def cells(judges: list[str], subfields: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.MultiIndex.from_product([judges, subfields], names=["judge", "subfield"]).to_frame(index=False)
    frame["ets_delta"] = rng.normal(0, 1, len(frame))
    frame["ets_class"] = np.where(frame["ets_delta"].abs() > 1.5, "C", "A")
    frame = frame.assign(dimension="overall")
    return frame.assign(p_adjusted=np.where(frame["ets_delta"].abs() > 2, 0.01, 0.5))


def test_a_cell_holds_delta_class_and_significance() -> None:
    frame = cells(["a", "b"], ["eye", "lung"])
    frame["ets_delta"], frame["ets_class"] = [-2.3, 0.04, np.nan, 1.2], ["C", "A", None, "B"]
    frame["p_adjusted"] = [0.01, 0.9, np.nan, 0.2]
    other = frame.assign(dimension="accuracy", ets_delta=9.0)
    axes = dif_matrix(pd.concat([frame, other]), dimension="overall").axes[0]
    drawn = [text for text in axes.texts if text.get_gid() == "cell"]
    texts = [text.get_text() for text in sorted(drawn, key=lambda text: text.get_position()[::-1])]
    assert texts == ["\u22122.3 C*", "0.0", "n/a", "+1.2 B"]
    mesh = next(c for c in axes.collections if c.get_gid() == "cells")
    assert mesh.norm.vcenter == 0
    assert mesh.norm.vmax == -mesh.norm.vmin >= 2.3
    assert mesh.norm.vmax < 9
    turned = dif_matrix(frame, dimension="overall", judges=["b", "z", "a"]).axes[0]
    assert [text.get_text() for text in turned.get_yticklabels()] == ["b", "a"]
