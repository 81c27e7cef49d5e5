"""Constants as operands, and the allocations behind them as globals of the module."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from llvmlite import ir
from llvmlite.ir.values import FormattedConstant

from mirgen.errors import Diagnostic, InternalError, UnsupportedError
from mirgen.layout.data import Layout, ReprScalar
from mirgen.layout.data import Scalar as ScalarLayout
from mirgen.lower import types
from mirgen.lower.context import FunctionContext, ModuleContext
from mirgen.lower.operand import dangling, load_value, lower_operand, offset_align, zst
from mirgen.lower.ops.floats import constant_from_bits
from mirgen.lower.value import Pair, Scalar, Value, is_zst
from mirgen.mir.body import FnAlloc, MemoryAlloc, OtherAlloc
from mirgen.mir.names import closure_of_shim
from mirgen.mir.place import (
    Const,
    IndirectConst,
    Operand,
    PointerConst,
    ScalarConst,
    SliceConst,
    TyConst,
    UnevaluatedConst,
    ZstConst,
)  # fmt: skip
from mirgen.mir.ty import BoolTy, CharTy, Ty

_LEAF: Final = re.compile(r"ValTree\(Leaf\(0x([0-9a-f]+)\)(?:: [a-z0-9]+)?\)")
#: PTX and libNVVM keep module variables in the global address space.
_GPU_GLOBAL: Final = 1


def lower_const(fx: FunctionContext, const: Const) -> Value:
    """The value of a constant.

    Raises :class:`UnsupportedError` for constants that rustc left unevaluated and for allocations without meaning on
    the device (vtables, thread-locals, extern statics).
    """
    match const:
        case ZstConst(ty):
            return zst(fx.layout(ty))
        case ScalarConst(ty, bits, size):
            if _is_undefined(ty, bits):
                notes = ("rustc computed this value, which is undefined behaviour",)
                raise fx.unsupported("MG0366", f"the constant {bits:#x} is not a `{ty.text}`", notes=notes)
            return _scalar(fx, fx.layout(ty), bits, size)
        case PointerConst(ty, alloc, offset):
            return _pointer(fx, fx.layout(ty), _address(fx, alloc, offset))
        case SliceConst(ty, alloc, meta):
            return Pair(_address(fx, alloc, 0), types.usize(meta), fx.layout(ty))
        case IndirectConst(ty, alloc, offset):
            layout = fx.layout(ty)
            if is_zst(layout):
                return zst(layout)
            return load_value(fx, _address(fx, alloc, offset), layout, _known_align(fx.cx, alloc, offset))
        case UnevaluatedConst():
            return lower_operand(fx, evaluated(fx, const))
        case TyConst(text, ty):
            leaf = _LEAF.fullmatch(text)
            if leaf is None or ty is None:
                raise fx.unsupported("MG0362", f"the value of the constant `{text}` is not known")
            return _scalar(fx, fx.layout(ty), int(leaf[1], 16), len(leaf[1]) // 2)


def _is_undefined(ty: Ty, bits: int) -> bool:
    """Whether no value of a primitive type has these bits: the program transmuted them."""
    match ty:
        case BoolTy():
            return bits > 1
        case CharTy():
            return bits > 0x10FFFF or 0xD800 <= bits < 0xE000
        case _:
            return False


def scalar_constant(scalar: ScalarLayout, bits: int) -> ir.Value:
    """The immediate of ``scalar`` with exactly the pattern ``bits``."""
    if scalar.primitive == "pointer":
        return types.usize(bits).inttoptr(types.PTR)
    ty = types.llvm_immediate(scalar)
    return types.const_int(ty, bits) if isinstance(ty, ir.IntType) else constant_from_bits(ty, bits)


def _scalar(fx: FunctionContext, layout: Layout, bits: int, size: int) -> Value:
    if not isinstance(layout.repr, ReprScalar) or layout.repr.value.size != size:
        raise fx.internal(f"a scalar constant of {size} bytes for the layout {layout.repr}")
    return Scalar(scalar_constant(layout.repr.value, bits), layout)


def _pointer(fx: FunctionContext, layout: Layout, address: ir.Value) -> Value:
    """A pointer constant of any one-word type: pointers, newtypes of them, and integers that hold an address."""
    match layout.repr:
        case ReprScalar(ScalarLayout(primitive="pointer")):
            return Scalar(address, layout)
        case ReprScalar(ScalarLayout(primitive="i64")):
            return Scalar(fx.b.ptrtoint(address, types.I64), layout)
        case _:
            raise fx.internal(f"a pointer constant for the layout {layout.repr}")


def evaluated(fx: FunctionContext, const: Const) -> Operand:
    """The value of a constant that rustc's text has as a path; its type may be known from here only."""
    if not isinstance(const, UnevaluatedConst):
        raise fx.internal("a constant without type")
    found = fx.cx.program.constants.get((fx.body.crate, const.full_path))
    if found is None:
        raise fx.unsupported(
            "MG0361", f"rustc did not evaluate the constant `{const.full_path}`", notes=("its value is not in the MIR",)
        )  # fmt: skip
    return found


