"""Responses that stand under another case's question, found by the words they share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.audit.report import CASES_FILE, case_finding
from mrb_lib.benchmarks.audit.text import folded
from mrb_lib.benchmarks.audit.vocabulary import WordSets
from mrb_lib.tables.validation import Finding

STRAY = 0.1  # similarity to its own question under which a response may have come from elsewhere
MATCH = 0.15  # similarity to another case's question over which it may belong there
RATIO = 2.0  # how many times more similar to the other question than to its own
LEAD = 1.5  # how many times more similar to that question than to the next likely one
MIN_SHARED = 2  # words shared with the other question, so that no single word decides
MIN_WORDS = 5  # of an identical response, so that "Yes" under two questions is not reported
MIN_SHIFTED = 5  # responses displaced by the same number of rows, to speak of a shift
CAP = 20_000  # responses compared with each other; more are counted, not compared
_CHUNK = 1_000


@dataclass(frozen=True)
class _Unit:
    """Which text is suspected to be displaced, and what is left to compare it with."""

    what: str
    column: str
    moved: tuple[str, ...]
    kept: tuple[str, ...]


# A single displaced response no longer resembles the other response; two displaced together resemble each other
# still, and only the question is left to tell.
_UNITS = (
    _Unit("both responses", "question", ("response_a", "response_b"), ("question",)),
    _Unit("response_a", "response_a", ("response_a",), ("question", "response_b")),
    _Unit("response_b", "response_b", ("response_b",), ("question", "response_a")),
)


def pairing_findings(cases: pd.DataFrame, words: WordSets) -> list[Finding]:
    """Find responses that were exchanged, rotated, shifted or copied between cases.

    A response is suspected when it shares next to no informative words with its own
    question (and the other response), and clearly more, in at least two words, with
    one other suspected case than with any further one. It is reported only where the suspicions
    agree: they close a cycle (i belongs to j and j to i, or longer), or many are
    displaced by the same number of rows. A lone suspicion is not reported, because
    good responses that share no word with their question are common.

    Parameters
    ----------
    cases : the cases table with its required columns, a row a case
    words : the word sets of these cases

    Returns
    -------
    list of Finding

    Notes
    -----
    Similarity is the cosine of word sets weighted by inverse document frequency.
    Words are runs of three or more word characters, so texts in scripts without
    spaces give no evidence, and no finding.
    Cases with the same question cannot be told apart. The thresholds were set so that the
    public data sets the importers read give no finding, which
    tests/benchmarks/audit/test_audit_pairing.py checks along with the recovery of planted exchanges.
    """
    question = pd.factorize(folded(cases["question"]))[0]
    findings: list[Finding] = []
    done = np.zeros(len(cases), dtype=bool)
    for unit in _UNITS:
        links, left_out = _links(words, unit, question, done)
        if left_out:
            problem = f"{unit.what}: {left_out} texts share no word with their question and were not compared"
            findings.append(
                Finding("info", CASES_FILE, None, unit.column, problem, "look at a sample of them yourself")
            )
        cycles = _on_cycles(links)
        cycles &= _without_rival(words, unit, question, links, cycles)
        findings += _explain(cases, unit, links, cycles, done)
    return findings + list(_repeated(cases, question, done))


def _links(words: WordSets, unit: _Unit, question: np.ndarray, done: np.ndarray) -> tuple[dict[int, int], int]:
    """For each suspected case, the suspected case whose question its text belongs to."""
    moved, kept = words.unit_rows(unit.moved), words.unit_rows(unit.kept)
    own_similarity = np.asarray(moved.multiply(kept).sum(axis=1)).ravel()
    enough = np.diff(words.union(unit.moved).indptr) >= MIN_SHARED
    stray = np.flatnonzero((own_similarity < STRAY) & enough & ~done)
    left_out = max(0, len(stray) - CAP)
    stray = stray[:CAP]
    if len(stray) < 2:
        return {}, left_out
    contexts, shared = kept[stray].T.tocsc(), words.union(unit.kept)[stray].T.tocsc()
    plain = words.union(unit.moved)
    links: dict[int, int] = {}
    for start in range(0, len(stray), _CHUNK):
        rows = stray[start : start + _CHUNK]
        similarity = (moved[rows] @ contexts).toarray()
        similarity[question[rows][:, None] == question[stray][None, :]] = 0
        similarity[(plain[rows] @ shared).toarray() < MIN_SHARED] = 0
        best, score = similarity.argmax(axis=1), similarity.max(axis=1)
        similarity[question[stray[best]][:, None] == question[stray][None, :]] = 0
        runner_up = similarity.max(axis=1)
        sure = (score >= MATCH) & (score >= RATIO * own_similarity[rows]) & (score >= LEAD * runner_up)
        links.update(zip(rows[sure].tolist(), stray[best[sure]].tolist(), strict=True))
    return links, left_out


def _without_rival(
    words: WordSets, unit: _Unit, question: np.ndarray, links: dict[int, int], cycles: set[int]
) -> set[int]:
    """The cycles whose texts resemble no case of the whole table more than their partner, and also its question alone.

    The question is looked at alone because two responses to one question may differ in every word.
    """
    moved, kept = words.unit_rows(unit.moved), words.unit_rows(unit.kept).T.tocsc()
    questions = words.unit_rows(("question",)).T.tocsc()
    unrivalled = set()
    for i in cycles:
        j = links[i]
        similarity, answers = (moved[[i]] @ kept).toarray()[0], (moved[[i]] @ questions).toarray()[0]
        rivals = (question != question[i]) & (question != question[j])
        if similarity[j] >= similarity[rivals].max(initial=0) and answers[j] > RATIO * answers[i]:
            unrivalled.add(i)
    return _on_cycles({i: links[i] for i in unrivalled})


def _explain(
    cases: pd.DataFrame, unit: _Unit, links: dict[int, int], cycles: set[int], done: np.ndarray
) -> Iterator[Finding]:
    """Report the links that support each other, and mark their cases as done."""
    ids = cases["case_id"]
    offsets = pd.Series({i: j - i for i, j in links.items()}, dtype="int64")
    shift = offsets.mode()
    shifted = offsets.index[offsets == int(shift.iloc[0])] if len(shift) == 1 else offsets.index[:0]
    if len(shifted) >= max(MIN_SHIFTED, len(links) // 2):
        step = int(shift.iloc[0])
        first = int(shifted.min())
        done[shifted] = True
        where = f"{abs(step)} {'row' if abs(step) == 1 else 'rows'} {'below' if step > 0 else 'above'}"
        problem = f"from here on, {unit.what} of at least {len(shifted)} cases fit the question {where}"
        cure = "a join by position went wrong: join questions and responses by id"
        yield case_finding(cases, first, unit.column, problem, cure)
    for i in sorted(cycles):
        if done[i]:
            continue
        j = links[i]
        problem = f"{unit.what} of this case fit the question of case {ids.iloc[j]} in row {j + 1}, not its own"
        cure = "put each response back under its question"
        yield case_finding(cases, i, unit.column, problem, cure)
    done[list(cycles)] = True


def _on_cycles(links: dict[int, int]) -> set[int]:
    """The nodes of a functional graph that lie on a cycle."""
    state: dict[int, int] = {}
    cyclic: set[int] = set()
    for start in links:
        path: list[int] = []
        node = start
        while node in links and node not in state:
            state[node] = start
            path.append(node)
            node = links[node]
        if node in path and state.get(node) == start:
            cyclic.update(path[path.index(node) :])
    return cyclic


def _repeated(cases: pd.DataFrame, question: np.ndarray, done: np.ndarray) -> Iterator[Finding]:
    """Responses that occur word for word under different questions: counted, since stock phrases do too."""
    texts = pd.concat([folded(cases[name]) for name in ("response_a", "response_b")], ignore_index=True)
    row = np.tile(np.arange(len(cases)), 2)
    table = pd.DataFrame({"text": texts, "question": np.tile(question, 2), "row": row})
    table = table[(texts.str.count(r"\w\w\w+") >= MIN_WORDS).to_numpy() & ~done[row]]
    spread = table.groupby("text", sort=False)["question"].transform("nunique")
    repeated = table[spread > 1]
    if repeated.empty:
        return
    same = repeated[repeated["text"] == repeated["text"].iloc[0]].sort_values("row")
    first, second = int(same["row"].iloc[0]), int(same["row"].iloc[-1])
    problem = (
        f"{repeated['text'].nunique()} responses occur word for word under different questions, "
        f"one of them here and in row {first + 1}"
    )
    cure = "make sure that they were not copied to the wrong case"
    column = "response_a" if int(same.index[-1]) < len(cases) else "response_b"
    yield case_finding(cases, second, column, problem, cure, severity="info")
