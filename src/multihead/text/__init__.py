"""Text: corpus readers, cleaning, tokenizers. Knows no torch."""
