"""Signatures of op libraries: `lib.so.sig` beside `lib.so`, an ed25519 signature of the file's bytes.

Only who asks for it gets it: `oneop.load(path, signed_by=key)`. The check is made on the bytes that are loaded: a copy
of them in the cache, so that the file cannot be exchanged between the check and the load. `cryptography` does the work,
from the extra `oneop[signing]`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from oneop.errors import ArgumentError, MissingDependencyError, SignatureError

_KEY_BYTES = 32


def check_signature(path: Path, content: bytes, key: str | bytes) -> None:
    """Raise `SignatureError` unless `path`.sig is a signature of `content` by the owner of this public key.

    The key is 32 bytes, or 64 hexadecimal digits.
    """
    public = _read_key(key)
    signature_path = path.with_name(f"{path.name}.sig")
    try:
        signature = signature_path.read_bytes()
    except OSError as error:
        raise SignatureError(
            f"cannot load the op library {path}\n"
            f"  it must be signed, and {signature_path} cannot be read: {error.strerror}"
        ) from None
    ed25519, exceptions = _library("hazmat.primitives.asymmetric.ed25519"), _library("exceptions")
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public).verify(signature, content)
    except exceptions.InvalidSignature:
        raise SignatureError(
            f"cannot load the op library {path}\n"
            f"  {signature_path.name} is not a signature of this file by the key {public.hex()[:16]}...\n"
            f"  the file was changed, or somebody else signed it; do not load it"
        ) from None


def sign(path: Path, private_key: bytes) -> Path:
    """Sign a library with a private key of 32 bytes; return the file with the signature, which is shipped beside it."""
    if len(private_key) != _KEY_BYTES:
        raise ArgumentError(f"sign: expected a private key of 32 bytes, found {len(private_key)}")
    ed25519 = _library("hazmat.primitives.asymmetric.ed25519")
    signature: bytes = ed25519.Ed25519PrivateKey.from_private_bytes(private_key).sign(path.read_bytes())
    target = path.with_name(f"{path.name}.sig")
    target.write_bytes(signature)
    return target


def public_key(private_key: bytes) -> str:
    """Return the public key of a private one, as hexadecimal digits."""
    ed25519 = _library("hazmat.primitives.asymmetric.ed25519")
    raw: bytes = ed25519.Ed25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw()
    return raw.hex()


def _read_key(key: str | bytes) -> bytes:
    try:
        public = bytes.fromhex(key) if isinstance(key, str) else bytes(key)
    except (ValueError, TypeError):
        public = b""
    if len(public) != _KEY_BYTES:
        raise ArgumentError("signed_by: expected an ed25519 public key, 32 bytes or 64 hexadecimal digits")
    return public


def _library(name: str) -> Any:
    try:
        return importlib.import_module(f"cryptography.{name}")
    except ImportError:
        raise MissingDependencyError(
            "checking a signature needs the package cryptography\n  pip install 'oneop[signing]'"
        ) from None
