"""Markdown, and notebooks, whose texts are Markdown."""
