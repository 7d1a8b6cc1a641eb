"""The task of spans: answers to questions as parts of a text."""

from multihead.recipe.tasks import Task

TASK = Task(
    name="spans",
    work="question answering",
    settings="multihead.tasks.spans.settings:SECTIONS",
    setup="multihead.tasks.spans.data:setup",
    load="multihead.tasks.spans.loaded:LoadedAnswerer.load",
    evaluate="multihead.tasks.spans.evaluation:evaluate",
    inspect="multihead.tasks.spans.loaded:inspect",
    use='answer {run} --question "..." -i texts.txt',
)
