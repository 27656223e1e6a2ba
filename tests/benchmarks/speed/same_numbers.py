"""Every table of several benchmarks, kept as files and compared with what another version of the library made.

Run it by hand: `python tests/benchmarks/speed/same_numbers.py keep OUT BENCH...` with either version,
then `python tests/benchmarks/speed/same_numbers.py compare BEFORE AFTER`.
"""

import argparse
from pathlib import Path

import numpy as np
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
    names = sorted(path.relative_to(before) for path in before.rglob("*.*"))
    new = sorted({path.relative_to(after) for path in after.rglob("*.*")} - set(names))
    for name in [*names, *new]:
        if not (before / name).exists() or not (after / name).exists():
            print(f"{name}: only {'after' if name in new else 'before'}")
            continue
        if name.suffix == ".txt":
            texts = [(root / name).read_text(encoding="utf-8") for root in (before, after)]
            print(f"{name}: {'equal' if texts[0] == texts[1] else f'other words: {texts[1].strip()}'}")
            continue
        old_frame, new_frame = pd.read_parquet(before / name), pd.read_parquet(after / name)
        print(f"{name}: {'; '.join(_differences(old_frame, new_frame)) or f'equal ({old_frame.size} values)'}")


def _differences(before: pd.DataFrame, after: pd.DataFrame) -> list[str]:
    differences = [f"no {name}" for name in before.columns.difference(after.columns)]
    differences += [f"new {name}" for name in after.columns.difference(before.columns)]
    if len(before) != len(after):
        return [*differences, f"{len(before)} rows, now {len(after)}"]
    for name in before.columns.intersection(after.columns):
        old, new = before[name].reset_index(drop=True), after[name].reset_index(drop=True)
        if pd.api.types.is_numeric_dtype(old) and pd.api.types.is_numeric_dtype(new):
            x, y = old.to_numpy(float), new.to_numpy(float)
            with np.errstate(invalid="ignore"):
                distance = np.where((np.isnan(x) & np.isnan(y)) | (x == y), 0.0, np.abs(x - y))
            changed = ~(distance <= TOLERANCE)
            if changed.any():
                defined = distance[np.isfinite(distance)].max(initial=0.0)
                undefined = int((np.isnan(x) != np.isnan(y)).sum())
                differences.append(f"{name}: {changed.sum()} values, largest {defined:.3g}, defined once {undefined}")
        elif not old.astype(object).where(old.notna(), None).equals(new.astype(object).where(new.notna(), None)):
            differences.append(f"{name}: other texts")
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
