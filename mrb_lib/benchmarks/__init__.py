"""What is judged: benchmarks, where they come from, and whether they can be trusted.

`benchmark` loads and saves one, `formats` reads and writes other layouts, `hub` downloads the published dataset,
`images` decodes pictures, `audit` checks a folder, and `demo` draws the embedded benchmark.
"""

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold

__all__ = ["Benchmark", "BenchmarkMeta", "gold", "load", "save"]
