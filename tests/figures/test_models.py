"""Marginal effects and DIF are drawn as their frames say."""

import numpy as np
import pandas as pd

from mrb_lib.figures.models import dif_matrix, marginal_effects


def effects(judges: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    terms = [("judge", name) for name in judges] + [("subfield", "eye"), ("subfield", "oral_cavity")]
    terms += [("order", "BA"), ("gold_first", "yes"), ("length_difference", None), ("intercept", None)]
    frame = pd.DataFrame(terms, columns=["term", "level"]).assign(dimension="overall")
    value = rng.normal(0, 0.1, len(frame))
    frame = frame.assign(marginal_effect=value, marginal_effect_low=value - 0.05, marginal_effect_high=value + 0.05)
    frame.loc[frame["term"] == "intercept", frame.columns[3:]] = np.nan
    return frame


def cells(judges: list[str], subfields: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.MultiIndex.from_product([judges, subfields], names=["judge", "subfield"]).to_frame(index=False)
    frame["ets_delta"] = rng.normal(0, 1, len(frame))
    frame["ets_class"] = np.where(frame["ets_delta"].abs() > 1.5, "C", "A")
    frame = frame.assign(dimension="overall")
    return frame.assign(p_adjusted=np.where(frame["ets_delta"].abs() > 2, 0.01, 0.5))


def test_every_effect_and_interval_is_drawn() -> None:
    frame = effects(["alpha", "beta"])
    frame.loc[0, ["marginal_effect", "marginal_effect_low", "marginal_effect_high"]] = np.nan
    axes = marginal_effects(frame).axes[0]
    drawn = np.concatenate([line.get_xdata() for line in axes.lines if line.get_gid() == "values"])
    expected = frame.loc[frame["term"] != "intercept", "marginal_effect"].dropna()
    np.testing.assert_allclose(np.sort(drawn), np.sort(expected))
    spans = [s for c in axes.collections if c.get_gid() == "intervals" for s in c.get_segments()]
    assert len(spans) == len(expected)
    assert [text.get_text() for text in axes.texts if text.get_gid() == "not-available"] == ["n/a"]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert {"Judge", "Subfield", "alpha", "beta", "Oral cavity", "gold response shown first"} <= set(names)
    turned = marginal_effects(frame, judges=["beta", "alpha"]).axes[0]
    names = [text.get_text() for text in turned.get_yticklabels()]
    assert names.index("beta") == names.index("alpha") - 1


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
