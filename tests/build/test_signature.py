"""Libraries that must be signed: a right signature, wrong ones, and none."""

import sys

import pytest

import oneop
from oneop._build.signature import check_signature, public_key, sign
from oneop.errors import ArgumentError, LoadError, MissingDependencyError, SignatureError

pytest.importorskip("cryptography")
KEY, OTHER = bytes(range(32)), bytes(range(1, 33))


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "lib.so"
    path.write_bytes(b"the bytes of a library")
    return path


def refusal(library, key):
    with pytest.raises(SignatureError) as caught:
        check_signature(library, library.read_bytes(), key)
    return str(caught.value)


def test_a_right_signature(library):
    assert sign(library, KEY) == library.with_name("lib.so.sig")
    check_signature(library, library.read_bytes(), public_key(KEY))
    check_signature(library, library.read_bytes(), bytes.fromhex(public_key(KEY)))


def test_wrong_ones(library):
    key = public_key(KEY)
    text = (
        f"cannot load the op library {library}\n"
        f"  lib.so.sig is not a signature of this file by the key {key[:16]}...\n"
        "  the file was changed, or somebody else signed it; do not load it"
    )
    sign(library, OTHER)
    assert refusal(library, key) == text
    sign(library, KEY)
    library.write_bytes(b"the bytes of another library")
    assert refusal(library, key) == text
    library.with_name("lib.so.sig").write_bytes(b"short")
    assert refusal(library, key) == text


def test_none(library):
    assert refusal(library, public_key(KEY)) == (
        f"cannot load the op library {library}\n"
        f"  it must be signed, and {library}.sig cannot be read: No such file or directory"
    )


@pytest.mark.parametrize("key", ["", "zz", "12" * 31, b"short", None, 7])
def test_what_is_no_key(library, key):
    with pytest.raises(ArgumentError) as caught:
        check_signature(library, b"", key)
    assert str(caught.value) == "signed_by: expected an ed25519 public key, 32 bytes or 64 hexadecimal digits"
    with pytest.raises(ArgumentError) as caught:
        sign(library, b"short")
    assert str(caught.value) == "sign: expected a private key of 32 bytes, found 5"


def test_without_the_package(library, monkeypatch):
    sign(library, KEY)
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(MissingDependencyError) as caught:
        check_signature(library, b"", public_key(KEY))
    assert str(caught.value) == ("checking a signature needs the package cryptography\n  pip install 'oneop[signing]'")


def test_load_asks_before_anything_runs(library):
    with pytest.raises(SignatureError) as caught:
        oneop.load(library, signed_by=public_key(KEY))
    assert isinstance(caught.value, LoadError) and "it must be signed" in str(caught.value)
