"""Prepared training data on disk, and the batches made from it."""
