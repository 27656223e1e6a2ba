"""How is an image of unknown origin decoded, so that what is shown never depends on the viewer?

`pictures` makes 8-bit pictures and PNG files of any readable image, `pixels` keeps the depth it was recorded with, and
`dicom` reads DICOM files.
"""

from mrb_lib.benchmarks.images.dicom import is_dicom
from mrb_lib.benchmarks.images.pictures import (
    IMAGE_FORMATS,
    open_image,
    packed_png,
    plain_png,
    png,
    raster,
    read_pixels,
    thumbnail,
    within,
)
from mrb_lib.benchmarks.images.pixels import Pixels

__all__ = [
    "IMAGE_FORMATS",
    "Pixels",
    "is_dicom",
    "open_image",
    "packed_png",
    "plain_png",
    "png",
    "raster",
    "read_pixels",
    "thumbnail",
    "within",
]
