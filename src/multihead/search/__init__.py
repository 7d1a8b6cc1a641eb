"""Greedy, beam and sampling search over anything that implements ``Stepper``."""
