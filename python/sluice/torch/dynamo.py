"""torch.compile(model, backend="sluice"): each graph that Dynamo captures becomes a package.

The entry point in pyproject.toml registers the backend where the wheel is installed; `import sluice.torch` does it
too.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import fx

from ..errors import Error, FailedPrecondition, Unimplemented
from .watched import Patrol, Watched

_logger = logging.getLogger("sluice.torch")


def backend(graph: fx.GraphModule, example_inputs: Sequence[Any], *,
            options: dict[str, Any] | None = None) -> Callable[..., Any]:
    """A backend of torch.compile, for inference. `options`: {"compiler_args": ...}, as for sluice.torch.trace.

    Parameters become constants of the package. One that changes later is seen, as Watched says, and the graph is
    compiled again. What Watched misses, such as one element of a large parameter that changes through `tensor.data`,
    is seen some calls later: within as many calls as the parameters have blocks of 64 KiB.
    A graph that Sluice cannot run stays in torch, with a warning of the logger "sluice.torch".
    Raises FailedPrecondition where gradients would be recorded, TypeError for unknown options.
    """
    if unknown := set(options or ()) - {"compiler_args"}:
        raise TypeError(f'the backend "sluice" has no option "{unknown.pop()}"; it takes compiler_args')
    if torch.is_grad_enabled() and any(isinstance(each, torch.Tensor) and each.requires_grad
                                       for each in example_inputs):
        raise FailedPrecondition('the backend "sluice" is for inference, but gradients would be recorded; call the '
                                 "model inside torch.no_grad() or torch.inference_mode()")
    return _Compiled(graph, (options or {}).get("compiler_args"))


class _Made(NamedTuple):
    """What runs a captured graph while its parameters are unchanged."""

    parameters: dict[int, Watched]  #: by the number of the argument
    patrol: Patrol  #: of the parameters
    run: Callable[[Sequence[Any]], Any]

    def is_stale(self, args: Sequence[Any]) -> bool:
        is_other = any(args[i] is not each.tensor or each.is_changed() for i, each in self.parameters.items())
        return is_other or self.patrol.is_changed()


class _Compiled:
    """A captured graph. Any thread may call it."""

    def __init__(self, graph: fx.GraphModule, compiler_args: Any) -> None:
        self._graph = graph
        self._compiler_args = compiler_args
        self._placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        self._lock = threading.Lock()
        self._made: _Made | None = None

    def __call__(self, *args: Any) -> Any:
        made = self._made
        if made is None or made.is_stale(args):
            with self._lock:
                made = self._made
                if made is None or made.is_stale(args):
                    made = self._made = self._make(args)
        return made.run(args)

    def _make(self, args: Sequence[Any]) -> _Made:
        parameters = {i: Watched(each) for i, each in enumerate(args) if isinstance(each, torch.nn.Parameter)}
        try:
            patrol = Patrol(parameters.values())  # before the parameters are read
            return _Made(parameters, patrol, _Graph(self._graph, self._placeholders, args, set(parameters),
                                                    self._compiler_args))
        except (Error, Unimplemented) as error:
            _logger.warning("a graph stays in torch: %s", error)
            return _Made({}, Patrol(()), lambda values: self._graph(*values))


class _Graph:
    """A captured graph in a package: parameters are constants, written inputs are written back."""

    def __init__(self, graph: fx.GraphModule, placeholders: Sequence[fx.Node], args: Sequence[Any], frozen: set[int],
                 compiler_args: Any) -> None:
        from .trace import trace  # that imports torch.onnx, which a program with other backends may not need

        self._tensors = [i for i, each in enumerate(args) if isinstance(each, torch.Tensor) and i not in frozen]
        self._written = _written_inputs(graph, args, self._tensors)
        sizes = _sizes(placeholders, self._tensors)
        self._numbers = _numbers(args, {*self._tensors, *frozen, *sizes})
        wrapper = _Wrapper(graph, args, self._tensors, self._numbers, self._written, sizes)
        shapes = _dynamic_shapes(placeholders, self._tensors)
        gpus = {args[i].device for i in self._tensors if args[i].device.type == "cuda"}
        self._device = gpus.pop() if gpus else None
        self._traced = trace(wrapper.eval(), tuple(each.detach() for each in self._inputs(args)),
                             compiler_args=compiler_args, device="cuda" if self._device else None,
                             dynamic_shapes=shapes and (*shapes, *(None for _ in self._numbers)))

    def __call__(self, args: Sequence[Any]) -> Any:
        results = self._traced(*(each.contiguous() for each in self._inputs(args)))
        if self._written:
            results, following = results
            for i, value in zip(self._written, following):
                args[i].copy_(value)
        return results

    def _inputs(self, args: Sequence[Any]) -> list[torch.Tensor]:
        return [*(args[i] for i in self._tensors),
                *(torch.tensor(args[i], device=self._device) for i in self._numbers)]


class _Wrapper(torch.nn.Module):
    """The graph as a function of its tensors and numbers alone."""

    def __init__(self, graph: fx.GraphModule, args: Sequence[Any], tensors: Sequence[int], numbers: Sequence[int],
                 written: Sequence[int], sizes: dict[int, tuple[int, int]]) -> None:
        super().__init__()
        self.graph = graph
        self._tensors, self._numbers, self._written, self._sizes = list(tensors), list(numbers), list(written), sizes
        self._num_args = len(args)
        for i, each in enumerate(args):
            if isinstance(each, torch.nn.Parameter):
                self.register_buffer(f"parameter{i}", each.detach())

    def forward(self, *inputs: torch.Tensor) -> Any:
        tensors, numbers = inputs[:len(self._tensors)], inputs[len(self._tensors):]
        given: list[Any] = [getattr(self, f"parameter{i}", None) for i in range(self._num_args)]
        for i, tensor in zip(self._tensors, tensors):
            given[i] = tensor.clone() if i in self._written else tensor
        for i, number in zip(self._numbers, numbers):
            given[i] = number.item()
        for i, (position, axis) in self._sizes.items():
            given[i] = tensors[position].shape[axis]
        results = self.graph(*given)
        return (results, tuple(given[i] for i in self._written)) if self._written else results


def _numbers(args: Sequence[Any], others: set[int]) -> list[int]:
    """Arguments that are integers without being sizes: the package takes them as tensors."""
    numbers = [i for i in range(len(args)) if i not in others]
    for i in numbers:
        if type(args[i]) is not int:
            raise Unimplemented(f"an argument of a captured graph is a {type(args[i]).__name__}")
    return numbers


def _written_inputs(graph: fx.GraphModule, args: Sequence[Any], tensors: Sequence[int]) -> list[int]:
    """Inputs that the graph changes in place."""
    copies = [each.detach().clone() if isinstance(each, torch.Tensor) else each for each in args]
    watched = {i: Watched(copies[i]) for i in tensors}
    with torch.no_grad():
        graph(*copies)
    return [i for i in tensors if watched[i].is_changed()]


def _symbolic_shape(node: fx.Node) -> tuple[Any, ...]:
    value = node.meta.get("example_value")
    return tuple(value.shape) if isinstance(value, torch.Tensor) else ()


def _sizes(placeholders: Sequence[fx.Node], tensors: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Inputs that are sizes: the place among the tensors, and the dimension, that each is the size of."""
    places: dict[str, tuple[int, int]] = {}
    for position, i in enumerate(tensors):
        for axis, dim in enumerate(_symbolic_shape(placeholders[i])):
            if isinstance(dim, torch.SymInt):
                places.setdefault(str(dim), (position, axis))
    found = {}
    for i, node in enumerate(placeholders):
        value = node.meta.get("example_value")
        if isinstance(value, torch.SymInt) and str(value) in places:
            found[i] = places[str(value)]
    return found


def _dynamic_shapes(placeholders: Sequence[fx.Node], tensors: Sequence[int]) -> Any:
    """Names for the dimensions that Dynamo lets vary."""
    shapes = []
    for i in tensors:
        dims = {axis: str(dim) if str(dim).isidentifier() else torch.export.Dim.DYNAMIC
                for axis, dim in enumerate(_symbolic_shape(placeholders[i])) if isinstance(dim, torch.SymInt)}
        shapes.append(dims or None)
    return tuple(shapes) if any(shapes) else None


def register() -> None:
    """Makes the name "sluice" known to torch.compile, once."""
    if "sluice" not in torch._dynamo.list_backends(exclude_tags=()):
        torch._dynamo.register_backend(backend, name="sluice")
