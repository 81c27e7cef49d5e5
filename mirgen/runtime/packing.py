"""From Python arguments to the packed parameter block that both executors take.

Every argument is checked against the Rust type of its parameter first, so that a kernel never sees memory that its
types do not describe.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, cast

import numpy as np
from numpy.typing import NDArray

from mirgen.runtime.abi import KernelSpec, Param
from mirgen.runtime.errors import ArgumentTypeError, ArgumentValueError
from mirgen.runtime.rust_types import RustType, describe, rust_type


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """Memory of a GPU that the caller owns (``__cuda_array_interface__``)."""

    owner: Any
    pointer: int
    nbytes: int
    read_only: bool


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """The word at ``at`` in the block has to become the address of ``array`` on the device.

    ``writable``: the kernel may write it, so it has to be written back.  ``align`` in bytes.
    """

    param: str
    at: int
    array: NDArray[Any] | DeviceArray
    writable: bool
    align: int

    @property
    def nbytes(self) -> int:
        return self.array.nbytes


@dataclass(frozen=True, slots=True)
class PackedArguments:
    """The block, with zeroes where addresses go, and the arrays whose addresses those are."""

    block: bytes
    arrays: tuple[ArrayArgument, ...]


def pack(kernel: KernelSpec, args: Sequence[object], kwargs: Mapping[str, object] | None = None) -> PackedArguments:
    """Checks and packs the arguments of one launch.

    Raises :class:`ArgumentTypeError` or :class:`ArgumentValueError`, in Rust's words.
    """
    block = bytearray(kernel.block_size)
    arrays: list[ArrayArgument] = []
    for param, value in zip(kernel.arguments, _bind(kernel, args, kwargs or {}), strict=True):
        if param.kind in ("slice", "disjoint", "ref") or _is_raw_pointer(param):
            array, count = _array(kernel, param, value)
            arrays.append(array)
            if param.size == 16:
                block[param.offset + 8 : param.offset + 16] = struct.pack("<Q", count)
            elif param.size != 8:
                raise _wrong(kernel, param, f"takes {param.size} bytes in the parameter block, not a pointer")
        elif param.kind in ("scalar", "aggregate"):
            data = pack_value(param, value, f"{kernel.name}: argument `{param.name}`")
            block[param.offset : param.offset + param.size] = data
        else:
            raise _wrong(kernel, param, f"has the unknown class {param.kind}")
    _check_aliases(kernel, arrays)
    return PackedArguments(bytes(block), tuple(arrays))


def pack_value(param: Param, value: object, where: str) -> bytes:
    """The ``param.size`` bytes of a value that is passed by value; ``()`` is one of every type that has none."""
    if param.size == 0 and _is_empty(cast("Any", value)):
        return b""
    known = rust_type(param.rust_type)
    if known is None or known.size != param.size:
        return _aggregate(param, value, where)
    if known.shape:
        array = _as_numpy(value, known, where)
        if array.shape[array.ndim - len(known.shape) :] != known.shape or array.size != known.count:
            raise ArgumentValueError(f"expected `{known.text}`, found an array of shape {array.shape}", where)
        _check_values(array, known, where)
        return np.ascontiguousarray(array).tobytes()
    return pack_scalar(known, value, where)


def _is_empty(value: Any) -> bool:
    return isinstance(value, (tuple, bytes)) and not value


def pack_scalar(ty: RustType, value: object, where: str) -> bytes:
    """The bytes of a scalar.  Python's numbers are checked for range, numpy's have to have the exact type."""
    if isinstance(value, (np.ndarray, np.generic)) and not isinstance(value, (np.str_, np.bytes_)):
        return _pack_numpy(ty, np.asarray(cast("Any", value)), where)
    if ty.primitive == "bool":
        if isinstance(value, bool):
            return bytes([value])
        raise _mismatch(ty, value, where)
    if ty.primitive == "char":
        if isinstance(value, str) and len(value) == 1:
            _check_char(ord(value), where)
            return struct.pack("<I", ord(value))
        raise _mismatch(ty, value, where)
    if ty.is_float:
        return _pack_float(ty, value, where)
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise _mismatch(ty, value, where)
    number = operator.index(value)
    low, high = ty.integer_range
    if not low <= number <= high:
        raise ArgumentValueError(f"{number} is out of range for `{ty.text}` ({low} to {high})", where)
    if ty.nonzero and number == 0:
        raise ArgumentValueError(f"0 is no `{ty.text}`", where)
    return number.to_bytes(ty.size, "little", signed=low < 0)


def _pack_numpy(ty: RustType, value: NDArray[Any], where: str) -> bytes:
    if value.ndim != 0:
        raise ArgumentTypeError(f"mismatched types: expected `{ty.text}`, found an array", where)
    wide = ty.primitive in ("u128", "i128") and value.dtype.kind == "V" and value.dtype.itemsize == 16
    if value.dtype != ty.dtype and not wide:
        raise ArgumentTypeError(f"mismatched types: expected `{ty.text}`, found {describe(value.dtype)}", where)
    _check_values(value, ty, where)
    return value.tobytes()


def _pack_float(ty: RustType, value: object, where: str) -> bytes:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _mismatch(ty, value, where)
    number = float(value)
    if isinstance(value, int) and int(number) != value:
        raise ArgumentValueError(f"{value} is no `{ty.text}`", where)
    with np.errstate(over="ignore"):
        narrow = np.array([number], np.float64).astype(ty.dtype)
    if np.isinf(narrow[0]) and not np.isinf(number):
        raise ArgumentValueError(f"{value} is out of range for `{ty.text}`", where)
    return narrow.tobytes()


def _aggregate(param: Param, value: object, where: str) -> bytes:
    """A struct, tuple or enum: bytes of exactly its size, from a structured numpy value or a buffer."""
    if isinstance(value, (np.ndarray, np.generic)):
        data = np.asarray(cast("Any", value)).tobytes()
    elif isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(cast("bytes", value))
    else:
        raise ArgumentTypeError(
            f"mismatched types: expected `{param.shown}`, found {_type_name(value)}; "
            f"pass bytes or a numpy value of a structured type, {param.size} bytes long",
            where,
        )
    if len(data) != param.size:
        raise ArgumentValueError(f"`{param.shown}` has {param.size} bytes, found {len(data)}", where)
    return data


# ---- arrays --------------------------------------------------------------------------------------------------


def _array(kernel: KernelSpec, param: Param, value: object) -> tuple[ArrayArgument, int]:
    """A checked array and its number of elements as Rust counts them."""
    where = f"{kernel.name}: argument `{param.name}`"
    elem = param.elem or _pointee(param)
    known = rust_type(elem) if elem else None
    elem_size = param.elem_size or (known.size if known else 0)
    written = param.mutable or param.kind == "disjoint" or (known is not None and not known.frozen)
    device = _device_array(value)
    if device is not None:
        _check_device(device, known, param, elem_size, where)
        if device[0].pointer % _align(elem_size):
            raise ArgumentValueError(f"its address {device[0].pointer:#x} is not aligned for `{elem}`", where)
        if written and device[0].read_only:
            raise ArgumentValueError(f"`{param.shown}` needs a writable array, this one is read-only", where)
        return ArrayArgument(param.name, param.offset, device[0], written, _align(elem_size)), _count(
            device[0].nbytes, elem_size, param, where
        )
    array = _host_array(value, param, where)
    if param.is_str:
        _check_utf8(array, where)
    if known is not None and known.size == elem_size:
        _check_dtype(array, known, param, where)
        _check_values(array, known, where)
    elif array.dtype.itemsize != elem_size and array.dtype != np.uint8:
        raise ArgumentTypeError(
            f"mismatched types: expected `{param.shown}` with elements of {elem_size} bytes, "
            f"found elements of {array.dtype.itemsize} bytes ({array.dtype})",
            where,
        )
    if not array.flags.c_contiguous:
        raise ArgumentValueError("the array is not contiguous: pass numpy.ascontiguousarray(..) of it", where)
    if written and not array.flags.writeable:
        raise ArgumentValueError(f"`{param.shown}` needs a writable array, this one is read-only", where)
    # A struct may hold cells that a shared reference can write.
    may_write = written or (known is None and array.flags.writeable)
    count = _count(array.nbytes, elem_size, param, where)
    return ArrayArgument(param.name, param.offset, array, may_write, _align(elem_size)), count


def _count(nbytes: int, elem_size: int, param: Param, where: str) -> int:
    if elem_size == 0:
        if param.kind == "ref" or _is_raw_pointer(param):
            return 1
        raise ArgumentTypeError(f"`{param.shown}` has elements of no size", where)
    count, rest = divmod(nbytes, elem_size)
    if rest:
        raise ArgumentValueError(
            f"{nbytes} bytes are not a multiple of an element of `{param.shown}` ({elem_size} bytes)", where
        )
    if param.kind == "ref" and not _is_raw_pointer(param) and count != 1:
        raise ArgumentValueError(f"`{param.shown}` is one value of {elem_size} bytes, found {count} of them", where)
    return count


def _host_array(value: object, param: Param, where: str) -> NDArray[Any]:
    if isinstance(value, np.ndarray):
        return cast("NDArray[Any]", value)
    if isinstance(value, str) and param.is_str:
        return np.frombuffer(value.encode(), np.uint8)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        try:
            return np.from_dlpack(value)  # pyright: ignore[reportArgumentType]
        except (RuntimeError, BufferError, TypeError) as error:
            raise ArgumentTypeError(f"its memory can't be shared (DLPack): {error}", where) from error
    if isinstance(value, (bytes, bytearray, memoryview)):
        return np.frombuffer(cast("bytes", value), np.uint8)
    raise ArgumentTypeError(
        f"mismatched types: expected `{param.shown}`, found {_type_name(value)}; pass a numpy array", where
    )


def _check_dtype(array: NDArray[Any], known: RustType, param: Param, where: str) -> None:
    """The array holds exactly the primitive, or for 128 bits and chars one of numpy's stand-ins."""
    dtype = array.dtype
    if not dtype.isnative:
        raise ArgumentTypeError(f"expected `{param.shown}`, found {dtype} in the other byte order", where)
    if dtype == known.dtype:
        return
    if known.primitive in ("u128", "i128") and (
        (dtype.itemsize == 16 and dtype.kind == "V") or (dtype == np.uint64 and array.shape[-1:] == (2,))
    ):
        return
    if known.primitive == "char" and dtype == np.dtype("U1"):
        return
    raise ArgumentTypeError(f"mismatched types: expected `{param.shown}`, found {describe(dtype)} elements", where)


