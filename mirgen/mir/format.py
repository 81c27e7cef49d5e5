"""MIR constructs as text.

Every function has two styles.  ``verbose=True`` is rustc's own spelling under ``-Zverbose-internals`` and can be
read back by the shim; the default is cut down for people: error messages, comments in IR, the viewer.
"""

from __future__ import annotations

from typing import assert_never

from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir import ty as t
from mirgen.mir.names import readable

_MAX_READABLE_TY = 120


def format_ty(ty: t.Ty, *, verbose: bool = False) -> str:
    """The type's text; in the readable style function types are their paths and over-long texts are cut."""
    if verbose:
        return ty.text
    if isinstance(ty, t.FnDefTy):
        return f"fn item {{{readable(ty.path)}}}"
    text = readable(ty.text)
    return text if len(text) <= _MAX_READABLE_TY else text[: _MAX_READABLE_TY - 3] + "..."


def format_place(place: p.Place, *, verbose: bool = False) -> str:
    """``((*_1).0: f32)`` verbosely, ``(*_1).0`` for people."""
    text = f"_{place.local}"
    for proj in place.proj:
        match proj:
            case p.Deref():
                text = f"(*{text})"
            case p.Field(index, ty):
                text = f"({text}.{index}: {ty.text})" if verbose else f"{text}.{index}"
            case p.Downcast(variant, index):
                text = f"({text} as {variant if variant is not None else f'variant#{index}'})"
            case p.Index(local):
                text = f"{text}[_{local}]"
            case p.ConstantIndex(offset, min_length, from_end):
                text = f"{text}[{'-' if from_end else ''}{offset} of {min_length}]"
            case p.Subslice(from_, to, from_end):
                text = f"{text}[{_subslice(from_, to, from_end)}]"
            case p.OpaqueCast(kind, ty):
                spelled = format_ty(ty, verbose=verbose)
                text = f"({text} as {spelled})" if kind == "opaque_cast" else f"unwrap_binder!({text}; {spelled})"
            case _:
                assert_never(proj)
    return text


def _subslice(from_: int, to: int, from_end: bool) -> str:
    if not from_end:
        return f"{from_}..{to}"
    if to == 0:
        return f"{from_}:"
    return f":-{to}" if from_ == 0 else f"{from_}:-{to}"


def _offset(offset: int) -> str:
    return f"+{offset:#x}" if offset else ""


def format_const(const: p.Const, *, verbose: bool = False) -> str:
    """A constant with rustc's leading ``const `` (which functions' names do not have)."""
    match const:
        case p.ScalarConst(ty, bits, size):
            if verbose:
                return f"const ConstValue(Scalar(0x{bits:0{2 * size}x}): {ty.text})"
            return f"const {_scalar(ty, bits, size)}"
        case p.PointerConst(ty, alloc, offset):
            if verbose:
                return f"const ConstValue(Scalar(alloc{alloc}{_offset(offset)}): {ty.text})"
            return f"const {{alloc{alloc}{_offset(offset)}: {format_ty(ty)}}}"
        case p.ZstConst(ty):
            is_fn = isinstance(ty, t.FnDefTy)
            if verbose:
                return f"{'' if is_fn else 'const '}ConstValue(ZeroSized: {ty.text})"
            return readable(ty.path) if isinstance(ty, t.FnDefTy) else f"const {format_ty(ty)}"
        case p.SliceConst(ty, alloc, meta):
            if verbose:
                return f"const ConstValue(Slice {{ alloc_id: alloc{alloc}, meta: {meta} }}: {ty.text})"
            return f"const {{alloc{alloc}, {meta}: {format_ty(ty)}}}"
        case p.IndirectConst(ty, alloc, offset):
            if verbose:
                return (
                    f"const ConstValue(Indirect {{ alloc_id: alloc{alloc}, offset: Size({offset} bytes) }}: {ty.text})"
                )
            return f"const {{*alloc{alloc}{_offset(offset)}: {format_ty(ty)}}}"
        case p.UnevaluatedConst(path, promoted, _):
            text = path if verbose else readable(path)
            return f"const {text}" + ("" if promoted is None else f"::promoted[{promoted}]")
        case p.TyConst(text, _):
            return f"const {text if verbose else readable(text)}"
        case _:
            assert_never(const)


