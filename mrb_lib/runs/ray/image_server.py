"""What workers on other machines ask of the machine that a run was started on: images, and whether to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

from mrb_lib.tables.errors import InputError

if TYPE_CHECKING:
    import ray
    from ray.actor import ActorHandle

RESTARTS: Final = 4
"""Workers that die are replaced, but not for ever: so many times before one is ready, or over one batch."""


class ImageServer:
    """The server itself, on the machine that the run was started on.

    Parameters
    ----------
    images : the benchmark's, by name
    """

    def __init__(self, images: Mapping[str, bytes]) -> None:
        self._images = images
        self._starts = 0
        self._batch_starts: Counter[int] = Counter()

    def image(self, name: str) -> bytes | str | None:
        """The bytes of an image; None where it is missing, and a text that says why it cannot be read."""
        try:
            return self._images[name]
        except KeyError:
            return None
        except (InputError, OSError) as error:
            return str(error)

    def start_worker(self) -> int:
        """How many workers have started since one was last ready, with this one."""
        self._starts += 1
        return self._starts

    def worker_is_ready(self) -> None:
        """A worker has loaded its judge."""
        self._starts = 0

    def start_batch(self, batch: int) -> int:
        """How often this batch was begun, with this time."""
        self._batch_starts[batch] += 1
        return self._batch_starts[batch]


class RemoteImageServer:
    """The server of this process's machine, for a worker on any other."""

    def __init__(self, images: Mapping[str, bytes]) -> None:
        import ray

        # Where the images are.
        here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
        made = ray.remote(num_cpus=0, label_selector=here, max_restarts=RESTARTS, max_task_retries=RESTARTS)(
            ImageServer
        )
        self._server = cast("ActorHandle[ImageServer]", made.remote(images))

    def image(self, name: str) -> bytes | str | None:
        """See `ImageServer.image`."""
        return cast("bytes | str | None", _got(self._server.image.remote(name)))

    def start_worker(self) -> int:
        """See `ImageServer.start_worker`."""
        return cast(int, _got(self._server.start_worker.remote()))

    def worker_is_ready(self) -> None:
        """See `ImageServer.worker_is_ready`."""
        _got(self._server.worker_is_ready.remote())

    def start_batch(self, batch: int) -> int:
        """See `ImageServer.start_batch`."""
        return cast(int, _got(self._server.start_batch.remote(batch)))


def _got(reference: object) -> object:
    import ray

    return ray.get(cast("ray.ObjectRef[object]", reference))


class ServedImages(Mapping[str, bytes]):
    """A benchmark's images, fetched one by one when a judge asks for them; it does not list them."""

    def __init__(self, server: ImageServer | RemoteImageServer) -> None:
        self._server = server

    def __getitem__(self, name: str) -> bytes:
        content = self._server.image(name)
        if content is None:
            raise KeyError(name)
        if isinstance(content, str):
            raise InputError(content)
        return content

    def __iter__(self) -> Iterator[str]:
        raise TypeError("the images at the server are fetched by name; they cannot be listed")

    def __len__(self) -> int:
        raise TypeError("the images at the server are fetched by name; they cannot be counted")
