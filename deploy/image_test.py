#!/usr/bin/env python3
"""The image of deploy/image.py: small, the same for the same files, and a daemon runs in it as its user on a
read-only root.

    deploy/image_test.py BUILD_FOLDER
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))
from eventually import eventually  # noqa: E402

BUILD = Path(sys.argv[1]).resolve()
DIGITS = Path(__file__).resolve().parents[1] / "examples/digits/digits.onnx"


def installed(folder: Path) -> Path:
    """The files of the package, as far as the build has them."""
    root = folder / "installed"
    for name in ("bin", "lib"):
        (root / "usr" / name).mkdir(parents=True)
    for name in ("sluice", "sluice-remote", "sluice-worker", "sluiced"):
        shutil.copy(BUILD / "bin" / name, root / "usr/bin")
    shutil.copytree(BUILD / "lib/sluice", root / "usr/lib/sluice")
    (root / "usr/share/man/man8").mkdir(parents=True)
    (root / "usr/share/man/man8/sluiced.8").write_text("manual")
    return root


def blob(archive: Path, descriptor: dict) -> bytes:
    data = (archive / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()
    assert (hashlib.sha256(data).hexdigest(), len(data)) == (descriptor["digest"].partition(":")[2], descriptor["size"])
    return data


def unpack(path: Path, folder: Path) -> tuple[dict, Path]:
    """Its config, and its root file system."""
    with tarfile.open(path) as tar:
        tar.extractall(folder / "layout")
    [entry] = json.loads((folder / "layout/index.json").read_text())["manifests"]
    manifest = json.loads(blob(folder / "layout", entry))
    config = json.loads(blob(folder / "layout", manifest["config"]))
    for descriptor, digest in zip(manifest["layers"], config["rootfs"]["diff_ids"]):
        layer = gzip.decompress(blob(folder / "layout", descriptor))
        assert digest == f"sha256:{hashlib.sha256(layer).hexdigest()}"
        (folder / "layer.tar").write_bytes(layer)
        with tarfile.open(folder / "layer.tar") as tar:
            tar.extractall(folder / "root", numeric_owner=True)
    return config["config"], folder / "root"


def the_same_files_give_the_same_image(folder: Path) -> None:
    root = folder / "small"
    (root / "usr/bin").mkdir(parents=True)
    shutil.copy(shutil.which("true"), root / "usr/bin")
    for name in ("a.tar", "b.tar"):
        image.write_image(root, folder / name, "sluice:0.1.0")
    assert (folder / "a.tar").read_bytes() == (folder / "b.tar").read_bytes()


def a_daemon_serves_from_it(folder: Path) -> None:
    num_bytes = image.write_image(installed(folder), folder / "image.tar", "sluice:0.1.0")
    config, root = unpack(folder / "image.tar", folder)
    assert not (root / "usr/share/man").exists() and not (root / "bin/sh").exists()
    print(f"     {num_bytes / 1e6:.0f} MB unpacked, not stripped; {(folder / 'image.tar').stat().st_size / 1e6:.0f} MB packed")
    models, run = folder / "models", folder / "run"
    for path in (models, run):
        path.mkdir()
    os.chown(run, image.USER, image.USER)
    subprocess.run([BUILD / "bin/sluice", "compile", DIGITS, "-o", models / "digits.sluice"], check=True,
                   stdout=subprocess.DEVNULL)
    folder.chmod(0o755)
    user = config["User"].partition(":")[0]
    mounts = (f'mount --bind {root} {root}; mount -t proc p {root}/proc; mount --bind {models} {root}/models; '
              f'mount --bind {run} {root}/run/sluice; mount -t tmpfs -o uid={user} t {root}/var/lib/sluice; '
              f'mount -o remount,bind,ro {root}')
    (root / "proc").mkdir()
    (root / "dev").mkdir()
    (root / "dev/null").touch()
    command = ["unshare", "--mount", "bash", "-ec", f'{mounts}; mount --bind /dev/null {root}/dev/null; exec "$@"', "bash",
               "setpriv", "--no-new-privs", "chroot", f"--userspec={config['User']}", root, *config["Entrypoint"], *config["Cmd"],
               "--http", "localhost:0"]  # a name, which /etc/hosts knows
    environment = dict(word.split("=", 1) for word in config["Env"])
    with (folder / "log").open("w") as log:
        daemon = subprocess.Popen(command, env={**os.environ, **environment, "PATH": os.environ["PATH"]}, stdout=log, stderr=log)
    try:
        said = folder / "log"
        eventually(lambda: "listening on" in said.read_text() or daemon.poll() is not None, why=said.read_text)
        sluice = [BUILD / "bin/sluice"]
        address = ["--address", f"unix:{run / 'sluice.sock'}"]
        subprocess.run([*sluice, "load", models / "digits.sluice", "--isolation", "process", *address], check=True)
        subprocess.run([*sluice, "infer", "digits", "--input", "image=random", *address], check=True, stdout=subprocess.DEVNULL)
        daemon.terminate()
        assert daemon.wait() == 0, said.read_text()
    finally:
        daemon.kill()
        daemon.wait()


def main() -> int:
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        print("skipped: needs root and mount namespaces, for the root file system of the image")
        return 77
    for claim in (the_same_files_give_the_same_image, a_daemon_serves_from_it):
        folder = Path(tempfile.mkdtemp(prefix="sluice-image-"))
        try:
            claim(folder)
        finally:
            shutil.rmtree(folder)
        print(f"ok   {claim.__name__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
