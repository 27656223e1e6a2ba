"""Time, memory and copies found of `mrb construct start`: python tests/benchmarks/speed/construct_start.py FOLDER [N]

Every picture is made on the way, with structure at every size as radiographs have; what that takes is measured apart.
One in twenty is followed by an altered copy of each kind under another question.
"""

import argparse
import io
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from PIL import ImageOps

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "images"))

from test_copies import ALTERATIONS, STORED, film  # the pictures of the tests

from mrb_lib.build.construct.layouts import SourceImage, SourceItem
from mrb_lib.build.construct.start import StartOptions, start
from mrb_lib.build.construct.work import begin, create_work

EVERY = 20
KINDS = {"half": STORED["half"], "jpeg": STORED["jpeg"], "mirrored": ImageOps.mirror, **ALTERATIONS}


def items(n: int) -> Iterator[SourceItem]:
    """So many items, the planted copies among them."""
    made = number = 0
    while made < n:
        changes = [("", lambda picture: picture), *(KINDS.items() if number % EVERY == 0 else ())]
        for kind, change in changes[: n - made]:
            stream = io.BytesIO()
            change(film(number)).convert("L").save(stream, "PNG")
            images = (SourceImage(f"{made}.png", content=stream.getvalue()),)
            name = f"{number} {kind}".strip().replace(" ", "-")
            yield SourceItem(f"row {made}", images, f"What does {name} show?", "a reading", item_id=name)
            made += 1
        film.cache_clear()
        number += 1


def measure(n: int, folder: Path) -> None:
    """Start a work folder of so many items, and print what was found."""
    begun = time.perf_counter()
    for _ in items(min(n, 200)):
        pass
    drawn = (time.perf_counter() - begun) / min(n, 200) * n
    shutil.rmtree(folder, ignore_errors=True)
    work = create_work(folder, "many", "clinical")
    begun = time.perf_counter()
    with begin(work, "start", {}, seed=0) as step:
        start(step, {"drawn": items(n)}, StartOptions())
    seconds = time.perf_counter() - begun - drawn
    shown = work.items().assign(number=lambda items: items["item_id"].str.partition("-")[0])
    shown["kind"] = shown["item_id"].str.partition("-")[2]
    copies = shown[shown["kind"] != ""]
    is_found = copies["copy_of"].str.partition("-")[0] == copies["number"]
    wrong = int((shown["copy_of"].notna() & (shown["copy_of"].str.partition("-")[0] != shown["number"])).sum())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{n:,} pictures: {seconds:.1f} s beside {drawn:.1f} s of drawing, at most {peak:.0f} MB, {wrong} false copies"
    )
    by_kind = pd.DataFrame({"kind": copies["kind"], "found": is_found}).groupby("kind")["found"]
    print("  " + ", ".join(f"{kind} {int(found.sum())}/{len(found)}" for kind, found in by_kind))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sizes", type=int, nargs="*", default=[100, 400, 1000, 4000])
    chosen = parser.parse_args()
    if len(chosen.sizes) == 1:
        measure(chosen.sizes[0], chosen.folder)
    else:  # a process each, so that memory is that of one size
        for size in chosen.sizes:
            subprocess.run([sys.executable, __file__, str(chosen.folder), str(size)], check=True)
