"""Small untrained models of every task, with attention that is not uniform."""

from typing import Any

import torch
from torch import nn

from multihead.models import bert, bert_classifier, dalle, gpt, vit
from multihead.recipe.settings import TokenizerSettings
from multihead.tasks.classification.text_classifier import TextClassifier
from multihead.tasks.drawing.image_generator import ImageGenerator
from multihead.tasks.images.image_classifier import ImageClassifier
from multihead.tasks.language.text_generator import TextGenerator
from multihead.tasks.masked import mask_tokens as masking
from multihead.tasks.masked.mask_filler import MaskFiller
from multihead.tasks.masked.settings import TokenizerSettings as MaskedSettings
from multihead.text import lossless
from multihead.text.training import train

TEXT = "the king said that the <b>king</b> is the king & that it is so </script>"
WIDTHS: dict[str, Any] = {"d_model": 12, "num_layers": 2, "num_heads": 3}
CPU = torch.device("cpu")


def gpt_generator(text: str = TEXT, **changed: Any) -> TextGenerator:
    """Return a GPT over the characters of a text."""
    tokenizer = lossless.learn([text], "chars", 60, 1)
    given = {"vocab_size": tokenizer.vocab_size, "context": 71, **WIDTHS, **changed}
    model = _with_large_weights(gpt.Model(gpt.Settings.model_validate(given)))
    return TextGenerator(model, tokenizer, device=CPU, precision="fp32")


def mask_filler() -> MaskFiller:
    """Return a BERT with a [MASK] symbol."""
    tokenizer = masking.learn([TEXT, TEXT], MaskedSettings(vocab_size=70), lowercase=False)
    settings = bert.Settings(vocab_size=tokenizer.vocab_size, max_positions=43, **WIDTHS)
    return MaskFiller(_with_large_weights(bert.Model(settings)), tokenizer, device=CPU, precision="fp32")


def text_classifier(max_length: int = 23) -> TextClassifier:
    """Return a BERT classifier with two classes."""
    tokenizer = mask_filler().tokenizer
    given = {"vocab_size": tokenizer.vocab_size, "max_positions": 43, "classes": 2, **WIDTHS}
    model = _with_large_weights(bert_classifier.Model(bert_classifier.Settings.model_validate(given)))
    names = ("<i>bad", "good")
    return TextClassifier(model, tokenizer, names, max_length=max_length, device=CPU, precision="fp32")


def image_classifier(pooling: str = "class") -> ImageClassifier:
    """Return a vision transformer with 5 x 5 patches."""
    sizes = {"image_size": 15, "channels": 3, "patch_size": 3, "d_ff": 23}
    given = {**sizes, **WIDTHS, "classes": 2, "class_names": ["<b>cat", "dog"], "pooling": pooling}
    return ImageClassifier(_with_large_weights(vit.Model(vit.Settings.model_validate(given))), device=CPU)


def image_generator(**changed: Any) -> ImageGenerator:
    """Return a DALL-E with 7 x 7 codes."""
    captions = ["a large green circle", "<b> large </b> circle"]
    tokenizer = train(2 * captions, TokenizerSettings(kind="words", vocab_size=31))
    sizes = {"vocab_size": tokenizer.vocab_size, "text_length": 11, "image_size": 28, "dvae_halvings": 2}
    given = {**sizes, **WIDTHS, "num_layers": 3, "codes": 13, "kernel": 3, "ranker_width": 6, **changed}
    model = _with_large_weights(dalle.Model(dalle.Settings.model_validate(given)))
    return ImageGenerator(model, tokenizer, device=CPU)


def _with_large_weights(model: nn.Module) -> nn.Module:
    """Initialise a model with weights so large that its attention is not uniform."""
    torch.manual_seed(11)
    for part in model.modules():
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, std=0.5)
    return model.eval()
