"""Translation of texts: sentences, placeholders, tags and terms."""
