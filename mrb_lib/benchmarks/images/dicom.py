"""A picture of a DICOM file, in its own units; nothing that names the patient leaves the library."""

import hashlib
import io
import warnings
import zlib
from collections.abc import Iterator, MutableSequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from math import isfinite
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mrb_lib.benchmarks.images.pixels import Pixels, from_real, squared
from mrb_lib.tables.errors import InputError

LARGEST = 64_000_000
_INFLATED = 1 << 29
_DEFLATED = b"1.2.840.10008.1.2.1.99"
_IDENTITY = ("PatientName", "PatientID", "PatientBirthDate", "PatientAddress", "OtherPatientIDs")
_GROUPS = ("PixelValueTransformationSequence", "FrameVOILUTSequence", "PixelMeasuresSequence")
_SPACINGS = ("PixelSpacing", "ImagerPixelSpacing", "NominalScannedPixelSpacing", "PixelAspectRatio")
_PIXEL_GROUPS: Final = (0x0028, 0x7FE0)
_KEPT = (*_SPACINGS, "RescaleType", "Modality", "BodyPartExamined", "Laterality", "ViewPosition",
         "SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence")  # fmt: skip
_SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"


def is_dicom(content: bytes) -> bool:
    """Return true for 128 bytes of anything, then DICM (DICOM PS3.10, 7.1), and for elements without that preamble."""
    is_explicit = content[4:6].isalpha() and content[4:6].isupper()
    starts_with_element = content[:2] in (b"\2\0", b"\10\0") and (is_explicit or content[6:8] == b"\0\0")
    return content[128:132] == b"DICM" or starts_with_element or (content[:2] == b"\0\10" and is_explicit)


def read_dicom(content: bytes, name: str = "image", frame: int = 1) -> Pixels:
    """Decode one frame.

    Parameters
    ----------
    content : the bytes of the file
    name : what to call the image in messages
    frame : which one, from 1 as the standard counts them

    Returns
    -------
    Pixels
        Colour in 8 bits a channel; grey values after the modality transformation (Hounsfield units for CT), with the
        first window the file names for the frame, and with the spacing of its pixels in the patient. Pixels that are
        not square are resampled until they are. Padding has no part in the range, and is not lighter than the picture.
        A sigmoid is shown as the linear window of the same centre and width; of a table of values of interest only the
        range of its input is used (DICOM PS3.3, C.11.2). Validated by tests/benchmarks/images/test_dicom.py.

    Raises
    ------
    InputError
        pydicom is not installed, the file is damaged, too large, or compressed in a way that cannot be read, or it
        has no such frame.
    """
    with reading(content, name) as dataset:
        frames = _n_frames(dataset)
        if not 1 <= frame <= frames:
            raise InputError(f"{name}: has no frame {frame}; use 1 to {frames}.")
        _take_out_of_groups(dataset, frame)
        _check_size(dataset, name)
        return squared(_decoded(dataset, import_module("pydicom.pixels"), frame, frames), _aspect(dataset))


@dataclass(frozen=True)
class DicomFacts:
    """What a file says of its picture beside the pixels.

    Attributes
    ----------
    modality, body_part : Modality and BodyPartExamined as they stand; None where they are absent
    patient : what tells this patient from others, to keep their pictures together; never to be stored
    identifying : the names of the elements that identify the patient; none where the file declares the identity
        removed (Patient Identity Removed, DICOM PS3.3, C.7.1.1)
    number : where in its series the picture stands; None where the file does not say
    burnt_in : whether the file states that the pixels hold annotations
    frames : the pictures that the file holds
    """

    modality: str | None
    body_part: str | None
    patient: str | None
    identifying: tuple[str, ...]
    number: int | None
    burnt_in: bool
    frames: int


def facts(content: bytes, name: str = "image") -> DicomFacts:
    """What a file says of its picture; raises `InputError` as `read_dicom`."""
    with reading(content, name) as dataset:
        patient = [str(dataset.get(tag) or "") for tag in ("PatientID", "PatientName", "StudyInstanceUID")]
        number, is_removed = str(dataset.get("InstanceNumber") or ""), dataset.get("PatientIdentityRemoved") == "YES"
        return DicomFacts(
            str(dataset.get("Modality") or "") or None,
            str(dataset.get("BodyPartExamined") or "") or None,
            next(filter(None, patient), None),
            tuple(tag for tag in _IDENTITY if not is_removed and str(dataset.get(tag) or "")),
            int(number) if number.isdecimal() else None,
            str(dataset.get("BurnedInAnnotation") or "") == "YES",
            _n_frames(dataset),
        )


