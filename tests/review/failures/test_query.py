from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from mrb_lib.review.failures.kinds import ANY_PROBE, Kinds, failure_kinds
from mrb_lib.review.failures.query import PLACES, Query, facets, from_fragment, select, to_fragment
from mrb_lib.stats.panel import as_panel
from mrb_lib.stats.where import OUTCOMES
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import cases_of, gold_of, random_verdicts

N, DIMENSIONS = 60, ["accuracy", "overall"]
NAMES = ("wrong", "inconsistent", "unparsed", "confidently_wrong", "all_wrong", "split")
OF_A_CASE = NAMES[-2:]


def _votes(gold: pd.DataFrame, generator: np.random.Generator) -> pd.DataFrame:
    votes = generator.multinomial(3, [0.6, 0.2, 0.2], len(gold))
    return gold.assign(votes_a=votes[:, 0], votes_b=votes[:, 1], votes_tie=votes[:, 2], n_annotators=3)


@pytest.fixture(scope="module")
def cases() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    organ = generator.choice(np.array(["lung", "brain", None], dtype=object), N)
    department = np.where(organ == "brain", "Neurology", "Pulmonology")
    words = generator.choice(["left Lobe", "right lobe", "STRASSE", "no finding"], N)
    return cases_of(N, organ=list(organ), department=list(department)).assign(question=words)


@pytest.fixture(scope="module")
def kinds(cases: pd.DataFrame) -> Kinds:
    generator = np.random.default_rng(2)
    verdicts = pd.concat([random_verdicts(generator, N, 3).assign(dimension=name) for name in DIMENSIONS])
    place = verdicts["case_id"].str[1:].astype(int) + verdicts["judge"].str[1:].astype(int)
    verdicts = verdicts[place % 4 != 0]
    verdicts["p_a"] = generator.uniform(size=len(verdicts)) ** 0.2
    gold = pd.concat([_votes(gold_of("AB?T-A" * 10, name), generator) for name in DIMENSIONS])
    hard = pd.MultiIndex.from_product([DIMENSIONS, cases["case_id"]], names=["dimension", "case_id"]).to_frame(
        index=False
    )
    hard = hard.assign(part="case", difficulty=generator.normal(size=2 * N).round(1)).iloc[1:].drop(range(7, 2 * N, 7))
    panel = as_panel(verdicts, cases["case_id"], DIMENSIONS)
    kinds = failure_kinds(panel, gold, cases, policy="balanced", difficulty=hard)
    assert kinds.names == NAMES
    share = generator.choice([np.nan, 0, 0.5, 1], (2, *kinds.grid("outcome")[:-1].shape), p=[0.3, 0.4, 0.2, 0.1])
    return replace(kinds, probes=["image/blur:3", "image/removed"], changed=share.astype(np.float16))


def _cell(kinds: Kinds, query: Query, judge: int | None, dimension: int, case: int) -> bool:
    """Whether one verdict, or, without a judge, the case itself matches: as the words of the docstring say."""
    if judge is None:
        if query.outcome or query.changed_by:
            return False
        if not query.kind:
            return query.dimension is None or bool(kinds.grid("labelled")[-1, dimension, case])
        return any(kinds.grid(kind)[-1, dimension, case] for kind in query.kind if kind in OF_A_CASE)
    if not kinds.grid("judged")[judge, dimension, case]:
        return False
    if query.outcome and OUTCOMES[kinds.grid("outcome")[judge, dimension, case]] not in query.outcome:
        return False
    if query.changed_by is not None:
        under = [kinds.probes.index(query.changed_by)] if query.changed_by != ANY_PROBE else range(2)
        if not any(kinds.changed[p, judge, dimension, case] > 0 for p in under):
            return False
    if query.other is not None:
        other = kinds.judges.index(query.other)
        said = kinds.grid("said")[:, dimension, case]
        if not kinds.grid("judged")[other, dimension, case] or said[other] == said[judge]:
            return False
    return not query.kind or any(bool(kinds.grid(kind)[judge, dimension, case]) for kind in query.kind)


def _plainly(kinds: Kinds, cases: pd.DataFrame, query: Query) -> list[int]:
    judges = [*range(len(kinds.judges)), None] if query.judge is None else [kinds.judges.index(query.judge)]
    dimensions = range(2) if query.dimension is None else [DIMENSIONS.index(query.dimension)]
    out = []
    for i, case in enumerate(cases.itertuples()):
        place = all(
            wanted is None or ("" if pd.isna(value) else value) == wanted
            for wanted, value in ((query.organ, case.organ), (query.department, case.department))
        )
        if place and any(_cell(kinds, query, j, d, i) for j, d in product(judges, dimensions)):
            out.append(i)
    return out


