"""torch.compile(model, backend="sluice"): each graph that Dynamo captures becomes a package.

The entry point in pyproject.toml registers the backend where the wheel is installed; `import sluice.torch` does it
too.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from ..errors import Error, FailedPrecondition, Unimplemented

_logger = logging.getLogger("sluice.torch")


def backend(graph: fx.GraphModule, example_inputs: Sequence[Any], *,
            options: dict[str, Any] | None = None) -> Callable[..., Any]:
    """A backend of torch.compile, for inference. `options`: {"compiler_args": ...}, as for sluice.torch.trace.

    Parameters become constants of the package; one that changes later is seen, and the graph is compiled again.
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


class _Compiled:
    """A captured graph. Any thread may call it."""

    def __init__(self, graph: fx.GraphModule, compiler_args: Any) -> None:
        self._graph = graph
        self._compiler_args = compiler_args
        self._placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        self._lock = threading.Lock()
        self._frozen: dict[int, tuple[torch.Tensor, int]] = {}
        self._run: Callable[[Sequence[Any]], Any] | None = None

    def __call__(self, *args: Any) -> Any:
        run = self._run
        if run is None or self._is_stale(args):
            with self._lock:
                run = self._compile(args)
        return run(args)

    def _is_stale(self, args: Sequence[Any]) -> bool:
        return any(args[i] is not tensor or tensor._version != version
                   for i, (tensor, version) in self._frozen.items())

    def _compile(self, args: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
        if self._run is not None and not self._is_stale(args):
            return self._run
        self._frozen = {i: (each, 0 if each.is_inference() else each._version) for i, each in enumerate(args)
                        if isinstance(each, torch.nn.Parameter)}
        try:
            self._run = _Graph(self._graph, self._placeholders, args, set(self._frozen), self._compiler_args)
        except (Error, Unimplemented) as error:
            _logger.warning("a graph stays in torch: %s", error)
            self._frozen = {}
            self._run = lambda values: self._graph(*values)
        return self._run


class _Graph:
    """A captured graph in a package: parameters are constants, written inputs are written back."""

    def __init__(self, graph: fx.GraphModule, placeholders: Sequence[fx.Node], args: Sequence[Any], frozen: set[int],
                 compiler_args: Any) -> None:
        from .trace import trace  # that imports torch.onnx, which a program with other backends may not need

        self._tensors = [i for i, each in enumerate(args) if isinstance(each, torch.Tensor) and i not in frozen]
        self._written = _written_inputs(graph, args, self._tensors)
        sizes = _sizes(placeholders, self._tensors)
        wrapper = _Wrapper(graph, args, self._tensors, self._written, sizes)
        examples = tuple(args[i].detach() for i in self._tensors)
        self._traced = trace(wrapper.eval(), examples, compiler_args=compiler_args,
                             dynamic_shapes=_dynamic_shapes(placeholders, self._tensors))

    def __call__(self, args: Sequence[Any]) -> Any:
        results = self._traced(*(args[i].contiguous() for i in self._tensors))
        if self._written:
            results, following = results
            for i, value in zip(self._written, following):
                args[i].copy_(value)
        return results


class _Wrapper(torch.nn.Module):
    """The graph as a function of its tensors alone."""

    def __init__(self, graph: fx.GraphModule, args: Sequence[Any], tensors: Sequence[int], written: Sequence[int],
                 sizes: dict[int, tuple[int, int]]) -> None:
        super().__init__()
        self.graph = graph
        self._tensors, self._written, self._sizes = list(tensors), list(written), sizes
        self._fixed = [None if i in tensors else each for i, each in enumerate(args)]
        for i, each in enumerate(args):
            if isinstance(each, torch.nn.Parameter):
                self.register_buffer(f"parameter{i}", each.detach())

    def forward(self, *tensors: torch.Tensor) -> Any:
        given = list(self._fixed)
        for i, tensor in zip(self._tensors, tensors):
            given[i] = tensor.clone() if i in self._written else tensor
        for i in range(len(given)):
            if hasattr(self, f"parameter{i}"):
                given[i] = getattr(self, f"parameter{i}")
            elif i in self._sizes:
                position, axis = self._sizes[i]
                given[i] = tensors[position].shape[axis]
        results = self.graph(*given)
        return (results, tuple(given[i] for i in self._written)) if self._written else results


def _written_inputs(graph: fx.GraphModule, args: Sequence[Any], tensors: Sequence[int]) -> list[int]:
    """Inputs that the graph changes in place."""
    copies = [each.detach().clone() if isinstance(each, torch.Tensor) else each for each in args]
    before = {i: copies[i].clone() for i in tensors}
    versions = {i: copies[i]._version for i in tensors if not copies[i].is_inference()}
    with torch.no_grad():
        graph(*copies)
    return [i for i in tensors if (copies[i]._version != versions[i] if i in versions
                                   else not torch.equal(copies[i], before[i]))]


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
