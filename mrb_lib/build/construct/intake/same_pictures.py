"""Which images show the same picture, whole or in part."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from PIL import Image

from mrb_lib.benchmarks.near_duplicates import components, image_signature
from mrb_lib.build.construct.intake.copies import Signatures
from mrb_lib.build.construct.intake.crops import Keypoints, Load


class SamePictures:
    """What images are known again by, in temporary files; use as a context manager.

    Parameters
    ----------
    folder : for the temporary files
    crops : also look for parts of pictures, which needs OpenCV
    """

    def __init__(self, folder: Path, *, crops: bool) -> None:
        self._stack = ExitStack()
        self._signatures = self._stack.enter_context(Signatures(folder))
        self._keypoints = self._stack.enter_context(Keypoints(folder)) if crops else None

    def __enter__(self) -> SamePictures:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, name: str, picture: Image.Image | None) -> None:
        """Add an image under a name; None is one that cannot be seen, and is like no other."""
        shown = picture or Image.new("L", (1, 1))
        self._signatures.add(name, image_signature(shown))
        if self._keypoints is not None:
            self._keypoints.add(name, shown)

    def groups(self, load: Load, progress: Callable[[str, int, int], None] | None = None) -> dict[str, int]:
        """The number of the picture that each image shows, by its name.

        Parameters
        ----------
        load : gives an image by its name once more, for those that may be parts of others
        progress : called with what is done, how much so far, and of how much
        """
        one, other = self._signatures.alike(progress)
        if self._keypoints is not None:
            part, whole = self._keypoints.parts(load, progress)
            one, other = np.concatenate([one, part]), np.concatenate([other, whole])
        names = self._signatures.names
        return dict(zip(names, components(len(names), one, other).tolist(), strict=True))
