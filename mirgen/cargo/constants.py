"""Asking rustc for the value of a constant that its text left as a path.

A static is added, in a copy of the crate's sources, whose initializer is the constant, and a function that returns its
address: the function's dump then shows the bytes, padding and provenance that rustc's evaluator arrived at.  The
static's type is inferred (an opaque type that the static defines), so nothing but the constant's path is ever named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mirgen.analysis.fold import LiteralCall, NotLiteralError, fold_body
from mirgen.cargo.closure import KnownConstant
from mirgen.cargo.dump import AllocNumbers
from mirgen.cargo.source import Names, UnnameableError, callee_source
from mirgen.layout.data import LayoutTable
from mirgen.mir.body import Alloc, Body, FnKey, MemoryAlloc
from mirgen.mir.names import skip_group
from mirgen.mir.place import Constant, IndirectConst, Operand, PointerConst, ScalarConst
from mirgen.mir.rvalue import Use
from mirgen.mir.statement import Assign, Return, Span
from mirgen.mir.ty import AdtTy, BoolTy, CharTy, FloatTy, IntTy, PointerTy

#: What a crate that holds such a question must enable.
FEATURE = "type_alias_impl_trait"
#: The constant inside `TypeId::of`, which is what that returns.
_TYPE_ID = re.compile(r"((?:core::|std::)?any::TypeId::of::<.*>)::\{constant#0\}")


def constant_source(name: str, path: str, names: Names) -> str:
    """The question about the constant ``path``.

    Raises:
        UnnameableError: the path cannot be written.
    """
    type_id = _TYPE_ID.fullmatch(path)
    if type_id is not None:
        return _inferred(name, f"{callee_source(type_id[1], names)}()")
    return _inferred(name, callee_source(path, names))


def call_source(name: str, call: LiteralCall, names: Names) -> str:
    """The question about the value of a call.

    Raises:
        UnnameableError: the function or an argument cannot be written.
    """
    args = (_literal(arg) if isinstance(arg, ScalarConst) else callee_source(arg.path, names) for arg in call.args)
    value = f"{callee_source(call.fn.path, names)}({', '.join(args)})"
    return _inferred(name, f"unsafe {{ {value} }}" if call.fn.sig.unsafe else value)


def _literal(const: ScalarConst) -> str:
    match const.ty:
        case IntTy(text=text, bits=bits, signed=signed):
            value = const.bits - (1 << bits) if signed and const.bits >> (bits - 1) else const.bits
            return f"{value}{text}"
        case FloatTy(text=text):
            return f"{text}::from_bits({const.bits})"
        case BoolTy():
            return "true" if const.bits else "false"
        case CharTy():
            return f"'\\u{{{const.bits:x}}}'"
        case ty:
            raise UnnameableError(ty.text)


def _inferred(name: str, value: str) -> str:
    define = f"pub type T{name} = impl Sized; #[define_opaque(T{name})]"
    return _source(name, value, f"T{name}", define)


def inner_source(name: str, constant: str, ty: str) -> str:
    """The question about a constant inside a body, to stand beside it; ``ty`` is its type as it is written there."""
    return _source(name, constant, ty, "")


def _source(name: str, value: str, ty: str, define: str) -> str:
    """On one line: rustc's errors are joined by line."""
    return (
        f"#[repr(transparent)] pub struct W{name}<T>(T); unsafe impl<T> Sync for W{name}<T> {{}} "
        f"{define} pub static S{name}: W{name}<{ty}> = W{name}({value}); "
        f"pub fn {name}<'a>() -> impl Sized {{ &S{name} }}"
    )


def item_span(body: Body) -> Span | None:
    """The item of the constant that ``body`` computes."""
    return next((b.terminator.source.span for b in body.blocks if isinstance(b.terminator, Return)), None)


def written_type(span: Span, name: str, text: str) -> str | None:
    """The type of the constant ``name``, whose item stands at ``span`` of the source ``text``.

    ``None`` where no such item does: a macro made it.
    """
    item = _slice(text, span)
    head = re.match(rf"(pub\b[^;]*?\s)?const\s+{re.escape(name)}\s*:", item)
    if head is None or not item.endswith(";"):
        return None
    at = head.end()
    while at < len(item) and item[at] != "=":
        at = skip_group(item, at) if item[at] in "<([{" else at + 1
    return " ".join(item[head.end() : at].split())


def written_block(span: Span, text: str) -> tuple[str, tuple[int, int]] | None:
    """What is inside the braces at ``span`` of an inline constant, on one line, and where that begins.

    ``None`` where no braces are there, or where comments could be: lines cannot be joined then.
    """
    block = _slice(text, span)
    head = re.match(r"(const\s*)?\{", block)
    if head is None or not block.endswith("}") or "//" in block:
        return None
    begins = head[0].count("\n")
    col = len(head[0]) - head[0].rfind("\n") if begins else span.col + head.end()
    return " ".join(block[head.end() : -1].split()), (span.line + begins, col)


def _slice(text: str, span: Span) -> str:
    """The part of ``text`` at ``span``; nothing where the text is shorter."""
    lines = text.splitlines()[span.line - 1 : span.end_line]
    if len(lines) != span.end_line - span.line + 1:
        return ""
    lines[-1] = lines[-1][: span.end_col - 1]
    lines[0] = lines[0][span.col - 1 :]
    return "\n".join(lines)


def constant_value(body: Body, allocs: dict[int, Alloc]) -> IndirectConst | None:
    """The constant that the answer ``body`` of a question shows; ``None`` where it is not what was asked for."""
    statements = [s for block in body.blocks for s in block.statements if isinstance(s, Assign)]
    if len(body.blocks) != 1 or len(statements) != 1 or not isinstance(body.blocks[0].terminator, Return):
        return None
    match statements[0].rvalue:
        case Use(Constant(PointerConst(PointerTy(pointee=AdtTy(args=(ty,))), alloc, 0))):
            memory = allocs.get(alloc)
            if isinstance(memory, MemoryAlloc) and memory.static is not None:
                return IndirectConst(ty, alloc, 0)
        case _:
            pass
    return None


def evaluate(
    constants: Mapping[FnKey, KnownConstant], layouts: LayoutTable, allocs: dict[int, Alloc], numbers: AllocNumbers,
    tables: Mapping[tuple[str, str], int],
) -> dict[FnKey, Operand]:  # fmt: skip
    """Values of all ``constants`` that have one; what the bodies of promoted ones make is added to ``allocs``.

    ``tables`` are those of trait objects, by ``Ty.key``.
    """
    values: dict[FnKey, Operand] = {}
    for key in constants:
        _evaluate(key, constants, layouts, allocs, numbers, tables, values)
    return values


def _evaluate(
    key: FnKey, constants: Mapping[FnKey, KnownConstant], layouts: LayoutTable, allocs: dict[int, Alloc],
    numbers: AllocNumbers, tables: Mapping[tuple[str, str], int], values: dict[FnKey, Operand],
) -> Constant | None:  # fmt: skip
    known = constants.get(key)
    if known is None:
        return None
    value = values.get(key, known.value)
    if value is None and known.body is not None:
        crate = known.dump.crate
        try:
            value = fold_body(
                known.body, layouts, allocs, numbers.new,
                lambda const: _evaluate((crate, const.full_path), constants, layouts, allocs, numbers, tables, values),
                tables,
            )  # fmt: skip
        except NotLiteralError:
            return None
    if not isinstance(value, Constant):
        return None
    values[key] = value
    return value
