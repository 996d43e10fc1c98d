"""Where onnxruntime is not the judge, by the name of the case, and why: ONNX's own reference
evaluator is."""

ONNX_DECIDES = {
    "labels_repeated_key":
        "the standard: if a key is repeated, the last one takes precedence; onnxruntime takes the "
        "first",
    "one_hot_int32":
        "onnxruntime has no kernel for it",
    "svm_classifier_linear_2":
        "of two classes without support vectors onnxruntime calls the second whenever one of the "
        "scores is positive, be it the other's",
}
