"""Pictures as files."""

import io

import numpy as np
from PIL import Image


def png(picture: np.ndarray | Image.Image) -> bytes:
    """A picture as PNG; of an array 8 or 16 bits a channel as it has."""
    stream = io.BytesIO()
    (picture if isinstance(picture, Image.Image) else Image.fromarray(picture)).save(stream, format="PNG")
    return stream.getvalue()
