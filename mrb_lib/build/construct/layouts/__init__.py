"""Layouts of images with questions in somebody else's folder.

A layout registers itself with `@layout` where it is written; `LAYOUTS` finds it by name, `find_layout` by looking.
"""

from mrb_lib.build.construct.layouts.base import LAYOUTS, Layout, SourceImage, SourceItem, find_layout, layout

__all__ = ["LAYOUTS", "Layout", "SourceImage", "SourceItem", "find_layout", "layout"]
