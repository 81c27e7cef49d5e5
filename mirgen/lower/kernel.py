"""Kernel parameters: their class, their place in the parameter block, and what the body takes for each."""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from mirgen.errors import Diagnostic, UnsupportedError
from mirgen.layout.data import Layout, ReprPair, ReprScalar
from mirgen.lower import types
from mirgen.lower.abi import llvm_args
from mirgen.lower.context import ModuleContext, location
from mirgen.lower.value import is_unsized, is_zst
from mirgen.mir.body import Body, Kernel
from mirgen.mir.names import readable
from mirgen.mir.ty import (
    AdtTy,
    ArrayTy,
    BoolTy,
    CharTy,
    FloatTy,
    IntTy,
    PointerTy,
    SliceTy,
    StrTy,
    TupleTy,
    Ty,
)  # fmt: skip
from mirgen.targets.base import EntryParam, KernelAbi, KernelParam, ParamKind

#: Block memory of one ``Shared`` parameter starts at a multiple of this, for wide loads and bulk copies.
SHARED_ALIGN = 16


def device_type(ty: Ty, name: str) -> bool:
    """Whether ``ty`` is ``mirgen_device``'s type ``name`` (under any of its re-exported paths)."""
    if not isinstance(ty, AdtTy):
        return False
    segments = ty.path.split("::")
    return segments[-1] == name and (segments[0] == "mirgen_device" or ty.crate == "mirgen_device")


@dataclass(frozen=True, slots=True)
class _Class:
    kind: ParamKind
    elem: Ty | None = None
    mutable: bool = False
    dynamic: bool = False


def kernel_abi(cx: ModuleContext, kernel: Kernel, body: Body) -> tuple[KernelAbi, tuple[EntryParam, ...]]:
    """The kernel's interface.  Raises :class:`UnsupportedError` with one diagnostic per refused parameter."""
    params: list[EntryParam] = []
    refused: list[Diagnostic] = []
    at = shared = dynamic = 0
    for index, param in enumerate(kernel.params):
        try:
            entry = _entry_param(cx, kernel, param.name, body.locals[index + 1].ty, at, shared)
        except UnsupportedError as error:
            refused.extend(error.diagnostics)
            continue
        params.append(entry)
        if entry.param.kind == "shared" and len(entry.llvm_types) == 2:
            dynamic += 1
        elif entry.param.kind == "shared":
            shared = entry.shared_offset + entry.param.elem_size
        elif entry.param.size:
            at = entry.param.offset + entry.param.size
    if len(kernel.params) != body.arg_count:
        refused.append(_refusal(kernel, f"kernel `{kernel.name}` and its body differ in their parameters"))
    result = cx.find_layout(body.locals[0].ty)
    if result is None or not is_zst(result):
        refused.append(_refusal(kernel, f"kernel `{kernel.name}` returns `{body.locals[0].ty.text}`, not `()`"))
    if dynamic > 1:
        refused.append(_refusal(kernel, f"kernel `{kernel.name}` has {dynamic} `Shared<[T]>`, not one"))
    if refused:
        raise UnsupportedError(*refused)
    return KernelAbi(kernel.name, tuple(entry.param for entry in params), shared), tuple(params)


def _entry_param(cx: ModuleContext, kernel: Kernel, name: str, ty: Ty, at: int, shared: int) -> EntryParam:
    layout = cx.find_layout(ty)
    if layout is None:
        raise UnsupportedError(_refusal(kernel, f"the layout of `{ty.text}` (parameter `{name}`) is not known"))
    class_ = _classify(kernel, name, ty, layout)
    elem_size, elem_align = _elem_size(cx, kernel, class_)
    if class_.kind == "shared":
        return _shared(cx, kernel, name, ty, layout, class_, at, shared)
    offset = (at + layout.align - 1) // layout.align * layout.align if layout.size else at
    # Raw pointers promise nothing: neither alignment nor that nobody else writes there.
    promises = not isinstance(ty, PointerTy) or ty.is_ref
    param = KernelParam(
        name, readable(ty.text), class_.kind, offset, layout.size, layout.align,
        None if class_.elem is None else readable(class_.elem.text), elem_size, class_.mutable,
        elem_align if promises else 1,
    )  # fmt: skip
    stored: tuple[ir.Type, ...] = ()
    offsets: tuple[int, ...] = ()
    match layout.repr:
        case _ if is_zst(layout):
            pass
        case ReprScalar(scalar):
            stored, offsets = (types.llvm_memory(scalar),), (0,)
        case ReprPair(first, second, second_at):
            stored, offsets = (types.llvm_memory(first), types.llvm_memory(second)), (0, second_at)
        case _:
            pass
    by_memory = not is_zst(layout) and not stored
    read_only = class_.kind in ("slice", "ref") and promises and not class_.mutable and _is_frozen(class_.elem)
    return EntryParam(param, tuple(llvm_args(layout)), stored, offsets, by_memory, read_only)


