"""How long a user waits before anything happens: import, help, loading, the embedded benchmark. SIMULATED data.

Run as `python tests/benchmarks/speed/startup.py [CASES]`; prints seconds (the best of three for short ones) and the
peak memory of writing the embedded benchmark with CASES cases (default 1,026).
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PYTHON = sys.executable
MRB = Path(PYTHON).with_name("mrb")


def seconds(*command: object) -> float:
    start = time.perf_counter()
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 1026
    print(f"import mrb_lib        {min(seconds(PYTHON, '-c', 'import mrb_lib') for _ in range(3)):8.2f} s")
    print(f"mrb --help            {min(seconds(MRB, '--help') for _ in range(3)):8.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        bench = Path(folder) / "demo"
        print(f"mrb demo, {cases:,} cases {seconds(MRB, 'demo', bench, '--cases', cases):8.2f} s")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"  peak memory         {peak:8.0f} MB")
        load = "import sys, time; from mrb_lib import load; load; t = time.perf_counter(); load(sys.argv[1]); "
        timed = [PYTHON, "-c", load + "print(time.perf_counter() - t)", bench]
        took = min(float(subprocess.check_output(timed)) for _ in range(3))
        print(f"load                  {took:8.2f} s")


if __name__ == "__main__":
    main()
