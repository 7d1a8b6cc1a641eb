"""Judgement of the pairs of a corpus by the corpus itself: language, script, noise, alignment, lexicon."""
