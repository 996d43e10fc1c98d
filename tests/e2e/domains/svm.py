"""Cases of SVMClassifier: every kernel, transform and kind of label; and machines that scikit-learn
trained, which then is the judge."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.svm import SVC

from domains.case import OneNode
from domains.classic import TRANSFORMS, ml

KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
LABELS = {"ints": [7, 3, 5, 9], "strings": ["ash", "", "oak", "fir"]}


def floats(values: np.ndarray) -> list[float]:
    return [float(v) for v in values.astype(np.float32).ravel()]


def machine(rng: np.random.Generator, classes: int, kernel: str = "RBF",
            with_probabilities: bool = False) -> dict[str, object]:
    per_class = [int(n) for n in rng.integers(1, 4, classes)]
    vectors, pairs = sum(per_class), classes * (classes - 1) // 2
    attributes = {
        "kernel_type": kernel, "kernel_params": [0.3, 0.1, 2.0], "vectors_per_class": per_class,
        "support_vectors": floats(rng.normal(size=(vectors, 4))),
        "coefficients": floats(rng.normal(size=(classes - 1, vectors))),
        "rho": floats(rng.normal(size=pairs) / 4),
    }
    if with_probabilities:
        attributes |= {"prob_a": floats(-1 - rng.random(pairs)), "prob_b": floats(rng.random(pairs))}
    return attributes


def made_up() -> Iterator[OneNode]:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((9, 4), dtype=np.float32)
    for index, kernel in enumerate(KERNELS):
        for classes in (2, 3, 4):
            for probabilities in (False, True):
                kind = ("ints", "strings")[(index + classes) % 2]
                yield ml(f"svm_classifier_{kernel}_{classes}_{int(probabilities)}",
                         "SVMClassifier", x, ("Y", "Z"),
                         **machine(rng, classes, kernel, probabilities),
                         **{f"classlabels_{kind}": LABELS[kind][:classes]})
    for transform in TRANSFORMS[1:]:
        for classes, probabilities in ((2, False), (2, True), (3, False), (3, True)):
            attributes = machine(rng, classes, "RBF", probabilities)
            if transform == "PROBIT":  # of probabilities
                attributes["coefficients"] = [c / 9 for c in attributes["coefficients"]]
                attributes["rho"] = [0.4] * len(attributes["rho"])
            case = ml(f"svm_classifier_{transform}_{classes}_{int(probabilities)}",
                      "SVMClassifier", x, ("Y", "Z"), post_transform=transform,
                      classlabels_ints=LABELS["ints"][:classes], **attributes)
            if transform == "PROBIT" and classes == 2 and not probabilities:
                case.results = ["Y"]  # onnxruntime leaves the second score unwritten
            yield case
    for dtype in (np.float64, np.int64, np.int32):
        yield ml(f"svm_classifier_{dtype.__name__}", "SVMClassifier", (x * 3).astype(dtype),
                 ("Y", "Z"), classlabels_strings=LABELS["strings"][:3],
                 **machine(rng, 3, with_probabilities=True))
    yield ml("svm_classifier_row", "SVMClassifier", x[0], ("Y", "Z"),
             classlabels_ints=LABELS["ints"][:3], **machine(rng, 3))
    for classes in (1, 2, 3):
        yield ml(f"svm_classifier_linear_{classes}", "SVMClassifier", x, ("Y", "Z"),
                 classlabels_ints=LABELS["ints"][:classes], rho=[0.2], kernel_params=[0.0, 0.0, 0.0],
                 coefficients=floats(rng.normal(size=(classes, 4))))


def trained() -> Iterator[OneNode]:
    """Clouds of points, told apart by libsvm; labels and probabilities are what it predicts."""
    rng = np.random.default_rng(6)
    for classes in (2, 3):
        cloud = rng.integers(0, classes, 150)
        centres = np.array([[0, 0], [1.5, 1], [-0.5, 2]])
        x = (rng.normal(size=(150, 2)) + centres[cloud]).astype(np.float32)
        y = np.array(["ash", "birch", "oak"])[cloud]
        for kernel in ("linear", "poly", "rbf", "sigmoid"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = SVC(kernel=kernel, gamma=0.5, coef0=0.2, degree=2, probability=True,
                            random_state=0).fit(x, y)
                expected = [model.predict(x), model.predict_proba(x).astype(np.float32)]
            case = ml(f"svm_trained_{kernel}_{classes}", "SVMClassifier", x, ("Y", "Z"),
                      kernel_type=kernel.upper(), kernel_params=[0.5, 0.2, 2.0],
                      vectors_per_class=[int(n) for n in model.n_support_],
                      support_vectors=floats(model.support_vectors_),
                      coefficients=floats(model._dual_coef_), rho=floats(model._intercept_),
                      prob_a=floats(model._probA), prob_b=floats(model._probB),
                      classlabels_strings=[str(c) for c in model.classes_])
            case.expected = expected
            yield case


def build() -> Iterator[OneNode]:
    yield from made_up()
    yield from trained()
