"""Files of functions that cannot be read."""

import pytest

from oneop.errors import FunctionalError
from oneop.functional import read_yaml


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(FunctionalError, match=":1:1: error: not UTF-8 text: ") as raised:
        read_yaml(path)
    assert (raised.value.file, raised.value.line, raised.value.column) == (str(path), 1, 1)


def test_a_file_that_is_not_there(tmp_path):
    path = tmp_path / "f.yaml"
    with pytest.raises(FunctionalError) as raised:
        read_yaml(path)
    assert str(raised.value) == f"{path}:1:1: error: cannot read it: No such file or directory"
