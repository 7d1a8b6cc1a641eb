"""The tagging task: one output for each word."""

from multihead.recipe.tasks import Task

TASK = Task(
    name="tagging",
    work="tagging",
    settings="multihead.tasks.tagging.settings:SECTIONS",
    setup="multihead.tasks.tagging.data:setup",
    suggest="multihead.tasks.tagging.suggest:suggest",
    load="multihead.tasks.tagging.loaded:LoadedTagger.load",
    evaluate="multihead.tasks.tagging.evaluation:evaluate",
    inspect="multihead.tasks.tagging.loaded:inspect",
    use="tag {run} -i texts.txt",
)