def _check_values(array: NDArray[Any], known: RustType, where: str) -> None:
    """Types that not every bit pattern is a value of."""
    if known.primitive == "bool":
        if array.size and int(np.ascontiguousarray(array).view(np.uint8).max()) > 1:
            raise ArgumentValueError("a byte above 1 is no `bool`", where)
    elif known.primitive == "char" and array.size:
        codes = np.ascontiguousarray(array).view(np.uint32)
        bad = codes[(codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))]
        if bad.size:
            raise ArgumentValueError(f"{int(bad[0]):#x} is no `char`", where)
    elif known.nonzero and array.size and not array.all():
        raise ArgumentValueError(f"0 is no `{known.text}`", where)


def _check_utf8(array: NDArray[Any], where: str) -> None:
    try:
        array.tobytes().decode()
    except UnicodeDecodeError as error:
        raise ArgumentValueError(f"a `str` is UTF-8: {error}", where) from error


def _check_char(code: int, where: str) -> None:
    if 0xD800 <= code <= 0xDFFF:
        raise ArgumentValueError(f"{code:#x} is no `char`", where)


def _device_array(value: object) -> tuple[DeviceArray, str] | None:
    """The GPU memory behind a value, with its type in numpy's notation."""
    interface = getattr(value, "__cuda_array_interface__", None)
    if not isinstance(interface, dict):
        return None
    fields = cast("dict[str, Any]", interface)
    pointer, read_only = fields["data"]
    nbytes = np.dtype(fields["typestr"]).itemsize
    for extent in fields["shape"]:
        nbytes *= extent
    strides = fields.get("strides")
    if strides is not None and nbytes:
        expected = np.dtype(fields["typestr"]).itemsize
        for extent, stride in zip(reversed(fields["shape"]), reversed(strides), strict=True):
            if extent != 1 and stride != expected:
                raise ArgumentValueError("the device array is not contiguous")
            expected *= extent
    return DeviceArray(value, int(pointer), int(nbytes), bool(read_only)), str(fields["typestr"])


