"""Where a model's weights lie, and which revision of them: a local folder, or the Hub's cache on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mrb_lib.judges.entry import Entry


@dataclass(frozen=True)
class Source:
    """Weights on this machine.

    Attributes
    ----------
    folder : holds them
    revision : the commit on the Hub, or `sha256:` and a digest of a local folder's content
    """

    folder: Path
    revision: str


def locate(entry: Entry, *, revision: str | None, download: bool, trust_remote_code: bool = False) -> Source:
    """Find an entry's weights; fetch them first where that was asked for."""
    raise NotImplementedError


def pinned_revision(runs: Path, judge_name: str, *, model: str | None = None) -> str | None:
    """The revision with which earlier runs were made."""
    return None
