"""Helpers of the course (docs/course): checks of the exercises, figures, and sizes for a quick run."""

from multihead.apps.course.check import check
from multihead.apps.course.figures import curves, heads, heatmap, images
from multihead.apps.course.size import size
from multihead.apps.course.transformer_figure import transformer_figure
from multihead.apps.course.worked import terms

__all__ = ["check", "curves", "heads", "heatmap", "images", "size", "terms", "transformer_figure"]
