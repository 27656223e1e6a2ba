"""The reasons that judges gave, as a benchmark: each is rated right, wrong or irrelevant by people and other judges."""

import json
from collections.abc import Hashable, Mapping
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations, save
from mrb_lib.benchmarks.formats.base import writes
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.replies.reasons import stated_reason
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.tables.validation import Finding, counted
from mrb_lib.verdicts.orders import FIRST, SECOND, TIE, choice_to_shown, to_shown_frame

DIMENSION: Final = "reason"
RIGHT, WRONG, IRRELEVANT = "right", "wrong", "irrelevant"
CATEGORIES: Final = (RIGHT, WRONG, IRRELEVANT)
JUDGE, VERDICTS = "source_judge", "source_verdicts"
_DEFINITIONS: Final = {
    DIMENSION: "whether the reason that a judge gave for its verdict holds; the response to rate is that reason",
    RIGHT: "what it says is seen in the image, or is true of the responses, and supports the verdict",
    WRONG: "it says something that is not so, or that does not support the verdict",
    IRRELEVANT: "it says nothing of the image or of what was asked",
}
_CARRIED: Final = ("images", "organ", "department", "modality", "question_type", "dataset", "split", "fold")
_IN_WORDS: Final = {FIRST: "A is better", SECOND: "B is better", TIE: "neither is better (tie)"}
_UNREAD: Final = "no verdict could be read"
_REPLY: Final = ["judge", "case_id", "order", "repeat", "reply"]
_FILE: Final = "verdicts"

Choices = Mapping[str, str | None]


@writes("rationales", about="the judges' reasons as a benchmark of ratings: is each right, wrong or irrelevant")
def write(
    benchmark: Benchmark,
    verdicts: pd.DataFrame,
    out: Path,
    *,
    limit: Annotated[int, "write at most so many reasons, as many of each judge; 0 for all"] = 0,
    seed: Annotated[int, "of the choice of reasons"] = 0,
) -> list[Finding]:
    """Write one case for each reply that states a reason, for `mrb annotate`, `mrb judge` and the table `ratings`.

    Parameters
    ----------
    verdicts : with their replies; those of probes are left out
    out : the folder to write the benchmark into

    Returns
    -------
    list of Finding
        How many verdicts and replies are left out, and why.

    Raises
    ------
    InputError
        The benchmark's labels are no preferences or ratings, no reply states a reason, or an option is negative.

    Notes
    -----
    `question` shows the question, the earlier steps if any, the responses as the judge saw them and its verdict;
    `response_a` is the reason. A reply on several dimensions is one case. Who gave the reason (`source_judge`) and
    whether its verdict is the majority's (`source_verdicts`: JSON, by dimension the `choice` and the `gold` label in
    the frame of the case, and `score`, 1 where they are equal, null where either is missing) are shown to nobody.
    `source_case`, `source_order` and `source_repeat` say which reply it is; `cluster` is that of the judged case, or
    its item, or the case. Cases stand in an order, and have ids, that tell nothing of the judge. Validated by
    tests/verdicts/formats/test_rationales.py.
    """
    meta = benchmark.meta
    if limit < 0 or seed < 0:
        raise InputError("export rationales: --limit and --seed must not be negative; 0 is all.")
    if not meta.is_judged:
        raise InputError(f"{meta.name}: its labels are no preferences or ratings; rationales need one of the two.")
    if verdicts.empty:
        raise InputError("export rationales: needs the judges' replies; name the folder of their runs.")
    findings: list[Finding] = []
    replies = _replies(meta, verdicts, findings)
    chosen = _sampled(replies, limit, seed)
    findings += counted(len(replies) - len(chosen), "info", _FILE, "reasons were not drawn", "raise --limit for more")
    cases = _cases(benchmark, chosen)
    save(Benchmark(_meta(meta, limit, seed), cases, empty_annotations(), benchmark.images), out)
    absent = {name for names in cases["images"] for name in names if name not in benchmark.images}
    findings += counted(len(absent), "warning", "images", "images could not be found", "restore them and export again")
    return findings


