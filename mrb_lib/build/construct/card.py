"""The card of a released benchmark: a Hugging Face dataset card whose sections are those of a datasheet.

Gebru et al. 2021, doi:10.1145/3458723 (datasheets for datasets).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
from huggingface_hub import DatasetCardData

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.schema import SIMULATED

# The Hub's names of licences; any other is "other", with its name.
_LICENCES: Final = (
    "apache-2.0", "mit", "cc0-1.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0",
    "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-4.0", "odbl", "pddl", "odc-by", "gpl-3.0", "unlicense",
)  # fmt: skip
_SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_SUBFIELDS: Final = ("organ", "department", "modality", "dataset", "licence")
_STEPS: Final = {
    "start": "collected and usable",
    "filter": "of the difficulty wanted",
    "screen": "found fit by clinicians",
    "respond": "responded to",
    "pair": "paired",
    "release": "annotated",
}


@dataclass(frozen=True)
class Facts:
    """The content of a card.

    Attributes
    ----------
    benchmark : with its annotations and its split; `meta.revision` is the version
    funnel : see `mrb_lib.build.construct.work.funnel_of`
    agreement : the table of that name
    n_cases_left_out : pairs that were made and not annotated enough
    split : see `mrb_lib.benchmarks.splits.Split.balance`
    people : see `mrb_lib.review.records.exchange.summary`; without rows where nothing is known of the annotators
    limits : sentences of whoever releases it
    contact : empty where none is given
    """

    benchmark: Benchmark
    funnel: pd.DataFrame
    agreement: pd.DataFrame
    n_cases_left_out: int
    split: pd.DataFrame
    people: pd.DataFrame
    limits: Sequence[str] = ()
    contact: str = ""


def data_card(facts: Facts) -> str:
    """Return the card in Markdown with YAML front matter; texts of the data cannot become markup in it."""
    meta = facts.benchmark.meta
    is_simulated = meta.kind == "simulated"
    blocks = [
        f"---\n{front_matter(facts).to_yaml().strip()}\n---",
        f"# {_cell(meta.name)}{f' ({SIMULATED})' if is_simulated else ''}, version {meta.revision}",
    ]
    if is_simulated:
        blocks.append(f"**Everything here is {SIMULATED}: no patient, no clinician, no model stands behind it.**")
    sections = {
        "Motivation": [_cell(meta.description) or _MOTIVATION],
        "Composition": _composition(facts),
        "Collection": _collection(facts),
        "Annotation": _annotation(facts),
        "Uses": [_USES],
        "Known limits": ["\n".join(f"- {limit}" for limit in _limits(facts))],
        "Distribution": [
            f"Licence: {_cell(meta.licence) or 'not stated'}. The licence of each image and question is in the column "
            "`licence`, its origin in `source`.",
            f"Cite as: {_cell(meta.citation)}" if meta.citation else "",
        ],
        "Maintenance": [f"Contact: {_cell(facts.contact) or 'not stated'}. A correction is a new version."],
    }
    for title, paragraphs in sections.items():
        blocks += [f"## {title}", *filter(None, paragraphs)]
    return "\n\n".join(blocks) + "\n"


_MOTIVATION: Final = (
    "To measure whether models that judge responses to questions about medical images agree with people."
)
_USES: Final = (
    "To test judges on cases they have not seen. Train on `split == 'train'` only, choose by `validation`, report "
    "`test`. Not for decisions about patients, and no evidence that a model may answer or judge alone."
)


def front_matter(facts: Facts) -> DatasetCardData:
    """Return what the Hub reads of a card: licence, size, tags, and which file is which table."""
    meta, n = facts.benchmark.meta, len(facts.benchmark.cases)
    licence = meta.licence.lower().replace(" ", "-")
    other: dict[str, Any] = {"license_name": meta.licence} if meta.licence and licence not in _LICENCES else {}
    tables = {
        name: {"config_name": name, "data_files": [{"split": name, "path": f"{name}.parquet"}]}
        for name in ("cases", "annotations")
    }
    return DatasetCardData(
        pretty_name=meta.name,
        language=["en"],
        license=licence if licence in _LICENCES else "other",
        size_categories=[next((name for size, name in _SIZES if n < size), "n>1M")],
        task_categories=["visual-question-answering"],
        tags=["medical", "preference", "judges", *(["simulated"] if meta.kind == "simulated" else [])],
        configs=[tables["cases"] | {"default": True}, tables["annotations"]],
        **other,
    )


def _composition(facts: Facts) -> Iterable[str]:
    meta, cases, labels = facts.benchmark.meta, facts.benchmark.cases, facts.benchmark.annotations
    models = sorted({*cases["model_a"], *cases["model_b"]})
    clusters = cases["cluster" if "cluster" in cases else "item"].nunique()
    yield (
        f"{len(cases):,} cases: an image (or several), a question, and two responses, which "
        f"{labels['annotator'].nunique()} annotators compared on {', '.join(meta.dimensions)}. They are about "
        f"{cases['item'].nunique():,} items in {clusters:,} clusters of near-duplicates, with responses by "
        f"{len(models)} responders: {', '.join(map(_cell, models))}."
    )
    for name in _SUBFIELDS:
        counts = cases[name].fillna("not stated").value_counts() if name in cases else pd.Series({"not stated": ""})
        yield f"{name.capitalize()}: {', '.join(f'{_cell(value)} {n}'.strip() for value, n in counts.items())}."
    parts = [(r.split, f"{r.n_cases:,}", f"{r.n_units:,}", f"{r.share:.1%}") for r in facts.split.itertuples()]
    yield _table(["part", "cases", "units", "share"], parts)
    yield "No unit (near-duplicates, clusters) stands in two parts; `mrb check` finds one that would."


def _collection(facts: Facts) -> Iterable[str]:
    yield "How many items each step let pass, and why it left others out:"
    rows = [
        (_STEPS[str(row.step)], f"{row.n_in:,}", f"{row.n_out:,}", _cell(row.reason), row.n)
        for row in facts.funnel.itertuples()
    ]
    yield _table(["items that are", "in", "out", "reason", "n"], rows)
    if facts.n_cases_left_out:
        yield f"{facts.n_cases_left_out:,} pairs were made that too few people annotated; they are not here."
    yield "Every choice and seed of every step stands in `benchmark.toml`, under `construction`."


def _annotation(facts: Facts) -> Iterable[str]:
    labels = facts.benchmark.annotations
    per_case = labels.groupby("case_id")["annotator"].nunique().value_counts().sort_index()
    counts = "; ".join(f"{n:,} cases by {k}" for k, n in per_case.items())
    yield f"Annotators per case: {counts}. {_people(facts.people)}"
    rows = []
    for row in facts.agreement[facts.agreement["subfield"].isna()].to_dict("records"):
        alpha, low, high = (f"{row[f'krippendorff_alpha{end}']:.3f}" for end in ("", "_low", "_high"))
        shown = f"undefined: {_cell(row['reason'])}" if alpha == "nan" else f"{alpha} [{low}, {high}]"
        agreement = "-" if pd.isna(row["percent_agreement"]) else f"{row['percent_agreement']:.3f}"
        rows.append((row["dimension"], f"{row['n_cases']:,}", row["n_annotators"], agreement, shown))
    head = ["dimension", "cases with two or more", "annotators", "agreement", "Krippendorff's alpha [95% interval]"]
    yield _table(head, rows)
    majority = gold(facts.benchmark)
    undecided = majority["choice"].isna().groupby(majority["dimension"], sort=False).mean()
    shares = [(dimension, f"{share:.1%}") for dimension, share in undecided.items()]
    yield _table(["dimension", "cases without a majority"], shares)
    yield "Labels are every annotator's own; gold is the majority, made from them whenever it is needed."


def _people(people: pd.DataFrame) -> str:
    if people.empty:
        return "Nothing is stated about who they are."
    who = []
    for row in people.to_dict("records"):
        median = row["median_years"]
        years = "" if pd.isna(median) else f", {median:g} years of practice (the median)"
        who.append(f"{row['n']} {_cell(row['qualification'])}{years}")
    return f"They are {'; '.join(who)}. Consent is on record for {people['n_consented'].sum()} of {people['n'].sum()}."


def _limits(facts: Facts) -> Iterable[str]:
    """Yield the limits that the numbers show, then those that the authors state."""
    cases, labels = facts.benchmark.cases, facts.benchmark.annotations
    single = labels.groupby("case_id")["annotator"].nunique().eq(1).sum()
    if single:
        yield f"{single:,} of {len(cases):,} cases have one annotator: their gold is one person's opinion."
    low = facts.agreement[facts.agreement["subfield"].isna() & (facts.agreement["krippendorff_alpha"] < _MODERATE)]
    if len(low):
        yield f"Annotators agree little (alpha below {_MODERATE}) on {', '.join(low['dimension'])}."
    yield from map(_cell, facts.limits)
    yield "Two responses were compared, not rated: which is better says nothing about whether either is safe."


_MODERATE: Final = 0.4


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    body = [f"| {' | '.join(str(value) for value in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *body]) if body else ""


def _cell(text: object) -> str:
    """Return a text of the data for Markdown: on one line, and nothing in it is markup."""
    plain = " ".join(str(text).split())
    return "".join(f"\\{sign}" if sign in "\\|*_`[]<>#" else sign for sign in plain)
