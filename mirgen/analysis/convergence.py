"""Barriers that some threads of a block might not reach.

Threads part at a branch on a value that may differ between them, and meet again where all ways from it do: at the
branch's nearest postdominator.  What lies between is reached by some of them only.  Ways that can only panic do not
count, since a panic ends the whole grid.  Both travel through calls: a function is entered by some threads only if one
of its calls is, and its arguments differ if those of one call do.

The analysis errs on the safe side: whatever lies behind a pointer, and what a loop leaves that threads run through a
different number of times, may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeAlias

from mirgen.analysis.references import references
from mirgen.analysis.runtime_checks import successors
from mirgen.analysis.uniformity import (
    callee_path,
    changed_elsewhere,
    definitions,
    operand_is_uniform,
)  # fmt: skip
from mirgen.diagnostics.origin import user_location
from mirgen.errors import Diagnostic, Location
from mirgen.mir import statement as st
from mirgen.mir.body import Body, Kernel, Program

BARRIER = "__mirgen_barrier"
#: Functions of no arguments that give every thread of a block the same value.
_UNIFORM_CALLS = frozenset(f"__mirgen_{what}_{axis}" for what in ("ntid", "nctaid", "ctaid") for axis in "xyz")
#: The node after every return.
_EXIT = -1

#: A body and one of its blocks.
_At: TypeAlias = tuple[Body, int]


@dataclass(slots=True)
class _Entry:
    """How a body is entered: ``parted`` is a branch behind which only some threads enter it, by address ``None``."""

    partially: bool = False
    parted: _At | None = None
    args: set[int] = field(default_factory=set[int])
    result_differs: bool = False


def barrier_warnings(program: Program, kernel: Kernel, reached: Sequence[Body]) -> list[Diagnostic]:
    """One diagnostic for each barrier in ``reached``, all the bodies that ``kernel`` reaches, which some threads of a
    block might not reach."""
    if not any(True for body in reached for _ in _barriers(body)):
        return []
    found: dict[object, Diagnostic] = {}
    for (body, at), parted in _Convergence(program, kernel, reached).divergent_barriers():
        warning = _warning(kernel, body, at, parted)
        found.setdefault(warning.location, warning)
    return list(found.values())


class _Convergence:
    def __init__(self, program: Program, kernel: Kernel, reached: Sequence[Body]) -> None:
        self._program = program
        self._bodies = list({id(body): body for body in reached}.values())
        self._entries = {id(body): _Entry() for body in self._bodies}
        self._flows = {id(body): _Flow(body) for body in self._bodies}
        self._entered_anyhow(kernel)
        changed = True
        while changed:
            before = [(e.partially, len(e.args), e.result_differs) for e in self._entries.values()]
            for body in self._bodies:
                self._analyse(body)
            changed = before != [(e.partially, len(e.args), e.result_differs) for e in self._entries.values()]

    def divergent_barriers(self) -> Iterator[tuple[_At, _At | None]]:
        """Each barrier, and the branch where the threads part."""
        for body in self._bodies:
            entry, flow = self._entries[id(body)], self._flows[id(body)]
            for at in _barriers(body):
                branch = flow.parted_before(at)
                if branch is not None:
                    yield (body, at), (body, branch)
                elif entry.partially:
                    yield (body, at), entry.parted

    def _callee(self, body: Body, call: st.Call) -> Body | None:
        callee = self._program.functions.get((body.crate, callee_path(call.func)))
        return callee if callee is not None and id(callee) in self._entries else None

    def _entered_anyhow(self, kernel: Kernel) -> None:
        """What may be entered by any thread with anything: by its address, when a value is dropped, or in a way that
        is not known here."""
        called: set[int] = set()
        addressed: set[int] = set()
        for body in self._bodies:
            for use in references(body).callees:
                callee = self._program.functions.get((body.crate, use.fn.path))
                (called if use.called else addressed).add(id(callee))
        for body in self._bodies:
            is_drop = body.header.rpartition("::")[2].startswith("drop")
            if id(body) in addressed or is_drop or not (id(body) in called or kernel.body == (body.crate, body.header)):
                entry = self._entries[id(body)]
                entry.partially = entry.result_differs = True
                entry.args.update(range(1, body.arg_count + 1))

    def _analyse(self, body: Body) -> None:
        entry, flow = self._entries[id(body)], self._flows[id(body)]

        def same(call: st.Call, differing: set[int]) -> bool:
            if callee_path(call.func).rpartition("::")[2] in _UNIFORM_CALLS:
                return True
            callee = self._callee(body, call)
            if callee is None or not all(operand_is_uniform(arg, differing) for arg in call.args):
                return False
            return not self._entries[id(callee)].result_differs

        flow.run(entry.args, same)
        entry.result_differs |= 0 in flow.differing
        for at, block in enumerate(body.blocks):
            call = block.terminator
            callee = self._callee(body, call) if isinstance(call, st.Call) else None
            if callee is None or not isinstance(call, st.Call) or at not in flow.kept:
                continue
            into = self._entries[id(callee)]
            branch = flow.parted_before(at)
            if (branch is not None or entry.partially) and not into.partially:
                into.partially, into.parted = True, (body, branch) if branch is not None else entry.parted
            if len(call.args) == callee.arg_count:
                args = enumerate(call.args, 1)
                into.args.update(n for n, arg in args if not operand_is_uniform(arg, flow.differing))
            else:  # a tuple of arguments, taken apart on the way
                into.args.update(range(1, callee.arg_count + 1))


class _Flow:
    """One body: what differs in it, and which blocks lie behind which branch."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.differing: set[int] = set(changed_elsewhere(body))
        self._next = _ways(body)
        self.kept = frozenset(self._next)
        self._joins = _joins(self._next)
        self._regions: dict[int, frozenset[int]] = {}

    def run(self, args: set[int], same: Callable[[st.Call, set[int]], bool]) -> None:
        """Finds all that differs when the arguments ``args`` do; ``same`` says whether a call gives one result."""
        self.differing |= args
        while True:
            before = len(self.differing)
            partial = frozenset[int]().union(*(self._region(branch) for branch in self._parting()))
            for at, block in enumerate(self.body.blocks):
                for local, is_same in definitions(block.statements, block.terminator, self.differing, same):
                    if at in partial or not is_same:
                        self.differing.add(local)
            if before == len(self.differing):
                return

    def parted_before(self, at: int) -> int | None:
        """A branch behind which only some threads come to the block."""
        return next((branch for branch in self._parting() if at in self._region(branch)), None)

    def _parting(self) -> Iterator[int]:
        for at in sorted(self.kept):
            branch = self.body.blocks[at].terminator
            if (
                isinstance(branch, st.SwitchInt)
                and len(self._next[at]) > 1
                and not operand_is_uniform(branch.operand, self.differing)
            ):
                yield at

    def _region(self, branch: int) -> frozenset[int]:
        """The blocks between a branch and where all ways from it meet."""
        known = self._regions.get(branch)
        if known is None:
            join = self._joins[branch]
            known = self._regions[branch] = frozenset(_reach(self._next, self._next[branch] - {join}, join) - {_EXIT})
        return known


