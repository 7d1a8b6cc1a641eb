"""Export of a run as a folder of the transformers library, verified by the import and by the library.

``config.json``, ``model.safetensors``, ``tokenizer.json`` with its settings, ``generation_config.json``; for
images ``preprocessor_config.json``.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from tokenizers import Tokenizer as Library
from tokenizers.processors import TemplateProcessing
from torch import nn

from multihead.apps.export import manifest
from multihead.apps.export.folder import refuse_used, write_folder
from multihead.apps.huggingface.foreign._folder import Folder
from multihead.apps.huggingface.models import SUPPORTED, HuggingFaceKind
from multihead.apps.huggingface.verification import same_weights, verify
from multihead.errors import UserError
from multihead.run import Run
from multihead.system import plugins
from multihead.text.tokenizer import Tokenizer

TARGET = "huggingface"


def export(run: Run, folder: Path) -> str:
    """Write a run's model, tokenizer and settings to a folder.

    Args:
        run: a trained Transformer (post-norm), GPT, BERT or ViT.
        folder: new or empty; it appears when it is complete.

    Returns:
        The result of the verification, in words.

    Raises:
        UserError: the format cannot express this model, with every reason; the transformers library is not
            installed, or computes something else; the folder is not empty.
    """
    refuse_used(folder)
    place, recipe = str(run.folder), run.recipe
    kind = SUPPORTED.get(recipe.kind)
    if kind is None:
        fact = f"there is no export of {plugins.display_name(recipe.kind)} to the transformers library"
        raise UserError(fact, place=place, remedy=f"It can express {', '.join(SUPPORTED)}.")
    model, settings = run.load_model().eval(), recipe.model
    tokenizers = () if recipe.kind == "vit" else run.tokenizers()
    faults = [*kind.faults(settings)]
    if tokenizers and tokenizers[0] is not tokenizers[1]:
        faults.append("tokenizer.joint = false: two vocabularies")
    if run.directions:
        faults.append("several directions")
    if faults:
        fact = f"{kind.architecture} cannot express this model: {', '.join(faults)}"
        raise UserError(fact, place=place, remedy="Use the run with multihead.")

    def fill(partial: Path) -> str:
        _write(partial, kind, model, settings, run, tokenizers[0] if tokenizers else None)
        same_weights(Folder.open(partial), recipe, model.state_dict(), place)
        result = verify(run, model, partial, kind.architecture)
        manifest.write(partial, TARGET, {"architecture": kind.architecture, "verified": result})
        return result

    return write_folder(folder, fill)


def _write(
    folder: Path,
    kind: HuggingFaceKind,
    model: nn.Module,
    settings: Any,
    run: Run,
    tokenizer: Tokenizer | None,
) -> None:
    symbols: Mapping[str, int] = {}
    if tokenizer is not None:
        symbols = {"pad": tokenizer.pad_id, "bos": tokenizer.bos_id, "eos": tokenizer.eos_id}
        _tokenizer(folder, tokenizer, translates=run.recipe.kind == "transformer")
    config = {
        "architectures": [kind.architecture],
        **kind.config(settings, symbols),
        "dtype": "float32",
    }
    _json(folder / "config.json", config)
    ours = {name: weight.detach().float().cpu() for name, weight in model.state_dict().items()}
    theirs = {name: weight.clone().contiguous() for name, weight in kind.weights(ours, settings).items()}
    save_file(theirs, folder / "model.safetensors", {"format": "pt"})
    if run.recipe.kind == "transformer":
        _json(folder / "generation_config.json", _generation(run, symbols, getattr(model, "limit", None)))
    elif run.recipe.kind == "gpt":
        ends = {"bos_token_id": symbols["bos"], "eos_token_id": symbols["eos"]}
        _json(folder / "generation_config.json", ends)
    elif run.recipe.kind == "vit":
        side, half = settings.image_size, [0.5] * settings.channels
        _json(
            folder / "preprocessor_config.json",
            {
                "image_processor_type": "ViTImageProcessor",
                "do_resize": True,
                "size": {"height": side, "width": side},
                "do_rescale": True,
                "rescale_factor": 1 / 255,
                "do_normalize": True,
                "image_mean": half,
                "image_std": half,
            },
        )


def _generation(run: Run, symbols: Mapping[str, int], limit: int | None) -> dict[str, Any]:
    search = run.recipe.search
    return {
        "bos_token_id": symbols["bos"],
        "pad_token_id": symbols["pad"],
        "eos_token_id": symbols["eos"],
        "decoder_start_token_id": symbols["bos"],
        "suppress_tokens": sorted({symbols["pad"], symbols["bos"]}),
        "num_beams": search.beam_size if search.method == "beam" else 1,
        # Theirs divides by length ** penalty, ours by ((5 + length) / 6) ** penalty.
        "length_penalty": search.length_penalty,
        "max_length": search.max_length or (limit or 512),
        "do_sample": False,
    }


def _tokenizer(folder: Path, tokenizer: Tokenizer, *, translates: bool) -> None:
    """Write tokenizer.json; a translator's appends the end symbol, which its source has."""
    library, end = Library.from_str(tokenizer.to_json()), tokenizer.piece(tokenizer.eos_id)
    if translates:
        library.post_processor = TemplateProcessing(
            single=["$A", end], pair=["$A", "$B", end], special_tokens=[(end, tokenizer.eos_id)]
        )
    _json(folder / "tokenizer.json", json.loads(library.to_str()))
    names = {
        "pad": tokenizer.pad_id,
        "bos": tokenizer.bos_id,
        "eos": tokenizer.eos_id,
        "unk": tokenizer.unk_id,
    }
    _json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            **{f"{name}_token": tokenizer.piece(number) for name, number in names.items()},
            "split_special_tokens": True,
            "clean_up_tokenization_spaces": False,
            "model_input_names": ["input_ids", "attention_mask"],
        },
    )


def _json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
