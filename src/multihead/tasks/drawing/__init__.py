"""The text-to-image task."""

from multihead.recipe.tasks import Task

TASK = Task(
    name="drawing",
    work="image generation",
    settings="multihead.tasks.drawing.settings:SECTIONS",
    setup="multihead.tasks.drawing.data:setup",
    load="multihead.tasks.drawing.loaded:LoadedImageGenerator.load",
    inspect="multihead.tasks.drawing.loaded:inspect",
    use='draw {run} "..." -n 8 -o grid.png',
    speed_unit="images",
)
