"""Krippendorff's textbook example, with missing values, on every level of measurement.

K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C:
.743 nominal, .815 ordinal, .849 interval. `gcl.csv` is 3 coders x nominal codes.
"""

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import analyze


def read(path: Path) -> Benchmark:
    """A matrix of coders (rows) by units (columns) as a benchmark; blanks are missing."""
    wide = pd.read_csv(path, header=None, dtype="str")
    long = wide.melt(ignore_index=False, var_name="case_id", value_name="choice").reset_index(names="annotator")
    long = long.dropna().astype("str").assign(dimension="overall")
    ids = [str(name) for name in wide.columns]
    cases = pd.DataFrame({"case_id": ids, "question": "", "response_a": "", "response_b": ""})
    meta = BenchmarkMeta(path.stem, "general", ("overall",), tuple(sorted(set(long["choice"]))))
    return Benchmark(meta, cases, long)


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107)])
def test_codings(reference_data: Path, level: str, alpha: float) -> None:
    benchmark = read(reference_data / "evalica" / "codings.csv")
    row = analyze(benchmark, None, "agreement", level=level).iloc[0]
    assert row["krippendorff_alpha"] == pytest.approx(alpha, abs=1e-6)
    assert row["n_unpaired"] == 1
    assert row["n_cases"] == 11


def test_gcl(reference_data: Path) -> None:
    row = analyze(read(reference_data / "evalica" / "gcl.csv"), None, "agreement").iloc[0]
    assert row["krippendorff_alpha"] == pytest.approx(0.083333, abs=1e-6)
