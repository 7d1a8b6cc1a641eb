"""The image-classification task."""

from multihead.recipe.tasks import Task

TASK = Task(
    name="images",
    work="image classification",
    settings="multihead.tasks.images.settings:SECTIONS",
    setup="multihead.tasks.images.data:setup",
    load="multihead.tasks.images.loaded:LoadedImageClassifier.load",
    evaluate="multihead.tasks.images.evaluation:evaluate",
    inspect="multihead.tasks.images.loaded:inspect",
    use="classify {run} image.png",
    speed_unit="images",
)
