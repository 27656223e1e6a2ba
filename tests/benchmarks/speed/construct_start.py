"""Time and memory of `mrb construct start` on many items: python tests/benchmarks/speed/construct_start.py N FOLDER.

Every item has a drawing of its own, made on the way, whose cost is measured apart and said.
"""

from __future__ import annotations

import resource
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "build" / "construct"))

from sources import drawing, stored  # the drawings of the tests

from mrb_lib.build.construct.layouts import SourceImage, SourceItem
from mrb_lib.build.construct.start import StartOptions, start
from mrb_lib.build.construct.work import begin, create_work

COPIES = 50  # every so many items the last one again


def items(n: int) -> Iterator[SourceItem]:
    """Items with a picture each, every fiftieth a copy of the one before it."""
    for i in range(n):
        number = i - 1 if i % COPIES == COPIES - 1 else i
        content = stored(drawing(number, 64))
        images = (SourceImage(f"{i}.png", content=content),)
        yield SourceItem(f"row {i}", images, f"What does finding {number % 500} suggest?", "a reading", item_id=f"i{i}")


def peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    n, folder = int(sys.argv[1]), Path(sys.argv[2])
    begun = time.perf_counter()
    for _ in items(min(n, 2000)):
        pass
    drawn = (time.perf_counter() - begun) / min(n, 2000)
    shutil.rmtree(folder, ignore_errors=True)
    work, before = create_work(folder, "many", "simulated"), peak()
    stages: dict[str, float] = {}
    begun = time.perf_counter()
    with begin(work, "start", {}, seed=0) as step:
        start(
            step, "drawn", items(n), StartOptions(), lambda what, *_: stages.update({what: time.perf_counter() - begun})
        )
    seconds = time.perf_counter() - begun
    kept = int(work.funnel()["n_out"].iloc[0])
    print(f"{n:,} items, {kept:,} kept: {seconds:.0f} s ({drawn * n:.0f} s of it drawing), up to {stages}")
    print(f"memory: {before:.0f} MB before, {peak():.0f} MB at most")


if __name__ == "__main__":
    main()
