"""Converters for models of the Hugging Face transformers library, one module per model type.

A module is named after the ``model_type`` in config.json. It has

- ``KIND``: our model kind;
- ``FILES``: files it reads besides config.json and the weights, if they exist;
- ``settings(folder)``: recipe settings by dotted key; strings are parsed as on the command line;
- ``weights(theirs, folder)``: our weights by name, from theirs; raises ``KeyError`` if one is missing;
- ``missing(theirs)``: name of a part of our model that the weights lack; "" if nothing is missing;
- ``tokenizers(folder)``: the run's tokenizers.

``_folder`` and ``_parts`` hold their common code.
"""