def _scalar(ty: t.Ty, bits: int, size: int) -> str:
    match ty:
        case t.IntTy(signed=signed):
            value = bits - (1 << 8 * size) if signed and size and bits >> (8 * size - 1) else bits
            return f"{value}_{ty.text}"
        case t.BoolTy() if bits < 2:
            return "true" if bits else "false"
        case t.CharTy() if bits < 0x110000 and chr(bits).isprintable():
            return repr(chr(bits))
        case _:
            return f"{{0x{bits:0{2 * size}x}: {format_ty(ty)}}}"


def format_operand(operand: p.Operand, *, verbose: bool = False) -> str:
    match operand:
        case p.Copy(place):
            return f"copy {format_place(place, verbose=verbose)}"
        case p.Move(place):
            return f"move {format_place(place, verbose=verbose)}"
        case p.Constant(const):
            return format_const(const, verbose=verbose)
        case p.RuntimeChecks(check):
            return check
        case _:
            assert_never(operand)


def _operands(operands: tuple[p.Operand, ...], verbose: bool) -> str:
    return ", ".join([format_operand(o, verbose=verbose) for o in operands])


def format_rvalue(rvalue: r.Rvalue, *, verbose: bool = False) -> str:
    match rvalue:
        case r.Use(operand):
            return format_operand(operand, verbose=verbose)
        case r.Repeat(operand, count):
            return f"[{format_operand(operand, verbose=verbose)}; {_count(count, verbose)}]"
        case r.Ref(borrow, place):
            region = "'{erased} " if verbose else ""
            kind = {"shared": "", "mut": "mut ", "fake": "fake "}[borrow]
            return f"&{region}{kind}{format_place(place, verbose=verbose)}"
        case r.RawPtr(mutable, place):
            return f"&raw {'mut' if mutable else 'const'} {format_place(place, verbose=verbose)}"
        case r.ThreadLocalRef(path):
            return f"&/*tls*/ {path}"
        case r.Cast(cast, operand, ty):
            return f"{format_operand(operand, verbose=verbose)} as {format_ty(ty, verbose=verbose)} ({cast})"
        case r.BinaryOp(op, left, right):
            return f"{op}({format_operand(left, verbose=verbose)}, {format_operand(right, verbose=verbose)})"
        case r.UnaryOp(op, operand):
            return f"{op}({format_operand(operand, verbose=verbose)})"
        case r.Discriminant(place):
            return f"discriminant({format_place(place, verbose=verbose)})"
        case r.CopyForDeref(place):
            return f"deref_copy {format_place(place, verbose=verbose)}"
        case r.ArrayAggregate(operands):
            return f"[{_operands(operands, verbose)}]"
        case r.TupleAggregate(operands):
            return f"({_operands(operands, verbose)}{',' if len(operands) == 1 else ''})"
        case r.AdtAggregate(path, _, fields, operands):
            head = path if verbose else readable(path)
            if fields:
                inside = [f"{f}: {format_operand(o, verbose=verbose)}" for f, o in zip(fields, operands, strict=True)]
                return f"{head} {{ {', '.join(inside)} }}"
            return f"{head}({_operands(operands, verbose)})" if operands else head
        case r.ClosureAggregate(location, operands, complete):
            inside = [f"{i}: {format_operand(o, verbose=verbose)}" for i, o in enumerate(operands)]
            if not complete and not verbose:
                inside.append("..")
            head = f"{{{location}}}" if location.startswith("coroutine@") else f"{{closure@{location}}}"
            return f"{head} {{ {', '.join(inside)} }}" if inside else head
        case r.RawPtrAggregate(ty, data, meta):
            return (
                f"{format_ty(ty, verbose=verbose)} from "
                f"({format_operand(data, verbose=verbose)}, {format_operand(meta, verbose=verbose)})"
            )
        case r.WrapBinder(operand, ty):
            return f"wrap_binder!({format_operand(operand, verbose=verbose)}; {format_ty(ty, verbose=verbose)})"
        case _:
            assert_never(rvalue)


