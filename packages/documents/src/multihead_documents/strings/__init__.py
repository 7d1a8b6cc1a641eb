"""Strings of programs: catalogues of messages, resources and properties."""
