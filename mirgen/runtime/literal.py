"""Values of the command line: Rust literals checked against the parameter's Rust type, and arrays."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirgen.runtime.abi import KernelSpec, Param
from mirgen.runtime.errors import ArgumentTypeError, ArgumentValueError
from mirgen.runtime.npyio import read_npy
from mirgen.runtime.packing import pack_scalar
from mirgen.runtime.rust_types import RustType, rust_type

_INTEGER = re.compile(
    r"^(?P<sign>[+-]?)(?P<digits>0x[0-9a-fA-F_]+|0o[0-7_]+|0b[01_]+|\d[\d_]*)(?P<suffix>[iu](?:8|16|32|64|128|size))?$"
)
_FLOAT = re.compile(
    r"^(?P<number>[+-]?(?:\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?[\d_]+)?|inf|infinity|nan))_?(?P<suffix>f16|f32|f64)?$",
    re.IGNORECASE,
)
_CALL = re.compile(r"^(?P<name>zeros|ones|full|arange|random)\((?P<args>[^()]*)\)$")
_REPEAT = re.compile(r"^\[(?P<value>[^;\]]+);(?P<count>[^;\]]+)\]$")
_LIST = re.compile(r"^\[(?P<items>[^;]*)\]$")


def parse_argument(kernel: KernelSpec, param: Param, text: str, folder: Path | None = None) -> object:
    """The value of ``--arg NAME=text``, ready for a launch.

    Scalars are Rust literals (``2.0``, ``0xff_u32``, ``true``, ``'x'``), ``()`` for all types of no size.  Arrays are
    ``@file.npy``, ``[1, 2, 3]``, ``[0.0; 64]``, ``zeros(N)``, ``ones(N)``, ``full(N, v)``, ``arange(N)`` or
    ``random(N, seed)`` (in [0, 1), or the whole range of an integer).

    Raises :class:`ArgumentTypeError` or :class:`ArgumentValueError`.
    """
    where = f"{kernel.name}: argument `{param.name}`"
    text = text.strip()
    if text.startswith("@"):
        return read_npy((folder or Path()) / text[1:])
    if param.is_str:
        return text
    ty = rust_type(param.elem or param.rust_type)
    by_value = param.kind in ("scalar", "aggregate")
    if by_value and param.size == 0 and text == "()":
        return ()
    if ty is None:
        raise ArgumentTypeError(f"a `{param.shown}` can only be given as a file: {param.name}=@file.npy", where)
    if by_value and not ty.shape:
        return parse_scalar(ty, text, where)
    array = parse_array(ty, text, where)
    return array.reshape(ty.shape) if by_value else array


def parse_scalar(ty: RustType, text: str, where: str = "") -> object:
    """A Rust literal of type ``ty``; its suffix, if any, has to be the type's."""
    value: object
    match ty.primitive:
        case "bool":
            if text not in ("true", "false"):
                raise ArgumentTypeError(f"mismatched types: expected `bool`, found {text!r}", where)
            value = text == "true"
        case "char":
            value = _char(text, where)
        case _ if ty.is_float:
            value = _float(ty, text, where)
        case _:
            value = _integer(ty, text, where)
    pack_scalar(ty, value, where)
    return value


def parse_array(ty: RustType, text: str, where: str = "") -> NDArray[Any]:
    """An array literal with elements of type ``ty``, flat."""
    call = _CALL.match(text)
    if call is not None:
        return _made(ty, call["name"], [arg.strip() for arg in call["args"].split(",")], where)
    repeat = _REPEAT.match(text)
    if repeat is not None:
        value = _packed(ty, repeat["value"].strip(), where)
        return np.frombuffer(value * _extent(repeat["count"].strip(), where), ty.dtype).copy()
    items = _LIST.match(text)
    if items is not None:
        parts = [item.strip() for item in items["items"].replace("[", "").replace("]", "").split(",") if item.strip()]
        data = b"".join(_packed(ty, part, where) for part in parts)
        return np.frombuffer(data, ty.dtype).copy()
    raise ArgumentTypeError(
        f"{text!r} is no array of `{ty.text}`: expected @file.npy, [a, b, ..], [value; count] or zeros(count)", where
    )


