"""Import of Mistral, whose shape is Llama's."""

from multihead.apps.huggingface.foreign import llama
from multihead.apps.huggingface.foreign._folder import Folder
from multihead.apps.huggingface.foreign.llama import FILES, KIND, missing, tokenizers, weights

__all__ = ["FILES", "KIND", "missing", "settings", "tokenizers", "weights"]


def settings(folder: Folder) -> dict[str, object]:
    """Return the settings that follow from config.json.

    A window at least as long as the context restricts nothing; a shorter one becomes the context, because a
    token attends to that many tokens and no more.

    Raises:
        UserError: an unsupported setting.
        KeyError: a size is missing.
    """
    values = llama.settings(folder)
    window = folder.config.get("sliding_window")
    if window is not None:
        values["model.context"] = min(int(window), int(str(values["model.context"])))
    return values