QUERIES = [
    Query(judge=judge, other=other, dimension=dimension, organ=organ, kind=kind)
    for (judge, other), dimension, organ, kind in product(
        ((None, None), ("j1", None), ("j1", "j2")),
        (None, "overall"),
        (None, "brain", ""),
        ((), *((name,) for name in NAMES), ("inconsistent", "split")),
    )
]
QUERIES += [
    replace(query, outcome=outcome) for query in QUERIES[::3] for outcome in (("right", "half right"), ("not scored",))
]
QUERIES += [
    replace(query, changed_by=probe) for query in QUERIES[::4] for probe in (ANY_PROBE, "image/blur:3", "image/removed")
]


def test_a_selection_is_what_a_plain_loop_finds(kinds: Kinds, cases: pd.DataFrame) -> None:
    sizes = set()
    for query in QUERIES:
        found = select(kinds, cases, query).tolist()
        assert found == _plainly(kinds, cases, query), query
        sizes.add(len(found))
    assert len(sizes) > 15


def test_every_count_is_the_size_of_the_selection_it_promises(kinds: Kinds, cases: pd.DataFrame) -> None:
    for query in QUERIES[::9]:
        found = facets(kinds, cases, query)
        assert {"organ", "department", "kind", "judge", "dimension", "changed_by"} <= found.keys()
        for name, values in found.items():
            without: dict[str, object] = {"other": None} if name == "judge" else {}
            for value, n in values:
                changed = without | {name: (value,) if name == "kind" else value}
                assert n == len(select(kinds, cases, replace(query, **changed))), (query, name)
            if name in PLACES:
                assert sum(n for _, n in values) == len(select(kinds, cases, replace(query, **{name: None}))), query


@pytest.mark.parametrize("desc", [True, False])
@pytest.mark.parametrize("sort", ["confidence", "disagreement", "difficulty"])
def test_sorting_goes_by_the_verdicts_that_match_and_undefined_comes_last(
    kinds: Kinds, cases: pd.DataFrame, sort: str, desc: bool
) -> None:
    query = Query(judge="j0", dimension="overall", kind=("wrong", "inconsistent"), sort=sort, desc=desc)
    found = select(kinds, cases, query)
    value = kinds.grid(sort)[0, 1]
    shown = value[found]
    defined = shown[~np.isnan(shown)]
    assert len(defined) > 5
    assert not np.isnan(shown[: len(defined)]).any()
    assert (np.diff(defined) <= 0).all() if desc else (np.diff(defined) >= 0).all()
    assert sorted(found) == select(kinds, cases, replace(query, sort="")).tolist()
    equal = np.flatnonzero(np.diff(shown) == 0)
    assert (found[equal] < found[equal + 1]).all()


def test_free_text_wants_every_word_and_phrase_in_any_case(kinds: Kinds, cases: pd.DataFrame) -> None:
    def found(text: str) -> set[str]:
        return set(cases["question"].iloc[select(kinds, cases, Query(text=text))])

    assert found("LOBE") == {"left Lobe", "right lobe"}
    assert found("lobe left three") == {"left Lobe"}
    assert found('"lobe left"') == set()
    assert found("straße") == {"STRASSE"}
    assert found("lobe finding") == set()
    assert select(kinds, cases, Query(text="c17")).tolist() == [17]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Query(judge="nobody"), "judge 'nobody' is unknown"),
        (Query(judge="j0", other="nobody"), "judge 'nobody' is unknown"),
        (Query(other="j0"), "no judge to compare it with"),
        (Query(dimension="beauty"), "dimension 'beauty' is unknown"),
        (Query(kind=("odd",)), "kind 'odd' is unknown"),
        (Query(changed_by="image/none"), "probe 'image/none' is unknown"),
        (Query(sort="size"), "sort 'size' is unknown"),
    ],
)
def test_what_there_is_not_is_named(kinds: Kinds, cases: pd.DataFrame, query: Query, message: str) -> None:
    for ask in (select, facets):
        with pytest.raises(InputError, match=message):
            ask(kinds, cases, query)
    with pytest.raises(InputError, match="3 rows do not fit kinds of 60"):
        select(kinds, cases_of(3), Query())


@pytest.mark.parametrize("query", [*QUERIES[::7], Query(text='a "b c" &=#é\u202e', sort="difficulty", desc=False)])
def test_an_address_leads_back_to_its_query(query: Query) -> None:
    fragment = to_fragment(query, case="c#1 &x=2")
    assert from_fragment("#" + fragment) == (query, "c#1 &x=2")
    assert not set(fragment) & set(' "<>#')


def test_an_address_from_elsewhere() -> None:
    query, case = from_fragment("#judge=&organ=&kind=wrong,,split&sort=confidence&desc=1&mystery=1")
    assert query == Query(organ="", kind=("wrong", "split"), sort="confidence")
    assert case == ""
    with pytest.raises(InputError, match="kind 'rude' is unknown"):
        from_fragment("kind=rude")
    with pytest.raises(InputError, match="outcome 'rude'"):
        from_fragment("outcome=right,rude")


@pytest.mark.parametrize("name", ["text", "where", "judge", "kind", "review"])
def test_no_text_of_a_query_is_longer_than_a_server_can_search(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is longer than 10,000 characters; shorten it"):
        from_fragment(f"{name}={'x' * 10_001}")
