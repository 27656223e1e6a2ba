"""Verdicts and their store: the protocol of judges, runs on disk, their manifests and totals.

Only `orders` turns the order shown into the case's own frame, A and B.
"""

from mrb_lib.verdicts.manifest import Manifest, read_manifest
from mrb_lib.verdicts.protocol import Judge, PromptlessJudge, VerdictRows
from mrb_lib.verdicts.store import load_verdicts, read_run, run_folders, totals

__all__ = [
    "Judge", "Manifest", "PromptlessJudge", "VerdictRows", "load_verdicts", "read_manifest", "read_run", "run_folders",
    "totals",
]  # fmt: skip
