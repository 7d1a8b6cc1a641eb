"""Object detectors as ``multihead.load`` returns them."""

from pathlib import Path

from multihead.tasks.detection.detector import DetectedObject, Detector
from multihead.tasks.loaded import ListsMethods


class LoadedDetector(ListsMethods, Detector):
    """Object detector."""

    def detect_one(self, picture: str | Path, threshold: float = 0.5) -> list[DetectedObject]:
        """Return the objects in one picture file, best score first.

        Raises:
            UserError: the file is missing, damaged or not a picture.
        """
        return self.detect([picture], threshold)[0]
