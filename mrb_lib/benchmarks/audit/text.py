"""What is wrong with the texts of the cases: blanks, copies, exchanged answers, damaged characters."""

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from mrb_lib.replies.labels import lists_options
from mrb_lib.tables.validation import Finding, case_finding

_RESPONSES = ("response_a", "response_b")

# A UTF-8 sequence read as Windows-1252: a lead byte's letter, then as many continuation bytes' letters as it asks
# for. Only the leads that hardly ever stand before such a letter in real text are taken: Â and Ã alone, those of
# three bytes (à to ï) with both followers, and Cyrillic's Ð and Ñ when they come in pairs.
_CONTINUATION = "[\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"  # noqa: RUF001  these look-alikes are the point
_MOJIBAKE = (
    f"[\u00c2\u00c3]{_CONTINUATION}|[\u00e0-\u00ef]{_CONTINUATION}{{2}}|(?:[\u00d0\u00d1]{_CONTINUATION}){{2}}|â€"
)
_DAMAGE = {
    "the replacement character U+FFFD": re.compile("\ufffd"),
    "a lone surrogate": re.compile("[\ud800-\udfff]"),
    "a byte order mark U+FEFF": re.compile("\ufeff"),
    "a control character": re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"),
    "UTF-8 read as Windows-1252": re.compile(_MOJIBAKE),
}


def text_findings(cases: pd.DataFrame, digests: Mapping[str, str], *, preference: bool = True) -> list[Finding]:
    """Audit the texts of a cases table.

    Parameters
    ----------
    cases : the cases table with its required columns, a row a case; `images` holds lists of names
    digests : the digest of each readable image's bytes, so that a case copied under
        another image name is still a copy, and one about another image is not
    preference : whether the annotators chose between the two responses; if not,
        a blank or repeated response is not a defect

    Returns
    -------
    list of Finding
        In order of the kind of defect, then of row.

    Notes
    -----
    Texts are compared regardless of case and of white space.
    Tested by tests/benchmarks/audit/test_audit_text.py.
    """
    texts = pd.DataFrame({name: folded(cases[name]) for name in ("question", *_RESPONSES)})
    findings = [*_blank(cases, texts if preference else texts[["question"]])]
    if preference:
        findings += [*_identical_responses(cases, texts), *_options(cases)]
    findings += _copies(cases, texts, digests)
    findings += _damaged(cases)
    return findings


def folded(texts: pd.Series) -> pd.Series:
    """Texts in lower case with single spaces, the form in which two of them are compared; missing is empty."""
    return texts.fillna("").map(lambda text: " ".join(str(text).casefold().split())).astype("str")


def _blank(cases: pd.DataFrame, texts: pd.DataFrame) -> Iterator[Finding]:
    cure = "restore the text from the source, or remove the case if there is none"
    for column in texts.columns:
        for i in np.flatnonzero(cases[column].notna() & (texts[column] == "")):
            yield case_finding(cases, i, column, f"the {column.split('_')[0]} is blank", cure)


def _identical_responses(cases: pd.DataFrame, texts: pd.DataFrame) -> Iterator[Finding]:
    first, second = texts["response_a"], texts["response_b"]
    for i in np.flatnonzero((first == second) & (first != "")):
        problem = "the two responses are the same text, so no choice between them means anything"
        cure = "restore the two responses, or remove the case"
        yield case_finding(cases, i, "response_b", problem, cure)


def _options(cases: pd.DataFrame) -> Iterator[Finding]:
    rows = np.flatnonzero([lists_options(str(question)) for question in cases["question"]])
    if len(rows):
        problem = f"{len(rows)} of {len(cases)} questions list options by letter; a reply may name one like a response"
        cure = "use the library's prompts, which call the responses 1 and 2 here; enclose them by fence() in your own"
        yield case_finding(cases, rows[0], "question", problem, cure)


def _copies(cases: pd.DataFrame, texts: pd.DataFrame, digests: Mapping[str, str]) -> Iterator[Finding]:
    """Cases that ask the same question about the same images with the same responses, in either frame."""
    pictures = cases["images"].map(lambda names: tuple(digests.get(name, name) for name in names))
    models = [cases[name].fillna("") if name in cases else [""] * len(cases) for name in ("model_a", "model_b")]
    sides = [zip(texts[name], model, strict=True) for name, model in zip(_RESPONSES, models, strict=True)]
    first: dict[tuple[object, ...], int] = {}
    for i, (question, images, *pair) in enumerate(zip(texts["question"], pictures, *sides, strict=True)):
        other = first.setdefault((question, images, *sorted(pair)), i)
        if other != i:
            where = f"case {cases['case_id'].iloc[other]} in row {other + 1}"
            problem = f"the case is a copy of {where} (same question, images and responses, perhaps exchanged)"
            cure = "keep one of the two, or give both the same `cluster` if the repetition is meant"
            yield case_finding(cases, i, "question", problem, cure)


def _damaged(cases: pd.DataFrame) -> Iterator[Finding]:
    for column in map(str, cases.select_dtypes(include=["string"]).columns):
        for i, text in enumerate(cases[column].fillna("")):
            hits = ((what, pattern.search(text)) for what, pattern in _DAMAGE.items())
            problems = [f"{what} at character {hit.start() + 1}" for what, hit in hits if hit]
            if problems:
                cure = "read the source again as UTF-8, or correct the text"
                yield case_finding(cases, i, column, f"the text is damaged: {', '.join(problems)}", cure)
