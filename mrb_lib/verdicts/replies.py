"""All verdicts about one case, replies included, without reading any other.

A run is read once and laid out by case: `00000.arrow`, its verdicts in the order of the cases, each text in it once,
and the place of the case. Files are mapped into memory, so that opening costs nothing. The manifests of the runs lie
beside them, since a reply says little without what was asked.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.validation import check_references
from mrb_lib.verdicts.manifest import Manifest, read_manifest
from mrb_lib.verdicts.store import SCHEMA, named_runs, read_run

FILE_NAME: Final = "runs.json"
_PLACE: Final = "place"
_LAYOUT: Final = SCHEMA.insert(SCHEMA.get_field_index("reply") + 1, pa.field("error", pa.string()))


def _with_texts(kind: pa.DataType) -> pa.Schema:
    return pa.schema([field.with_type(kind) if field.type == pa.string() else field for field in _LAYOUT])


_PLAIN: Final = _with_texts(pa.large_string())
_CODED: Final = _with_texts(pa.dictionary(pa.int32(), pa.large_string()))


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
    manifests = {}
    ids = pd.Index(cases["case_id"]).astype(object)
    for number, (source, name) in enumerate(named):
        frame = read_run(source)
        check_references(frame, cases, str(source))
        frame = frame if name is None else frame.assign(judge=name)
        manifest = read_manifest(source)
        manifests[name or manifest.judge] = asdict(manifest)
        case = ids.get_indexer(pd.Index(frame["case_id"]).astype(object))
        order = np.argsort(case, kind="stable")
        rows = frame.iloc[order].reindex(columns=_LAYOUT.names)
        with pa.ipc.new_file(folder / f"{number:05d}.arrow", _CODED.append(pa.field(_PLACE, pa.int64()))) as stream:
            # An Arrow file has one list of values per column, and a run of several parts has one chunk per part.
            table = pa.Table.from_pandas(rows, _PLAIN, preserve_index=False).combine_chunks().cast(_CODED)
            stream.write_table(table.append_column(_PLACE, pa.array(case[order], pa.int64())))
        yield frame
        if progress is not None:
            progress(number + 1, len(named))
    (folder / FILE_NAME).write_text(json.dumps({"n_runs": len(named), "manifests": manifests}), encoding="utf-8")


@dataclass(frozen=True)
class Replies:
    """The verdicts of all runs, laid out by case.

    Attributes
    ----------
    case_ids : the ids of the cases, in order
    manifests : of the runs, by the judge's name in the verdicts
    """

    case_ids: Sequence[str]
    _runs: list[pa.Table] = field(repr=False)  # sorted by case
    manifests: Mapping[str, Manifest] = field(default_factory=dict, repr=False)

    def of_case(self, position: int) -> pd.DataFrame:
        """Return the verdicts table of one case, of all probes, runs by name and rows as they were written.

        Parameters
        ----------
        position : of the case in the cases table

        Raises
        ------
        InputError
            There is no such case.
        """
        if not 0 <= position < len(self.case_ids):
            raise InputError(f"case {position}: there are {len(self.case_ids)} cases; use 0 to {len(self.case_ids)}-1.")
        tables = [_PLAIN.empty_table()]
        for table in self._runs:
            start, stop = np.searchsorted(table.column(_PLACE).to_numpy(), [position, position + 1]).tolist()
            tables.append(table.select(_LAYOUT.names).slice(start, stop - start).cast(_PLAIN))
        frame: pd.DataFrame = pa.concat_tables(tables).to_pandas()
        return frame


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
        manifests = {judge: Manifest(**manifest) for judge, manifest in stated["manifests"].items()}
        paths = (str(folder / f"{number:05d}.arrow") for number in range(stated["n_runs"]))
        runs = [pa.ipc.open_file(pa.memory_map(path)).read_all() for path in paths]
        return Replies(case_ids, runs, manifests)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{folder}: the replies cannot be opened ({error}); remove the folder and try again."
        ) from error
