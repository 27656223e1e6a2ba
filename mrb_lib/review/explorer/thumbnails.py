"""Small pictures for the rows of the list, made when they are asked for and kept for a while."""

from __future__ import annotations

import base64
import time
from collections import OrderedDict
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.images import thumbnail
from mrb_lib.tables.errors import InputError

NONE, BROKEN = "none", "broken"
SIDE: Final = 80  # twice what a row shows, for dense screens
MOST_ASKED: Final = 40
_KEPT = 4000
_SECONDS = 0.03  # of making pictures in one answer: who asks for a case meanwhile waits so long, or for one picture


class Thumbnails:
    """The first image of each case, small."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._kept: OrderedDict[str, str] = OrderedDict()

    def of(self, positions: Sequence[int]) -> dict[str, Any]:
        """The pictures of some cases.

        Returns
        -------
        dict
            `pictures`, pairs of a position and an address that holds a JPEG, `NONE` for a case without an image or
            `BROKEN` for one that cannot be shown; and `left`, the positions to ask for again, since making those here
            took long enough.
        """
        start, images = time.monotonic(), self._benchmark.cases["images"]
        pictures: list[tuple[int, str]] = []
        for place, position in enumerate(positions):
            names = images.iloc[position]
            name = str(names[0]) if len(names) else ""
            if name and name not in self._kept:
                if pictures and time.monotonic() - start > _SECONDS:
                    return {"pictures": pictures, "left": list(positions[place:])}
                self._kept[name] = self._made(name)
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            pictures.append((position, self._kept[name] if name else NONE))
        return {"pictures": pictures, "left": []}

    def _made(self, name: str) -> str:
        try:
            picture = thumbnail(self._benchmark.images[name], SIDE, name)
        except (KeyError, InputError):
            return BROKEN
        stream = BytesIO()
        picture.save(stream, format="JPEG", quality=70)
        return "data:image/jpeg;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
