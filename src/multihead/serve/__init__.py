"""Trained translators over HTTP: a queue, what a request may ask, the routes."""
