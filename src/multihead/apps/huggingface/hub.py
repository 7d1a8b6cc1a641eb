"""Download of the files of a model on the Hugging Face hub that an import reads."""

import re
from pathlib import Path

from huggingface_hub import constants, snapshot_download

from multihead.errors import UserError

_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_READ = ["*.json", "*.safetensors", "*.spm"]
"""Files that an import reads; never pickles."""


def is_hub_name(name: str) -> bool:
    """Return whether a name that is not a local path has the form of a model on the hub.

    >>> is_hub_name("openai-community/gpt2"), is_hub_name("./gpt2/"), is_hub_name("/no/such")
    (True, False, False)
    """
    return _NAME.fullmatch(name) is not None and not name.startswith(".") and not Path(name).exists()


def download(name: str) -> Path:
    """Return a folder, in the hub's cache, with the files of a model that an import reads.

    Args:
        name: owner and model, such as "openai-community/gpt2"; $HF_ENDPOINT and $HF_TOKEN are respected.

    Raises:
        UserError: there is no such model, it has no weights in safetensors, or the hub cannot be reached.
    """
    place = f"{constants.ENDPOINT}/{name}"
    try:
        folder = Path(snapshot_download(name, allow_patterns=_READ))
    except Exception as error:  # of the hub, of HTTP, of the file system
        fact = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        remedy = f"Check the name and the network, or name a local folder; there is no folder {name}."
        raise UserError(f"cannot be downloaded ({fact})", place=place, remedy=remedy) from error
    if not any(folder.glob("*.safetensors")):
        remedy = (
            "Pickles are not read. If you trust them, convert them by from_pretrained and save_pretrained."
        )
        raise UserError("the model has no weights in safetensors", place=place, remedy=remedy)
    return folder