def _check_device(
    device: tuple[DeviceArray, str], known: RustType | None, param: Param, elem_size: int, where: str
) -> None:
    dtype = np.dtype(device[1])
    fits = dtype == known.dtype if known is not None else dtype.itemsize == elem_size
    if not fits:
        raise ArgumentTypeError(f"mismatched types: expected `{param.shown}`, found {describe(dtype)} elements", where)


def _check_aliases(kernel: KernelSpec, arrays: Sequence[ArrayArgument]) -> None:
    """A written array overlaps no other: Rust's references promise that."""
    spans = [(*_span(argument), argument) for argument in arrays]
    for index, (start, end, one) in enumerate(spans):
        for other_start, other_end, other in spans[index + 1 :]:
            overlap = start < other_end and other_start < end
            if overlap and (one.writable or other.writable):
                raise ArgumentValueError(
                    f"arguments `{one.param}` and `{other.param}` overlap in memory, and `"
                    f"{one.param if one.writable else other.param}` is written",
                    kernel.name,
                )


def _span(argument: ArrayArgument) -> tuple[int, int]:
    array = argument.array
    start = array.pointer if isinstance(array, DeviceArray) else array.ctypes.data
    return start, start + argument.nbytes


def _as_numpy(value: object, known: RustType, where: str) -> NDArray[Any]:
    if isinstance(value, np.ndarray):
        array = cast("NDArray[Any]", value)
        if array.dtype != known.dtype:
            raise ArgumentTypeError(
                f"mismatched types: expected `{known.text}`, found {describe(array.dtype)} elements", where
            )
        return array
    if isinstance(value, (list, tuple)):
        flat = b"".join(_flatten(cast("object", value), known, known.shape, where))
        return np.frombuffer(flat, known.dtype).reshape(known.shape)
    raise _mismatch(known, value, where)


