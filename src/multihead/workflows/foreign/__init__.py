"""Weights made elsewhere: what each file's model is called there, and how its weights become ours.

A file is named after ``model_type`` in a config.json as the transformers library writes it. It has

- ``KIND``: our model;
- ``FILES``: what it reads besides config.json and the weights, as far as it is there;
- ``settings(folder)``: keys of our recipe that follow from the folder; texts would be read as if typed;
- ``weights(theirs, folder)``: our weights by name. ``KeyError`` where one of theirs is missing;
- ``lacks(theirs)``: what a part of the model that is not there is called, "" where nothing is missing;
- ``tokenizers(folder)``: what goes into the run folder.

What several of them need is in ``_folder`` and ``_parts``.
"""
