"""Object detectors as ``multihead.load`` returns them."""

from pathlib import Path

from multihead.tasks.detection.detector import DetectedObject, Detector
from multihead.tasks.loaded import ListsMethods


class LoadedDetector(ListsMethods, Detector):
    """Object detector."""

    def detect_one(self, image: str | Path, threshold: float = 0.5) -> list[DetectedObject]:
        """Return the objects in one image file, best score first.

        Raises:
            UserError: the file is missing, damaged or not an image.
        """
        return self.detect([image], threshold)[0]
