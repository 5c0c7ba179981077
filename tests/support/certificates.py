"""Certificates for tests, made by openssl: self-signed, or signed by another."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pair:
    certificate: Path
    key: Path


def make_pair(directory: Path, name: str, signer: Pair | None = None) -> Pair:
    pair = Pair(directory / f"{name}.crt", directory / f"{name}.key")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += ["-days", "1", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    command += ["-keyout", str(pair.key), "-out", str(pair.certificate)]
    if signer is not None:
        command += ["-CA", str(signer.certificate), "-CAkey", str(signer.key)]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    return pair
