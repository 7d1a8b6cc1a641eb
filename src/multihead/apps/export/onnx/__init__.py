"""Export to ONNX (onnx.ai): an encoder and a decoder step with its cache, for ONNX Runtime."""

from multihead.apps.export.onnx.exporting import export

__all__ = ["export"]
