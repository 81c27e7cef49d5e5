"""What all threads of the grid do alike: proofs for the facts that a view's division rests on.

``Disjoint::by_chunks``, ``by_blocks`` and ``as_matrix`` divide an array among the threads anew.  That is sound only if
every thread divides it, and in the same way: they leave a call of ``__mirgen_fact_grid_uniform(array, width)``, and
this module proves it or refuses the kernel.

The analysis is small and errs on the safe side.  A value differs between threads unless it is computed, in blocks that
all threads reach, from the kernel's parameters, constants and the sizes of grid and block.  Whatever lies behind a
pointer differs.  A block may be missed by some threads if any branch on a differing value leads to it, even where the
paths join again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mirgen.analysis.facts import PREFIX
from mirgen.analysis.references import operands_of, references
from mirgen.analysis.runtime_checks import successors
from mirgen.diagnostics.origin import user_location
from mirgen.errors import Diagnostic, UnsupportedError
from mirgen.mir import place as pl
from mirgen.mir import rvalue as rv
from mirgen.mir import statement as st
from mirgen.mir import ty as tys
from mirgen.mir.body import Body, Kernel, Program

#: Functions of no arguments that give every thread of the grid the same value.
_UNIFORM_CALLS = frozenset(f"__mirgen_{size}_{axis}" for size in ("ntid", "nctaid") for axis in "xyz")
_FACT = f"{PREFIX}grid_uniform"


@dataclass(frozen=True, slots=True)
class Uniform:
    """What all threads that enter one body together have in common."""

    body: Body
    #: Locals that may differ between threads.
    differing: frozenset[int]
    #: Blocks that some threads may miss.
    partial: frozenset[int]

    def block(self, at: int) -> bool:
        """Whether all threads reach the block, or none."""
        return at not in self.partial

    def operand(self, operand: pl.Operand) -> bool:
        """Whether the operand has one value for all threads."""
        match operand:
            case pl.Copy(place=place) | pl.Move(place=place):
                return _place(place, self.differing)
            case pl.Constant() | pl.RuntimeChecks():
                return True


def check_uniform_facts(program: Program, kernel: Kernel, reached: Sequence[Body]) -> None:
    """Proves every fact of uniformity in ``reached``, all the bodies that ``kernel`` reaches.

    Raises:
        UnsupportedError: with one diagnostic for each that cannot be proved.
    """
    asked = [body for body in reached if any(_fact_blocks(body))]
    if not asked:
        return
    entered = dict(_entered_together(program, kernel, reached))
    diagnostics: list[Diagnostic] = []
    for body in asked:
        uniform = entered.get(id(body))
        for at, call in _fact_blocks(body):
            reason = _reason(uniform, at, call)
            if reason:
                diagnostics.append(_refusal(kernel, body, call, reason))
    if diagnostics:
        raise UnsupportedError(*diagnostics)


def grid_uniform(body: Body, differing_args: frozenset[int] = frozenset()) -> Uniform:
    """Analyses a body that all threads of the grid enter, with arguments that are the same for all but the locals
    ``differing_args``."""
    differing = set(differing_args) | set(changed_elsewhere(body))
    partial: set[int] = set()
    while True:
        before = len(differing), len(partial)
        partial |= _after_differing_branches(body, differing)
        for at, block in enumerate(body.blocks):
            for local, same in definitions(block.statements, block.terminator, differing, _same_for_grid):
                if at in partial or not same:
                    differing.add(local)
        if before == (len(differing), len(partial)):
            return Uniform(body, frozenset(differing), frozenset(partial))


def _reason(uniform: Uniform | None, at: int, call: st.Call) -> str:
    """Why the fact in block ``at`` is not proved; empty if it is."""
    if uniform is None:
        return "in a function that some threads might call and others not"
    if not uniform.block(at):
        return "where some threads might not come"
    array, width = call.args
    if not uniform.operand(width):
        return "by a width that might differ between threads"
    return "" if uniform.operand(array) else "that might be another one in another thread"


def _entered_together(program: Program, kernel: Kernel, reached: Sequence[Body]) -> Iterator[tuple[int, Uniform]]:
    """The bodies that all threads enter together or not at all, by identity: the kernel's own, and those with a single
    call in all the program, where all threads reach it."""
    uses: dict[int, int] = {}
    for body in reached:
        for use in references(body).callees:
            callee = program.functions.get((body.crate, use.fn.path))
            if callee is not None:
                # An address may be called from anywhere.
                uses[id(callee)] = uses.get(id(callee), 0) + (1 if use.called else 2)
    work: list[tuple[Body, frozenset[int]]] = [(program.functions[kernel.body], frozenset())]
    while work:
        body, differing_args = work.pop()
        uniform = grid_uniform(body, differing_args)
        yield id(body), uniform
        for at, block in enumerate(body.blocks):
            call = block.terminator
            if not isinstance(call, st.Call) or not uniform.block(at):
                continue
            callee = program.functions.get((body.crate, callee_path(call.func)))
            if callee is not None and callee is not body and uses.get(id(callee)) == 1:
                args = enumerate(call.args, 1)
                work.append((callee, frozenset(number for number, arg in args if not uniform.operand(arg))))


def _fact_blocks(body: Body) -> Iterator[tuple[int, st.Call]]:
    for at, block in enumerate(body.blocks):
        call = block.terminator
        if isinstance(call, st.Call) and callee_path(call.func).rpartition("::")[2] == _FACT:
            yield at, call


def callee_path(func: pl.Operand) -> str:
    """rustc's text of the function that is called; empty for one that is not named."""
    if isinstance(func, pl.Constant) and isinstance(func.const, pl.ZstConst):
        ty = func.const.ty
        if isinstance(ty, tys.FnDefTy):
            return ty.path
    return ""