def without_patient(content: bytes, name: str = "image") -> bytes:
    """The same picture as a file that holds nothing but how to show it: pixels, window, units, spacing, body part.

    Every other element is left behind, private ones among them, rather than those listed that are known to identify.
    The identifiers that a file must have are made of its content, so that the same file gives the same bytes.

    Raises
    ------
    InputError
        As `read_dicom`.

    Notes
    -----
    Validated by tests/build/construct/test_dicom.py.
    """
    pydicom = import_module("pydicom")
    with reading(content, name) as dataset:
        _check_size(dataset, name)
        kept = _only_picture(dataset)
        kept.PatientIdentityRemoved = "YES"
        kept.DeidentificationMethod = "all but the picture left out"
        kept.SOPClassUID = dataset.get("SOPClassUID") or _SECONDARY_CAPTURE
        kept.SOPInstanceUID = pydicom.uid.generate_uid(entropy_srcs=[hashlib.sha256(content).hexdigest()])
        kept.file_meta = pydicom.dataset.FileMetaDataset()
        kept.file_meta.TransferSyntaxUID = dataset.file_meta.TransferSyntaxUID
        kept.file_meta.MediaStorageSOPClassUID = kept.SOPClassUID
        kept.file_meta.MediaStorageSOPInstanceUID = kept.SOPInstanceUID
        stream = io.BytesIO()
        kept.save_as(stream, enforce_file_format=True)
        return stream.getvalue()


def _only_picture(dataset: Any) -> Any:
    """The elements that showing a picture needs, in sequences too."""
    kept = import_module("pydicom.dataset").Dataset()
    # Of the groups of the pixels all numbers, codes and bytes, but no texts, times or ids.
    texts = import_module("pydicom.valuerep").STR_VR.difference(("CS", "DS", "IS")) | {"UN"}
    for element in dataset:
        if element.keyword in _KEPT or (element.tag.group in _PIXEL_GROUPS and element.VR not in texts):
            if element.VR == "SQ":
                setattr(kept, element.keyword, [_only_picture(item) for item in element.value])
            else:
                kept.add(element)
    return kept


@contextmanager
def reading(content: bytes, name: str) -> Iterator[Any]:
    """The data set of a file; what fails while it is read or decoded becomes an `InputError`."""
    try:
        pydicom = import_module("pydicom")
    except ImportError as error:
        raise InputError(f"{name}: DICOM needs pydicom; pip install 'mrb-workbench[dicom]'.") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _check_inflated(content, name)
            dataset = pydicom.dcmread(io.BytesIO(content), force=True)
            if "TransferSyntaxUID" not in dataset.file_meta:
                is_implicit, is_little = dataset.original_encoding
                explicit = pydicom.uid.ExplicitVRLittleEndian if is_little else pydicom.uid.ExplicitVRBigEndian
                dataset.file_meta.TransferSyntaxUID = pydicom.uid.ImplicitVRLittleEndian if is_implicit else explicit
            yield dataset
    except InputError:
        raise
    except Exception as error:  # its decoders raise nearly anything on damaged files
        is_codec = "decod" in str(error) or "decompress" in str(error)
        reason = "its compression is not supported" if is_codec else type(error).__name__
        raise InputError(f"{name}: is not a readable DICOM image ({reason}); convert or replace it.") from error


def _check_inflated(content: bytes, name: str) -> None:
    """pydicom unpacks a deflated file as a whole before it reads any of it, so the unpacked size is checked first."""
    if _DEFLATED not in content[:1024]:
        return
    first = 144 if content[128:132] == b"DICM" else 12
    start = first + int.from_bytes(content[first - 4 : first], "little")  # the length of the file's own meta data
    unpacked = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content[start:], _INFLATED)
    if len(unpacked) >= _INFLATED:
        raise InputError(f"{name}: is too large to show safely; shrink it.")


# pydicom gives a data set its attributes as it reads, so no type describes them.
def _check_size(dataset: Any, name: str) -> None:
    if "PixelData" not in dataset:
        raise InputError(f"{name}: is a DICOM file without a picture; take it out of the case.")
    rows, columns, samples = (int(dataset.get(tag, 1) or 1) for tag in ("Rows", "Columns", "SamplesPerPixel"))
    aspect = _aspect(dataset)
    if rows * columns * samples * max(aspect, 1 / aspect) > LARGEST:
        raise InputError(f"{name}: is too large to show safely ({columns} x {rows} pixels); shrink it.")


def _n_frames(dataset: Any) -> int:
    return int(dataset.get("NumberOfFrames", 1) or 1)


