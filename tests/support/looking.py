"""Small models of every task to look into, untrained but not indifferent."""

from typing import Any

import torch
from torch import nn

from multihead.generation.image_generator import ImageGenerator
from multihead.generation.mask_filler import MaskFiller
from multihead.generation.picture_classifier import PictureClassifier
from multihead.generation.text_classifier import TextClassifier
from multihead.generation.text_generator import TextGenerator
from multihead.models import bert, bert_classifier, dalle, gpt, vit
from multihead.settings import TokenizerSettings
from multihead.settings.tasks.masked import TokenizerSettings as MaskedSettings
from multihead.text import lossless, masking
from multihead.text.training import train

TEXT = "the king said that the <b>king</b> is the king & that it is so </script>"
WIDTHS: dict[str, Any] = {"d_model": 12, "num_layers": 2, "num_heads": 3}
CPU = torch.device("cpu")


def writer(text: str = TEXT, **changed: Any) -> TextGenerator:
    """A GPT of a text's characters."""
    tokenizer = lossless.learn([text], "chars", 60, 1)
    given = {"vocab_size": tokenizer.vocab_size, "context": 71, **WIDTHS, **changed}
    return TextGenerator(
        _alive(gpt.Model(gpt.Settings.model_validate(given))), tokenizer, device=CPU, precision="fp32"
    )


def filler() -> MaskFiller:
    """A BERT with gaps to fill."""
    tokenizer = masking.learn([TEXT, TEXT], MaskedSettings(vocab_size=70), lowercase=False)
    settings = bert.Settings(vocab_size=tokenizer.vocab_size, max_positions=43, **WIDTHS)
    return MaskFiller(_alive(bert.Model(settings)), tokenizer, device=CPU, precision="fp32")


def text_classifier(max_length: int = 23) -> TextClassifier:
    """A BERT that tells two classes apart."""
    tokenizer = filler().tokenizer
    given = {"vocab_size": tokenizer.vocab_size, "max_positions": 43, "classes": 2, **WIDTHS}
    model = _alive(bert_classifier.Model(bert_classifier.Settings.model_validate(given)))
    names = ("<i>bad", "good")
    return TextClassifier(model, tokenizer, names, max_length=max_length, device=CPU, precision="fp32")


def picture_classifier(pooling: str = "class") -> PictureClassifier:
    """A vision transformer that sees 5 x 5 patches."""
    sizes = {"picture_size": 15, "channels": 3, "patch_size": 3, "d_ff": 23}
    given = {**sizes, **WIDTHS, "classes": 2, "class_names": ["<b>cat", "dog"], "pooling": pooling}
    return PictureClassifier(_alive(vit.Model(vit.Settings.model_validate(given))), device=CPU)


def artist(**changed: Any) -> ImageGenerator:
    """A DALL-E that draws 7 x 7 codes."""
    captions = ["a large green circle", "<b> large </b> circle"]
    tokenizer = train(2 * captions, TokenizerSettings(kind="words", vocab_size=31))
    sizes = {"vocab_size": tokenizer.vocab_size, "text_length": 11, "picture_size": 28, "dvae_halvings": 2}
    given = {**sizes, **WIDTHS, "num_layers": 3, "codes": 13, "kernel": 3, "ranker_width": 6, **changed}
    return ImageGenerator(_alive(dalle.Model(dalle.Settings.model_validate(given))), tokenizer, device=CPU)


def _alive(model: nn.Module) -> nn.Module:
    """Weights large enough that attention is not the same everywhere."""
    torch.manual_seed(11)
    for part in model.modules():
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, std=0.5)
    return model.eval()
