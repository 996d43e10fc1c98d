#!/usr/bin/env python3
"""Writes an OCI image of sluiced without Docker, root or network: the files of the package, the shared libraries that
they need from this machine, and nothing else: no shell, no package manager. The same input gives the same image.

    deploy/image.py PACKAGE.deb IMAGE.tar [--name sluice:0.1.0]

IMAGE.tar is an archive of the image layout (https://github.com/opencontainers/image-spec): `podman load -i IMAGE.tar`,
`docker load -i IMAGE.tar` (25 or later), `skopeo copy oci-archive:IMAGE.tar docker://REGISTRY/sluice:0.1.0`.

    podman run --rm --read-only --cap-drop all -v sluice:/run/sluice -v /srv/models:/models:ro sluice

The user is 10001, the root may be read-only. Clients in other containers with the same volume connect to
/run/sluice/sluice.sock as a member of the group 10001; for those on the host mount a folder of it that the user 10001
owns. SIGTERM drains. Settings of one's own go to /etc/sluice/sluiced.d; flags win.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

USER = 10001
MAX_BYTES = 120 << 20  # of all files, unpacked
# Manuals and what programs are built with are for people.
LEFT_OUT = re.compile(r"usr/(share/(man|bash-completion|fish|zsh)|include|lib/(systemd|sysusers\.d|tmpfiles\.d|pkgconfig|cmake))/")
ENTRYPOINT = ["/usr/bin/sluiced", "--log-console", "--listen", "unix:/run/sluice/sluice.sock"]
CONFIG = {
    "User": f"{USER}:{USER}",
    "Env": ["PATH=/usr/bin", "SLUICE_ADDRESS=unix:/run/sluice/sluice.sock", "SLUICE_CACHE_DIR=/var/lib/sluice/cache"],
    "Entrypoint": ENTRYPOINT,
    "Cmd": ["--model-folders", "/models"],
    "Volumes": {"/run/sluice": {}, "/var/lib/sluice": {}},
    "StopSignal": "SIGTERM",
    "Labels": {"org.opencontainers.image.title": "sluice", "org.opencontainers.image.licenses": "Apache-2.0"},
}
TEXTS = {
    "etc/passwd": f"root:x:0:0:root:/:/nologin\nsluice:x:{USER}:{USER}:Sluice:/var/lib/sluice:/nologin\n",
    "etc/group": f"root:x:0:\nsluice:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",  # engines put their own in its place; not all have one
}
# By Go's names (GOARCH), as image-spec wants them.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Debian's links of the root: the loader is asked for in /lib64.
LINKS = {"lib": "usr/lib", "lib64": "usr/lib64", "bin": "usr/bin"}


def is_program(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries_of(root: Path) -> list[Path]:
    """What the programs and libraries under the root load from this machine, the loader too."""
    own = {path.name for path in root.rglob("*.so*")}
    found: set[Path] = set()
    folders = ":".join(sorted({str(path.parent) for path in root.rglob("*.so*")}))
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file() or not is_program(path):
            continue
        said = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False,
                              env={**os.environ, "LD_LIBRARY_PATH": folders}).stdout
        if missing := re.findall(r"(\S+) => not found", said):
            sys.exit(f"{path}: this machine lacks {', '.join(missing)}")
        found.update(Path(name) for name in re.findall(r"(/\S+) \(0x", said) if Path(name).name not in own)
    return sorted(found)


def licences_of(libraries: Iterable[Path]) -> set[Path]:
    """The copyright files of the packages that have them; none where there is no dpkg."""
    names = [name for library in libraries for name in {str(library), str(library.resolve())}]
    said = subprocess.run(["dpkg-query", "--search", *names], capture_output=True, text=True, check=False).stdout
    packages = {name.partition(":")[0] for line in said.splitlines() for name in line.partition(": ")[0].split(", ")}
    return {path for path in (Path("/usr/share/doc", package, "copyright") for package in packages) if path.is_file()}


class Layer:
    """Files of the image, by their names there. Times, owners and order are always the same."""

    def __init__(self) -> None:
        self.entries: dict[str, tuple[tarfile.TarInfo, bytes]] = {}

    def _put(self, name: str, kind: bytes, mode: int, data: bytes = b"", target: str = "", user: int = 0) -> None:
        for parent in list(Path(name).parents)[-2::-1]:
            if str(parent) not in self.entries:
                self._put_one(str(parent), tarfile.DIRTYPE, 0o755)
        self._put_one(name, kind, mode, data, target, user)

    def _put_one(self, name: str, kind: bytes, mode: int, data: bytes = b"", target: str = "", user: int = 0) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.linkname, info.size, info.uid, info.gid = kind, mode, target, len(data), user, user
        self.entries[name] = (info, data)

    def folder(self, name: str, user: int = 0, mode: int = 0o755) -> None:
        self._put(name, tarfile.DIRTYPE, mode, user=user)

    def link(self, name: str, target: str) -> None:
        self._put(name, tarfile.SYMTYPE, 0o777, target=target)

    def text(self, name: str, text: str) -> None:
        self._put(name, tarfile.REGTYPE, 0o644, text.encode())

    def file(self, name: str, path: Path) -> None:
        mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
        self._put(name, tarfile.REGTYPE, mode, path.read_bytes())

    def num_bytes(self) -> int:
        return sum(len(data) for _, data in self.entries.values())

    def tar(self) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for _, (info, data) in sorted(self.entries.items()):
                archive.addfile(info, io.BytesIO(data))
        return buffer.getvalue()


def in_usr(path: Path) -> str:
    name = str(path).lstrip("/")
    return name if name.startswith("usr/") else f"usr/{name}"


def base_layer(libraries: list[Path]) -> Layer:
    layer = Layer()
    for name, target in LINKS.items():
        layer.link(name, target)
    for name, text in TEXTS.items():
        layer.text(name, text)
    for library in libraries:
        layer.file(in_usr(library), library.resolve())
    for licence in sorted(licences_of(libraries)):
        layer.file(in_usr(licence), licence)
    return layer


def own_layer(root: Path) -> Layer:
    layer = Layer()
    for folder in ("run/sluice", "var/lib/sluice"):
        layer.folder(folder, USER)
    for folder in ("models", "etc/sluice/sluiced.d"):
        layer.folder(folder)
    layer.folder("tmp", mode=0o1777)
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if LEFT_OUT.match(name) or path.is_dir():
            continue
        if path.is_symlink():
            layer.link(name, str(path.readlink()))
        else:
            layer.file(name, path)
    return layer


class Archive:
    """An image layout in a tar."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def add(self, media_type: str, data: bytes) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, kind: str, value: object) -> dict[str, object]:
        return self.add(f"application/vnd.oci.image.{kind}.v1+json", json.dumps(value, sort_keys=True).encode())

    def write(self, path: Path, manifest: dict[str, object], name: str) -> None:
        reference = {"org.opencontainers.image.ref.name": name.rpartition(":")[2], "io.containerd.image.name": name}
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                 "manifests": [{**manifest, "annotations": reference}]}
        layer = Layer()
        layer.text("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}))
        layer.text("index.json", json.dumps(index, sort_keys=True))
        for digest, data in self.blobs.items():
            layer._put(f"blobs/sha256/{digest}", tarfile.REGTYPE, 0o644, data)
        path.write_bytes(layer.tar())


def write_image(root: Path, path: Path, name: str) -> int:
    """Writes the image of the files under the root. Returns the bytes of its files."""
    layers = [base_layer(libraries_of(root)), own_layer(root)]
    archive = Archive()
    tars = [layer.tar() for layer in layers]
    machine = ARCHITECTURES.get(os.uname().machine, os.uname().machine)
    config = archive.add_json("config", {
        "architecture": machine, "os": "linux", "config": CONFIG,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in tars]}})
    media_type = "application/vnd.oci.image.layer.v1.tar+gzip"
    packed = [archive.add(media_type, gzip.compress(tar, mtime=0)) for tar in tars]
    manifest = archive.add_json("manifest", {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": packed})
    archive.write(path, manifest, name)
    return sum(layer.num_bytes() for layer in layers)


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes an OCI image of sluiced.")
    parser.add_argument("package", type=Path, help="the .deb, or a folder with what it installs")
    parser.add_argument("image", type=Path)
    parser.add_argument("--name", default="sluice:0.1.0")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = options.package
        if not root.is_dir():
            root = Path(folder)
            subprocess.run(["dpkg-deb", "--extract", str(options.package), folder], check=True)
        num_bytes = write_image(root, options.image, options.name)
    print(f"{options.image}: {num_bytes / 1e6:.1f} MB unpacked, {options.image.stat().st_size / 1e6:.1f} MB packed")
    if num_bytes > MAX_BYTES:
        print(f"more than {MAX_BYTES / 1e6:.0f} MB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
