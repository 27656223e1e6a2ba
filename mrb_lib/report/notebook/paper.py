"""The pages of a benchmark paper: its construction, its neighbours, its main table, its prompt, in frames and text."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, read_table
from mrb_lib.benchmarks.votes import vote_columns
from mrb_lib.figures.paper import AVERAGE
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.judges.roster.groups import JURY
from mrb_lib.judges.sent import sent, shown_case
from mrb_lib.report.notebook.absent import Absent, Frame
from mrb_lib.report.notebook.construction import reasons_of
from mrb_lib.stats.phrases import percent
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ORDERS
from mrb_lib.verdicts.manifest import Manifest

PROMPT: Final = "official-form"
GROUPS: Final = ("open", "proprietary", "medical", "critic")
"""The groups of models in the order to print them; others follow by name."""
_REFERENCE: Final = "reference"
FUNNEL: Final = ("step", "n_in", "n_out", "reason", "n")
_FACTS: Final = ("name", "size", "modality", "medical", "form", "annotators", "source")


def funnel(work: str) -> Frame:
    """What each step of the construction took in, kept and left out, from a work folder.

    Parameters
    ----------
    work : a folder that `mrb construct` works in; empty where none is named

    Returns
    -------
    DataFrame
        `step, n_in, n_out, reason, n`, a row a step and reason to leave out; reason and n are null where a step left
        nothing out. `Absent` where no folder is named.

    Raises
    ------
    InputError
        The folder has no `funnel.parquet`, or it is not one.
    """
    if not work:
        return Absent("no work folder is named: -p work=WORK names the one in which the benchmark was made")
    path = Path(work) / "funnel.parquet"
    if not path.is_file():
        raise InputError(f"{path}: is missing; name the work folder in which the benchmark was made, or none.")
    table = read_table(path)
    lacking = [name for name in FUNNEL if name not in table.columns]
    if lacking or table.empty:
        raise InputError(f"{path}: {f'has no column {lacking[0]!r}' if lacking else 'is empty'}; make it again.")
    return reasons_of(table[list(FUNNEL)])


def neighbours() -> pd.DataFrame:
    """Other benchmarks of judges, with what their publications say of them; null where these do not say it."""
    text = resources.files("mrb_lib.report.notebook").joinpath("neighbours.toml").read_text(encoding="utf-8")
    table = pd.DataFrame(tomllib.loads(text)["benchmark"], columns=list(_FACTS))
    return table.assign(medical=table["medical"].map({True: "yes", False: "no"})).astype("str")


def on_all_dimensions(accuracy: Frame, groups: pd.DataFrame) -> Frame:
    """The accuracies and their average over dimensions, with each judge's group, in the order to print them.

    Parameters
    ----------
    accuracy : the table of this name, with its rows of the dimension `average`
    groups : judge, group

    Returns
    -------
    DataFrame
        `group, judge, kind, dimension, by, subfield, n, coverage, accuracy, low, high`: judges by group (`GROUPS`, then
        others by name, juries last), in each from the highest average over all cases to the lowest; references last.
        `Absent` where the table is.
    """
    if isinstance(accuracy, Absent):
        return accuracy
    columns = ["judge", "kind", "dimension", "by", "subfield", "n", "coverage", "accuracy", "low", "high"]
    is_average = accuracy["dimension"] == AVERAGE
    last = accuracy[is_average] if is_average.any() else accuracy
    table = pd.concat([accuracy[columns][~is_average], accuracy[columns][is_average]], ignore_index=True)
    group = table["judge"].map(groups.set_index("judge")["group"]).where(table["kind"] == "judge", _REFERENCE)
    whole = last[last["subfield"].isna()].sort_values("accuracy", ascending=False, kind="stable")["judge"]
    place = {name: i for i, name in enumerate(whole)}
    last_groups = (JURY, _REFERENCE)
    names = [*GROUPS, *sorted(set(group) - {*GROUPS, *last_groups}), *last_groups]
    keys = pd.DataFrame({"group": group.map(names.index), "place": table["judge"].map(place)}, table.index)
    ordered = table.assign(group=group).loc[keys.sort_values(["group", "place"], kind="stable").index]
    ordered = ordered[["group", *columns]].reset_index(drop=True)
    ordered.attrs = dict(accuracy.attrs)
    return ordered


def not_competing(table: Frame) -> list[str]:
    """The judges of a table of `on_all_dimensions` that cannot be the best: references, and juries of the others."""
    return list(table[table["group"].isin([JURY, _REFERENCE])]["judge"].unique())


def unstated(counts: pd.DataFrame, columns: Sequence[str]) -> str:
    """Which columns no case states, as a sentence; empty where there is none."""
    absent = [name.replace("_", " ") for name in columns if name not in set(counts["column"])]
    return f"Not shown, since no case states it: {', '.join(absent)}." if absent else ""


def stated_pairs(path: str, judges: Sequence[str]) -> list[tuple[str, str]] | None:
    """The pairs (base, tuned) among some judges that the column `base` of a file of groups states.

    Parameters
    ----------
    path : see `mrb_lib.judges.roster.group_file.read_group_file`; empty where none is named

    Returns
    -------
    None where the file says none, so that they are told from names and roster.
    """
    table = pd.read_csv(path, dtype="str") if path.endswith(".csv") else pd.DataFrame()
    if not {"judge", "base"} <= set(table.columns):
        return None
    rows = table.dropna(subset="base")
    rows = rows[rows["judge"].isin(list(judges)) & rows["base"].isin(list(judges))]
    return list(zip(rows["base"], rows["judge"], strict=True)) or None


def unless_empty(table: Frame, reason: str) -> Frame:
    """The table, or the reason why it has no rows."""
    return Absent(reason) if not isinstance(table, Absent) and table.empty else table


def with_votes(studies: Frame, benchmark: Benchmark, labels: pd.DataFrame, dimension: str) -> Frame:
    """Case studies with what is drawn of them: the texts and images of the case and the annotators' votes."""
    if isinstance(studies, Absent):
        return studies
    cast = vote_columns(benchmark.meta.categories)
    here = labels[labels["dimension"] == dimension][["case_id", *cast.values()]]
    own = [name for name in benchmark.cases.columns if name == "case_id" or name not in studies.columns]
    cards = studies.merge(here, on="case_id").merge(benchmark.cases[own], on="case_id")
    votes = [", ".join(f"{name} {row[column]}" for name, column in cast.items()) for row in cards.to_dict("records")]
    return cards.assign(votes=pd.Series(votes, cards.index, dtype="str"))


