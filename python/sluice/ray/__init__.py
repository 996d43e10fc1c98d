"""Models on a Ray cluster: Ray places and restarts, and a `sluiced` on each node computes. Needs the package `ray`.

    ray start --head --resources "$(python -m sluice.ray 2)"        # on each node: groups of two cores
    from sluice import ray as cluster
    model = cluster.place("digits.sluice", cores=2)                 # an actor on a node with a free group
    print(ray.get(model.infer.remote({"image": pixels})))

A folder of images over all nodes, on as many groups as there are:

    images = ray.data.read_images("photos", size=(224, 224), mode="RGB")
    ready = images.map_batches(lambda b: {"input": b["image"].transpose(0, 3, 1, 2).astype("float32") / 255})
    cluster.map_batches(ready, "net.sluice", concurrency=3).write_parquet("answers")

`infer` takes references in place of arrays, so that a tensor goes from one model's node to the next one's alone:
`second.infer.remote({"x": first.infer_one.remote({"image": pixels})})`. docs/scale.md says what was tested.
"""

from .batches import map_batches
from .placed import PlacedModel, place
from .serving import GRPC_SERVICE, deployment
from .supervisor import RESOURCE, Supervisor, resources, supervisor

__all__ = ["GRPC_SERVICE", "RESOURCE", "PlacedModel", "Supervisor", "deployment", "map_batches", "place", "resources",
           "supervisor"]
