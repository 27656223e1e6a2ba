"""Labels as people and other harnesses write them, read as the categories of a benchmark."""

import csv
import re
from collections.abc import Mapping, Sequence
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.formats.mapping import pairs_of
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.names import spelling_key, visible
from mrb_lib.tables.schema import CHOICES
from mrb_lib.tables.validation import Finding, counted

_SIDE: Final = "(model|response|assistant|answer|output|option)?"
WINNERS: Final = {
    "A": re.compile(rf"{_SIDE}(a|1)|left|first|a>>?b"),
    "B": re.compile(rf"{_SIDE}(b|2)|right|second|b>>?a"),
    "tie": re.compile(r"tie(bothbad)?|both(bad|good)|draw|equal|same|a=b"),
}
"""Winners by the words of other harnesses, without case, spaces, underscores and brackets."""
_MT_BENCH_TIE: Final = "[[c]]"  # a bare C would be the third of several options


def winner(text: str) -> str | None:
    """Return the choice that a word of another harness stands for; None where it is not known."""
    word = re.sub(r"-(?!\d)|(?<=\w)-", "", re.sub(r"[\s_]", "", spelling_key(text)))  # -1 is not 1
    plain = "tie" if word == _MT_BENCH_TIE else re.sub(r"[\[\]()\"']", "", word)
    return next((choice for choice, words in WINNERS.items() if words.fullmatch(plain)), None)


def stated_labels(text: str | None, categories: Sequence[str]) -> dict[str, str]:
    """Return the pairs of `--labels "theirs=ours,..."`.

    Raises
    ------
    InputError
        One is not a pair, is there twice, or names no category.
    """
    texts = filter(None, map(str.strip, next(csv.reader([text or ""], skipinitialspace=True), [])))
    labels = pairs_of("--labels", texts, "their label=ours, as in 'Antwort 1=A,gleich=tie'")
    for theirs, ours in labels.items():
        if ours not in categories:
            raise InputError(f"--labels {theirs}={ours}: {ours!r} is no label; use one of {', '.join(categories)}.")
    return labels


def read_labels(
    choices: pd.Series,
    stated: Mapping[str, str],
    categories: Sequence[str],
    source: str,
    findings: list[Finding],
) -> pd.Series:
    """Return labels as categories; null stays null, and what was translated is reported.

    Parameters
    ----------
    choices : texts as they stand in the source
    stated : the pairs of `--labels`
    categories : of the benchmark; only where they are A, B, tie are the words of other harnesses understood

    Raises
    ------
    InputError
        A label is none of the categories and nothing says which it stands for.
    """
    counts = choices.value_counts()
    by_key = {spelling_key(theirs): ours for theirs, ours in stated.items()}
    is_preference = set(categories) <= set(CHOICES)
    # Who says that 0 is A has to say what 1 is.
    counts_otherwise = any(
        theirs.isdecimal() and ours not in ("tie", winner(theirs)) for theirs, ours in stated.items()
    )
    read: dict[str, str] = {}
    for label in map(str, counts.index):
        key = spelling_key(label)
        ours = by_key.get(key) or (label if label in categories else None)
        if ours is None and is_preference and not (counts_otherwise and label.isdecimal()):
            ours = next((name for name in categories if spelling_key(name) == key), None) or winner(label)
        if ours in categories:
            read[label] = str(ours)
    unknown = [label for label in map(str, counts.index) if label not in read]
    if unknown:
        shown = ", ".join(f"{visible(label)} ({counts[label]:,})" for label in unknown[:6])
        row = int(choices.index[choices.isin(unknown).to_numpy()][0]) + 1
        example = ",".join(f'"{label}=..."' if "," in label else f"{label}=..." for label in unknown[:6])
        raise InputError(
            f"{source}, row {row}, column choice: {len(unknown)} labels are none of {', '.join(categories)}: {shown}; "
            f"say what each stands for with --labels '{example}', or name all categories with --categories."
        )
    changed = [f"{label} -> {ours} ({counts[label]:,})" for label, ours in read.items() if label != ours]
    if changed:
        problem = f"labels are read as: {', '.join(changed)}"
        findings.append(Finding("info", source, None, "choice", problem, "say otherwise with --labels"))
    return choices.map(read, na_action="ignore").astype("str")


def by_model(
    rows: pd.DataFrame, cases: pd.DataFrame, stated: Mapping[str, str], source: str, findings: list[Finding]
) -> pd.Series:
    """Return preferences as A or B where they were the name of the responder on that side and `stated` has none.

    Raises
    ------
    InputError
        A name may also stand for the other side: "Model A" where that is the responder of B.
    """
    choices = rows["choice"]
    if not {"model_a", "model_b"} <= set(cases):
        return choices
    models = cases.set_index("case_id")[["model_a", "model_b"]].reindex(rows["case_id"].astype("str"))
    is_a, is_b = ((models[name] == choices.to_numpy()).to_numpy() for name in models)
    settled = set(map(spelling_key, stated))
    known = [label for label in choices.dropna().unique() if label in CHOICES or spelling_key(label) in settled]
    named = (is_a != is_b) & ~choices.isin(known).to_numpy()
    sides = choices.mask(named & is_a, "A").mask(named & is_b, "B")
    for row, label, side in zip(choices.index[named], choices[named], sides[named], strict=True):
        if winner(label) not in (None, side):
            problem = f"{visible(label)} names the responder of {side} and may stand for {winner(label)}"
            cure = f"write A or B, or say which with --labels '{label}=...'"
            raise InputError(f"{source}, row {int(row) + 1}, column choice: {problem}; {cure}.")
    problem, cure = "labels name a responder and are read as its side", "say otherwise with --labels"
    findings += counted(int(named.sum()), "info", source, problem, cure, "choice")
    return sides
