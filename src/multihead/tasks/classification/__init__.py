"""The text-classification task."""

from multihead.recipe.tasks import Task

TASK = Task(
    name="classification",
    work="text classification",
    settings="multihead.tasks.classification.settings:SECTIONS",
    setup="multihead.tasks.classification.data:setup",
    suggest="multihead.tasks.classification.suggest:suggest",
    load="multihead.tasks.classification.loaded:LoadedTextClassifier.load",
    evaluate="multihead.tasks.classification.evaluation:evaluate",
    inspect="multihead.tasks.classification.loaded:inspect",
    use="classify {run} -i texts.txt",
)
