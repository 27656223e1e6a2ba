import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import TABLES, analyze, read_panels, unread, verdict_columns
from mrb_lib.tables.errors import InputError
from tests.stats.every_table import KNOWN, full_benchmark, full_table
from tests.stats.small_tables import OF_PREFERENCES, annotations_of, cases_of, verdicts_of

ANNOTATIONS = {"a": "AABBTA", "b": "AABBTB", "c": "ABBBTA"}
VERDICTS = {
    ("j1", "AB"): "AABBTA", ("j1", "BA"): "AABBTB", ("j2", "AB"): "AAAAAA", ("j2", "BA"): "BBBBBB",
    ("j3", "AB"): "A?BATB", ("j3", "BA"): "AABATB",
}  # fmt: skip


def benchmark(**columns: list[object]) -> Benchmark:
    meta = BenchmarkMeta("little", "general", ("overall", "accuracy"))
    cases = cases_of(6, organ=["eye", "eye", "lung", "lung", None, "lung"], **columns)
    return Benchmark(meta, cases, annotations_of(ANNOTATIONS))


@pytest.mark.parametrize("table", OF_PREFERENCES)
@pytest.mark.parametrize("by", [None, "organ"])
def test_every_table_has_its_columns_and_types(table: str, by: str | None) -> None:
    spec = TABLES[table]
    rows = full_table(table, by=by)
    assert list(rows.columns) == list(spec.columns)
    assert len(rows)
    for name in rows.columns:
        assert rows[name].dtype != object, name
    if by is not None and "by" in TABLES[table].parameters and table not in ("composition", "models"):
        assert set(rows["subfield"].dropna()) == {"eye", "lung"}


@pytest.mark.parametrize("table", OF_PREFERENCES)
def test_a_benchmark_that_lacks_much_gets_rows_with_reasons_or_one_plain_message(table: str) -> None:
    """Six cases, one of them without an organ; no responders, probabilities or repeats."""
    for by in (None, "organ") if "by" in TABLES[table].parameters else (None,):
        try:
            rows = analyze(benchmark(), verdicts_of(VERDICTS), table, by=by, resamples=40)
        except InputError as error:
            assert str(error).endswith(".")
            assert not {"model_a", "p_a", "dataset"}.isdisjoint(str(error).replace(",", " ").split())
        else:
            assert list(rows.columns) == [name for name in rows.columns if name in TABLES[table].columns]


def test_a_table_made_again_is_the_same_to_the_last_digit_from_panels_too() -> None:
    made, verdicts = full_benchmark()
    for table in OF_PREFERENCES:
        columns, again = verdict_columns(table), None
        if columns:
            kept = verdicts[[name for name in columns if name in verdicts.columns]]
            again = read_panels(made, (rows for _, rows in kept.groupby("judge")))
        second = analyze(made, verdicts if again is None else again, table, resamples=40, **KNOWN)
        pd.testing.assert_frame_equal(full_table(table, by=None), second, check_exact=True)


@pytest.mark.parametrize("table", OF_PREFERENCES)
def test_a_table_of_verdicts_needs_verdicts_and_every_table_the_columns_it_is_told(table: str) -> None:
    for verdicts in (None, verdicts_of(VERDICTS).iloc[:0]):
        if TABLES[table].needs_verdicts:
            with pytest.raises(InputError, match="needs verdicts and there are none"):
                analyze(benchmark(), verdicts, table)
        else:
            assert len(analyze(benchmark(), verdicts, table, resamples=40))
    for option in ("by", "cluster"):
        with pytest.raises(InputError, match=f"{option} 'planet': the cases have no such column"):
            analyze(*full_benchmark(), table, **{option: "planet"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "acuracy"}, "table 'acuracy' is unknown; use one of accuracy, adjudication"),
        ({"policy": "best"}, "policy 'best' is unknown; use one of official"),
        ({"by": "modality"}, "by 'modality': the column is empty"),
        ({"dimension": "taste"}, "dimension 'taste' is unknown; use one of overall, accuracy"),
        ({"dimension": "accuracy"}, "no verdict is on 'accuracy'; use one of overall"),
        ({"correction": "sidak"}, "correction 'sidak' is unknown"),
        ({"gold": "loudest"}, "gold rule 'loudest' is unknown"),
        ({"level": "ratio"}, "level 'ratio' is unknown"),
        ({"resamples": 39}, "resamples 39: must be at least 40, since fewer have no 2.5% point, or 0"),
        ({"family": "cousins"}, "family 'cousins' is unknown; use one of dimension, all"),
        ({"table": "significance", "margin": -0.1}, "margin -0.1: must be at least 0 and below 1"),
        ({"margin": 0.1}, "table accuracy: has no option 'margin'; its options are references"),
        ({"table": "selective", "target": 1.5}, "target 1.5: must be at least 0 and below 1"),
        ({"table": "ceiling", "epsilon": 1.0}, "epsilon 1: must be at least 0 and below 1"),
        ({"seed": -1}, "seed -1: must not be negative"),
        ({"probe": "blank"}, "no verdict is of probe 'blank'; use one of none"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_allowed(options: dict[str, object], message: str) -> None:
    given = {"table": "accuracy", "resamples": 40, **options}
    with pytest.raises(InputError) as caught:
        analyze(benchmark(modality=[None] * 6), verdicts_of(VERDICTS), given.pop("table"), **given)
    assert message in str(caught.value)


def test_options_that_a_table_does_not_read_are_known() -> None:
    options = ("by", "level", "policy", "probe", "dimension", "cluster")
    assert unread("composition", options) == ["level", "policy", "probe", "dimension", "cluster"]
    assert unread("agreement", options) == ["policy", "probe"]
    assert unread("accuracy", options) == ["level"]
    assert unread("jury", ("by", "resamples")) == ["by"]
    of_marks = ["policy", "resamples", "seed", "groups"]
    assert unread("models", (*of_marks, "cluster")) == of_marks
    assert unread("models", of_marks, has_marks=True) == []


def test_a_dimension_the_benchmark_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="dimension 'taste', which benchmark little does not have"):
        analyze(benchmark(), verdicts_of(VERDICTS, "taste"), "accuracy")


def test_only_the_probe_asked_for_is_read() -> None:
    plain = verdicts_of({("j1", "AB"): "AABBTA"})
    probed = verdicts_of({("j1", "AB"): "BBAAAB"}).assign(probe="swapped-image")
    both = pd.concat([plain, probed])
    for probe, alone in (("none", plain), ("swapped-image", probed)):
        found = analyze(benchmark(), both, "accuracy", probe=probe, resamples=40)
        pd.testing.assert_frame_equal(found, analyze(benchmark(), alone, "accuracy", probe=probe, resamples=40))
