"""The MIR verifier: what rustc guarantees, checked before anything is built on it.

It refuses definite faults only.  Where rustc's text leaves something open (generic parameters, projections, the
fields of ADTs), it says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from mirgen.errors import InternalError
from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import statement as s
from mirgen.mir.format import format_statement, format_terminator
from mirgen.mir.verify.context import Context, Fault
from mirgen.mir.verify.rvalue import check_assign
from mirgen.mir.verify.terminator import check_terminator, successors
from mirgen.mir.walk import constants_of

__all__ = ["Problem", "find_problems", "verify_body", "verify_program"]

_MOST = 10


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault.  ``statement`` is its index in ``block``, the number of statements for the terminator."""

    body: str
    block: int | None
    statement: int | None
    text: str
    message: str
    span: s.Span | None = None

    def __str__(self) -> str:
        if self.block is None:
            return f"`{self.body}`: {self.message}"
        return f"`{self.body}`, bb{self.block}[{self.statement}] `{self.text}`: {self.message}"


def find_problems(body: m.Body) -> list[Problem]:
    """Every fault of a body, in order; empty for a sound one."""
    structural = [Problem(body.name, None, None, "", message) for message in _structure(body)]
    if structural:
        return structural
    cx = Context(body)
    out: list[Problem] = []
    for i, block in enumerate(body.blocks):
        for j, statement in enumerate(block.statements):
            try:
                _check_statement(cx, statement)
            except Fault as e:
                text = _shown(lambda x=statement: format_statement(x))
                out.append(Problem(body.name, i, j, text, e.message, statement.source.span))
        try:
            check_terminator(cx, i, block.terminator)
        except Fault as e:
            text = _shown(lambda x=block.terminator: format_terminator(x))
            at = len(block.statements)
            out.append(Problem(body.name, i, at, text, e.message, block.terminator.source.span))
    return out


def verify_body(body: m.Body) -> None:
    """Raises :class:`InternalError` that lists the body's faults by block and statement."""
    _raise(find_problems(body))


def verify_program(program: m.Program) -> None:
    """Verifies every body, and that kernels, constants and allocations refer to what is there.

    Raises:
        InternalError: with every fault; rustc's own MIR has none, so that it was misread or joined wrongly.
    """
    bodies = {id(body): body for body in program.functions.values()}.values()
    problems = [x for body in bodies for x in find_problems(body)]
    for kernel in program.kernels:
        if kernel.body not in program.functions:
            problems.append(Problem(kernel.name, None, None, "", f"the kernel's body `{kernel.body[1]}` is missing"))
    for number, alloc in program.allocs.items():
        if isinstance(alloc, m.MemoryAlloc):
            for x in alloc.relocations:
                if x.alloc not in program.allocs:
                    problems.append(Problem(f"alloc{number}", None, None, "", f"points to alloc{x.alloc}: missing"))
    for body in bodies:
        problems += _missing_allocs(body, program)
    _raise(problems)


def _missing_allocs(body: m.Body, program: m.Program) -> list[Problem]:
    kinds = (p.PointerConst, p.SliceConst, p.IndirectConst)
    return [
        Problem(body.name, i, j, f"alloc{const.alloc}", "no such allocation", x.source.span)
        for i, block in enumerate(body.blocks)
        for j, x in enumerate((*block.statements, block.terminator))
        for const in constants_of(x)
        if isinstance(const, kinds) and const.alloc not in program.allocs
    ]


def _raise(problems: list[Problem]) -> None:
    if not problems:
        return
    lines = [str(x) for x in problems[:_MOST]]
    if len(problems) > _MOST:
        lines.append(f"and {len(problems) - _MOST} more")
    raise InternalError("the MIR is not sound:\n" + "\n".join(lines))


def _shown(make: object) -> str:
    assert callable(make)
    return str(make())


def _structure(body: m.Body) -> list[str]:
    """Faults that make the rest of the checks meaningless."""
    out: list[str] = []
    if not body.locals:
        out.append("no return place `_0`")
    if not 0 <= body.arg_count < max(len(body.locals), 1):
        out.append(f"{body.arg_count} arguments, but {len(body.locals)} locals")
    if not body.blocks:
        out.append("no blocks")
    for i, scope in enumerate(body.scopes):
        if scope.parent is not None and not 0 <= scope.parent < len(body.scopes):
            out.append(f"scope {i} has the unknown parent {scope.parent}")
    for i, block in enumerate(body.blocks):
        for target in successors(block.terminator):
            if not 0 <= target < len(body.blocks):
                out.append(f"bb{i} jumps to bb{target}, but there are {len(body.blocks)} blocks")
    return out


def _check_statement(cx: Context, statement: s.Statement) -> None:
    cx.scope(statement.source)
    match statement:
        case s.Assign(_, place, rvalue):
            check_assign(cx, place, rvalue)
        case s.SetDiscriminant(_, place, index):
            cx.need_enum(cx.place(place), "discriminant(..) =")
            if index < 0:
                raise Fault("negative variant index")
        case s.Storage(_, _, local):
            cx.local(local)
        case s.Assume(_, operand):
            cx.need_bool(cx.operand(operand), "assume")
        case s.CopyNonoverlapping(_, dst, src, count):
            to, from_ = cx.operand(dst), cx.operand(src)
            cx.need_usize(cx.operand(count), "count")
            cx.same(cx.pointee(to, "dst"), cx.pointee(from_, "src"), "dst and src point to")
        case s.Ignored():
            pass