def _made(ty: RustType, name: str, args: list[str], where: str) -> NDArray[Any]:
    most = {"zeros": 1, "ones": 1, "arange": 1, "full": 2, "random": 2}[name]
    least = 2 if name == "full" else 1
    if not least <= len(args) <= most or not all(args):
        raise ArgumentValueError(f"{name} takes {most} argument{'s' if most > 1 else ''}, found {args}", where)
    count = _extent(args[0], where) * ty.count
    match name:
        case "zeros":
            return np.zeros(count, ty.dtype)
        case "ones" | "full":
            value = "1" if name == "ones" else args[1]
            if ty.primitive == "bool" and name == "ones":
                value = "true"
            return np.frombuffer(_packed(ty, value, where) * count, ty.dtype).copy()
        case "arange":
            if not (ty.is_integer or ty.is_float) or ty.dtype.kind == "V":
                raise ArgumentTypeError(f"arange makes no `{ty.text}`", where)
            if ty.is_integer and count - 1 > ty.integer_range[1]:
                raise ArgumentValueError(f"{count - 1} is out of range for `{ty.text}`", where)
            return np.arange(count).astype(ty.dtype)
        case _:
            return _random(ty, count, _extent(args[1], where) if len(args) > 1 else 0, where)


def _random(ty: RustType, count: int, seed: int, where: str) -> NDArray[Any]:
    generator = np.random.default_rng(seed)
    if ty.is_float:
        return generator.random(count).astype(ty.dtype)
    if ty.primitive == "bool":
        return generator.integers(0, 2, count).astype(np.bool_)
    if ty.primitive == "char":
        raise ArgumentTypeError("random makes no `char`", where)
    return np.frombuffer(generator.bytes(count * ty.dtype.itemsize), ty.dtype).copy()


def _packed(ty: RustType, text: str, where: str) -> bytes:
    element = RustType(ty.primitive, ty.primitive, ty.dtype, (), ty.frozen, ty.nonzero)
    return pack_scalar(element, parse_scalar(element, text, where), where)


def _extent(text: str, where: str) -> int:
    match = _INTEGER.match(text)
    if match is None or match["sign"] == "-" or match["suffix"] not in (None, "usize"):
        raise ArgumentValueError(f"{text!r} is no number of elements", where)
    return int(match["digits"], 0) if match["digits"].startswith("0x") else int(match["digits"].replace("_", ""))


def _integer(ty: RustType, text: str, where: str) -> int:
    match = _INTEGER.match(text)
    if match is None:
        raise ArgumentTypeError(f"mismatched types: expected `{ty.text}`, found {text!r}", where)
    if match["suffix"] not in (None, ty.primitive):
        raise ArgumentTypeError(f"mismatched types: expected `{ty.text}`, found `{match['suffix']}`", where)
    digits = match["digits"].replace("_", "")
    base = {"0x": 16, "0o": 8, "0b": 2}.get(digits[:2], 10)
    number = int(digits[2:] if base != 10 else digits, base)
    return -number if match["sign"] == "-" else number


def _float(ty: RustType, text: str, where: str) -> float:
    match = _FLOAT.match(text)
    if match is None:
        raise ArgumentTypeError(f"mismatched types: expected `{ty.text}`, found {text!r}", where)
    suffix = match["suffix"]
    if suffix is not None and suffix.lower() != ty.primitive:
        raise ArgumentTypeError(f"mismatched types: expected `{ty.text}`, found `{suffix}`", where)
    number = float(match["number"].replace("_", ""))
    if math.isinf(number) and "inf" not in text.lower():
        raise ArgumentValueError(f"{text} is out of range for `{ty.text}`", where)
    return number


def _char(text: str, where: str) -> str:
    if len(text) > 2 and text[0] == text[-1] == "'":
        escape = re.fullmatch(r"\\u\{([0-9a-fA-F_]{1,8})\}", text[1:-1])
        if escape is not None:
            code = int(escape[1].replace("_", ""), 16)
            if code > 0x10FFFF:
                raise ArgumentValueError(f"{code:#x} is no `char`", where)
            text = chr(code)
        else:
            try:
                text = str(ast.literal_eval(text))
            except (SyntaxError, ValueError):
                raise ArgumentTypeError(f"mismatched types: expected `char`, found {text!r}", where) from None
    if len(text) != 1:
        raise ArgumentTypeError(f"mismatched types: expected `char`, found {text!r}", where)
    return text
