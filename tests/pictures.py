"""Pictures as files."""

import io

import numpy as np
from PIL import Image


def png(picture: np.ndarray | Image.Image) -> bytes:
    """A picture as PNG; of an array 8 or 16 bits a channel as it has."""
    stream = io.BytesIO()
    (picture if isinstance(picture, Image.Image) else Image.fromarray(picture)).save(stream, format="PNG")
    return stream.getvalue()


def contrast(pixels: np.ndarray, x: float, y: float, radius: float, height: int = 256) -> float:
    """The mean inside of a lesion minus the mean of the ring around it, in the rows above the margin."""
    rows, columns = np.mgrid[: pixels.shape[0], : pixels.shape[1]]
    distance = np.hypot(columns - x, rows - y)
    ring = (distance > 1.1 * radius) & (distance < 1.5 * radius) & (rows < height)
    return float(pixels[distance < 0.45 * radius].mean() - pixels[ring].mean())
