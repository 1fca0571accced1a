"""Small ONNX files, written message by message: there is no need of the package."""

from __future__ import annotations

import numpy as np

INTS, TENSOR = 7, 4
"""Types of attributes."""


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def part(field, body):
    """A field of a protocol buffer: a number, or bytes with their length."""
    if isinstance(body, int):
        return varint(field << 3) + varint(body)
    body = body.encode() if isinstance(body, str) else body
    return varint(field << 3 | 2) + varint(len(body)) + body


def value_info(name, shape):
    dims = b"".join(part(1, part(1, side)) for side in shape)
    return part(1, name) + part(2, part(1, part(1, 1) + part(2, dims)))


def tensor(array):
    numbers = np.asarray(array)
    whole = numbers.dtype.kind == "i"
    numbers = numbers.astype(np.int64 if whole else np.float32)
    dims = b"".join(part(1, side) for side in numbers.shape)
    return dims + part(2, 7 if whole else 1) + part(9, numbers.tobytes())


def constant(name, array):
    given = part(5, part(1, "value") + part(5, tensor(array)) + part(20, TENSOR))
    return part(1, part(2, name) + part(4, "Constant") + given)


def node(kind, inputs, output, **numbers):
    """A node of the graph; each attribute a list of whole numbers."""
    body = b"".join(part(1, name) for name in inputs) + part(2, output) + part(4, kind)
    for name, listed in numbers.items():
        given = part(1, name) + b"".join(part(8, one) for one in listed) + part(20, INTS)
        body += part(5, given)
    return part(1, body)


def graph(nodes, size, outputs):
    """A model with one input: nodes as of :func:`node`, output → shape."""
    whole = b"".join(nodes) + part(2, "made") + part(11, value_info("input", size))
    whole += b"".join(part(12, value_info(name, shape)) for name, shape in outputs.items())
    return part(1, 8) + part(7, whole) + part(8, part(1, "") + part(2, 13))


def model(outputs, size):
    """A model that gives constant outputs whatever it is shown: name → array."""
    made = [constant(name, np.asarray(array, float)) for name, array in outputs.items()]
    return graph(made, size, {name: np.shape(array) for name, array in outputs.items()})


def bright_halves():
    """A detector of people that are the bright ones of the left and the right half of a picture."""
    kernel = np.zeros((2, 3, 4, 3))
    kernel[1] = 40 / kernel[1].size
    kernel[0] = -kernel[1]
    nodes = [
        constant("kernel", kernel),
        constant("bias", np.array([8.0, -8.0])),
        node("Conv", ["input", "kernel", "bias"], "halves", kernel_shape=[4, 3], strides=[4, 3]),
        node("Sigmoid", ["halves"], "shares"),
        constant("shape", np.array([1, 2, 2])),
        node("Reshape", ["shares", "shape"], "columns"),
        node("Transpose", ["columns"], "scores", perm=[0, 2, 1]),
        constant("boxes", np.array([[[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]]])),
    ]
    return graph(nodes, (1, 3, 4, 6), {"scores": (1, 2, 2), "boxes": (1, 2, 4)})
