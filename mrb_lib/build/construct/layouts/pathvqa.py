"""PathVQA: the parquet files of the Hub are a Hugging Face dataset; the original's pickles are not opened.

He et al. 2020, arXiv:2003.10286. A pickle can run code when it is read, so the files `*_qa.pkl` are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mrb_lib.build.construct.layouts.base import SourceItem, layout
from mrb_lib.tables.errors import InputError


@layout(
    "pathvqa",
    about="PathVQA: refused as pickles; its parquet files are read as `huggingface`, with --dataset PathVQA",
    recognises=lambda src: src.is_dir() and any(src.glob("**/*_qa.pkl")),
    dataset="PathVQA",
    licence="MIT",
)
def read(src: Path) -> Iterator[SourceItem]:
    """Refuse, and say what to take instead."""
    raise InputError(
        f"{src}: the questions are in pickles, which can run code when they are read; take the parquet files of the "
        "Hub (flaviagiammarino/path-vqa)."
    )
