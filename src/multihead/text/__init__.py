"""Corpus readers, cleaning and tokenizers. Nothing here imports torch."""
