"""Cases of ai.onnx.ml but for its trees, categories and classifying support vectors: features and
linear models."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from domains.case import OneNode


TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")


def ml(name: str, kind: str, x: np.ndarray, outputs: tuple[str, ...] = ("Y",),
       opset: int = 3, **attributes: object) -> OneNode:
    return OneNode(name, kind, "ai.onnx.ml", {"X": x}, outputs=outputs, attributes=attributes,
                   opsets={"ai.onnx.ml": opset})


def features() -> Iterator[OneNode]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((4, 3), dtype=np.float32)
    whole = rng.integers(-3, 4, (4, 3))
    for dtype in (np.float32, np.float64, np.int64, np.int32):
        of_type = (x * 2 if dtype in (np.float32, np.float64) else whole).astype(dtype)
        yield ml(f"scaler_{dtype.__name__}", "Scaler", of_type, scale=[2.0, 0.5, 3.0],
                 offset=[0.25, -1.0, 2.0])
        for norm in ("MAX", "L1", "L2"):
            yield ml(f"normalizer_{norm}_{dtype.__name__}", "Normalizer", of_type, norm=norm)
    yield ml("scaler_row", "Scaler", x[0], scale=[2.0], offset=[0.5])
    yield ml("normalizer_zeros", "Normalizer", np.zeros((2, 3), np.float32), norm="L2")
    yield ml("binarizer", "Binarizer", x, threshold=0.25)
    holes = np.where(x > 0.5, np.nan, x).astype(np.float32)
    yield ml("imputer_nan", "Imputer", holes, imputed_value_floats=[1.0, 2.0, 3.0],
             replaced_value_float=float("nan"))
    yield ml("imputer_int", "Imputer", whole, imputed_value_int64s=[9], replaced_value_int64=2)
    for shape, columns in (((4, 3), [2, 0]), ((3,), [1]), ((2, 4, 3), [0, 1, 1, 2])):
        data = rng.standard_normal(shape, dtype=np.float32)
        yield OneNode(f"extractor_{len(shape)}", "ArrayFeatureExtractor", "ai.onnx.ml",
                      {"X": data}, constants={"at": np.array(columns, np.int64)})
    yield OneNode("vectorizer", "FeatureVectorizer", "ai.onnx.ml", {"a": x, "b": x[:, :2] * 2},
                  attributes={"inputdimensions": [3, 2]})


def linear() -> Iterator[OneNode]:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((6, 4), dtype=np.float32)
    for transform in TRANSFORMS:
        for count in (1, 3):
            weights = [float(w) for w in rng.normal(size=4 * count).astype(np.float32)]
            bias = [float(b) for b in rng.normal(size=count).astype(np.float32)]
            if transform == "PROBIT":  # of probabilities
                weights, bias = [w / 50 for w in weights], [0.2, 0.4, 0.7][:count]
            yield ml(f"linear_regressor_{count}_{transform}", "LinearRegressor", x,
                     coefficients=weights, intercepts=bias, targets=count,
                     post_transform=transform)
            classes = max(count, 2)
            for kind, labels in (("ints", [7, 3, 5]), ("strings", ["no", "", "perhaps"])):
                case = ml(f"linear_classifier_{count}_{transform}_{kind}", "LinearClassifier", x,
                          ("Y", "Z"), coefficients=weights, intercepts=bias,
                          post_transform=transform, **{f"classlabels_{kind}": labels[:classes]})
                if transform == "PROBIT" and count == 1:
                    case.results = ["Y"]  # onnxruntime leaves the second score unwritten
                yield case
    for kind in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        for one_class in (0, 1):
            vectors = rng.standard_normal((5, 4), dtype=np.float32)
            yield ml(f"svm_regressor_{kind}_{one_class}", "SVMRegressor", x, kernel_type=kind,
                     kernel_params=[0.3, 0.1, 2.0], n_supports=5, one_class=one_class,
                     support_vectors=[float(v) for v in vectors.ravel()],
                     coefficients=[float(c) for c in rng.normal(size=5)], rho=[0.05])


def build() -> Iterator[OneNode]:
    yield from features()
    yield from linear()
