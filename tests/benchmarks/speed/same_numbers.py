"""Every table of several benchmarks, kept as files and compared with what another version of the library made.

Run it by hand: `python tests/benchmarks/speed/same_numbers.py keep OUT BENCH...` with either version,
then `python tests/benchmarks/speed/same_numbers.py compare BEFORE AFTER`.
"""

import argparse
from pathlib import Path

import pandas as pd

import mrb_lib
from mrb_lib.stats import analyze as tables

RESAMPLES = 400
TOLERANCE = 1e-9


def keep(out: Path, bench: Path) -> None:
    """Write every table that a benchmark has, overall and by organ where it has organs, and why others are absent."""
    benchmark = mrb_lib.load(bench)
    runs = bench / "runs"
    verdicts = mrb_lib.load_verdicts(runs, benchmark.cases) if runs.is_dir() else None
    by = "organ" if "organ" in benchmark.cases and benchmark.cases["organ"].notna().any() else None
    (out / bench.name).mkdir(parents=True, exist_ok=True)
    for table in tables.TABLES:
        for policy in ("balanced", "official"):
            try:
                frame = mrb_lib.analyze(benchmark, verdicts, table, policy=policy, by=by, resamples=RESAMPLES)
            except mrb_lib.InputError as error:
                (out / bench.name / f"{table}.{policy}.txt").write_text(f"{error}\n", encoding="utf-8")
            else:
                frame.to_parquet(out / bench.name / f"{table}.{policy}.parquet")


def compare(before: Path, after: Path) -> None:
    """Print what differs: tables, rows, columns, texts, and numbers by more than `TOLERANCE`."""
    for name in sorted({path.relative_to(root) for root in (before, after) for path in root.rglob("*.*")}):
        if not (before / name).exists() or not (after / name).exists():
            print(f"{name}: only {'before' if (before / name).exists() else 'after'}")
        elif name.suffix == ".txt":
            texts = [(root / name).read_text(encoding="utf-8") for root in (before, after)]
            print(f"{name}: {'equal' if texts[0] == texts[1] else f'other words: {texts[1].strip()}'}")
        else:
            frames = [pd.read_parquet(root / name) for root in (before, after)]
            print(f"{name}: {'; '.join(_differences(*frames)) or f'equal ({frames[0].size} values)'}")


def _differences(before: pd.DataFrame, after: pd.DataFrame) -> list[str]:
    differences = [f"no {name}" for name in before.columns.difference(after.columns)]
    differences += [f"new {name}" for name in after.columns.difference(before.columns)]
    if len(before) != len(after):
        return [*differences, f"{len(before)} rows, now {len(after)}"]
    for name in before.columns.intersection(after.columns):
        try:
            pd.testing.assert_series_equal(before[name], after[name], check_dtype=False, rtol=0, atol=TOLERANCE)
        except AssertionError as error:
            both = pd.api.types.is_numeric_dtype(before[name]) and pd.api.types.is_numeric_dtype(after[name])
            largest = f", the largest by {(before[name] - after[name]).abs().max():.3g}" if both else ""
            differences.append(f"{name}: {str(error).splitlines()[2]}{largest}")
    return differences


def main() -> None:
    """Keep or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("keep", "compare"))
    parser.add_argument("paths", type=Path, nargs="+")
    options = parser.parse_args()
    if options.what == "compare":
        compare(*options.paths)
        return
    out, *benchmarks = options.paths
    for bench in benchmarks:
        keep(out, bench)


if __name__ == "__main__":
    main()