def _flatten(value: object, known: RustType, shape: tuple[int, ...], where: str) -> list[bytes]:
    if not shape:
        element = RustType(known.primitive, known.primitive, known.dtype, (), known.frozen, known.nonzero)
        return [pack_scalar(element, value, where)]
    items = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
    if len(items) != shape[0]:
        raise ArgumentValueError(f"expected `{known.text}`, found {value!r}", where)
    return [part for item in items for part in _flatten(item, known, shape[1:], where)]


# ---- binding and messages ------------------------------------------------------------------------------------


def _bind(kernel: KernelSpec, args: Sequence[object], kwargs: Mapping[str, object]) -> list[object]:
    params = kernel.arguments
    expected = f"{len(params)} argument{'s' if len(params) != 1 else ''}"
    if len(args) > len(params):
        raise ArgumentTypeError(f"takes {expected}, found {len(args)}: {kernel.signature}", kernel.name)
    values = dict(zip((param.name for param in params), args, strict=False))
    for name, value in kwargs.items():
        if name in values:
            raise ArgumentTypeError(f"argument `{name}` is given twice", kernel.name)
        if all(param.name != name for param in params):
            raise ArgumentTypeError(f"has no argument `{name}`: {kernel.signature}", kernel.name)
        values[name] = value
    missing = [param.name for param in params if param.name not in values]
    if missing:
        raise ArgumentTypeError(
            f"takes {expected}, argument `{missing[0]}` is missing: {kernel.signature}", kernel.name
        )
    return [values[param.name] for param in params]


def _is_raw_pointer(param: Param) -> bool:
    return param.rust_type.startswith(("*const ", "*mut "))


def _pointee(param: Param) -> str | None:
    return param.rust_type.partition(" ")[2] if _is_raw_pointer(param) else None


def _align(elem_size: int) -> int:
    return min(16, elem_size & -elem_size) if elem_size else 1


def _type_name(value: object) -> str:
    match value:
        case bool():
            return "`bool`"
        case int():
            return "an integer"
        case float():
            return "a float"
        case str():
            return "a string"
        case _:
            return f"a Python {type(value).__name__}"


def _mismatch(ty: RustType, value: object, where: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"mismatched types: expected `{ty.text}`, found {_type_name(value)}", where)


def _wrong(kernel: KernelSpec, param: Param, what: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"parameter `{param.name}`: `{param.shown}` {what}", kernel.name)
