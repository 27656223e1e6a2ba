"""Where features register themselves by name: one decorated function, found without a list of its kind elsewhere."""

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import Final, TypeVar

from mrb_lib.tables.errors import InputError, nearest

T = TypeVar("T")

PLUGINS: Final = "mrb_lib.plugins"
"""The entry-point group by which an installed package names its modules that register features."""


class Registry(Mapping[str, T]):
    """The features of one kind by name, in alphabetical order; an unknown name raises `InputError`.

    Parameters
    ----------
    kind : what one of them is called in messages, such as "table"
    homes : the packages whose modules register the library's own; they are imported when a name is first looked up
    """

    def __init__(self, kind: str, *homes: str) -> None:
        self._kind, self._homes = kind, homes
        self._features: dict[str, T] = {}

    def add(self, name: str, feature: T) -> None:
        """Register a feature; raises `ValueError` if the name is taken by another."""
        if name in self._features:
            raise ValueError(f"{self._kind} {name!r} is registered twice.")
        self._features[name] = feature

    def __getitem__(self, name: str) -> T:
        if name not in self._complete:
            raise InputError(f"{self._kind} {name!r} is unknown; use one of {', '.join(self)}.{nearest(name, self)}")
        return self._complete[name]

    def __contains__(self, name: object) -> bool:
        return name in self._complete

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._complete))

    def __len__(self) -> int:
        return len(self._complete)

    @cached_property
    def _complete(self) -> dict[str, T]:
        """The features, those of the homes and of installed packages among them."""
        for home in self._homes:
            for module in pkgutil.walk_packages(import_module(home).__path__, f"{home}."):
                import_module(module.name)
        for plugin in sorted(entry_points(group=PLUGINS), key=lambda point: point.name):
            plugin.load()
        return self._features
