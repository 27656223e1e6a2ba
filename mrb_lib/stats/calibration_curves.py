"""The rows of the table `calibration` that are drawn as curves: of the whole benchmark."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.stats.calibration_rows import names, texts
from mrb_lib.stats.calibration_summary import Scored, grid
from mrb_lib.stats.ece import BINS, equal_mass, equal_width
from mrb_lib.stats.options import divide
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.proper_scores import weighted_count
from mrb_lib.stats.risk_coverage import curve
from mrb_lib.stats.robust import FEW_CLUSTERS, Layout, ratio_of_sums, share_interval


def bins_frame(panel: Panel, scored: Scored, at: Layout) -> pd.DataFrame:
    """The reliability diagrams, of the whole benchmark."""
    found, columns = scored.found, panel.shape[0] * panel.shape[1]
    places = grid(found.column, found.case, columns, at)
    confidence, right = scored.confidence, scored.right
    frames = []
    for binning, bins in (
        ("equal_width", equal_width(confidence)),
        ("equal_mass", equal_mass(scored.by_confidence, columns)),
    ):
        counts = places.by_bin(bins, None)
        accuracy = ratio_of_sums(places.by_bin(bins, right), counts, at)
        low, high = share_interval(accuracy)
        n = counts.sum(axis=2)
        total = weighted_count(found.column * BINS + bins, confidence, n.size).reshape(n.shape)
        mean = divide(total, n)
        column, number = np.nonzero(n > 0)
        frames.append(
            pd.DataFrame(
                {
                    **names(panel, column),
                    "part": "bin",
                    "binning": binning,
                    "bin": number,
                    "n": n[column, number].astype(np.int64),
                    "confidence": mean[column, number],
                    "accuracy": accuracy.value[column, number, 0],
                    "low": low[column, number, 0],
                    "high": high[column, number, 0],
                    "reason": texts({FEW_CLUSTERS: np.isnan(low[column, number, 0])}, {}),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def risk_frame(panel: Panel, scored: Scored, at: Layout) -> pd.DataFrame:
    """Points of the risk-coverage curves, of the whole benchmark."""
    found, columns = scored.found, panel.shape[0] * panel.shape[1]
    confidence = scored.confidence
    points = curve(scored.by_confidence, confidence, 1 - scored.right, at.unit[found.case], columns, at)
    return pd.DataFrame(
        {
            **names(panel, points.column),
            "part": "risk_coverage",
            **{name: getattr(points, name) for name in ("n", "threshold", "coverage", "risk", "low", "high")},
            "reason": texts({FEW_CLUSTERS: np.isnan(points.low)}, {}),
        }
    )
