"""Text pipelines as exporters of scikit-learn write them: strings in lower case, cut into words by
com.microsoft's Tokenizer, counted as n-grams of a vocabulary and weighted. scikit-learn is the judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from domains.case import IR_VERSION, OPSETS, OneNode

TEXTS = ["The cat sat on the mat.", "A dog, a cat & another dog!", "mats, MATS and a_b 12 tricks", "", "Z"]
WORDS = "[a-zA-Z0-9_]+"
LONG_WORDS = {"tokenexp": WORDS, "mincharnum": 2}  # scikit-learn's default pattern


@dataclass
class Pipeline(OneNode):
    """`nodes` in a row, from X to Y; each has one output, the next one's first input."""

    nodes: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)

    def model(self) -> onnx.ModelProto:
        names = ["X", *(f"step_{index}" for index in range(1, len(self.nodes))), "Y"]
        made = [helper.make_node(kind, [source, *(["idf"] if kind == "Mul" else [])], [target], name=target,
                                 domain=domain, **attributes)
                for (kind, domain, attributes), source, target in zip(self.nodes, names, names[1:])]
        x = helper.make_tensor_value_info("X", onnx.TensorProto.STRING, ["N"])
        weights = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(made, "pipeline", [x], [onnx.ValueInfoProto(name="Y")], weights)
        return helper.make_model(graph, ir_version=IR_VERSION,
                                 opset_imports=[helper.make_opsetid(*pair) for pair in OPSETS.items()])


def counting(fitted: CountVectorizer) -> tuple[str, str, dict[str, object]]:
    """The n-grams of the vocabulary, shorter ones first, and the column of each."""
    grams = sorted(([text] if fitted.analyzer == "char" else text.split(" "), column)
                   for text, column in fitted.vocabulary_.items())
    grams.sort(key=lambda gram: len(gram[0]))
    lengths = [len(words) for words, _ in grams]
    least, most = fitted.ngram_range
    return "TfIdfVectorizer", "", {
        "mode": "TF", "min_gram_length": least, "max_gram_length": most, "max_skip_count": 0,
        "pool_strings": [word for words, _ in grams for word in words],
        "ngram_counts": [sum(n for n in lengths if n < length) for length in range(1, most + 1)],
        "ngram_indexes": [int(column) for _, column in grams]}


def pipeline(name: str, fitted: CountVectorizer, tokens: dict[str, object]) -> OneNode:
    nodes = [("Tokenizer", "com.microsoft", {"mark": 0, "pad_value": "#", **tokens}), counting(fitted)]
    constants = {}
    if fitted.lowercase:
        nodes.insert(0, ("StringNormalizer", "", {"case_change_action": "LOWER", "is_case_sensitive": 0}))
    if isinstance(fitted, TfidfVectorizer):
        constants["idf"] = fitted.idf_.astype(np.float32)
        nodes += [("Mul", "", {}), ("Normalizer", "ai.onnx.ml", {"norm": "L2"})]
    expected = fitted.transform(TEXTS).toarray().astype(np.float32)
    return Pipeline(f"texts_{name}", "", "", {"X": np.array(TEXTS, object)}, constants=constants,
                    expected=[expected], nodes=nodes)


def build() -> Iterator[OneNode]:
    for name, kind in (("counts", CountVectorizer), ("tf_idf", TfidfVectorizer)):
        for most in (1, 2):
            fitted = kind(ngram_range=(1, most)).fit(TEXTS)
            yield pipeline(f"{name}_{most}", fitted, LONG_WORDS)
        every = kind(token_pattern=WORDS, lowercase=False).fit(TEXTS)
        yield pipeline(f"{name}_case", every, {"tokenexp": WORDS, "mincharnum": 1})
    letters = CountVectorizer(analyzer="char").fit(TEXTS)
    yield pipeline("letters", letters, {"separators": [""], "mincharnum": 1})
