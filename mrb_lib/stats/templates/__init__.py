"""What does the prompt alone change: accuracy and choices of one judge asked by several templates?"""

from mrb_lib.stats.templates.table import templates

__all__ = ["templates"]
