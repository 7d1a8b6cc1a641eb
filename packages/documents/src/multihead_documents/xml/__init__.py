"""XML with the source offset of every event; base classes of formats in XML."""
