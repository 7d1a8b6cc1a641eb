"""Parts that a model may be given: relative scores, windows, recurrence, patches, experts and more."""