def prompts_sent(manifests: Sequence[Manifest], benchmark: Benchmark, dimension: str) -> str:
    """What judges were asked about the first case with order AB, each prompt once with its judges, as text.

    Where no run holds a prompt, the text of `PROMPT` follows, named for what it is.
    """
    if benchmark.cases.empty:
        return "There is no case."
    case = benchmark.cases.sort_values("case_id").iloc[0]
    shown = {order: shown_case(case, order) for order in ORDERS}
    asked: dict[tuple[str, str], list[str]] = {}
    for manifest in manifests:
        said = sent(manifest, shown, "AB", dimension)
        asked.setdefault((said.text, said.note), []).append(_with_settings(manifest))
    parts = [
        f"{', '.join(dict.fromkeys(judges))}: {note}.{f'{chr(10)}{chr(10)}{text}' if text else ''}"
        for (text, note), judges in sorted(asked.items(), key=lambda item: not item[0][0])
    ]
    if not any(text for text, _ in asked):
        text = _official(benchmark, shown)
        parts.append(f"What a judge that writes its verdict would be asked by --prompt {PROMPT}:\n\n{text}")
    return "\n\n".join([f"Case {case['case_id']}, order AB, dimension {dimension}.", *parts])


def _with_settings(manifest: Manifest) -> str:
    """A judge's name, and its prompt and temperature where its run says them."""
    settings = [f"prompt {manifest.prompt_id}"] if manifest.prompt_id else []
    temperature = manifest.spec.get("temperature")
    settings += [f"temperature {temperature:g}"] if isinstance(temperature, int | float) else []
    return f"{manifest.judge} ({', '.join(settings)})" if settings else manifest.judge


def _official(benchmark: Benchmark, shown: Mapping[str, pd.Series]) -> str:
    case, meta = shown["AB"], benchmark.meta
    return load_prompt(PROMPT).render(
        str(case["question"]), [str(case["first"]), str(case["second"])], meta.dimensions,
        n_images=len(case["images"]), choices=meta.choices or ("A", "B"),
    ).text  # fmt: skip


def conclusion(table: pd.DataFrame, agreement: Frame, *, policy: str) -> str:
    """Which judge of each group has the highest average, and how far the annotators agree.

    Parameters
    ----------
    table : see `on_all_dimensions`, over all cases
    """
    competing = ~table["judge"].isin(not_competing(table))
    judges = table[competing & (table["dimension"] == AVERAGE)].dropna(subset="accuracy")
    if judges.empty:
        return "No judge's average over the dimensions is known."
    best = judges.sort_values(["accuracy", "judge"], ascending=[False, True])
    first, level = best.iloc[0], percent(best.iloc[0], "accuracy", "low", "high")
    over = f"on average over {table.loc[table['dimension'] != AVERAGE, 'dimension'].nunique()} dimensions"
    said = f"The only judge, {first['judge']}, has an accuracy of {level} {over} under policy {policy}."
    if len(judges) > 1:
        who = f"{first['judge']} ({first['group']})"
        said = f"Of {len(judges)} judges {who} has the highest accuracy {over} under policy {policy}, {level}."
    others = best.drop_duplicates("group").iloc[1:]
    if len(others):
        each = [f"{row['judge']} of {row['group']} ({100 * row['accuracy']:.0f}%)" for _, row in others.iterrows()]
        said += f" First of the other groups: {', '.join(each)}."
    if not isinstance(agreement, Absent) and agreement["percent_agreement"].notna().any():
        shares = agreement["percent_agreement"].to_numpy(dtype=float)
        least, most = (f"{100 * end:.0f}%" for end in (np.nanmin(shares), np.nanmax(shares)))
        said += f" Two annotators choose the same on {least} to {most} of the cases, by dimension."
    return said
