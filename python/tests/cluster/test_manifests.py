"""The manifests of deploy/kubernetes fit the daemon, each other and Kubernetes' schemas. No cluster runs them here.

    pip install kubernetes-validate; scripts/test-python BUILD -k manifests     with the schemas
"""

from __future__ import annotations

import copy
import importlib.util
import json
import pathlib
import subprocess
from typing import Any

import daemon as daemons
import pytest
import yaml
from conftest import ROOT
from sluice.commands import program

FOLDER = ROOT / "deploy" / "kubernetes"
FILES = sorted(path.name for path in FOLDER.glob("*.yaml"))
KINDS = {"ConfigMap": "v1", "Service": "v1", "Deployment": "apps/v1", "DaemonSet": "apps/v1",
         "PodDisruptionBudget": "policy/v1", "ScaledObject": "keda.sh/v1alpha1",
         "ServingRuntime": "serving.kserve.io/v1alpha1", "InferenceService": "serving.kserve.io/v1beta1"}


#: What runs a daemon. The device plugin stands beside one.
DAEMONS = [("Deployment", "sluice"), ("DaemonSet", "sluice-node")]
PLUGIN = "sluice-device-plugin"


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def every() -> list[dict[str, Any]]:
    return [document for name in FILES for document in documents(name)]


def of_kind(kind: str, name: str | None = None) -> dict[str, Any]:
    [found] = [one for one in every() if one["kind"] == kind and name in (None, one["metadata"]["name"])]
    return found


def containers() -> list[tuple[str, dict[str, Any]]]:
    pods = [of_kind(*workload)["spec"]["template"]["spec"] for workload in DAEMONS]
    pods += [of_kind("ServingRuntime")["spec"]]
    return [(container["name"], container) for pod in pods for container in pod["containers"]]


