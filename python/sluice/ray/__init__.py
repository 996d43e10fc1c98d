"""Models on a Ray cluster: Ray places and restarts, and a `sluiced` on each node computes. Needs the package `ray`.

    ray start --head --resources "$(python -m sluice.ray 2)"        # on each node: groups of two cores
    from sluice import ray as cluster
    model = cluster.place("digits.sluice", cores=2)                 # an actor on a node with a free group
    print(ray.get(model.infer.remote({"image": pixels})))

`infer` takes references in place of arrays, so that a tensor goes from one model's node to the next one's alone:
`second.infer.remote({"x": first.infer_one.remote({"image": pixels})})`. docs/scale.md says what was tested.
"""

from .placed import PlacedModel, deployment, place
from .supervisor import RESOURCE, Supervisor, resources, supervisor

__all__ = ["RESOURCE", "PlacedModel", "Supervisor", "deployment", "place", "resources", "supervisor"]