def _take_out_of_groups(dataset: Any, frame: int) -> None:
    """An enhanced file states the window, the rescaling and the spacing of each frame; its own become the file's."""
    own = list(dataset.get("PerFrameFunctionalGroupsSequence") or [])[frame - 1 : frame]
    shared = list(dataset.get("SharedFunctionalGroupsSequence") or [])[:1]
    items = [item for group in own + shared for name in _GROUPS for item in list(group.get(name) or [])[:1]]
    for item in items:
        for element in item:
            if element.tag not in dataset:
                dataset.add(element)


def _decoded(dataset: Any, decoder: Any, frame: int, frames: int) -> Pixels:
    array = decoder.pixel_array(dataset, index=frame - 1)
    if str(dataset.get("PhotometricInterpretation", "")) == "PALETTE COLOR":
        array = decoder.apply_color_lut(array, dataset)[..., :3]
        if dataset.RedPaletteColorLookupTableDescriptor[2] == 8 and array.max() < 256:
            array = array.astype(np.uint8)  # entries of 8 bits may be stored in 16
    # A projection whose spacing is only that of its detector says nothing of the patient, since what lies before the
    # detector is magnified (DICOM PS3.3, 10.7.1.3).
    in_patient, at_detector = (_lengths(dataset.get(tag)) for tag in ("PixelSpacing", "ImagerPixelSpacing"))
    spacing = None if in_patient == at_detector else in_patient
    if array.ndim == 3:
        return Pixels(_eight_bits(array), frames=frames, spacing=spacing)
    real = np.asarray(decoder.apply_modality_lut(array, dataset), dtype=np.float64)
    inverted = dataset.get("PhotometricInterpretation") == "MONOCHROME1"
    hounsfield = dataset.get("Modality") == "CT" and str(dataset.get("RescaleType") or "HU") == "HU"
    pixels = from_real(real, _window(dataset), inverted=inverted, frames=frames, padding=_padding(array, dataset))
    return replace(pixels, unit="HU" if hounsfield else "", spacing=spacing)


def _aspect(dataset: Any) -> float:
    """Return how many times as high as wide a pixel is; 1 where the file does not state it."""
    stated = (_lengths(dataset.get(tag)) for tag in _SPACINGS)
    return next((down / across for down, across in filter(None, stated)), 1.0)


def _lengths(values: Any) -> tuple[float, float] | None:
    numbers = [_first(value) for value in values] if isinstance(values, MutableSequence) else []
    lengths = [number for number in numbers if number is not None and isfinite(number) and number > 0]
    return (lengths[0], lengths[1]) if len(lengths) == len(numbers) == 2 else None


def _padding(array: NDArray[Any], dataset: Any) -> NDArray[np.bool_]:
    """Return true for each stored value that only fills up the rectangle (DICOM PS3.3, C.7.5.1.1.2)."""
    ends = [_first(dataset.get(tag)) for tag in ("PixelPaddingValue", "PixelPaddingRangeLimit")]
    # Some files state the bits of a negative value as an unsigned number, which the conversion undoes.
    stated = np.array([end for end in ends if end is not None], dtype=np.int64).astype(array.dtype)
    if ends[0] is None:
        return np.zeros(array.shape, dtype=bool)
    is_padding: NDArray[np.bool_] = (array >= stated.min()) & (array <= stated.max())
    return is_padding


def _eight_bits(array: NDArray[Any]) -> NDArray[np.uint8]:
    if array.dtype == np.uint8:
        return array
    top = float(np.iinfo(array.dtype).max)
    return np.rint(array / top * 255).astype(np.uint8)


def _window(dataset: Any) -> tuple[float, float] | None:
    """The first window of the file as centre and width of an exact line from black to white.

    The usual function LINEAR runs from c - 0.5 - (w - 1) / 2 to c - 0.5 + (w - 1) / 2 (DICOM PS3.3, C.11.2.1.2.1).
    """
    centre, width = (_first(dataset.get(tag)) for tag in ("WindowCenter", "WindowWidth"))
    if centre is not None and width is not None and width > 0:
        if str(dataset.get("VOILUTFunction") or "LINEAR") == "LINEAR":
            return centre - 0.5, max(width - 1, 1e-6)
        return centre, width
    for table in list(dataset.get("VOILUTSequence") or [])[:1]:
        entries, first, _ = (int(value) for value in table.LUTDescriptor)
        entries = entries or 65_536
        return first + (entries - 1) / 2, float(entries)
    return None


def _first(value: Any) -> float | None:
    if isinstance(value, MutableSequence):
        value = next(iter(value), None)
    return None if value in (None, "") else float(value)