def _ways(body: Body) -> dict[int, set[int]]:
    """From every block where a thread may come and return later, or run forever, to the next; ways that can only
    panic are left out."""
    after = {at: set(successors(block.terminator)) for at, block in enumerate(body.blocks)}
    for at, block in enumerate(body.blocks):
        if isinstance(block.terminator, st.Return):
            after[at].add(_EXIT)
    entered = _reach(after, {0})
    for at in entered - _reach(_against(after), {_EXIT}):
        if at in _reach(after, after[at]):  # in a loop without an end, as good as an end of its own
            after[at].add(_EXIT)
    ending = _reach(_against(after), {_EXIT})
    return {at: after[at] & ending for at in (ending & entered) - {_EXIT}}


def _against(after: Mapping[int, Set[int]]) -> dict[int, set[int]]:
    """The ways the other way round."""
    before: dict[int, set[int]] = {}
    for at, targets in after.items():
        for target in targets:
            before.setdefault(target, set()).add(at)
    return before


def _reach(after: Mapping[int, Set[int]], starts: Set[int], barred: int | None = None) -> set[int]:
    """The blocks that are reached from ``starts``, themselves included, without coming through ``barred``."""
    seen: set[int] = set()
    stack = list(starts)
    while stack:
        at = stack.pop()
        if at not in seen and at != barred:
            seen.add(at)
            stack.extend(after.get(at, ()))
    return seen


def _joins(after: Mapping[int, Set[int]]) -> dict[int, int]:
    """For every block the nearest one that all ways from it to the end lead through."""
    order = _postorder(_against(after))
    number = {at: n for n, at in enumerate(order)}
    joins = {_EXIT: _EXIT}
    changed = True
    while changed:
        changed = False
        for at in reversed(order):
            if at == _EXIT:
                continue
            done = [target for target in after[at] if target in joins]
            join = done[0]
            for other in done[1:]:
                while join != other:
                    while number[join] < number[other]:
                        join = joins[join]
                    while number[other] < number[join]:
                        other = joins[other]
            if joins.get(at) != join:
                joins[at], changed = join, True
    return joins


def _postorder(before: Mapping[int, Set[int]]) -> list[int]:
    """The blocks in postorder of a walk against the flow, from the end."""
    order: list[int] = []
    seen = {_EXIT}
    stack = [(_EXIT, iter(sorted(before.get(_EXIT, ()))))]
    while stack:
        at, rest = stack[-1]
        following = next((target for target in rest if target not in seen), None)
        if following is None:
            order.append(at)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(sorted(before.get(following, ())))))
    return order


def _barriers(body: Body) -> Iterator[int]:
    for at, block in enumerate(body.blocks):
        call = block.terminator
        if isinstance(call, st.Call) and callee_path(call.func).rpartition("::")[2] == BARRIER:
            yield at


def _warning(kernel: Kernel, body: Body, at: int, parted: _At | None) -> Diagnostic:
    labels: list[tuple[Location, str]] = []
    notes: list[str] = []
    if parted is not None:
        where = user_location(parted[0], parted[0].blocks[parted[1]].terminator.source)
        if where is not None:
            labels.append((where, "the threads might part here: what is asked may differ between them"))
    else:
        notes.append("it stands in a function that is called by its address, or when a value is dropped")
    return Diagnostic(
        "MG0105",
        f"kernel `{kernel.name}` waits at a barrier that some threads of a block might not reach",
        user_location(body, body.blocks[at].terminator.source),
        "all threads of the block have to come here, or none",
        notes=tuple(notes),
        helps=("bring the barrier out of the branch or loop: let the condition guard only what is between barriers",),
        labels=tuple(labels),
    )