def _classify(kernel: Kernel, name: str, ty: Ty, layout: Layout) -> _Class:
    match ty:
        case PointerTy(pointee=SliceTy(elem=elem), mutable=mutable):
            return _Class("slice", elem, mutable)
        case PointerTy(pointee=StrTy() as elem, mutable=mutable):
            return _Class("slice", IntTy("u8", elem.crate, 8, False), mutable)
        case PointerTy(pointee=pointee, mutable=mutable) if isinstance(layout.repr, ReprScalar):
            return _Class("ref", pointee, mutable)
        case PointerTy(pointee=pointee):
            raise UnsupportedError(_refusal(kernel, f"parameter `{name}` points to `{pointee.text}`"))
        case AdtTy(args=args) if device_type(ty, "Disjoint"):
            inner = args[0] if args else None
            if not isinstance(layout.repr, ReprPair) or layout.size != 16:
                raise UnsupportedError(_refusal(kernel, f"parameter `{name}`: `{ty.text}` is no pointer and length"))
            return _Class("disjoint", inner.elem if isinstance(inner, SliceTy) else inner, True)
        case AdtTy(args=args) if device_type(ty, "Shared"):
            match args, layout.repr:
                case (ArrayTy() as inner, *_), ReprScalar():
                    return _Class("shared", inner, True)
                case (SliceTy(elem=elem), *_), ReprPair():
                    return _Class("shared", elem, True, dynamic=True)
                case _:
                    raise UnsupportedError(_refusal(kernel, f"parameter `{name}`: `{ty.text}` is no array or slice"))
        case IntTy() | FloatTy() | BoolTy() | CharTy():
            return _Class("scalar")
        case _:
            return _Class("aggregate")


def _elem_size(cx: ModuleContext, kernel: Kernel, class_: _Class) -> tuple[int, int]:
    if class_.elem is None:
        return 0, 1
    layout = cx.find_layout(class_.elem)
    if layout is None:
        raise UnsupportedError(_refusal(kernel, f"the layout of `{class_.elem.text}` is not known"))
    return 0 if is_unsized(layout) else layout.size, layout.align


def _shared(
    cx: ModuleContext, kernel: Kernel, name: str, ty: Ty, layout: Layout, class_: _Class, at: int, shared: int
) -> EntryParam:
    if class_.elem is None:
        raise UnsupportedError(_refusal(kernel, f"parameter `{name}`: `{ty.text}` without an element type"))
    size, elem_align = _elem_size(cx, kernel, class_)
    align = max(SHARED_ALIGN, elem_align)
    offset = (shared + align - 1) // align * align
    stored: tuple[ir.Type, ...] = (types.PTR, types.I64) if class_.dynamic else (types.PTR,)
    param = KernelParam(name, readable(ty.text), "shared", at, 0, 1, readable(class_.elem.text), size, True, elem_align)
    return EntryParam(
        param, tuple(llvm_args(layout)), stored, (0, 8)[: len(stored)], False, shared_offset=offset, shared_align=align
    )  # fmt: skip


def _is_frozen(ty: Ty | None) -> bool:
    """Whether ``ty`` certainly has no ``UnsafeCell`` inside (only types whose text shows all of them are believed)."""
    match ty:
        case IntTy() | FloatTy() | BoolTy() | CharTy() | StrTy():
            return True
        case ArrayTy(elem=elem) | SliceTy(elem=elem):
            return _is_frozen(elem)
        case TupleTy(elems=elems):
            return all(_is_frozen(elem) for elem in elems)
        case _:
            return False


def _refusal(kernel: Kernel, message: str) -> Diagnostic:
    return Diagnostic("MG0360", message, location(kernel.span), notes=(f"in the signature of kernel {kernel.name}",))
