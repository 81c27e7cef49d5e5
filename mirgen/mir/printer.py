"""Whole bodies and programs as rustc prints them.

``verbose=True`` is the text of ``-Zunpretty=mir -Zverbose-internals -Zmir-include-spans=yes``: the shim reads it
back to the same document.  The default is cut down for people (``cargo mirgen asm --mir``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import statement as s
from mirgen.mir.alloc_text import format_alloc
from mirgen.mir.format import (
    format_const,
    format_operand,
    format_place,
    format_rvalue,
    format_statement,
    format_terminator,
    format_ty,
)
from mirgen.mir.names import readable
from mirgen.mir.walk import constants_of

__all__ = [
    "format_body",
    "format_const",
    "format_operand",
    "format_place",
    "format_program",
    "format_rvalue",
    "format_statement",
    "format_terminator",
    "format_ty",
]

#: The column (in characters) at which rustc puts its comments.
_COMMENT_COLUMN = 41
_BANNER = (
    "// WARNING: This output format is intended for human consumers only\n"
    "// and is subject to change without notice. Knock yourself out.\n"
    "// HINT: See also -Z dump-mir for MIR at specific points during compilation.\n"
)
_SIGIL = {"const": "const ", "promoted": "const ", "static": "static ", "static_mut": "static mut ", "anon": ""}


def format_program(program: m.Program, *, verbose: bool = False) -> str:
    """Every distinct body of the program, each followed by the allocations that it reaches."""
    bodies: dict[int, m.Body] = {id(b): b for b in program.functions.values()}
    return format_bodies(bodies.values(), program.allocs, verbose=verbose)


def format_bodies(bodies: Iterable[m.Body], allocs: Mapping[int, m.Alloc], *, verbose: bool = False) -> str:
    """A dump of ``bodies``."""
    texts = [format_body(b, allocs, verbose=verbose) for b in bodies]
    return (_BANNER if verbose else "") + "\n".join(texts)


def format_body(body: m.Body, allocs: Mapping[int, m.Alloc] | None = None, *, verbose: bool = False) -> str:
    """One body, and the allocations that it reaches where ``allocs`` is given."""
    out = ["// MIR FOR CTFE"] if body.ctfe else []
    out.append(f"{_signature(body, verbose)} {{")
    _scope(body, 0, 1, _children(body), out, verbose)
    for i, block in enumerate(body.blocks):
        out += ["", f"    bb{i}{' (cleanup)' if block.cleanup else ''}: {{"]
        for j, statement in enumerate(block.statements):
            text = format_statement(statement, verbose=verbose)
            _line(out, f"        {text};", _at(i, j, statement.source, verbose))
            _const_lines(out, statement, verbose)
        text = format_terminator(block.terminator, verbose=verbose)
        _line(out, f"        {text};", _at(i, len(block.statements), block.terminator.source, verbose))
        _const_lines(out, block.terminator, verbose)
        out.append("    }")
    out.append("}")
    for alloc in _reached(body, allocs or {}):
        out += ["", format_alloc(alloc, (allocs or {})[alloc])]
    return "\n".join(out) + "\n"


def _signature(body: m.Body, verbose: bool) -> str:
    name = body.header if verbose else readable(body.name)
    output = format_ty(body.locals[0].ty, verbose=verbose)
    if body.kind == "fn":
        args = [
            f"_{i}: {format_ty(local.ty, verbose=verbose)}"
            for i, local in enumerate(body.locals[1 : body.arg_count + 1], start=1)
        ]
        return f"fn {name}({', '.join(args)}) -> {output}"
    if body.promoted is not None and not name.endswith(f"::promoted[{body.promoted}]"):
        name = f"{name}::promoted[{body.promoted}]"
    return f"{_SIGIL[body.kind]}{name}: {output} ="


def _children(body: m.Body) -> dict[int, list[int]]:
    out: dict[int, list[int]] = {}
    for i, scope in enumerate(body.scopes):
        if scope.parent is not None:
            out.setdefault(scope.parent, []).append(i)
    return out


def _scope(
    body: m.Body, scope: int, depth: int, children: Mapping[int, list[int]], out: list[str], verbose: bool
) -> None:
    pad = "    " * depth
    if scope == 0:
        for i, local in enumerate(body.locals):
            if local.name is not None:
                _line(out, f"{pad}debug {local.name} => _{i};", _in_scope(local.span, verbose))
        for i, local in enumerate(body.locals):
            if 0 < i <= body.arg_count:
                continue
            mut = "mut " if local.mutable else ""
            what = "return place in scope 0 at" if i == 0 else "in scope 0 at"
            _line(
                out,
                f"{pad}let {mut}_{i}: {format_ty(local.ty, verbose=verbose)};",
                _in_scope(local.span, verbose, what),
            )
    for child in children.get(scope, []):
        entry = body.scopes[child]
        head = f"{pad}scope {child}"
        if entry.inlined is not None:
            caller = "#[track_caller] " if entry.track_caller else ""
            head += f" (inlined {caller}{entry.inlined if verbose else readable(entry.inlined)})"
        _line(out, f"{head} {{", f"at {_span(entry.span)}" if verbose and entry.span else "")
        _scope(body, child, depth + 1, children, out, verbose)
        out.append(f"{pad}}}")


def _line(out: list[str], text: str, comment: str) -> None:
    out.append(f"{text:<{_COMMENT_COLUMN - 1}} // {comment}" if comment else text)


def _span(span: s.Span | None) -> str:
    if span is None:
        return "no-location"
    return f"{span.file}:{span.line}:{span.col}: {span.end_line}:{span.end_col}"


def _in_scope(span: s.Span | None, verbose: bool, what: str = "in scope 0 at") -> str:
    return f"{what} {_span(span)}" if verbose and span is not None else ""


def _at(block: int, index: int, source: s.SourceInfo, verbose: bool) -> str:
    if not verbose or (source.span is None and source.scope is None):
        return ""
    return f"bb{block}[{index}]: scope {source.scope or 0} at {_span(source.span)}"


def _const_lines(out: list[str], of: s.Statement | s.Terminator, verbose: bool) -> None:
    """rustc's extra lines: the only place where an unevaluated constant's type stands."""
    if not verbose:
        return
    for const in constants_of(of):
        if isinstance(const, p.UnevaluatedConst) and const.ty is not None:
            promoted = "None" if const.promoted is None else f"Some(promoted[{const.promoted}])"
            pad = " " * _COMMENT_COLUMN
            out += [
                f"{pad}// mir::ConstOperand",
                f"{pad}// + span: {_span(of.source.span)}",
                f"{pad}// + const_: Const {{ ty: {const.ty.text}, val: Unevaluated({const.path}, [], {promoted}) }}",
            ]


def _reached(body: m.Body, allocs: Mapping[int, m.Alloc]) -> list[int]:
    """The allocations that the body mentions, then those these point to; each once."""
    out: dict[int, None] = {}
    todo = [
        c.alloc
        for block in body.blocks
        for x in (*block.statements, block.terminator)
        for c in constants_of(x)
        if isinstance(c, p.PointerConst | p.SliceConst | p.IndirectConst)
    ]
    while todo:
        alloc = todo.pop(0)
        if alloc in out or alloc not in allocs:
            continue
        out[alloc] = None
        value = allocs[alloc]
        if isinstance(value, m.MemoryAlloc):
            todo += [x.alloc for x in value.relocations]
    return list(out)
