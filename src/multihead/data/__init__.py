"""Sentence pairs on disk as ids, and the batches made of them."""
