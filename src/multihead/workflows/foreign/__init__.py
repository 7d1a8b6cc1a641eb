"""Weights made elsewhere: what each file's model is called there, and how its weights become ours.

A file is named after ``model_type`` in a config.json as the transformers library writes it. It has ``KIND``
(our model), ``settings(config)`` and ``weights(theirs)``.
"""
