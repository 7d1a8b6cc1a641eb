"""Object detectors as ``multihead.load`` returns them."""

from multihead.tasks.detection.detector import Detector
from multihead.tasks.loaded import ListsMethods


class LoadedDetector(ListsMethods, Detector):
    """Object detector that lists its methods for a method of another kind of run."""
