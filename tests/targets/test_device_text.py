"""Messages as CUDA's `printf` takes them."""

from __future__ import annotations

import pytest

from mirgen.targets.device_text import printed


@pytest.mark.parametrize(
    ("message", "kinds", "text", "values"),
    [
        ("the len is {} but the index is {}", ["usize", "usize"], "the len is %llu but the index is %llu", [0, 1]),
        ("{} {:?} {:#x} {:o}", ["i32", "bool", "u8", "u16"], "%lld %s 0x%llx %llo", [0, 1, 2, 3]),
        ("{1} {0:>5} {:p}", ["i8", "u8", "*"], "%llu %lld %lld", [1, 0, 0]),
        ("100% {{}} {}", ["f32"], "100%% {} %.9g", [0]),
        ("{} {:?} {:x} {:e}", ["str", "[u8]", "i8", "f64"], "<value of type str> <value of type [u8]> "
         "<value of type i8> <value of type f64>", []),
        ("{} {}", ["?", "?P%"], "<value> <value of type P%%>", []),
    ],
)  # fmt: skip
def test_formats(message: str, kinds: list[str], text: str, values: list[int]) -> None:
    found = printed(message, kinds)
    assert (found.format, [number for number, _ in found.values]) == (text, values)


def test_conversions() -> None:
    assert printed("{} {} {} {}", ["bool", "f32", "f64", "i8"]).values == (
        (0, "bool"), (1, "f32"), (2, "word"), (3, "word"),
    )  # fmt: skip
