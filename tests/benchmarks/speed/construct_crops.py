"""Which parts of pictures `mrb construct start` finds, and what it takes for a part that is none.

    python tests/benchmarks/speed/construct_crops.py 60

So many drawings of discs, 96 and 192 pixels wide, and as many pictures of the embedded benchmark, which are drawn after
one atlas a view; of each a part, stored as JPEG at another size. Prints how many parts are found, and how many of all
pairs of different pictures or parts of them are called copies. The time is that of comparing the pairs that share
keypoints.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from mrb_lib.build.construct.intake.crops import Keypoints
from mrb_lib.demo.build import simulate_case
from tests.build.construct.sources import drawing
from tests.build.construct.test_crops import part_of, with_arrow


def atlas(number: int) -> Image.Image:
    """A picture of the embedded benchmark."""
    return Image.open(io.BytesIO(simulate_case(0, number).picture)).convert("L")


def main(n: int) -> None:
    """Count for each kind of picture and of part."""
    kinds = {"drawings of 96 pixels": drawing, "drawings of 192": lambda i: drawing(i, 192), "demo pictures": atlas}
    cut = {
        "up to 15% cut off each side": lambda picture, rng: part_of(picture, 0.15, rng),
        "up to 15%, an arrow drawn on it": lambda picture, rng: part_of(with_arrow(picture, rng), 0.15, rng),
        "up to 30%": lambda picture, rng: part_of(picture, 0.3, rng),
        "up to 30%, mirrored": lambda picture, rng: ImageOps.mirror(part_of(picture, 0.3, rng)),
    }
    for kind, draw in kinds.items():
        for how, part in cut.items():
            rng = np.random.default_rng(1)
            pictures = [draw(i) for i in range(n)]
            shown = dict(enumerate([*pictures, *(part(picture, rng) for picture in pictures)]))
            with tempfile.TemporaryDirectory() as folder, Keypoints(Path(folder)) as keypoints:
                for number, picture in shown.items():
                    keypoints.add(str(number), picture)
                begun = time.process_time()
                one, other = keypoints.parts(lambda name, shown=shown: shown[int(name)])
                seconds = time.process_time() - begun
            one, other = np.unique([one, other], axis=1)  # once, though it may be found mirrored, too
            same = one % n == other % n
            pairs = (2 * n) * (2 * n - 1) // 2 - n
            print(
                f"{kind}, {how}: {same.sum()} of {n} found, {(~same).sum()} of {pairs:,} other pairs called copies, "
                f"{seconds:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]))
