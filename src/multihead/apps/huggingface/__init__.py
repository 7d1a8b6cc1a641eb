"""Export to the transformers library: MarianMT, GPT-2, BERT and ViT, the import run backwards."""

from multihead.apps.huggingface.exporting import export

__all__ = ["export"]