def _replies(meta: BenchmarkMeta, verdicts: pd.DataFrame, findings: list[Finding]) -> pd.DataFrame:
    """Return one row per reply with a reason: `case_id` (of the new case), `reason`, and the verdicts read from it."""
    probed = verdicts["probe"] != NO_PROBE
    findings += counted(int(probed.sum()), "info", _FILE, "verdicts are of probes", "they are left out", "probe")
    plain = verdicts[~probed]
    silent = plain["reply"].isna()
    problem = "verdicts came without a reply, so that nobody knows the reason"
    findings += counted(int(silent.sum()), "warning", _FILE, problem, "judge again where replies are wanted", "reply")
    answered = plain[~silent]
    pairs = pd.Series(list(zip(answered["dimension"], answered["choice"], strict=True)), answered.index, dtype=object)
    said = answered.assign(said=pairs).groupby(_REPLY)["said"].agg(list).map(dict).reset_index()
    said["reason"] = [stated_reason(str(reply), meta.dimensions, meta.categories) for reply in said["reply"]]
    stated = said.dropna(subset="reason")
    if stated.empty:
        raise InputError(
            f"export rationales: none of {len(said):,} replies states a reason ({int(silent.sum()):,} verdicts have no "
            "reply); judge with a prompt that asks for reasons, as mrb judge --prompt reasoned."
        )
    problem = f"of {len(said):,} replies state no reason"
    findings += counted(len(said) - len(stated), "info", _FILE, problem, "they are left out", "reply")
    keys = stated[_REPLY].astype("str").to_numpy().tolist()
    digests = [blake2b(json.dumps(key).encode("ascii"), digest_size=8).hexdigest() for key in keys]
    named = stated.rename(columns={"case_id": "source_case"}).assign(case_id=digests)
    return named.sort_values("case_id", ignore_index=True)


def _sampled(replies: pd.DataFrame, limit: int, seed: int) -> pd.DataFrame:
    """At most `limit` of them, drawn so that each judge has as many as any other, as far as it gave so many."""
    if not limit:
        return replies
    drawn = replies.iloc[np.random.default_rng(seed).permutation(len(replies))]
    turn = drawn.groupby("judge").cumcount()
    return drawn.iloc[np.argsort(turn.to_numpy(), kind="stable")[:limit]].sort_index().reset_index(drop=True)


def _cases(benchmark: Benchmark, replies: pd.DataFrame) -> pd.DataFrame:
    """Return the cases table of the new benchmark."""
    meta = benchmark.meta
    source = benchmark.cases.set_index("case_id", drop=False).loc[replies["source_case"]].reset_index(drop=True)
    shown = to_shown_frame(source.assign(order=replies["order"]), planned=False)
    cluster = source["case_id"]
    for name in ("item", "cluster"):
        cluster = source[name].fillna(cluster) if name in source else cluster
    labels = gold(benchmark).set_index(["case_id", "dimension"])["choice"].to_dict()
    rows = zip(shown.to_dict("records"), replies["said"], strict=True)
    return pd.DataFrame(
        {
            "case_id": replies["case_id"],
            "question": [_question(meta, row, said) for row, said in rows],
            "response_a": replies["reason"],
            **{name: source[name] for name in _CARRIED if name in source},
            "cluster": cluster,
            JUDGE: replies["judge"],
            "source_case": replies["source_case"],
            "source_order": replies["order"],
            "source_repeat": replies["repeat"].astype("str"),
            VERDICTS: [
                _scored(meta, case, said, labels)
                for case, said in zip(replies["source_case"], replies["said"], strict=True)
            ],
        }
    )


def _scored(meta: BenchmarkMeta, case: str, said: Choices, labels: Mapping[Hashable, object]) -> str:
    """Return by dimension the choice, the label, and whether they are equal, as JSON."""
    scored = {}
    for name in filter(said.__contains__, meta.dimensions):
        pair = said[name], labels.get((case, name))
        choice, label = (value if isinstance(value, str) else None for value in pair)
        scored[name] = {"choice": choice, "gold": label, "score": int(choice == label) if choice and label else None}
    return json.dumps(scored, ensure_ascii=False)


def _question(meta: BenchmarkMeta, shown: Mapping[Hashable, object], said: Choices) -> str:
    """Return the question, the earlier steps if any, the responses as the judge saw them, and its verdict."""
    names = {FIRST: "Response"} if meta.is_rating else {FIRST: "Response A", SECOND: "Response B"}
    parts = {"Question": shown["question"]}
    if isinstance(shown.get("before"), str):
        parts["Earlier steps"] = shown["before"]
    parts |= {name: shown[which] for which, name in names.items()}
    choices = pd.Series(said, dtype="str")[[name for name in meta.dimensions if name in said]]
    if not meta.is_rating:
        choices = choice_to_shown(pd.Series(shown["order"], choices.index), choices).map(_IN_WORDS)
    verdict = "\n".join(f"{name}: {choice}" for name, choice in choices.fillna(_UNREAD).items())
    return "\n\n".join(f"{title}:\n{text}" for title, text in {**parts, "Verdict of a judge": verdict}.items())


def _meta(meta: BenchmarkMeta, limit: int, seed: int) -> BenchmarkMeta:
    return replace(
        meta,
        name=f"{meta.name} rationales",
        dimensions=(DIMENSION,),
        categories=CATEGORIES,
        level="nominal",
        task="rating",
        acceptable=(RIGHT,),
        labels={},
        definitions=_DEFINITIONS,
        description=f"The reasons that judges gave for their verdicts on {meta.name}.",
        extra={"rationales": {"of": meta.name, "limit": limit, "seed": seed}},
    )
