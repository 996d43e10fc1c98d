"""Certificates for tests, made by the program openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Authority:
    """Signs certificates in a folder: NAME.pem with its key NAME.key."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.ca = folder / f"{name}.pem"
        self._key = folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                "2", "-subj", f"/CN={name}", "-out", str(self.ca), "-keyout", str(self._key))

    def sign(self, name: str, days: int = 2) -> tuple[str, str]:
        """Paths of a certificate for localhost, and of its key. `days`: it is valid from now on; -1: it was, until
        yesterday."""
        request, certificate = self.folder / f"{name}.csr", self.folder / f"{name}.pem"
        key, extensions = self.folder / f"{name}.key", self.folder / f"{name}.ext"
        extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                f"/CN={name}", "-out", str(request), "-keyout", str(key))
        openssl("x509", "-req", "-in", str(request), "-CA", str(self.ca), "-CAkey", str(self._key),
                "-CAcreateserial", "-days", str(days), "-extfile", str(extensions), "-out", str(certificate))
        return str(certificate), str(key)
