"""Import of the Vision Transformer, with a classifier or the encoder alone."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from multihead.apps.huggingface.foreign._folder import Folder
from multihead.apps.huggingface.foreign._parts import layers, or_zeros, rename, without
from multihead.text.tokenizer import Tokenizer

KIND = "vit"
PROCESSOR = "preprocessor_config.json"
FILES = (PROCESSOR,)
CLASSIFIER = "classifier"
CHANNELS = {1: "grey", 3: "colour"}
PATCHES = "embeddings.patch_embeddings.projection"
PARTS = {
    "self_attention.w_q": "attention.attention.query",
    "self_attention.w_k": "attention.attention.key",
    "self_attention.w_v": "attention.attention.value",
    "self_attention.w_o": "attention.output.dense",
    "around_attention.norm": "layernorm_before",
    "feed_forward.w_1": "intermediate.dense",
    "feed_forward.w_2": "output.dense",
    "around_feed_forward.norm": "layernorm_after",
}


def settings(folder: Folder) -> dict[str, object]:
    """Return the settings that follow from config.json.

    Raises:
        UserError: an unsupported setting; a preprocessor with another image size.
        KeyError: a size is missing.
    """
    folder.require(hidden_act="gelu", qkv_bias=True)
    config = folder.config
    channels = config.get("num_channels", 3)
    if channels not in CHANNELS:
        raise folder.refuse(f"num_channels = {channels} is not supported, only 1 and 3")
    size, patch = (_square(folder, key) for key in ("image_size", "patch_size"))
    if (prepared := _prepared_size(folder)) not in (None, (size, size)):
        resized = " x ".join(map(str, prepared or ()))
        fact = f"images are resized to {resized}, but the model reads {size} x {size}"
        raise folder.refuse(fact, name=PROCESSOR, remedy=f"Correct the size, or remove {PROCESSOR}.")
    names = class_names(config)
    return {
        "data.image_size": size,
        "data.channels": CHANNELS[channels],
        "model.image_size": size,
        "model.channels": channels,
        "model.classes": len(names),
        "model.class_names": names,
        "model.patch_size": patch,
        "model.d_model": config["hidden_size"],
        "model.d_ff": config["intermediate_size"],
        "model.num_layers": config["num_hidden_layers"],
        "model.num_heads": config["num_attention_heads"],
        "model.dropout": config.get("hidden_dropout_prob", 0.0),
        "model.attention_dropout": config.get("attention_probs_dropout_prob", 0.0),
        "model.norm_epsilon": config.get("layer_norm_eps", 1e-12),
    }


def class_names(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the class names in order; a number is added to names that several classes share.

    Without names there are two classes, as in the library.
    """
    labels = config.get("id2label") or {number: f"LABEL_{number}" for number in range(2)}
    by_number = {int(number): str(name) for number, name in labels.items()}
    names = [by_number[number] for number in range(len(by_number))]
    counts = Counter(names)
    return tuple(name if counts[name] == 1 else f"{name} ({n})" for n, name in enumerate(names))


def weights(theirs: Mapping[str, Tensor], folder: Folder) -> dict[str, Tensor]:
    """Return our weights by name; zeros for a missing classifier.

    The class token's position embedding is added to the token. Their model reads normalised pixels, ours
    pixels from -1 to 1, so mean and standard deviation are folded into the patch projection.
    """
    unprefixed = without("vit.", theirs)
    table_Pd = unprefixed["embeddings.position_embeddings"][0].float()
    d = table_Pd.shape[1]
    ours = {
        "class_token": unprefixed["embeddings.cls_token"][0, 0].float() + table_Pd[0],
        "positions.weight": table_Pd[1:],
    }
    ours |= _patches(unprefixed[f"{PATCHES}.weight"], unprefixed[f"{PATCHES}.bias"], folder)
    ours |= rename(unprefixed, {"encoder.norm": "layernorm"})
    ours |= or_zeros(unprefixed, CLASSIFIER, "classifier", (len(class_names(folder.config)), d))
    for i in layers(unprefixed, "encoder.layer."):
        ours |= rename(unprefixed, PARTS, ours=f"encoder.layers.{i}.", theirs_at=f"encoder.layer.{i}.")
    return ours


def missing(theirs: Mapping[str, Tensor]) -> str:
    """Return the classifier if the folder has the encoder alone."""
    return "" if f"{CLASSIFIER}.weight" in theirs else "classifier"


def tokenizers(folder: Folder) -> tuple[Tokenizer, ...]:
    """Return no tokenizers: the model reads no text."""
    return ()


def _patches(weight_dChw: Tensor, bias_d: Tensor, folder: Folder) -> dict[str, Tensor]:
    """Return the patch projection for pixels x in [-1, 1]; theirs reads ((x + 1) / 2 - mean) / deviation."""
    mean_C, deviation_C = _normalisation(folder, weight_dChw.shape[1])
    scaled_dChw = weight_dChw.double() / deviation_C[:, None, None]
    shift_d = (scaled_dChw.sum((2, 3)) * (0.5 - mean_C)).sum(1)
    return {
        "patches.project.weight": (scaled_dChw / 2).flatten(1).float(),
        "patches.project.bias": (bias_d.double() + shift_d).float(),
    }


def _normalisation(folder: Folder, channels: int) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of each channel, (C,) each, for pixels from 0 to 1."""
    config = folder.json(PROCESSOR) if folder.has(PROCESSOR) else {}
    factor = config.get("rescale_factor", 1 / 255)
    if config.get("do_rescale", True) is not True or abs(factor - 1 / 255) > 1e-9:
        raise folder.refuse("pixels that are not rescaled to 0 to 1 are not supported", name=PROCESSOR)
    if not config.get("do_normalize", True):
        return torch.zeros(channels, dtype=torch.float64), torch.ones(channels, dtype=torch.float64)
    statistics = []
    for key in ("image_mean", "image_std"):
        values = config.get(key) or [0.5] * channels
        if len(values) != channels:
            fact = f"{key} has {len(values)} numbers, but the model has {channels} channels"
            raise folder.refuse(fact, name=PROCESSOR)
        statistics.append(torch.tensor(values, dtype=torch.float64))
    return statistics[0], statistics[1]


def _prepared_size(folder: Folder) -> tuple[int | None, int | None] | None:
    """Return the height and width to which the preprocessor resizes images; None if it has none."""
    config = folder.json(PROCESSOR) if folder.has(PROCESSOR) else {}
    size = config.get("crop_size") if config.get("do_center_crop") else config.get("size")
    if isinstance(size, dict):
        size = (
            size.get("height") or size.get("shortest_edge"),
            size.get("width") or size.get("shortest_edge"),
        )
    if isinstance(size, int):
        size = (size, size)
    return None if size is None else (size[0], size[1])


def _square(folder: Folder, key: str) -> int:
    """Return the side of a square given as one number or as two."""
    size = folder.config[key]
    height, width = size if isinstance(size, list) else (size, size)
    if height != width:
        raise folder.refuse(f"{key} = {height} x {width} is not supported, only squares")
    return int(height)
