"""Helpers of the course (docs/course): checks of the exercises, figures, and sizes for a quick run."""

from multihead.course.check import check
from multihead.course.figures import curves, heads, heatmap, pictures
from multihead.course.size import size

__all__ = ["check", "curves", "heads", "heatmap", "pictures", "size"]