def _address(fx: FunctionContext, alloc: int, offset: int) -> ir.Value:
    """A pointer into an allocation."""
    return _address_in(fx.cx, alloc, offset)


def _known_align(cx: ModuleContext, alloc: int, offset: int) -> int:
    found = cx.program.allocs.get(alloc)
    return offset_align(found.align if isinstance(found, MemoryAlloc) else 1, offset)


# ---- allocations ---------------------------------------------------------------------------------------------


def lower_alloc(cx: ModuleContext, alloc: int) -> ir.Constant:
    """The address of an allocation as an ``i8*`` constant.  Its global is made on first use.

    Raises :class:`UnsupportedError` (without a span) for vtables, extern statics and functions without body.
    """
    alloc = _one_of_static(cx, alloc)
    known = cx.allocs.get(alloc)
    if known is not None:
        return known
    match cx.program.allocs.get(alloc):
        case MemoryAlloc() as memory:
            return _global(cx, alloc, memory)
        case FnAlloc(instance=instance):
            return cx.allocs.setdefault(alloc, _function(cx, instance))
        case OtherAlloc(what=what, text=text):
            what = _OTHER.get(what, what)
            raise UnsupportedError(Diagnostic("MG0363", f"{what} is not supported on the GPU: {text}"))
        case None:
            raise InternalError(f"allocation {alloc} is not in the program")


_OTHER: Final = {
    "vtable": "a trait object's vtable", "extern_static": "an extern static",
}  # fmt: skip


def _one_of_static(cx: ModuleContext, alloc: int) -> int:
    """The allocation that stands for all of the same static, or for all constants of the same plain bytes, which are
    one for rustc's own code generator too; of anything else ``alloc`` itself."""
    memory = cx.program.allocs.get(alloc)
    if not isinstance(memory, MemoryAlloc):
        return alloc
    if memory.static is None and memory.data and not memory.relocations and not _is_table(cx, alloc):
        return cx.plain.setdefault((memory.align, memory.data, memory.uninit), alloc)
    if not memory.identity:
        return alloc
    first = cx.statics.setdefault(memory.identity, alloc)
    one = cx.program.allocs[first]
    if not isinstance(one, MemoryAlloc) or (one.align, one.data) != (memory.align, memory.data):
        raise InternalError(f"the static `{memory.identity}` has two different contents")
    return first


def _is_table(cx: ModuleContext, alloc: int) -> bool:
    """Whether it is a trait object's table, whose address tells a type from others."""
    return alloc in cx.program.tables.values()


def _global(cx: ModuleContext, alloc: int, memory: MemoryAlloc) -> ir.Constant:
    """A constant's bytes are immutable; a static is writable, since its type may have interior mutability."""
    if not memory.data:
        return cx.allocs.setdefault(alloc, dangling(memory.align))
    runs = _runs(memory)
    ty = ir.LiteralStructType([part for part, _ in runs], packed=True)
    variable = _variable(cx, _name(alloc), ty, memory.align)
    if memory.static is not None:
        variable.global_constant = variable.unnamed_addr = False
        cx.symbols[variable.name] = memory.static
    elif _is_table(cx, alloc):
        variable.unnamed_addr = False
    pointer = _address_of(cx, variable)
    cx.allocs[alloc] = pointer  # before the contents, which may point back here
    variable.initializer = ir.Constant(ty, [_part(cx, part, content) for part, content in runs])
    return pointer


def _generic(variable: ir.GlobalVariable) -> ir.Constant:
    """The generic address of a global of the GPU."""
    pointer = variable.bitcast(types.I8.as_pointer(_GPU_GLOBAL))
    return FormattedConstant(types.PTR, f"addrspacecast ({pointer.type} {pointer.get_reference()} to {types.PTR})")


def _part(cx: ModuleContext, ty: ir.Type, content: bytes | tuple[int, int]) -> ir.Constant:
    if isinstance(content, bytes):
        return ir.Constant(ty, bytearray(content))
    alloc, offset = content
    if _is_type_id(cx, alloc):
        return _address_in(cx, alloc, offset)
    target = lower_alloc(cx, alloc)
    if _on_gpu(cx):
        variable = cx.module.globals.get(_name(_one_of_static(cx, alloc)))
        if isinstance(variable, ir.GlobalVariable) and variable.initializer is None:
            raise UnsupportedError(
                Diagnostic("MG0365", "constants that point at each other in a circle have no form in PTX")
            )
    return interior(target, offset)


