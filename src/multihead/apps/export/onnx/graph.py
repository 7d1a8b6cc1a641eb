"""An ONNX graph under construction; every method returns the name of the value that it adds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multihead.apps.export.library import import_library
from multihead.errors import UserError

OPSET = 17
"""LayerNormalization came with it; ONNX Runtime 1.13 (2022) reads it."""
IR_VERSION = 8

Array = NDArray[Any]
Axes = Sequence[int | str]
"""A shape: numbers, and names of dynamic axes."""


class Graph:
    """Nodes, weights, inputs and outputs; equal weights are stored once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[Any] = []
        self._weights: dict[int, tuple[str, Array]] = {}
        self._constants: dict[tuple[Any, ...], str] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._library = library()

    def input(self, name: str, kind: Any, axes: Axes) -> str:
        """Add an input of a NumPy type."""
        self._inputs.append(self._describe(name, kind, axes))
        return name

    def output(self, value: str, name: str, kind: Any, axes: Axes) -> None:
        """Return a value under a name."""
        self._nodes.append(self._library.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._describe(name, kind, axes))

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output."""
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(self._library.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def weight(self, array: Array) -> str:
        """Add a weight."""
        if id(array) not in self._weights:
            self._weights[id(array)] = f"weight_{len(self._weights)}", array
        return self._weights[id(array)][0]

    def number(self, value: float) -> str:
        """Add a float32 constant."""
        return self._constant(np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        """Add a vector of int64."""
        return self._constant(np.array(values, np.int64))

    def reshape(self, value: str, *shape: int) -> str:
        """Reshape; 0 copies an axis and -1 is inferred."""
        return self.add("Reshape", value, self.integers(*shape))

    def _constant(self, array: Array) -> str:
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.weight(array)
        return self._constants[key]

    def _describe(self, name: str, kind: Any, axes: Axes) -> Any:
        helper = self._library.helper
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), axes)

    def model(self, metadata: Mapping[str, str]) -> Any:
        """Return the ``onnx.ModelProto``, checked.

        Raises:
            UserError: more than 2 GB, which one ONNX file cannot hold.
        """
        onnx = self._library
        if sum(array.nbytes for _, array in self._weights.values()) > 2**31 - 2**20:
            raise UserError("its weights have more than 2 GB, which one ONNX file cannot hold")
        weights = [onnx.numpy_helper.from_array(array, name) for name, array in self._weights.values()]
        graph = onnx.helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, weights)
        opset = onnx.helper.make_opsetid("", OPSET)
        model = onnx.helper.make_model(
            graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="multihead"
        )
        onnx.helper.set_model_props(model, dict(metadata))
        onnx.checker.check_model(model, full_check=True)
        return model


def library() -> Any:
    """Return the package ``onnx``. Raises ``UserError`` if it or ONNX Runtime is not installed."""
    import_library("onnxruntime")
    return import_library("onnx")
