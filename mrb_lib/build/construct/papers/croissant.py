"""A benchmark described in Croissant, the vocabulary for machine-readable dataset cards.

Akhtar et al. 2024, arXiv 2403.19546; the version of the vocabulary is 1.0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.files import sha256_of, slug
from mrb_lib.tables.schema import SIMULATED

_CONTEXT: Final[dict[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TABLES: Final = ("cases", "annotations")


def croissant(folder: Path, meta: BenchmarkMeta) -> dict[str, Any]:
    """The description of a benchmark that stands in a folder: its files with their digests, and every column.

    Parameters
    ----------
    folder : with `cases.parquet` and `annotations.parquet`
    meta : `revision` is the version; a licence or citation that is not stated is left out

    Returns
    -------
    dict
        JSON-LD. Validated by `mlcroissant` in tests/build/construct/test_release.py.
    """
    simulated = f"{SIMULATED} data. " if meta.kind == "simulated" else ""
    about = {
        "name": slug(meta.name),
        "description": f"{simulated}{meta.description or meta.name}",
        "license": meta.licence,
        "citeAs": meta.citation,
        "version": meta.revision,
    }
    files = [_file(folder, f"{table}.parquet") for table in _TABLES]
    images = {
        "@type": "cr:FileSet", "@id": "images", "name": "images", "description": "The images that cases name.",
        "encodingFormat": "image/*", "includes": "images/**",
    }  # fmt: skip
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **{name: value for name, value in about.items() if value},
        "distribution": [*files, images],
        "recordSet": [_records(folder, table) for table in _TABLES],
    }


def _file(folder: Path, name: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name,
        "contentSize": f"{(folder / name).stat().st_size} B", "encodingFormat": "application/x-parquet",
        "sha256": sha256_of(folder / name),
    }  # fmt: skip


def _records(folder: Path, table: str) -> dict[str, Any]:
    schema = pq.read_schema(folder / f"{table}.parquet")
    return {
        "@type": "cr:RecordSet", "@id": table, "name": table,
        "field": [_field(table, column) for column in schema],
    }  # fmt: skip


def _field(table: str, column: pa.Field) -> dict[str, Any]:
    is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    field = {
        "@type": "cr:Field", "@id": f"{table}/{column.name}", "name": f"{table}/{column.name}",
        "dataType": _data_type(column.type.value_type if is_list else column.type),
        "source": {"fileObject": {"@id": f"{table}.parquet"}, "extract": {"column": column.name}},
    }  # fmt: skip
    return {**field, "repeated": True} if is_list else field


def _data_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"