def _count(count: int | None, verbose: bool) -> str:
    if count is None:
        return "{const error}" if verbose else "?"  # what the shim reads as a length that is not known
    return f"ValTree(Leaf(0x{count:016x}): usize)" if verbose else str(count)


def format_statement(statement: s.Statement, *, verbose: bool = False) -> str:
    """The statement without the closing ``;``."""
    match statement:
        case s.Assign(_, place, rvalue):
            return f"{format_place(place, verbose=verbose)} = {format_rvalue(rvalue, verbose=verbose)}"
        case s.SetDiscriminant(_, place, index):
            return f"discriminant({format_place(place, verbose=verbose)}) = {index}"
        case s.Storage(_, live, local):
            return f"Storage{'Live' if live else 'Dead'}(_{local})"
        case s.Assume(_, operand):
            return f"assume({format_operand(operand, verbose=verbose)})"
        case s.CopyNonoverlapping(_, dst, src, count):
            parts = [
                f"{n} = {format_operand(o, verbose=verbose)}" for n, o in (("dst", dst), ("src", src), ("count", count))
            ]
            return f"copy_nonoverlapping({', '.join(parts)})"
        case s.Ignored(_, text):
            return text
        case _:
            assert_never(statement)


_UNWIND = {
    "continue": "unwind continue",
    "unreachable": "unwind unreachable",
    "terminate_abi": "unwind terminate(abi)",
    "terminate_cleanup": "unwind terminate(cleanup)",
}
_RESUME = {"terminate_abi": "terminate(abi)", "terminate_cleanup": "terminate(cleanup)"}


def _unwind(unwind: s.Unwind) -> str:
    return f"unwind: bb{unwind.block}" if unwind.action == "cleanup" else _UNWIND[unwind.action]


def format_terminator(terminator: s.Terminator, *, verbose: bool = False) -> str:
    """The terminator without the closing ``;``."""
    match terminator:
        case s.Goto(_, target):
            return f"goto -> bb{target}"
        case s.SwitchInt(_, operand, arms, otherwise):
            head = f"switchInt({format_operand(operand, verbose=verbose)})"
            if not arms:
                return f"{head} -> bb{otherwise}"
            inside = [f"{value}: bb{target}" for value, target in arms]
            return f"{head} -> [{', '.join(inside)}, otherwise: bb{otherwise}]"
        case s.Return():
            return "return"
        case s.Unreachable():
            return "unreachable"
        case s.Resume(_, what):
            return _RESUME.get(what, what)
        case s.Call(_, destination, func, args, target, unwind):
            head = f"{format_place(destination, verbose=verbose)} = {_call(func, args, verbose)}"
            if target is not None:
                return f"{head} -> [return: bb{target}, {_unwind(unwind)}]"
            return f"{head} -> " + (f"bb{unwind.block}" if unwind.action == "cleanup" else _unwind(unwind))
        case s.TailCall(_, func, args):
            return f"tailcall {_call(func, args, verbose)}"
        case s.Drop(_, place, target, unwind):
            return f"drop({format_place(place, verbose=verbose)}) -> [return: bb{target}, {_unwind(unwind)}]"
        case s.Assert(_, operand, expected, message, args, target, unwind):
            parts = [f"{'' if expected else '!'}{format_operand(operand, verbose=verbose)}", f'"{message}"']
            parts += [format_operand(a, verbose=verbose) for a in args]
            return f"assert({', '.join(parts)}) -> [success: bb{target}, {_unwind(unwind)}]"
        case s.InlineAsm(_, text):
            return text
        case s.UnsupportedTerminator(_, _, text):
            return text
        case _:
            assert_never(terminator)


def _call(func: p.Operand, args: tuple[p.Operand, ...], verbose: bool) -> str:
    return f"{format_operand(func, verbose=verbose)}({_operands(args, verbose)})"
