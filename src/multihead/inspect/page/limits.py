"""Limits and defaults of a page of attention."""

from multihead.inspect.maps import AlignmentHead

DEFAULT_CHOICE = AlignmentHead()
"""The most informative layer, with all its heads combined."""
MAX_TOKENS = 300
"""Number of tokens shown per sequence, unless ``full``."""
MAX_BYTES, MAX_OTHER_BYTES = 20_000_000, 1_200_000
"""Size limits of the weights: of the first hypothesis, and of all others together."""
