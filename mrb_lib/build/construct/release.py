"""The step `release`: annotated pairs of a work folder as a benchmark with a split, a version and a card."""

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import pandas as pd
from pydantic import Field

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.splits import split
from mrb_lib.build.construct.card import Facts, data_card
from mrb_lib.build.construct.work import STEPS, Work, begin, funnel_of
from mrb_lib.review.records.exchange import summary
from mrb_lib.stats.tables.agreement import agreement_of
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import staged_folder, write_atomic
from mrb_lib.tables.options import Option, Texts, checked_dataclass

NOT_ANNOTATED: Final = "not annotated by enough people"
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


@checked_dataclass
class Terms:
    """The decisions of the person who releases a benchmark; `test`, `validation` and `by` are for its split."""

    version: Annotated[str, Option("Give the release this version.", "X.Y.Z")] = "1.0.0"
    licence: Annotated[str, Option("License the whole; default: as all items, where these agree.", "NAME")] = ""
    limit: Annotated[
        Texts, Option("Tell users on the card what no table can tell, in one sentence; repeatable.", "SENTENCE")
    ] = ()
    contact: Annotated[str, Option("Name on the card whom users may ask.", "TEXT")] = ""
    citation: Annotated[str, Option("Say on the card how to cite the benchmark.", "TEXT")] = ""
    min_annotators: Annotated[int, Field(ge=1), Option("Leave out cases that fewer people annotated.", "N")] = 1
    test: Annotated[float, Option("Test on this share of the cases.", "SHARE")] = 0.2
    validation: Annotated[float, Option("Stop training by this share of the cases.", "SHARE")] = 0.1
    by: Annotated[str | None, Option("Keep this unit on one side; see `mrb split`.", "COLUMN")] = None


@dataclass(frozen=True)
class Released:
    """The result of a release.

    Attributes
    ----------
    benchmark : as it was written
    facts : what its card says
    statements : how it was split, a line each
    """

    benchmark: Benchmark
    facts: Facts
    statements: tuple[str, ...]


def release(
    work: Work,
    out: Path,
    terms: Terms,
    annotations: pd.DataFrame,
    *,
    people: pd.DataFrame | None = None,
    seed: int = 0,
    again: bool = False,
    overwrite: bool = False,
) -> Released:
    """Write the annotated cases of a work folder as a benchmark, ready to be judged, split, and handed on.

    Parameters
    ----------
    out : the folder to write: the benchmark, with `README.md` (a data card and datasheet)
    annotations : `case_id, annotator, dimension, choice`, see `mrb_lib.review.records.exchange.annotations_of`
    people : what is known of annotators, see `mrb_lib.review.records.exchange.read_people`; None where
        nothing is. Only its summary, which names nobody, is released

    Raises
    ------
    InputError
        No case has enough annotations, the items bear several licences and `terms` none, the version is none, or
        `mrb_lib.build.construct.work.begin` or `mrb_lib.benchmarks.splits.split` refuses.

    Notes
    -----
    Gold is not stored: it is the majority of the annotations, whenever a table needs it. Validated by
    tests/build/construct/test_release.py.
    """
    if _VERSION.fullmatch(terms.version) is None:
        raise InputError(f"--version {terms.version!r}: write three numbers, as in 1.0.0.")
    keys = ["case_id", "annotator", "dimension", "choice"]
    lines = sorted("\t".join(row) for row in annotations[keys].astype("str").to_numpy().tolist())
    digest = hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()
    choices = {**vars(terms), "limit": list(terms.limit), "annotations": digest}
    with begin(work, "release", choices, seed=seed, again=again) as step:
        paired = load(work.path)
        licence = _licence(terms, step.entering)
        enough = annotations.groupby("case_id")["annotator"].nunique() >= terms.min_annotators
        is_released = paired.cases["case_id"].isin(enough.index[enough])
        if not is_released.any():
            raise InputError(
                f"{work.path}: no case is annotated by {terms.min_annotators} people; collect annotations with "
                f"`mrb annotate {work.path}`, or ask for fewer (--min-annotators)."
            )
        cases = paired.cases[is_released].reset_index(drop=True)
        kept = step.entering["item_id"].isin(cases["item"])
        decided = step.entering[["item_id"]].assign(kept=kept, reason=kept.map({True: None, False: NOT_ANNOTATED}))
        step.decide(decided)
        labels = annotations[annotations["case_id"].isin(cases["case_id"])].reset_index(drop=True)
        before = work.decisions().query("step != 'release'")
        funnel = funnel_of(pd.concat([before, decided.assign(step="release")]))
        meta = replace(
            paired.meta, licence=licence, citation=terms.citation, revision=terms.version,
            extra={**paired.meta.extra, "construction": _record(work, terms)},
        )  # fmt: skip
        made = split(
            replace(paired, meta=meta, cases=cases, annotations=labels), by=terms.by, test=terms.test,
            validation=terms.validation, seed=seed,
        )  # fmt: skip
        annotators = labels["annotator"].unique().tolist()
        facts = Facts(
            benchmark=made.benchmark,
            funnel=funnel,
            agreement=agreement_of(labels, cases, categories=meta.categories, level=meta.level, seed=seed),
            n_cases_left_out=int((~is_released).sum()),
            split=made.balance(),
            people=pd.DataFrame() if people is None or people.empty else summary(people, annotators),
            limits=terms.limit,
            contact=terms.contact,
        )
        with staged_folder(out, overwrite=overwrite, source=work.path) as folder:
            removed = save(made.benchmark, folder)
            write_atomic(folder / "README.md", data_card(facts))
    return Released(replace(made.benchmark, path=out), facts, (*made.statements, *map(str, removed)))


def _licence(terms: Terms, items: pd.DataFrame) -> str:
    stated = sorted(items["licence"].dropna().unique())
    if terms.licence:
        return terms.licence
    if len(stated) == 1 and items["licence"].notna().all():
        return str(stated[0])
    there = ", ".join(stated) or "no licence"
    raise InputError(f"the items bear {there}, or none; name the licence of the whole with --licence.")


def _record(work: Work, terms: Terms) -> dict[str, Any]:
    """Return the choices of every step, for `benchmark.toml`: models and files by name, never by their places."""
    steps = {step: {**_without_places(work.choices(step) or {}), "seed": work.seed(step)} for step in STEPS[:-1]}
    return {"version": terms.version, **{step: made for step, made in steps.items() if made["seed"] is not None}}


def _without_places(value: Any) -> Any:
    """The same without the folders that paths on this machine begin with."""
    if isinstance(value, dict):
        return {name: _without_places(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_places(one) for one in value]
    if isinstance(value, str) and re.match(r"(path:)?(/|~|\.\.?/|[A-Za-z]:\\)\S*$", value):
        kind = "path:" if value.startswith("path:") else ""
        return kind + re.split(r"[/\\]", value.rstrip("/\\"))[-1]
    return value
