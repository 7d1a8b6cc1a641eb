"""Export of trained runs: one module per target, named as the values of ``multihead export --to``."""