def checked(*flags: str) -> dict[str, Any]:
    done = subprocess.run([daemons.program(), *flags, "--check-config"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {key: one["value"] for key, one in json.loads(done.stdout).items()}


@pytest.mark.parametrize("name", FILES)
def test_documents_are_of_known_kinds(name: str) -> None:
    for document in documents(name):
        assert document["apiVersion"] == KINDS[document["kind"]]
        assert document["metadata"]["name"]


def test_every_kind_is_there() -> None:
    assert {document["kind"] for document in every()} == set(KINDS)


@pytest.mark.parametrize("version", ["1.28", "1.31", "1.34"])
def test_documents_fit_the_schemas_of_kubernetes(version: str) -> None:
    """Strictly: an unknown field is an error. Kinds of KServe and KEDA have no schema there."""
    schemas = pytest.importorskip("kubernetes_validate")
    own = [document for document in every() if not document["apiVersion"].startswith(("keda.sh/", "serving.kserve.io/"))]
    for document in own:
        schemas.validate(document, version, strict=True)
    workload = copy.deepcopy(of_kind("Deployment"))
    workload["spec"]["template"]["spec"]["containers"][0]["redinessProbe"] = {}
    with pytest.raises(schemas.ValidationError):
        schemas.validate(workload, version, strict=True)


@pytest.mark.parametrize(("kind", "name"), DAEMONS)
def test_settings_are_the_daemons_and_fit_the_pod(kind: str, name: str, tmp_path: pathlib.Path) -> None:
    workload = of_kind(kind, name)
    path = tmp_path / "sluiced.json"
    path.write_text(of_kind("ConfigMap", name)["data"]["sluiced.json"])
    settings = checked("--config", str(path))
    pod = workload["spec"]["template"]["spec"]
    [container] = pod["containers"]
    doors = [*settings["listen"], settings["http"], settings["metrics"], settings["agent_check"]]
    ports = {int(door.rpartition(":")[2]) for door in doors if door and not door.startswith("unix:")}
    assert ports == {port["containerPort"] for port in container["ports"]}
    ends = settings["drain_notice_seconds"] + settings["drain_seconds"] + settings["hang_seconds"]
    assert pod["terminationGracePeriodSeconds"] > ends
    assert container["args"] == ["--config", "/etc/sluiced/sluiced.json"]


@pytest.mark.parametrize(("kind", "name"), [*DAEMONS, ("DaemonSet", PLUGIN)])
def test_labels_and_volumes_fit_each_other(kind: str, name: str) -> None:
    spec = of_kind(kind, name)["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    pod = spec["template"]["spec"]
    for container in pod["containers"]:
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    configs = {volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume}
    assert configs <= {name}


def test_service_budget_and_rule_are_of_the_deployment() -> None:
    deployment = of_kind("Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    service = of_kind("Service")["spec"]
    assert service["selector"].items() <= labels.items()
    assert of_kind("PodDisruptionBudget")["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert of_kind("ScaledObject")["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert {port["targetPort"] for port in service["ports"]} <= {port["name"] for port in container["ports"]}


def test_the_plugin_stands_beside_the_daemon_of_its_node() -> None:
    plugin, node = (of_kind("DaemonSet", name)["spec"]["template"]["spec"] for name in (PLUGIN, "sluice-node"))
    [run] = [volume for volume in plugin["volumes"] if volume["name"] == "run"]
    assert run in node["volumes"]
    [container] = plugin["containers"]
    [mount] = [mount for mount in container["volumeMounts"] if mount["name"] == "run"]
    assert mount["readOnly"] is True
    done = subprocess.run([program(), *container["args"], "--folder", "/nowhere", "--print-cdi"], capture_output=True,
                          text=True)
    assert "no daemon answers at unix:/run/sluice/sluice.sock" in done.stderr  # its options are taken


def test_the_runtimes_flags_are_the_daemons() -> None:
    [container] = of_kind("ServingRuntime")["spec"]["containers"]
    settings = checked(*container["args"])
    doors = [*settings["listen"], settings["http"]]
    assert {int(door.rpartition(":")[2]) for door in doors} == {p["containerPort"] for p in container["ports"]}
    assert of_kind("InferenceService")["spec"]["predictor"]["model"]["runtime"] == "sluice"


def image() -> Any:
    """deploy/image.py, which writes the image of all manifests."""
    spec = importlib.util.spec_from_file_location("image", ROOT / "deploy/image.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("pod", [*(of_kind(*workload)["spec"]["template"]["spec"] for workload in DAEMONS),
                                 of_kind("ServingRuntime")["spec"]])
def test_the_daemon_may_write_where_it_writes(pod: dict[str, Any], tmp_path: pathlib.Path) -> None:
    """Nothing here runs the image, whose user is not root, on a node's folders, which are root's."""
    [container] = pod["containers"]
    made = image()
    context = {**pod.get("securityContext", {}), **container.get("securityContext", {})}
    user = context.get("runAsUser", made.USER)
    arguments = list(container["args"])
    if "--config" in arguments:
        [name] = [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume]
        path = tmp_path / "sluiced.json"
        path.write_text(of_kind("ConfigMap", name)["data"]["sluiced.json"])
        arguments = ["--config", str(path)]
    settings = checked(*arguments)
    assert user != 0 or settings["worker_user"] in ("", "sluice"), "the image has no other user"
    environment = dict(word.split("=", 1) for word in made.CONFIG["Env"])
    environment |= {one["name"]: one["value"] for one in container["env"]}
    files = [door.removeprefix("unix:") for door in settings["listen"] if door.startswith("unix:")]
    files += [settings["state_file"]] if settings["state_file"] else []
    folders = [pathlib.Path(file).parent for file in files]
    folders += [pathlib.Path(settings["lock_folder"]), pathlib.Path(environment["SLUICE_CACHE_DIR"])]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {pathlib.Path(mount["mountPath"]): mount for mount in container["volumeMounts"]}
    entries = {pathlib.Path("/", name): info for name, (info, _) in made.own_layer(tmp_path).entries.items()}
    for folder in folders:
        place = next(one for one in [folder, *folder.parents] if one in mounts or one in entries)
        if place in mounts:
            volume = volumes[mounts[place]["name"]]
            assert not mounts[place].get("readOnly") and ("emptyDir" in volume or ("hostPath" in volume and user == 0)), folder
        else:
            info = entries[place]
            assert not context.get("readOnlyRootFilesystem") and (info.uid == user or info.mode & 0o002), folder


@pytest.mark.parametrize(("name", "container"), containers())
def test_processors_are_whole_and_a_limit(name: str, container: dict[str, Any]) -> None:
    resources = container["resources"]
    assert name and resources["requests"] == resources["limits"] and int(resources["limits"]["cpu"]) > 0


def test_the_rules_metrics_exist(tmp_path: pathlib.Path) -> None:
    """Each metric of KEDA's query is one that a daemon writes."""
    import http.client
    with daemons.running(tmp_path, "--http", "localhost:0") as running:
        connection = http.client.HTTPConnection(running.http)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    [trigger] = of_kind("ScaledObject")["spec"]["triggers"]
    words = {word.strip("()") for word in trigger["metadata"]["query"].replace("sum(", " ").split()}
    metrics = {word for word in words if word.startswith("sluice_")}
    assert metrics and all(f"# TYPE {metric} gauge" in text for metric in metrics), metrics
