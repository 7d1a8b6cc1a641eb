"""The image-classification task."""

from multihead.recipe.tasks import Task

TASK = Task(
    name="pictures",
    work="image classification",
    settings="multihead.tasks.pictures.settings:SECTIONS",
    setup="multihead.tasks.pictures.data:setup",
    load="multihead.tasks.pictures.loaded:LoadedImageClassifier.load",
    evaluate="multihead.tasks.pictures.evaluation:evaluate",
    inspect="multihead.tasks.pictures.inspection:inspect",
    use="classify {run} picture.png",
    speed_unit="images",
)
