"""The comparison of outputs sees every difference that matters, and no other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirgen.errors import InvalidInputError
from mirgen.testing.fixture import Fixture, argument, differences, load_fixture, unexpected


def _load(folder: Path, text: str) -> Fixture:
    (folder / "fixture.toml").write_text(text)
    return load_fixture(folder)


KERNEL = '[[kernel]]\nname = "k"\ngrid = [1]\nblock = [1]\nparams = [{}]\n'
OUT = '{ name = "y", type = "f32", len = 4, out = true, expect = [1.0, 2.0] }'


def test_nans_are_alike_and_zeroes_are_not(tmp_path: Path) -> None:
    (kernel,) = _load(tmp_path, KERNEL.format(OUT)).kernels
    one = {"y": np.array([1, 2, np.nan, 0.0], np.float32)}
    other = {"y": np.array([1, 2, np.copysign(np.nan, -1), 0.0], np.float32)}
    assert one["y"].tobytes() != other["y"].tobytes()
    assert not differences(kernel, one, other)
    other["y"][3] = -0.0
    assert differences(kernel, one, other) == ["y[3]: -0.0, not 0.0 (1 of 4 differ)"]
    assert differences(kernel, one, {"y": one["y"][:3]}) == ["y: 12 bytes, not 16"]
    assert not unexpected(kernel, one)
    one["y"][1] = 3
    assert unexpected(kernel, one) == ["y[1]: 3.0, not 2.0"]


def test_padding_and_offsets_of_structs(tmp_path: Path) -> None:
    types = """
    [type.S]
    size = 12
    align = 4
    fields = [{ name = "a", type = "u8", offset = 8 }, { name = "b", type = "[i16; 2]", offset = 0 }]
    """
    param = '{ name = "s", type = "S", value = { a = 7, b = [-1, 2] } }'
    (kernel,) = _load(tmp_path, types + KERNEL.format(param)).kernels
    assert argument(kernel.params[0], kernel.inputs()["s"]) == b"\xff\xff\x02\0\0\0\0\0\x07\0\0\0"


@pytest.mark.parametrize(
    "param",
    [
        '{ name = "x", type = "f32" }',
        '{ name = "x", type = "f32", len = 3, value = 1.0 }',
        '{ name = "x", type = "nothing", len = 3 }',
        '{ name = "x", type = "f32", len = 3, filled = 1 }',
        '{ name = "x", type = "f32", len = 3, by = "mail" }',
    ],
)
def test_a_wrong_fixture_is_an_error(tmp_path: Path, param: str) -> None:
    with pytest.raises(InvalidInputError, match=r"fixture\.toml"):
        _load(tmp_path, KERNEL.format(param))
