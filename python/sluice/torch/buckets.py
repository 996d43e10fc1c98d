"""Buckets: one package that was traced at several shapes, and what chooses among them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from ..errors import InvalidArgument
from ..tracing import bucket_graph, metadata
from ..tracing.compiling import as_options, compile_model, make_workdir
from .bucket_runner import KEY, BucketRunner, encode_buckets
from .functional import Call, example_call
from .trace import to_model
from .traced import TracedModel, placed

Traceable = nn.Module | Callable[..., Any]


class BucketModelConfig:
    """How a call chooses a bucket, and which state the buckets share.

    `bucket_kernel`: a function without arguments that returns the kernel. The kernel takes the list of a
    call's tensors and returns the list of tensors that fit a bucket, and a tensor with the bucket's number.
    A package keeps a kernel that TorchScript can compile.
    `shared_state_buffer`: initial values of a state that all buckets use through their aliases.
    `shared_state_buffer_preprocessor`: returns a function of (shapes of the states by bucket, buffer, number
    of the bucket) that gives the part of the buffer, as views, that the bucket reads and writes; by default
    all of it. `func_kwargs`: arguments of the traced function, for all buckets or one dictionary for each.
    """

    def __init__(self, bucket_kernel: Callable[..., Any], *,
                 shared_state_buffer: Sequence[torch.Tensor] | None = None,
                 shared_state_buffer_preprocessor: Callable[..., Any] | None = None,
                 func_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None) -> None:
        for name, value in (("bucket_kernel", bucket_kernel),
                            ("shared_state_buffer_preprocessor", shared_state_buffer_preprocessor)):
            if value is not None and not callable(value):
                raise TypeError(f"{name} is a {type(value).__name__}, not a function")
        if shared_state_buffer is None and shared_state_buffer_preprocessor is not None:
            raise InvalidArgument("shared_state_buffer_preprocessor needs a shared_state_buffer")
        self.bucket_kernel = bucket_kernel
        self.shared_state_buffer = None if shared_state_buffer is None else list(shared_state_buffer)
        self.shared_state_buffer_preprocessor = shared_state_buffer_preprocessor
        self.func_kwargs = func_kwargs

    def kwargs_of(self, number: int, num_buckets: int) -> Mapping[str, Any]:
        """Arguments of the traced function for one bucket."""
        if self.func_kwargs is None or isinstance(self.func_kwargs, Mapping):
            return self.func_kwargs or {}
        if len(self.func_kwargs) != num_buckets:
            raise InvalidArgument(f"func_kwargs has {len(self.func_kwargs)} entries for {num_buckets} buckets")
        return self.func_kwargs[number]


def bucket_model_trace(
    func: Callable[..., tuple[Traceable, Mapping[torch.Tensor, int]]],
    example_inputs: Sequence[Any],
    bucket_config: BucketModelConfig,
    compiler_workdir: str | pathlib.Path | None = None,
    compiler_args: str | Sequence[str] | None = None,
) -> TracedModel:
    """Traces one model with each of `example_inputs` into one package, whose buckets share equal weights.

    `func` returns the model and its `input_output_aliases`; it is called once for each bucket. In C, C++ and
    the command line the package takes the number of the bucket as the input `bucket`, and tensors that fit.
    Raises InvalidArgument for wrong arguments and for buckets that differ in more than dimensions.
    """
    if not isinstance(bucket_config, BucketModelConfig):
        raise TypeError(f"bucket_config is a {type(bucket_config).__name__}, not a BucketModelConfig")
    if not isinstance(example_inputs, (list, tuple)) or not example_inputs:
        raise InvalidArgument("example_inputs must be a list with the example inputs of each bucket")
    options = as_options(compiler_args)
    workdir = make_workdir(compiler_workdir)
    calls = [_call_of(func, bucket_config.kwargs_of(i, len(example_inputs)), example)
             for i, example in enumerate(example_inputs)]
    if bucket_config.shared_state_buffer is not None:
        _check_shared(calls, bucket_config)
    models = [to_model(call, None, "export", workdir) for call in calls]
    merged = bucket_graph.merge(models)
    metadata.write(merged, metadata.KEY, metadata.find(models[0], metadata.KEY) or "")
    metadata.write(merged, KEY, encode_buckets(bucket_config.bucket_kernel(), bucket_config.shared_state_buffer,
                                             _preprocessor(bucket_config), calls))
    return TracedModel(placed(BucketRunner(compile_model(merged, options, workdir), bucket_config.bucket_kernel(),
                                           _preprocessor(bucket_config))))


def _preprocessor(config: BucketModelConfig) -> Callable[..., Any] | None:
    make = config.shared_state_buffer_preprocessor
    return None if make is None else make()


def _call_of(func: Callable[..., Any], kwargs: Mapping[str, Any], example: Any) -> Call:
    made = func(**kwargs)
    if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[1], Mapping):
        raise TypeError("the function given to bucket_model_trace must return a model and its input_output_aliases; "
                        "sluice.torch.trace takes a model itself")
    return example_call(made[0], example, made[1])


def _check_shared(calls: Sequence[Call], config: BucketModelConfig) -> None:
    count = len(config.shared_state_buffer or ())
    for i, call in enumerate(calls):
        if len(call.states) != count and config.shared_state_buffer_preprocessor is None:
            raise InvalidArgument(f"shared_state_buffer has {count} tensors, bucket {i} has {len(call.states)} states")
