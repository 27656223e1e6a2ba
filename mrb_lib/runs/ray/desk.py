"""What workers on other machines ask of the machine that a run was started on: images, and whether to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, Protocol, cast

from mrb_lib.errors import InputError

if TYPE_CHECKING:
    import ray
    from ray.actor import ActorHandle

RESTARTS: Final = 4
"""Workers that die are replaced, but not for ever: so many times before one is ready, or over one batch."""


class Desk(Protocol):
    """Where workers ask."""

    def image(self, name: str) -> bytes | str | None:
        """The bytes of an image; None where it is missing, and a text that says why it cannot be read."""
        ...

    def start(self) -> int:
        """How many workers have started since one was last ready, with this one."""
        ...

    def ready(self) -> None:
        """A worker has loaded its judge."""
        ...

    def begin(self, batch: int) -> int:
        """How often this batch was begun, with this time."""
        ...


class FrontDesk:
    """The desk itself, on the machine that the run was started on.

    Parameters
    ----------
    images : the benchmark's, by name
    """

    def __init__(self, images: Mapping[str, bytes]) -> None:
        self._images = images
        self._starts = 0
        self._begun: Counter[int] = Counter()

    def image(self, name: str) -> bytes | str | None:
        """See `Desk.image`."""
        try:
            return self._images[name]
        except KeyError:
            return None
        except (InputError, OSError) as error:
            return str(error)

    def start(self) -> int:
        """See `Desk.start`."""
        self._starts += 1
        return self._starts

    def ready(self) -> None:
        """See `Desk.ready`."""
        self._starts = 0

    def begin(self, batch: int) -> int:
        """See `Desk.begin`."""
        self._begun[batch] += 1
        return self._begun[batch]


class DistantDesk:
    """The desk of this process's machine, for a worker on any other; see `Desk`."""

    def __init__(self, images: Mapping[str, bytes]) -> None:
        import ray

        # Where the images are.
        here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
        made = ray.remote(num_cpus=0, label_selector=here, max_restarts=RESTARTS, max_task_retries=RESTARTS)(FrontDesk)
        self._desk = cast("ActorHandle[FrontDesk]", made.remote(images))

    def image(self, name: str) -> bytes | str | None:
        """See `Desk.image`."""
        return cast("bytes | str | None", _got(self._desk.image.remote(name)))

    def start(self) -> int:
        """See `Desk.start`."""
        return cast(int, _got(self._desk.start.remote()))

    def ready(self) -> None:
        """See `Desk.ready`."""
        _got(self._desk.ready.remote())

    def begin(self, batch: int) -> int:
        """See `Desk.begin`."""
        return cast(int, _got(self._desk.begin.remote(batch)))


def _got(reference: object) -> object:
    import ray

    return ray.get(cast("ray.ObjectRef[object]", reference))


class DeskImages(Mapping[str, bytes]):
    """A benchmark's images, fetched one by one when a judge asks for them; it does not list them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def __getitem__(self, name: str) -> bytes:
        found = self._desk.image(name)
        if found is None:
            raise KeyError(name)
        if isinstance(found, str):
            raise InputError(found)
        return found

    def __iter__(self) -> Iterator[str]:
        raise TypeError("the images at the desk are fetched by name; they cannot be listed")

    def __len__(self) -> int:
        raise TypeError("the images at the desk are fetched by name; they cannot be counted")
