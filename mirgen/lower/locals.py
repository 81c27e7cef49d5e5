"""Which locals live as SSA values and which in stack slots.

A local is SSA when its value is a scalar or a pair, it is written exactly once and as a whole, is never borrowed, and
its definition dominates every use.  Everything else gets a slot; LLVM's SROA turns most of those into registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir.body import Body
from mirgen.mir.place import Copy, Deref, Index, Move, Operand, Place
from mirgen.mir.ty import Ty


def successors(terminator: s.Terminator) -> tuple[int, ...]:
    """Blocks that may run next; unwinding never does (``panic=abort``)."""
    match terminator:
        case s.Goto(target=target) | s.Drop(target=target) | s.Assert(target=target):
            return (target,)
        case s.SwitchInt(arms=arms, otherwise=otherwise):
            return (*(block for _, block in arms), otherwise)
        case s.Call(target=target):
            return () if target is None else (target,)
        case _:
            return ()


def reverse_postorder(body: Body) -> list[int]:
    """Reachable blocks, each before its successors except along loops' back edges."""
    order: list[int] = []
    seen = {0}
    stack: list[tuple[int, Iterator[int]]] = [(0, iter(successors(body.blocks[0].terminator)))]
    while stack:
        block, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(successors(body.blocks[target].terminator))))
                break
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    return order


def dominators(body: Body, order: list[int]) -> dict[int, int]:
    """Immediate dominators of the blocks in ``order`` (Cooper, Harvey, Kennedy); the entry is its own."""
    number = {block: i for i, block in enumerate(order)}
    predecessors: dict[int, list[int]] = {block: [] for block in order}
    for block in order:
        for target in successors(body.blocks[block].terminator):
            predecessors[target].append(block)
    idom: dict[int, int] = {0: 0}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            new = -1
            for before in predecessors[block]:
                if before not in idom:
                    continue
                if new == -1:
                    new = before
                    continue
                a, b = new, before
                while a != b:
                    while number[a] > number[b]:
                        a = idom[a]
                    while number[b] > number[a]:
                        b = idom[b]
                new = a
            if idom.get(block) != new:
                idom[block] = new
                changed = True
    return idom


@dataclass(slots=True)
class _Uses:
    """Definitions and uses as ``(block, position)``; ``memory`` holds locals that need an address."""

    definitions: dict[int, list[tuple[int, int]]] = field(default_factory=dict[int, list[tuple[int, int]]])
    uses: dict[int, list[tuple[int, int]]] = field(default_factory=dict[int, list[tuple[int, int]]])
    memory: set[int] = field(default_factory=set[int])
    at: tuple[int, int] = (0, -1)

    def define(self, place: Place) -> None:
        if not place.proj:
            self.definitions.setdefault(place.local, []).append(self.at)
        else:
            self._base(place, borrowed=True)

    def read(self, place: Place) -> None:
        self._base(place, borrowed=False)

    def borrow(self, place: Place) -> None:
        self._base(place, borrowed=True)

    def _base(self, place: Place, *, borrowed: bool) -> None:
        if borrowed and not any(isinstance(proj, Deref) for proj in place.proj):
            self.memory.add(place.local)
        self.use(place.local)
        for proj in place.proj:
            if isinstance(proj, Index):
                self.use(proj.local)

    def use(self, local: int) -> None:
        self.uses.setdefault(local, []).append(self.at)

    def operand(self, operand: Operand) -> None:
        if isinstance(operand, Copy | Move):
            self.read(operand.place)

    def rvalue(self, rvalue: r.Rvalue) -> None:
        match rvalue:
            case r.Ref(place=place) | r.RawPtr(place=place):
                self.borrow(place)
            case r.Discriminant(place) | r.CopyForDeref(place):
                self.read(place)
            case r.BinaryOp(_, left, right):
                self.operand(left)
                self.operand(right)
            case (
                r.ArrayAggregate(operands) | r.TupleAggregate(operands) | r.AdtAggregate(operands=operands)
                | r.ClosureAggregate(operands=operands)
            ):  # fmt: skip
                for operand in operands:
                    self.operand(operand)
            case r.RawPtrAggregate(_, data, meta):
                self.operand(data)
                self.operand(meta)
            case (
                r.Use(operand) | r.Repeat(operand, _) | r.Cast(operand=operand) | r.UnaryOp(operand=operand)
                | r.WrapBinder(operand, _)
            ):  # fmt: skip
                self.operand(operand)
            case r.ThreadLocalRef():
                pass

    def statement(self, statement: s.Statement) -> None:
        match statement:
            case s.Assign(_, place, rvalue):
                self.rvalue(rvalue)
                self.define(place)
            case s.SetDiscriminant(place=place):
                self.borrow(place)
            case s.Assume(_, operand):
                self.operand(operand)
            case s.CopyNonoverlapping(_, dst, src, count):
                for operand in (dst, src, count):
                    self.operand(operand)
            case s.Storage() | s.Ignored():
                pass

    def terminator(self, terminator: s.Terminator) -> None:
        match terminator:
            case s.SwitchInt(operand=operand):
                self.operand(operand)
            case s.Return():
                self.use(0)
            case s.Call(destination=destination, func=func, args=args):
                for operand in (func, *args):
                    self.operand(operand)
                self.define(destination)
            case s.TailCall(_, func, args):
                for operand in (func, *args):
                    self.operand(operand)
            case s.Drop(place=place):
                self.borrow(place)
            case s.Assert(operand=operand, args=args):
                for used in (operand, *args):
                    self.operand(used)
            case _:
                pass


def ssa_locals(body: Body, order: list[int], is_immediate: Callable[[Ty], bool]) -> set[int]:
    """The locals that may be SSA values; ``is_immediate`` says whether a type's values are scalars or pairs."""
    uses = _Uses()
    for block in order:
        for position, statement in enumerate(body.blocks[block].statements):
            uses.at = (block, position)
            uses.statement(statement)
        uses.at = (block, len(body.blocks[block].statements))
        uses.terminator(body.blocks[block].terminator)
    for argument in range(1, body.arg_count + 1):
        uses.definitions.setdefault(argument, []).append((0, -1))
    candidates = [
        local for local, sites in uses.definitions.items()
        if len(sites) == 1 and local not in uses.memory and is_immediate(body.locals[local].ty)
    ]  # fmt: skip
    if not candidates:
        return set()
    depth = _DominatorTree(dominators(body, order), order)
    return {
        local for local in candidates
        if all(depth.before(uses.definitions[local][0], use) for use in uses.uses.get(local, ()))
    }  # fmt: skip


class _DominatorTree:
    """Answers "does a dominate b" in constant time from entry and exit numbers."""

    def __init__(self, idom: dict[int, int], order: list[int]) -> None:
        children: dict[int, list[int]] = {block: [] for block in order}
        for block in order[1:]:
            children[idom[block]].append(block)
        self._span: dict[int, tuple[int, int]] = {}
        clock = 0
        entered: dict[int, int] = {}
        stack: list[tuple[int, bool]] = [(0, False)]
        while stack:
            block, done = stack.pop()
            clock += 1
            if done:
                self._span[block] = (entered[block], clock)
                continue
            entered[block] = clock
            stack.append((block, True))
            stack.extend((child, False) for child in children[block])

    def before(self, definition: tuple[int, int], use: tuple[int, int]) -> bool:
        if definition[0] == use[0]:
            return definition[1] < use[1]
        start, end = self._span[definition[0]]
        at = self._span[use[0]][0]
        return start < at < end
