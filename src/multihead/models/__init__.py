"""Models: one file per paper, or a folder if it has stages; see ``multihead.recipe.model_kinds``."""
