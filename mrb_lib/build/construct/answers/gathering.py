"""The answers of several runs in the order of their items, a chunk of items at a time, in memory that does not grow."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa

from mrb_lib.build.construct.answers.answering import ModelRun, answers_in

_ITEMS, _MOST_FILES, _BUFFERED = 2_000, 256, 50_000
_TEXT: Final = pa.string()
_ROW: Final = pa.schema(
    [
        ("item_id", _TEXT), ("model", _TEXT), ("sample", pa.int64()), ("answer", _TEXT), ("status", _TEXT),
        ("prompt_tokens", pa.float64()), ("completion_tokens", pa.float64()), ("latency_s", pa.float64()),
        ("finish", _TEXT), ("error", _TEXT), ("position", pa.int64()), ("model_position", pa.int64()),
    ]
)  # fmt: skip

Chunks = Callable[[], Iterator[pd.DataFrame]]


@contextmanager
def gathered(runs: Sequence[ModelRun], item_ids: Sequence[str], samples: int, scratch: Path) -> Iterator[Chunks]:
    """Sort the answers of runs by item, model and sample, whatever batches they were written in.

    Parameters
    ----------
    item_ids : those that count, in their order
    samples : of each model and item
    scratch : a folder for the time of the block; what a killed process left there is removed

    Yields
    ------
    Chunks
        A function that goes through the answers, as often as it is called: frames of whole items, with the columns of
        `mrb_lib.build.construct.answers.answering.answers_in` and `model_position`.
    """
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        n_items = max(_ITEMS, -(-len(item_ids) // _MOST_FILES))
        files = [scratch / f"{number:05d}.arrow" for number in range(-(-len(item_ids) // n_items))]
        _sort_into(files, n_items, _numbered(runs, item_ids, samples))
        yield lambda: map(_in_order, files)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _numbered(runs: Sequence[ModelRun], item_ids: Sequence[str], samples: int) -> Iterator[pd.DataFrame]:
    position = pd.Series(np.arange(len(item_ids)), index=pd.Index(item_ids))
    for number, run in enumerate(runs):
        for part in answers_in(run, position, samples):
            yield part.assign(model_position=number)


def _sort_into(files: Sequence[Path], n_items: int, parts: Iterator[pd.DataFrame]) -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(pa.ipc.new_stream(str(path), _ROW)) for path in files]

        def write(buffered: list[pd.DataFrame]) -> None:
            rows = pd.concat(buffered, ignore_index=True)
            for number, own in rows.groupby(rows["position"] // n_items):
                streams[int(str(number))].write_table(pa.Table.from_pandas(own, _ROW, preserve_index=False))

        buffered: list[pd.DataFrame] = []
        for part in parts:
            buffered.append(part)
            if sum(map(len, buffered)) >= _BUFFERED:
                write(buffered)
                buffered = []
        if buffered:
            write(buffered)


def _in_order(path: Path) -> pd.DataFrame:
    with pa.ipc.open_stream(str(path)) as stream:
        frame: pd.DataFrame = stream.read_pandas()
    return frame.sort_values(["position", "model_position", "sample"], ignore_index=True)
