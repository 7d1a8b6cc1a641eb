"""Names of the files of a run folder that several modules read."""

RECIPE, MODEL, WEIGHTS, ENVIRONMENT = "recipe.toml", "model.json", "model.safetensors", "environment.json"
FURTHER = ("casing.json", "confidence.json", "lexicon.json")
"""Files that a finished translator may have; a manifest covers those that it lists."""
