"""Export to Firefox's translation engine, which runs Marian's students in int8 (browser.mt, Bergamot).

The folder holds Marian's binary model in float32 and in int8, a SentencePiece unigram vocabulary with the
same ids, and ``model.yml``. Models that the engine cannot express are refused: it would run some of them
silently as something else.
"""

from multihead.apps.export.firefox.exporting import VerificationReport, export

__all__ = ["VerificationReport", "export"]