def constant_location(cx: ModuleContext, file: str, layout: Layout, words: Mapping[int, int | None]) -> ir.Constant:
    """A ``core::panic::Location``: ``words`` are 32-bit numbers by offset; at the ``None`` stands the wide pointer to
    the name of ``file``."""
    text = file.encode()  # a C string, so that CUDA can print it
    digest = hashlib.sha256(repr((file, layout.size, sorted(words.items(), key=str))).encode()).hexdigest()[:16]
    name = f"__mirgen_location_{digest}"
    known = cx.module.globals.get(name)
    if isinstance(known, ir.GlobalVariable):
        return _address_of(cx, known)
    data = bytearray(layout.size)
    pointer_at = 0
    for at, word in words.items():
        if word is None:
            pointer_at = at
            data[at + 8 : at + 16] = len(text).to_bytes(8, "little")
        else:
            data[at : at + 4] = word.to_bytes(4, "little")
    letters = ir.ArrayType(types.I8, len(text) + 1)
    string = _variable(cx, f"{name}_file", letters, 1)
    string.initializer = ir.Constant(letters, bytearray(text + b"\0"))
    before, after = bytes(data[:pointer_at]), bytes(data[pointer_at + 8 :])
    parts = [_bytes(before), _address_of(cx, string), _bytes(after)]
    kept = [part for part in parts if part.type == types.PTR or len(part.constant)]
    variable = _variable(cx, name, ir.LiteralStructType([part.type for part in kept], packed=True), layout.align)
    variable.initializer = ir.Constant(variable.value_type, kept)
    return _address_of(cx, variable)


def _bytes(data: bytes) -> ir.Constant:
    return ir.Constant(ir.ArrayType(types.I8, len(data)), bytearray(data))


def _variable(cx: ModuleContext, name: str, ty: ir.Type, align: int) -> ir.GlobalVariable:
    """A constant global without contents."""
    variable = ir.GlobalVariable(cx.module, ty, name, addrspace=_GPU_GLOBAL if _on_gpu(cx) else 0)
    variable.linkage = "internal"
    variable.align = align
    variable.global_constant = True
    variable.unnamed_addr = True
    return variable


def _address_of(cx: ModuleContext, variable: ir.GlobalVariable) -> ir.Constant:
    """The ``i8*`` to a global."""
    return _generic(variable) if _on_gpu(cx) else variable.bitcast(types.PTR)


def _on_gpu(cx: ModuleContext) -> bool:
    return cx.target.triple.startswith("nvptx")


def _name(alloc: int) -> str:
    return f"__mirgen_alloc_{alloc}"


def _runs(memory: MemoryAlloc) -> list[tuple[ir.Type, bytes | tuple[int, int]]]:
    """The contents as bytes and pointers (allocation, offset), in order."""
    runs: list[tuple[ir.Type, bytes | tuple[int, int]]] = []
    at = 0
    for relocation in sorted(memory.relocations, key=lambda r: r.at):
        if relocation.size != 8:
            raise UnsupportedError(Diagnostic("MG0364", f"a constant holds {relocation.size} bytes of a pointer"))
        if relocation.at > at:
            chunk = memory.data[at : relocation.at]
            runs.append((ir.ArrayType(types.I8, len(chunk)), chunk))
        runs.append((types.PTR, (relocation.alloc, relocation.offset)))
        at = relocation.at + 8
    if at < len(memory.data):
        chunk = memory.data[at:]
        runs.append((ir.ArrayType(types.I8, len(chunk)), chunk))
    return runs


def _address_in(cx: ModuleContext, alloc: int, offset: int) -> ir.Constant:
    """A pointer into an allocation; into a type's identity, which only rustc's evaluator looks behind, the bits of the
    type's hash that are its offset."""
    if _is_type_id(cx, alloc):
        return types.usize(offset).inttoptr(types.PTR)
    return interior(lower_alloc(cx, alloc), offset)


def _is_type_id(cx: ModuleContext, alloc: int) -> bool:
    found = cx.program.allocs.get(alloc)
    return isinstance(found, OtherAlloc) and found.what == "typeid"


def interior(base: ir.Constant, offset: int) -> ir.Constant:
    """``base`` plus a number of bytes, as a constant."""
    return base if offset == 0 else base.gep([types.usize(offset)])


def _function(cx: ModuleContext, instance: str) -> ir.Constant:
    """The address of the function that rustc calls ``instance``, in whichever crate."""
    from mirgen.lower.thunk import closure_address, function_address

    found = {id(function): key for key, function in cx.functions.items() if key[1] == instance}
    address_of = function_address if closure_of_shim(instance) is None else closure_address
    address = address_of(cx, next(iter(found.values()))) if len(found) == 1 else None
    if address is None:
        why = "has no body that mirgen can see" if not found else "is several functions of that name"
        raise UnsupportedError(Diagnostic("MG0344", f"the address of `{instance}`, which {why}"))
    return address
