"""Fast search for trained models; an engine accepts a description of layers, never a class."""
