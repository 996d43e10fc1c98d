"""sluice.torch.dynamic_batch: batches of any size over a model that was traced with one size."""

from __future__ import annotations

import torch

from ..errors import InvalidArgument
from ..tracing.batching import batching_of
from .traced import TracedModel


def dynamic_batch(traced: TracedModel) -> TracedModel:
    """Lets `traced` take any number of rows: it splits them into chunks of the traced size.

    The last chunk is padded with copies of its last row. Changes `traced` and returns it. The first dimension
    of all inputs and outputs must be the batch, of one size; other dimensions stay as traced.
    Raises InvalidArgument if they are not, or if the model keeps state.
    """
    if len(traced.state) > 0:
        raise InvalidArgument(f"the model keeps state ({', '.join(traced.state)}), which belongs to one sequence of "
                              "calls and cannot be split; give each sequence a session() instead")
    traced.batching = batching_of(traced.inputs, traced.outputs, torch.Tensor, torch.cat)
    return traced
