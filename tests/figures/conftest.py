"""Frames with the columns that `stats` returns, of any size, with holes where data have holes."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text


class Frames:
    """Builds frames as `stats` returns them, from a seed."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)

    def judges(self, count: int) -> list[str]:
        families = ("Qwen2.5-VL-7B-Instruct", "InternVL3-8B", "LLaVA-OneVision-7B", "gpt-4o", "random", "longer")
        return [f"{families[i % 6]}-{i // 6}" if i >= 6 else families[i] for i in range(count)]

    def accuracy(self, judges: Sequence[str], dimensions: Sequence[str], subfields: Sequence[str] = ()) -> pd.DataFrame:
        rows = []
        for judge in judges:
            skill = self.rng.uniform(0.35, 0.8)
            for dimension, subfield in itertools.product(dimensions, [None, *subfields]):
                n = 1026 if subfield is None else int(self.rng.integers(20, 120))
                value = float(np.clip(skill + self.rng.normal(0, 0.05), 0.05, 0.95))
                half = 1.96 * np.sqrt(value * (1 - value) / n)
                rows.append((judge, dimension, subfield, n, value, max(value - half, 0), min(value + half, 1)))
        columns = ["judge", "dimension", "subfield", "n", "accuracy", "low", "high"]
        return pd.DataFrame(rows, columns=columns).astype({"subfield": "str"})

    def composition(self, kinds: Sequence[str | None], by: str | None = None) -> pd.DataFrame:
        """As many cases as a kind is far in the list, of each organ or, with `by`, of each subfield."""
        out = pd.DataFrame({"n_cases": range(1, len(kinds) + 1), "n_unassigned": 0, "by": by, "subfield": None})
        out = out.assign(organ=None, department=None, modality=None)
        out["subfield" if by else "organ"] = list(kinds)
        texts = ("by", "subfield", "organ", "department", "modality")
        return out.astype(dict.fromkeys(texts, "str"))

    def agreement(self, dimensions: Sequence[str]) -> pd.DataFrame:
        out = pd.DataFrame({"dimension": list(dimensions)})
        for name in ("percent_agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1"):
            out[name] = self.rng.uniform(0.4, 0.9, len(out))
            out[f"{name}_low"], out[f"{name}_high"] = out[name] - 0.03, out[name] + 0.03
        return out

    def pairs(self, annotators: Sequence[str], dimensions: Sequence[str]) -> pd.DataFrame:
        rows = [
            (dimension, first, second, 1026, kappa, kappa - 0.04, kappa + 0.04)
            for dimension in dimensions
            for first, second in itertools.combinations(annotators, 2)
            for kappa in [float(self.rng.uniform(0.4, 0.9))]
        ]
        names = [
            "dimension",
            "annotator_1",
            "annotator_2",
            "n_cases",
            "cohen_kappa",
            "cohen_kappa_low",
            "cohen_kappa_high",
        ]
        return pd.DataFrame(rows, columns=names)

    def significance(self, judges: Sequence[str]) -> pd.DataFrame:
        rows = []
        for first, second in itertools.combinations(judges, 2):
            difference = float(self.rng.normal(0, 0.08))
            p = float(np.exp(-abs(difference) * 100))
            rows.append((first, second, difference, difference - 0.03, difference + 0.03, p))
        columns = ["judge_1", "judge_2", "difference", "low", "high", "p_adjusted"]
        return pd.DataFrame(rows, columns=columns).assign(equivalent=False)

    def cards(self, count: int, image: str) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "case_id": [f"case-{i:04d}" for i in range(count)],
                "question": "Axial CT of the chest: which side shows the larger effusion, how many nodules?",
                "response_a": "There is a large left pleural effusion with two nodules in the right upper lobe, " * 2,
                "response_b": "The image shows no abnormality; clinical correlation is recommended. " * 3,
                "images": [[image]] * count,
                "organ": "lung",
                "gold": ["A", "B", "tie"] * (count // 3) + ["A"] * (count % 3),
                "votes_gold": 2,
                "n_annotators": 3,
                "n_judges": 4,
                "A": [1, 4, 2] * (count // 3) + [1] * (count % 3),
                "B": 5,
                "tie": 1,
                "none": 0,
            }
        )


@pytest.fixture
def frames() -> Frames:
    return Frames()


def text_boxes(figure: Figure) -> tuple[list[Text], np.ndarray]:
    """Every text that is drawn, with its box in pixels: left, bottom, right, top."""
    figure.draw_without_rendering()
    hidden: set[Text] = set()
    for axis in (axis for axes in figure.findobj(Axes) for axis in (axes.xaxis, axes.yaxis)):
        hidden.update(axis.findobj(Text))
        if axis.axes.axison:
            # An axis keeps ticks beyond its limits, which it does not draw.
            hidden.difference_update([axis.label], *(tick.findobj(Text) for tick in axis._update_ticks()))
    seen = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    seen = [text for text in seen if text not in hidden]
    return seen, np.array([text.get_window_extent(figure.canvas.get_renderer()).extents for text in seen])


@pytest.fixture
def flaws() -> Callable[[Figure], list[str]]:
    """What is wrong with the text of a figure: outside the canvas, on top of one another, or too small to print."""

    def find(figure: Figure) -> list[str]:
        seen, boxes = text_boxes(figure)
        found = [f"{text.get_text()!r} at {text.get_fontsize()} points" for text in seen if text.get_fontsize() < 6]
        width, height = figure.bbox.width, figure.bbox.height
        outside = (boxes[:, :2] < -1).any(axis=1) | (boxes[:, 2] > width + 1) | (boxes[:, 3] > height + 1)
        found += [f"{seen[i].get_text()!r} leaves the canvas" for i in np.flatnonzero(outside)]
        # A box holds the room of the tallest letters, so that neighbours may touch by a pixel.
        left, bottom, right, top = (boxes + np.array([1, 1, -1, -1])).T
        on = (left[:, None] < right) & (left < right[:, None]) & (bottom[:, None] < top) & (bottom < top[:, None])
        found += [f"{seen[i].get_text()!r} on {seen[j].get_text()!r}" for i, j in np.argwhere(np.triu(on, k=1))]
        return found

    return find
