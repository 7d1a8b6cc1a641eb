"""The object-detection task."""

from multihead.recipe.tasks import Task

TASK = Task(
    name="detection",
    work="object detection",
    settings="multihead.tasks.detection.settings:SECTIONS",
    setup="multihead.tasks.detection.data:setup",
    load="multihead.tasks.detection.loaded:LoadedDetector.load",
    evaluate="multihead.tasks.detection.evaluation:evaluate",
    inspect="multihead.tasks.detection.inspection:inspect",
    use="detect {run} image.png",
    speed_unit="images",
)
