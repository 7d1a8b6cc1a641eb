"""The odd-one-out task: find the image of a set that differs in class."""

from multihead.recipe.tasks import Task

TASK = Task(
    name="sets",
    work="the odd one out of a set of images",
    settings="multihead.tasks.sets.settings:SECTIONS",
    setup="multihead.tasks.sets.data:setup",
    load="multihead.tasks.sets.loaded:LoadedOddOneOut.load",
    evaluate="multihead.tasks.sets.evaluation:evaluate",
    inspect="multihead.tasks.sets.loaded:inspect",
    use="classify {run} 1.png 2.png 3.png",
    speed_unit="images",
)
