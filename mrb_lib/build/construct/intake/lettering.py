"""Text that looks burnt into a picture: a suspicion for a person to look at, not a reading of it."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

_SIDE = 512
_STROKE = 7  # pixels: wider than a stroke of the letters looked for
_CONTRAST = 60  # grey levels between a letter and what surrounds it
_HEIGHTS = (5, 40)
_LETTERS = 5  # in one line


def looks_lettered(picture: Image.Image) -> bool:
    """Return whether some line of the picture holds five or more shapes that could be letters.

    Shapes are strokes much brighter, or much darker, than what is within a few pixels of them (the top-hat transform),
    as high as letters and not wider than high by much, and of one line are those of similar height that stand on it
    side by side. Validated by tests/build/construct/test_dicom.py.
    """
    grey = picture.convert("L")
    for side in (_SIDE, _SIDE // 2):  # at half the size, strokes of large letters are narrow enough
        grey.thumbnail((side, side), Image.Resampling.LANCZOS)
        values = np.asarray(grey, dtype=np.int16)
        bright = values - ndimage.grey_opening(values, (_STROKE, _STROKE))
        dark = ndimage.grey_closing(values, (_STROKE, _STROKE)) - values
        if any(_has_line(strokes > _CONTRAST) for strokes in (bright, dark)):
            return True
    return False


def _has_line(mask: NDArray[np.bool_]) -> bool:
    labels, _ = ndimage.label(mask, structure=np.ones((3, 3)))
    boxes = ndimage.find_objects(labels)
    letters = [box for box in boxes if _is_letter(box)]
    if len(letters) < _LETTERS:
        return False
    ends = np.array([(down.start, down.stop, across.start, across.stop) for down, across in letters])
    return any(_in_line(i, ends) >= _LETTERS for i in range(len(letters)))


def _in_line(i: int, ends: NDArray[np.int64]) -> int:
    """Return how many shapes stand in a row to the right of a shape, with it, none far from the one before."""
    top, bottom, left, right = ends.T
    height = bottom - top
    near = (np.abs(bottom - bottom[i]) <= 0.2 * height[i] + 1) & (np.abs(height - height[i]) <= 0.3 * height[i] + 1)
    row = np.flatnonzero(near & (left >= left[i]))
    row = row[np.argsort(left[row])]
    gaps = left[row][1:] - right[row][:-1]
    far = np.flatnonzero(gaps > 1.5 * height[i])
    return int(far[0]) + 1 if len(far) else len(row)


def _is_letter(box: tuple[slice, ...]) -> bool:
    height, width = (axis.stop - axis.start for axis in box)
    return bool(_HEIGHTS[0] <= height <= _HEIGHTS[1] and 0.1 * height <= width <= 1.6 * height)
