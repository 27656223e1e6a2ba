"""All verdicts about one case, replies included, found without reading any other.

A run is read once and laid out by case: `00000.rows.npy`, the verdicts as numbers; `00000.first.npy`, where
each case's begin; `00000.texts.bin` and `00000.ends.npy`, its different texts, each once. `runs.json` says which judges
and words the numbers stand for. Files are mapped into memory, so that opening costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.errors import InputError
from mrb_lib.schema import CHOICES, ORDERS, STATUSES
from mrb_lib.validation import check_references
from mrb_lib.verdicts.store import named_runs, read_run

FILE_NAME: Final = "runs.json"
WORDS: Final = ("judge", "dimension", "probe", "prompt_id")
FIXED: Final = {"order": ORDERS, "choice": CHOICES, "status": STATUSES}
NUMBERS: Final = ("p_a", "score_a", "score_b", "latency_s", "prompt_tokens", "completion_tokens")
TEXTS: Final = ("reply", "error")
COLUMNS: Final = (
    "judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "p_a", "score_a", "score_b", "status",
    "reply", "error", "prompt_id", "latency_s", "prompt_tokens", "completion_tokens",
)  # fmt: skip
_ROW = np.dtype(
    [(name, "<i4") for name in (*WORDS, "repeat", *TEXTS)]
    + [(name, "i1") for name in FIXED]
    + [(name, "<f8") for name in NUMBERS]
)


def lay_out(
    runs: Path, cases: pd.DataFrame, folder: Path, progress: Callable[[int, int], None] | None = None
) -> Iterator[pd.DataFrame]:
    """Write the verdicts of every run by case, a run at a time, and hand each on.

    Parameters
    ----------
    runs : a folder of runs, or one run
    cases : the cases table
    folder : an empty folder to write into; it can be opened once the iteration has ended
    progress : told after each run how many of how many are done

    Yields
    ------
    DataFrame
        The verdicts of one run with all its columns; a judge that several runs have is `judge@run`.

    Raises
    ------
    InputError
        A run is damaged, or speaks of an unknown case.
    """
    named = named_runs(runs)
    ids = pd.Index(cases["case_id"]).astype(object)
    words: dict[str, dict[str, int]] = {name: {} for name in WORDS}
    for number, (source, name) in enumerate(named):
        frame = read_run(source)
        check_references(frame, cases, str(source))
        frame = frame if name is None else frame.assign(judge=name)
        case = ids.get_indexer(pd.Index(frame["case_id"]).astype(object))
        order = np.argsort(case, kind="stable")
        rows, texts = _rows(frame.iloc[order], words)
        np.save(folder / f"{number:05d}.rows.npy", rows)
        np.save(folder / f"{number:05d}.first.npy", np.searchsorted(case[order], np.arange(len(ids) + 1)))
        _write_texts(folder / f"{number:05d}", texts)
        yield frame
        if progress is not None:
            progress(number + 1, len(named))
    stated = {"n_runs": len(named), "words": {name: list(codes_of) for name, codes_of in words.items()}}
    (folder / FILE_NAME).write_text(json.dumps(stated), encoding="utf-8")


def _rows(frame: pd.DataFrame, words: dict[str, dict[str, int]]) -> tuple[NDArray[np.void], list[str]]:
    """The rows as numbers, and the texts they point to; -1 stands for no value."""
    out = np.zeros(len(frame), dtype=_ROW)
    texts: list[str] = []
    for name in WORDS:
        codes, values = _codes(frame, name)
        codes_of = words[name]
        codes_of_values = [codes_of.setdefault(str(value), len(codes_of)) for value in values]
        out[name] = np.append(np.array(codes_of_values, dtype=np.int64), -1)[codes]
    for name, vocabulary in FIXED.items():
        codes, values = _codes(frame, name)
        codes_of_values = [vocabulary.index(str(value)) for value in values]
        out[name] = np.append(np.array(codes_of_values, dtype=np.int64), -1)[codes]
    for name in TEXTS:
        codes, values = _codes(frame, name)
        out[name] = np.where(codes < 0, -1, codes + len(texts))
        texts += [str(value) for value in values]
    for name in NUMBERS:
        out[name] = frame[name].to_numpy(dtype=np.float64, na_value=np.nan) if name in frame.columns else np.nan
    out["repeat"] = frame["repeat"].to_numpy(dtype=np.int64)
    return out, texts


def _codes(frame: pd.DataFrame, name: str) -> tuple[NDArray[np.int64], Sequence[object]]:
    if name not in frame.columns:
        return np.full(len(frame), -1, dtype=np.int64), []
    codes, values = pd.factorize(frame[name])
    return codes.astype(np.int64), list(values)


def _write_texts(stem: Path, texts: Sequence[str]) -> None:
    ends = np.zeros(len(texts) + 1, dtype=np.int64)
    with stem.with_name(f"{stem.name}.texts.bin").open("wb") as stream:
        for number, text in enumerate(texts):
            ends[number + 1] = ends[number] + stream.write(text.encode("utf-8", "replace"))
    np.save(stem.with_name(f"{stem.name}.ends.npy"), ends)


@dataclass(frozen=True)
class _Run:
    rows: NDArray[np.void]
    first: NDArray[np.int64]
    ends: NDArray[np.int64]
    texts: Path

    def of_case(self, position: int) -> NDArray[np.void]:
        return self.rows[self.first[position] : self.first[position + 1]]

    def read(self, numbers: set[int]) -> dict[int, str]:
        """Texts by number."""
        out: dict[int, str] = {}
        if numbers:
            with self.texts.open("rb") as stream:
                for number in sorted(numbers):
                    start, stop = int(self.ends[number]), int(self.ends[number + 1])
                    stream.seek(start)
                    out[number] = stream.read(stop - start).decode("utf-8")
        return out


@dataclass(frozen=True)
class Replies:
    """The verdicts of all runs, laid out by case.

    Attributes
    ----------
    case_ids : the ids of the cases, in order
    """

    case_ids: Sequence[str]
    _runs: list[_Run] = field(repr=False)
    _words: dict[str, list[str]] = field(repr=False)

    def of_case(self, position: int, *, texts: bool = True) -> pd.DataFrame:
        """The verdicts table of one case, of all probes, runs by name and rows as they were written.

        Parameters
        ----------
        position : of the case in the cases table
        texts : also the columns `reply` and `error`, which are null where there is none

        Raises
        ------
        InputError
            There is no such case.
        """
        if not 0 <= position < len(self.case_ids):
            raise InputError(f"case {position}: there are {len(self.case_ids)} cases; use 0 to {len(self.case_ids)}-1.")
        parts = [run.of_case(position) for run in self._runs]
        rows = np.concatenate(parts) if parts else np.zeros(0, dtype=_ROW)
        columns: dict[str, object] = {"case_id": pd.Series([self.case_ids[position]] * len(rows), dtype="str")}
        for name in (*WORDS, *FIXED):
            vocabulary = np.array([*(FIXED[name] if name in FIXED else self._words.get(name, ())), None], dtype=object)
            columns[name] = pd.Series(vocabulary[rows[name]], dtype="str")
        columns |= {name: rows[name] for name in (*NUMBERS, "repeat")}
        for name in TEXTS if texts else ():
            columns[name] = pd.Series(self._read(parts, name), dtype="str")
        return pd.DataFrame(columns)[[name for name in COLUMNS if texts or name not in TEXTS]]

    def _read(self, parts: Sequence[NDArray[np.void]], name: str) -> list[str | None]:
        out: list[str | None] = []
        for run, part in zip(self._runs, parts, strict=True):
            numbers = part[name].tolist()
            texts_of = run.read(set(numbers) - {-1})
            out += [texts_of.get(number) for number in numbers]
        return out


def open_replies(folder: Path, case_ids: Sequence[str]) -> Replies:
    """Open what `lay_out` wrote.

    Parameters
    ----------
    case_ids : those that it was laid out for

    Raises
    ------
    InputError
        The folder is not whole.
    """
    try:
        stated = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        runs = [_open(folder, number) for number in range(stated["n_runs"])]
        return Replies(case_ids, runs, stated["words"])
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{folder}: the replies cannot be opened ({error}); remove the folder and try again."
        ) from error


def _open(folder: Path, number: int) -> _Run:
    rows, first, ends = (
        np.load(folder / f"{number:05d}.{name}.npy", mmap_mode="r", allow_pickle=False)
        for name in ("rows", "first", "ends")
    )
    return _Run(rows, first, ends, folder / f"{number:05d}.texts.bin")
