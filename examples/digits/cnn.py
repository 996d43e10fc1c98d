"""A small convolutional network in numpy: forward, backward, Adam.

conv 3x3 -> relu -> maxpool 2x2 -> conv 3x3 -> relu -> maxpool 2x2 -> gemm -> softmax
Images are [batch, 1, 8, 8]; arrays are float32 in NCHW order throughout.
"""

from __future__ import annotations

import numpy as np

FIRST, SECOND, CLASSES = 16, 32, 10
Parameters = dict[str, np.ndarray]


def initial_parameters(rng: np.random.Generator) -> Parameters:
    """He-scaled weights, zero biases."""

    def weights(*shape: int) -> np.ndarray:
        fan_in = int(np.prod(shape[1:]))
        return (rng.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32)

    return {
        "conv1.weight": weights(FIRST, 1, 3, 3),
        "conv1.bias": np.zeros(FIRST, np.float32),
        "conv2.weight": weights(SECOND, FIRST, 3, 3),
        "conv2.bias": np.zeros(SECOND, np.float32),
        "fc.weight": weights(CLASSES, SECOND * 2 * 2),
        "fc.bias": np.zeros(CLASSES, np.float32),
    }


def patches(x: np.ndarray) -> np.ndarray:
    """[n, c, h, w] to [n, c, 3, 3, h, w]: what each output of a padded 3x3 convolution sees."""
    height, width = x.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows = [
        np.stack([padded[:, :, i : i + height, j : j + width] for j in range(3)], axis=2)
        for i in range(3)
    ]
    return np.stack(rows, axis=2)


def conv(seen: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return np.einsum("ncijhw,ocij->nohw", seen, weight, optimize=True) + bias[:, None, None]


def conv_input_gradient(grad: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The gradient of a padded 3x3 convolution is one with its taps turned around."""
    turned = weight[:, :, ::-1, ::-1]
    return np.einsum("noijhw,ocij->nchw", patches(grad), turned, optimize=True)


def pool(x: np.ndarray) -> np.ndarray:
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


def pool_gradient(grad: np.ndarray, x: np.ndarray, pooled: np.ndarray) -> np.ndarray:
    """Gives each pooled value's gradient to the inputs equal to it."""

    def spread(values: np.ndarray) -> np.ndarray:
        return values.repeat(2, axis=2).repeat(2, axis=3)

    return spread(grad) * (x == spread(pooled))


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def predict(p: Parameters, images: np.ndarray) -> np.ndarray:
    """Probabilities [batch, 10]."""
    x = pool(np.maximum(conv(patches(images), p["conv1.weight"], p["conv1.bias"]), 0))
    x = pool(np.maximum(conv(patches(x), p["conv2.weight"], p["conv2.bias"]), 0))
    return softmax(x.reshape(len(x), -1) @ p["fc.weight"].T + p["fc.bias"])


def gradients(p: Parameters, images: np.ndarray, labels: np.ndarray) -> Parameters:
    """Gradients of the mean cross-entropy over the batch."""
    seen1 = patches(images)
    relu1 = np.maximum(conv(seen1, p["conv1.weight"], p["conv1.bias"]), 0)
    pool1 = pool(relu1)
    seen2 = patches(pool1)
    relu2 = np.maximum(conv(seen2, p["conv2.weight"], p["conv2.bias"]), 0)
    pool2 = pool(relu2)
    flat = pool2.reshape(len(images), -1)
    grad = softmax(flat @ p["fc.weight"].T + p["fc.bias"])
    grad[np.arange(len(labels)), labels] -= 1
    grad /= len(labels)
    result = {"fc.weight": grad.T @ flat, "fc.bias": grad.sum(axis=0)}
    grad = (grad @ p["fc.weight"]).reshape(pool2.shape)
    grad = pool_gradient(grad, relu2, pool2) * (relu2 > 0)
    result |= conv_gradients("conv2", grad, seen2)
    grad = conv_input_gradient(grad, p["conv2.weight"])
    grad = pool_gradient(grad, relu1, pool1) * (relu1 > 0)
    return result | conv_gradients("conv1", grad, seen1)


def conv_gradients(name: str, grad: np.ndarray, seen: np.ndarray) -> Parameters:
    return {
        f"{name}.weight": np.einsum("nohw,ncijhw->ocij", grad, seen, optimize=True),
        f"{name}.bias": grad.sum(axis=(0, 2, 3)),
    }


class Adam:
    """Kingma and Ba, "Adam: A Method for Stochastic Optimization", algorithm 1."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._first = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._second = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._step = 0

    def update(self, grads: Parameters, rate: float) -> None:
        self._step += 1
        for name, grad in grads.items():
            self._first[name] = 0.9 * self._first[name] + 0.1 * grad
            self._second[name] = 0.999 * self._second[name] + 0.001 * grad * grad
            first = self._first[name] / (1 - 0.9**self._step)
            second = self._second[name] / (1 - 0.999**self._step)
            self._parameters[name] -= (rate * first / (np.sqrt(second) + 1e-8)).astype(np.float32)