def changed_elsewhere(body: Body) -> Iterator[int]:
    """Locals that something else than an assignment may change: through a mutable borrow or a raw pointer, or a shared
    borrow of what may hold a cell."""
    for block in body.blocks:
        for statement in block.statements:
            match statement:
                case st.Assign(rvalue=rv.Ref(borrow=borrow, place=place)):
                    mutable = borrow == "mut" or not _is_plain(body.locals[place.local].ty)
                case st.Assign(rvalue=rv.RawPtr(mutable=mutable, place=place)):
                    mutable = mutable or not _is_plain(body.locals[place.local].ty)
                case _:
                    continue
            if mutable and not _through_pointer(place):
                yield place.local


def _is_plain(ty: tys.Ty) -> bool:
    """Whether a value certainly holds no cell: of other crates' types only core's simple ones are believed."""
    match ty:
        case tys.IntTy() | tys.FloatTy() | tys.BoolTy() | tys.CharTy() | tys.StrTy() | tys.NeverTy():
            return True
        case tys.PointerTy() | tys.FnDefTy() | tys.FnPtrTy():
            return True
        case tys.ArrayTy(elem=elem) | tys.SliceTy(elem=elem):
            return _is_plain(elem)
        case tys.TupleTy(elems=elems):
            return all(map(_is_plain, elems))
        case tys.ClosureTy(upvars=upvars):
            return all(map(_is_plain, upvars))
        case tys.AdtTy(path=path, args=args):
            known = path.startswith(("core::option::", "core::ops::", "core::result::", "core::iter::"))
            return path.startswith("mirgen_device::") or (known and all(map(_is_plain, args)))
        case _:
            return False


def _after_differing_branches(body: Body, differing: set[int]) -> set[int]:
    """All blocks that can be reached from a branch on a value that differs."""
    stack = [
        target
        for block in body.blocks
        if isinstance(block.terminator, st.SwitchInt) and not operand_is_uniform(block.terminator.operand, differing)
        for target in successors(block.terminator)
    ]
    seen: set[int] = set()
    while stack:
        at = stack.pop()
        if at not in seen:
            seen.add(at)
            stack.extend(successors(body.blocks[at].terminator))
    return seen


def _same_for_grid(call: st.Call, _differing: set[int]) -> bool:
    return callee_path(call.func).rpartition("::")[2] in _UNIFORM_CALLS


def definitions(
    statements: Sequence[st.Statement], terminator: st.Terminator, differing: set[int],
    same: Callable[[st.Call, set[int]], bool],
) -> Iterator[tuple[int, bool]]:  # fmt: skip
    """``(local, whether it gets one value for all threads)`` of everything that a block assigns; ``same`` says it of a
    call's result."""
    for statement in statements:
        match statement:
            case st.Assign(place=place, rvalue=value) if not _through_pointer(place):
                yield place.local, _rvalue(value, differing) and _place(place, differing, written=True)
            case st.SetDiscriminant(place=place) if not _through_pointer(place):
                yield place.local, True
            case _:
                pass
    if isinstance(terminator, st.Call) and not _through_pointer(terminator.destination):
        yield terminator.destination.local, same(terminator, differing)


def _through_pointer(place: pl.Place) -> bool:
    return any(isinstance(step, pl.Deref) for step in place.proj)


def _place(place: pl.Place, differing: set[int] | frozenset[int], *, written: bool = False) -> bool:
    """Whether a place is the same for all threads; ``written``: as a place alone, whatever it holds."""
    if not written and place.local in differing:
        return False
    return all(
        not isinstance(step, pl.Deref) and not (isinstance(step, pl.Index) and step.local in differing)
        for step in place.proj
    )


def operand_is_uniform(operand: pl.Operand, differing: set[int]) -> bool:
    """Whether an operand has one value for all threads, where the locals ``differing`` may have several."""
    match operand:
        case pl.Copy(place=place) | pl.Move(place=place):
            return _place(place, differing)
        case pl.Constant() | pl.RuntimeChecks():
            return True


def _rvalue(value: rv.Rvalue, differing: set[int]) -> bool:
    match value:
        case rv.Discriminant(place=place) | rv.CopyForDeref(place=place):
            return _place(place, differing)
        case rv.Ref(place=place) | rv.RawPtr(place=place):
            # The address of a thread's own memory is its own; one behind a pointer that all share is shared.
            if not place.proj or not isinstance(place.proj[0], pl.Deref):
                return False
            rest = pl.Place(place.local, place.proj[1:])
            return _place(rest, differing)
        case rv.ThreadLocalRef():
            return False
        case _:
            return all(operand_is_uniform(operand, differing) for operand in operands_of(value))


def _refusal(kernel: Kernel, body: Body, call: st.Call, reason: str) -> Diagnostic:
    return Diagnostic(
        "MG0104",
        f"kernel `{kernel.name}` divides an array {reason}",
        user_location(body, call.source),
        "every thread of the grid has to divide it here, in the same way",
        notes=("`by_chunks`, `by_blocks` and `as_matrix` say which elements are whose: two divisions would overlap",),
        helps=(
            "divide the array at the start of the kernel, before any branch on a thread's index or on data, and take "
            "a matrix's width from a parameter",
        ),
    )
