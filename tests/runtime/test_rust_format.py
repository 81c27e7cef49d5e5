"""Rust's formatting of reported values; the texts are what `format!` gives in Rust 1.95."""

from __future__ import annotations

import struct

import pytest

from mirgen.runtime.errors import Site
from mirgen.runtime.rust_format import fill_message, place_of

M64 = 2**64 - 1


def f32(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")


def f64(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


@pytest.mark.parametrize(
    ("message", "kinds", "words", "expected"),
    [
        ("{} {:?} {:+}", ["i8", "i8", "u8"], [M64 - 2, M64 - 2, 3], "-3 -3 +3"),
        ("{:x} {:#X} {:#b} {:o}", ["i8", "u16", "u8", "u8"], [M64, 0xBEEF, 5, 8], "ff 0xBEEF 0b101 10"),
        ("{:#06x}|{:#?}|{:04}|{:+05}", ["u8", "u8", "i32", "i32"], [255, 7, M64 - 6, 7], "0x00ff|7|-007|+0007"),
        ("{:>4}|{:<4}|{:^5}|{:*^6}", ["u8"] * 4, [7, 7, 7, 7], "   7|7   |  7  |**7***"),
        ("{:1$}|{:.*}", ["u8", "usize", "usize", "f64"], [7, 3, 1, f64(0.25)], "  7|<value>"),
        ("{0:.2$} {1}", ["f64", "u8", "usize"], [f64(0.125), 9, 2], "0.12 9"),
        ("{} {}", ["u128", "i128"], [M64, M64, M64 - 1, M64], f"{2**128 - 1} -2"),
        ("{:e} {:e}", ["u32", "i32"], [1500, M64 - 99], "1.5e3 -1e2"),
        ("{} {:?} {:5}|", ["bool"] * 3, [1, 0, 1], "true false true |"),
        ("{} {:?} {:?} {:?} {:3}|", ["char"] * 5, [233, 39, 34, 0x301, 97], "é '\\'' '\"' '\\u{301}' a  |"),
        ("{}", ["char"], [0xD800], "<0xd800, which is no char>"),
        ("{:p} {:?} {:#p}", ["*"] * 3, [0x10, 0xAB, 0x1], "0x10 0xab 0x0000000000000001"),
        ("{:?} {:?}", ["()", "(u8, (i8,))"], [1, M64], "() (1, (-1,))"),
        ("{:?} {:02x?}", ["[u8; 3]", "[u8; 2]"], [1, 2, 3, 10, 11], "[1, 2, 3] [0a, 0b]"),
        ("{:?} {:?}", ["Option<u8>", "Option<u8>"], [1, 5, 0, 99], "Some(5) None"),
        ("{:?} {:?}", ["Result<u8, i8>", "Result<u8, i8>"], [0, 5, 99, 1, 99, M64], "Ok(5) Err(-1)"),
        ("{:#?}", ["(u8, [u8; 0])"], [1], "(\n    1,\n    [],\n)"),
        ("{} and {}", ["?Point", "?"], [], "<value of type Point> and <value>"),
        ("{} {}", ["u128", "u8"], [1], "<value not reported> <value not reported>"),
        ("{{{}}} {{}}", ["u8"], [1], "{1} {}"),
        ("{:q}", ["u8"], [1], "<value>"),
    ],
)
def test_values(message: str, kinds: list[str], words: list[int], expected: str) -> None:
    assert fill_message(message, kinds, words) == expected


@pytest.mark.parametrize(
    ("spec", "value", "expected"),
    [
        ("", 1.0, "1"), ("?", 1.0, "1.0"), ("", 0.1, "0.1"), ("?", 1e16, "1e16"), ("", 1e16, "10000000000000000"),
        ("?", 1e-5, "1e-5"), ("?", 1e-4, "0.0001"), ("", 1e-7, "0.0000001"), ("e", 1234.5, "1.2345e3"),
        ("E", 0.00012, "1.2E-4"), (".1", 0.25, "0.2"), (".0", 2.5, "2"), (".0", 3.5, "4"), (".3", 1.0, "1.000"),
        (".1e", 1250.0, "1.2e3"), (".1e", 9990.0, "1.0e4"), ("", -0.0, "-0"), ("?", -0.0, "-0.0"), ("+", 1.5, "+1.5"),
        ("", float("inf"), "inf"), ("?", float("-inf"), "-inf"), ("", float("nan"), "NaN"), ("6", 1.5, "   1.5"),
        ("06", -1.5, "-001.5"), ("<6", 1.5, "1.5   "), ("e", 0.0, "0e0"), ("?", 5e-324, "5e-324"),
        ("", 1.7976931348623157e308, "179769313486231570" + "0" * 291),
    ],
)  # fmt: skip
def test_floats(spec: str, value: float, expected: str) -> None:
    assert fill_message(f"{{:{spec}}}", ["f64"], [f64(value)]) == expected


def test_single_precision_has_its_own_shortest_digits() -> None:
    values = [0.1, 16777216.0, 1e16, 3.4028234663852886e38]
    said = [fill_message("{} {:?}", ["f32", "f32"], [f32(value)] * 2) for value in values]
    assert said[:3] == ["0.1 0.1", "16777216 16777216.0", "10000000000000000 1e16"]
    assert said[3] == "340282350000000000000000000000000000000 3.4028235e38"


def test_text() -> None:
    def say(message: str, text: str, size: int | None = None) -> str:
        data = text.encode()
        return fill_message(message, ["str"], [0xABC, len(data) if size is None else size], data)

    assert say("{}", "größe") == "größe"
    assert say("{:>7}|", "größe") == "  größe|"
    assert say("{:.3}", "größe") == "grö"
    assert say("{:?}", 'a"b\\c\n\0\x7fé') == '"a\\"b\\\\c\\n\\0\\u{7f}é"'
    assert say("{:9?}", "it's") == '"it\'s"'
    assert say("{}", "abc", 5) == "abc<2 bytes more>"


def test_several_texts_and_slices() -> None:
    text = b"abc" + struct.pack("<2i", -1, 5) + b"de"
    words = [0x1, 3, 0x2, 8, 0x3, 2, 9]
    kinds = ["str", "[i32]", "str", "u8"]
    assert fill_message("{} {:?} {} {}", kinds, words, text) == "abc [-1, 5] de 9"
    assert fill_message("{:?}", ["[i32]"], [0x2, 12], struct.pack("<i", 7)) == "[7, <2 elements more>]"


def test_a_place_is_no_part_of_the_message() -> None:
    site = Site("{} of {}", "src/inside.rs:1:1", ("@", "u8", "str"))
    words = [0x1, 10, 7 | 9 << 32, 3, 0x2, 1]
    text = b"src/lib.rsx"
    assert fill_message(site.message, site.args, words, text) == "3 of x"
    assert place_of(site, words, text) == "src/lib.rs:7:9"
    assert place_of(site, [], b"") == "src/inside.rs:1:1"
    assert place_of(Site("m", "a.rs:1:2"), [], b"") == "a.rs:1:2"
