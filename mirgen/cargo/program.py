"""From a cargo build to a closed, laid-out program: the input of lowering."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mirgen.analysis.doomed import without_addresses
from mirgen.cargo.again import CargoAgainError, Lessons
from mirgen.cargo.allocator import refuse_own_allocator
from mirgen.cargo.ask import Asker
from mirgen.cargo.build import CargoBuild, Unit
from mirgen.cargo.closure import STANDARD_CRATES, Closure, KnownConstant, Reached, Resolver, Unresolved, close
from mirgen.cargo.constants import evaluate
from mirgen.cargo.dump import AllocNumbers, CrateDump
from mirgen.cargo.expose import ExposureNeededError, withdraw
from mirgen.cargo.homonyms import Homonyms
from mirgen.cargo.instantiate import Instantiator
from mirgen.cargo.join import BEHIND_STD
from mirgen.cargo.kernels import MarkedKernel, find_kernels
from mirgen.cargo.layouts import ask_layouts
from mirgen.cargo.objects import make_tables
from mirgen.cargo.own_intrinsics import refuse_own_intrinsics
from mirgen.cargo.panic_places import PanicPlaces
from mirgen.cargo.unresolved import unresolved_diagnostic
from mirgen.cargo.versions import refuse_mixed_versions
from mirgen.cargo.waiting import waiting_functions
from mirgen.errors import Diagnostic, ToolError, UnsupportedError
from mirgen.ingest import Header
from mirgen.layout.data import Layout
from mirgen.mir.body import Body, FnKey, Kernel, Param, Program
from mirgen.mir.ty import Ty

#: The kernels among a crate's functions.
Find: TypeAlias = Callable[[Iterable[Header]], tuple[MarkedKernel, ...]]

#: How hard rustc's inliner is asked to try, from the usual on; each step costs rustc time.  The root's last step also
#: has the tower's second half.
_ROOT_EFFORTS = ((), ("--cfg", "mirgen_deep", "--thresholds", "deep"))
_LEVEL_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_READ_ALONE = 2
_DEPENDENCY_EFFORTS = ((), ("--thresholds", "root"))
#: Each dump of core takes a minute, once per toolchain.  What is inlined into a generic function may hold constants
#: that nothing can name any more: the usual dump goes first.
_STANDARD_EFFORTS = ((), ("--thresholds", "query"))


@dataclass(frozen=True, slots=True)
class ClosedProgram:
    """``layouts`` and ``no_layout`` (rustc's reasons) are keyed by ``Ty.key``; ``paths`` and ``reached`` by kernel:
    the kernel's Rust path and every body that it reaches.  ``parts`` makes the program of some of the kernels."""

    program: Program
    layouts: dict[tuple[str, str], Layout]
    no_layout: dict[tuple[str, str], str]
    paths: dict[str, str]
    reached: dict[str, tuple[Body, ...]]
    parts: Callable[[Collection[str]], ClosedProgram]

    def reached_bodies(self, kernel: str) -> tuple[Body, ...]:
        """The kernel's own body first."""
        return self.reached[kernel]

    def part(self, kernels: Collection[str]) -> ClosedProgram:
        """What some kernels would be without the others: trait objects' tables hold only their own types' methods."""
        return self if self.paths.keys() <= set(kernels) else self.parts(kernels)


def close_built(
    build: CargoBuild, again: Callable[[], CargoBuild], is_intrinsic: Callable[[str], bool],
    kernels: Sequence[str] = (), *, quiet: bool = False, refused: dict[str, UnsupportedError] | None = None,
    find: Find = find_kernels,
) -> tuple[CargoBuild, ClosedProgram]:  # fmt: skip
    """Close the program of ``build``; ``again`` builds it anew where what the program needs asks for another build.

    Kernels that call what has no body are an error, or are left out where ``refused`` is given, which then tells why.
    ``find`` says what the kernels are.

    Raises:
        ToolError, UnsupportedError, InvalidInputError: see :func:`cargo_build` and :func:`close_program`.
    """
    while True:
        try:
            return build, close_program(build, is_intrinsic, kernels, Lessons(build, quiet=quiet), refused, find)
        except CargoAgainError:
            pass
        try:
            build = again()
        except ToolError:
            withdraw(build.work_dir)
            build = again()
            return build, close_program(build, is_intrinsic, kernels, None, refused, find)


def close_program(
    build: CargoBuild,
    is_intrinsic: Callable[[str], bool],
    kernels: Sequence[str] = (),
    lessons: Lessons | None = None,
    refused: dict[str, UnsupportedError] | None = None,
    find: Find = find_kernels,
) -> ClosedProgram:
    """Read the kernels of ``build`` (those named, or all) and everything they reach.

    What another build would help with, as ``lessons`` say, is a reason to stop (:class:`CargoAgainError`); for
    ``refused`` and ``find`` see :func:`close_built`.

    Raises:
        UnsupportedError: no kernel, two of one name, or functions without a body.
        InvalidInputError: a name in ``kernels`` is no kernel, or rustc's text was not understood.
    """
    return _Closer(build, is_intrinsic, lessons, find).run(kernels, refused)


class _Closer:
    def __init__(
        self, build: CargoBuild, is_intrinsic: Callable[[str], bool], lessons: Lessons | None, find: Find
    ) -> None:  # fmt: skip
        self._find = find
        self._build = build
        self._lessons = lessons
        self._numbers = AllocNumbers()
        self._documents = build.work_dir / "documents"
        self._units = {build.root.crate_name: [build.root]}
        for unit in build.units:
            if unit != build.root:
                self._units.setdefault(unit.crate_name, []).append(unit)
        self._layouts: dict[tuple[str, str], Layout] = {}
        self._failures: dict[tuple[str, str], str] = {}
        self._variants: dict[tuple[str, int], list[CrateDump]] = {}
        self._effort = dict.fromkeys(self._units, 0)
        externs = (*self._units, *STANDARD_CRATES)
        others = (units for crate, units in self._units.items() if crate not in STANDARD_CRATES)
        homonyms = Homonyms(unit.record for units in others for unit in units)
        self._resolver = Resolver(self._current, is_intrinsic, homonyms, externs)
        self._places = PanicPlaces(build.shim, self._units, build.toolchain.library)
        overlays = build.work_dir / "overlays"
        self._asker = Asker(
            self._resolver, build.shim, self._documents, overlays, self._numbers, self._units, self._current
        )  # fmt: skip
        self._instantiator = Instantiator(
            self._resolver, lambda: self._root, build.shim, self._documents, self._numbers, externs
        )  # fmt: skip

    def _current(self, crate: str) -> list[CrateDump]:
        """The dumps of a crate (several where versions share a name) at the effort it has come to.

        What ``std`` exports again is in the crates behind it.
        """
        behind = [dump for name in BEHIND_STD for dump in self._current(name)] if crate == "std" else []
        effort = self._effort.get(crate)
        if effort is None:
            return behind
        key = (crate, effort)
        if key not in self._variants:
            flags = self._efforts(crate)[effort]
            self._variants[key] = [self._dump(unit, flags, effort) for unit in self._units[crate]]
        return [*self._variants[key], *behind]

    def _efforts(self, crate: str) -> tuple[tuple[str, ...], ...]:
        if crate in STANDARD_CRATES:
            return _STANDARD_EFFORTS
        return _ROOT_EFFORTS if crate == self._build.root.crate_name else _DEPENDENCY_EFFORTS

    def _dump(self, unit: Unit, flags: Sequence[str], effort: int) -> CrateDump:
        work = self._documents / f"{unit.record.stem}-{effort}"
        session = self._root if unit.crate_name in STANDARD_CRATES else None
        return CrateDump(unit, self._build.shim, work, self._numbers, flags, session)

    @property
    def _root(self) -> CrateDump:
        return self._current(self._build.root.crate_name)[0]

    def run(self, wanted: Sequence[str], refused: dict[str, UnsupportedError] | None) -> ClosedProgram:
        marked = _select(self._find(self._root.index), wanted, self._build)
        self._root.bodies(kernel.levels[0] for kernel in marked)  # all at once
        chosen = {kernel.name: self._close_kernel(kernel) for kernel in marked}
        self._want_core(u for u in _unresolved(chosen) if not u.may_be_asked)
        while True:
            learned = self._decide_drops(chosen)
            strove = not learned and self._strive(chosen)
            if not (learned or strove or self._ask(chosen) or self._instantiate(chosen)):
                break
            self._resolver.forget()
            known = {kernel.name: kernel for kernel in self._find(self._root.index)}
            for name, (_, closure) in list(chosen.items()):
                if closure.unresolved or closure.unevaluated or closure.undecided:
                    again = self._close_kernel(known[name])
                    # Answers only ever add to what is known; another effort may leave more open.
                    if not strove or self._distance(again[1]) <= self._distance(closure):
                        chosen[name] = again
        self._want_core(_unresolved(chosen))
        if refused is None:
            self._refuse_unresolved(chosen)
        else:
            refused.update(self._leave_out_unresolved(chosen))
            marked = tuple(kernel for kernel in marked if kernel.name in chosen)
        refuse_mixed_versions(self._units, chosen, self._resolver.references)
        refuse_own_allocator(self._build, chosen, self._resolver.references)
        refuse_own_intrinsics(chosen)
        try:
            return self._assemble(marked, chosen)
        except UnsupportedError:
            if refused is None:
                raise
        refused.update(self._leave_out_unassembled(marked, chosen))
        return self._assemble([kernel for kernel in marked if kernel.name in chosen], chosen)

    def _decide_drops(self, chosen: dict[str, tuple[Reached, Closure]]) -> bool:
        """Ask which types need to be dropped; whether any was decided."""
        undecided = [each for _, closure in chosen.values() for each in closure.undecided.values()]
        self._ask_layouts([(dump, frozenset({ty})) for ty, dump in undecided])
        drops = {ty.key: self._layouts[ty.key].needs_drop for ty, _ in undecided if ty.key in self._layouts}
        known = self._resolver.drops
        new = {key: answer for key, answer in drops.items() if answer is not None and key not in known}
        known.update(new)
        return bool(new)

    def _ask_layouts(self, held: Iterable[tuple[CrateDump, frozenset[Ty]]]) -> None:
        ask_layouts(held, self._build.shim, self._documents, self._layouts, self._failures)

    def _ask(self, chosen: dict[str, tuple[Reached, Closure]]) -> bool:
        """Put questions about what no effort resolved; whether there were any."""
        closures = [closure for _, closure in chosen.values()]
        stuck = [u for u in _unresolved(chosen) if u.may_be_asked]
        try:
            constants = [u for closure in closures for u in closure.unevaluated.values()]
            return self._asker.ask(stuck, constants, self._instantiator.take_open())
        except ExposureNeededError as needed:
            if self._lessons is not None and self._lessons.expose(needed.items):
                raise CargoAgainError from needed
            return False

    def _want_core(self, stuck: Iterable[Unresolved]) -> None:
        """Stop for a build with an own core where that would bring a body."""
        if self._lessons is not None and any(u.is_standard for u in stuck) and self._lessons.take_own_core():
            raise CargoAgainError

    def _instantiate(self, chosen: dict[str, tuple[Reached, Closure]]) -> bool:
        """Make the instances that no question brought; whether any was made."""
        closures = [closure for _, closure in chosen.values()]
        made = self._instantiator.make(u for u in _unresolved(chosen) if u.may_be_asked)
        return self._instantiator.compute(u for closure in closures for u in closure.unevaluated.values()) or made

    def _strive(self, chosen: dict[str, tuple[Reached, Closure]]) -> bool:
        """Raise the effort of the crates that left calls which a bolder inliner may resolve; whether any was raised."""
        stuck = [u for u in _unresolved(chosen) if u.may_be_inlined]
        crates = {u.reached.dump.crate for u in stuck}
        raised = False
        for crate in crates:
            if self._effort[crate] + 1 < len(self._efforts(crate)):
                self._effort[crate] += 1
                raised = True
        return raised

    def _close_kernel(self, kernel: MarkedKernel) -> tuple[Reached, Closure]:
        """The first level of the tower that leaves nothing unresolved, else the one that leaves least."""
        root = self._root
        best: tuple[Reached, Closure] | None = None
        tried = _tried(kernel.levels)
        for i, level in enumerate(tried):
            # Most kernels need one level or two; those that need more need many.
            together = [level] if i < _READ_ALONE else tried[_READ_ALONE:]
            reached = Reached(root.bodies(together)[level], root)
            closure = close([reached], self._resolver)
            if best is None or self._distance(closure) < self._distance(best[1]):
                best = (reached, closure)
            if not any(u.may_be_inlined and u.reached.dump is root for u in closure.unresolved):
                break
        assert best is not None
        return best

    def _distance(self, closure: Closure) -> tuple[int, int]:
        """How far a closure is from whole: what rustc can no longer be asked about weighs most."""
        return sum(map(self._asker.is_hopeless, closure.unresolved)), len(closure.unresolved)

    def _refuse_unresolved(self, chosen: dict[str, tuple[Reached, Closure]]) -> None:
        """Refuse what has no body: each function once, with the first kernel that calls it."""
        diagnostics: dict[FnKey, Diagnostic] = {}
        for name, (_, closure) in chosen.items():
            for key, diagnostic in self._diagnostics(name, closure).items():
                diagnostics.setdefault(key, diagnostic)
        if diagnostics:
            raise UnsupportedError(*diagnostics.values())

    def _leave_out_unresolved(self, chosen: dict[str, tuple[Reached, Closure]]) -> dict[str, UnsupportedError]:
        """Take the kernels that call what has no body out of ``chosen``; why, by their names."""
        diagnostics = {name: self._diagnostics(name, closure) for name, (_, closure) in chosen.items()}
        refused = {name: UnsupportedError(*found.values()) for name, found in diagnostics.items() if found}
        for name in refused:
            del chosen[name]
        return refused

    def _leave_out_unassembled(
        self, marked: Sequence[MarkedKernel], chosen: dict[str, tuple[Reached, Closure]]
    ) -> dict[str, UnsupportedError]:
        """Take the kernels that make no program alone out of ``chosen``; why, by their names."""
        refused: dict[str, UnsupportedError] = {}
        for kernel in marked:
            try:
                self._assemble([kernel], {kernel.name: chosen[kernel.name]})
            except UnsupportedError as error:
                refused[kernel.name] = error
                del chosen[kernel.name]
        return refused

    def _diagnostics(self, kernel: str, closure: Closure) -> dict[FnKey, Diagnostic]:
        """An error for each function that the kernel calls and that has no body."""
        found: dict[FnKey, Diagnostic] = {}
        for unresolved in closure.unresolved:
            key = (unresolved.crate, unresolved.path)
            if key not in found:
                in_the_way = self._instantiator.refusals.get(key)
                found[key] = unresolved_diagnostic(kernel, unresolved, self._build, in_the_way)
        return found

    def _assemble(self, marked: Sequence[MarkedKernel], chosen: dict[str, tuple[Reached, Closure]]) -> ClosedProgram:
        functions = {key: reached for _, closure in chosen.values() for key, reached in closure.functions.items()}
        kernels: list[Kernel] = []
        for mark in marked:
            reached = chosen[mark.name][0]
            body = reached.body
            key = (body.crate, body.header)
            functions[key] = reached
            params = tuple(
                Param(local.name or f"arg{i}", local.ty) for i, local in enumerate(body.locals[1 : body.arg_count + 1])
            )
            kernels.append(Kernel(mark.name, key, params, body.span))
        constants = {key: known for _, closure in chosen.values() for key, known in closure.constants.items()}
        objects = [closure.objects for _, closure in chosen.values()]
        self._ask_layouts((*self._held(functions, constants), *(held for each in objects for held in each.held())))
        allocs = {n: a for _, closure in chosen.values() for n, a in closure.allocs.items()}
        waiting = waiting_functions(functions, [each.targets for each in objects], self._resolver)
        tables = make_tables(objects, self._resolver.methods, self._layouts, allocs, self._numbers, waiting)
        empty = _empty_addresses(chosen)
        known = {key: empty.get(id(reached.body), reached.body) for key, reached in functions.items()}
        final = self._places.moved(known)
        whole = {**{key: final[id(body)] for key, body in known.items()}, **tables.functions}
        program = Program(
            kernels=tuple(kernels),
            functions=whole,
            allocs=allocs,
            constants=evaluate(constants, self._layouts, allocs, self._numbers, tables.allocs),
            target=self._build.target,
            compiler=f"rustc {self._build.toolchain.release}",
            tables=tables.allocs,
            targets=tables.targets,
        )
        return ClosedProgram(
            program,
            self._layouts,
            self._failures,
            {mark.name: mark.path for mark in marked},
            {kernel.name: (whole[kernel.body], *_bodies(chosen[kernel.name][1], whole)) for kernel in kernels},
            lambda names: self._assemble(
                [mark for mark in marked if mark.name in names],
                {name: chosen[name] for name in chosen if name in names},
            ),
        )

    def _held(
        self, functions: dict[FnKey, Reached], constants: dict[FnKey, KnownConstant]
    ) -> Iterator[tuple[CrateDump, frozenset[Ty]]]:
        """The types that bodies and constants hold."""
        for reached in {id(reached.body): reached for reached in functions.values()}.values():
            yield reached.dump, self._resolver.references(reached.body).types
        for known in constants.values():
            if known.body is not None:
                yield known.dump, self._resolver.references(known.body).types
            elif known.value is not None and known.value.const.ty is not None:
                yield known.dump, frozenset({known.value.const.ty})


def _unresolved(chosen: dict[str, tuple[Reached, Closure]]) -> Iterator[Unresolved]:
    for _, closure in chosen.values():
        yield from closure.unresolved


def _tried(levels: Sequence[Header]) -> list[Header]:
    """The levels worth reading: all of the first few, then ever fewer, and the last."""
    numbers = [n for n in _LEVEL_STEPS if n < len(levels)]
    return [levels[n - 1] for n in (*numbers, len(levels))]


def _empty_addresses(chosen: dict[str, tuple[Reached, Closure]]) -> dict[int, Body]:
    """Bodies rewritten so that addresses which only a panic would use are null, by the old body's ``id``."""
    paths: dict[int, tuple[Body, set[str]]] = {}
    for _, closure in chosen.values():
        for body, path in closure.empty_addresses:
            paths.setdefault(id(body), (body, set()))[1].add(path)
    return {key: without_addresses(body, frozenset(found)) for key, (body, found) in paths.items()}


def _bodies(closure: Closure, whole: Mapping[FnKey, Body]) -> tuple[Body, ...]:
    """Each body once, as the program has it: a body may be known under several names."""
    bodies = (whole.get(key, reached.body) for key, reached in closure.functions.items())
    return tuple({id(body): body for body in bodies}.values())


def _select(marked: tuple[MarkedKernel, ...], wanted: Sequence[str], build: CargoBuild) -> tuple[MarkedKernel, ...]:
    if not marked:
        raise UnsupportedError(
            Diagnostic(
                code="MG0101",
                message=f"no kernel in crate `{build.root.crate_name}`",
                helps=["mark a function with `#[kernel]` (`use mirgen_device::prelude::*;`)"],
            )
        )
    if not wanted:
        return marked
    names = {kernel.name for kernel in marked}
    missing = [name for name in wanted if name not in names]
    if missing:
        raise UnsupportedError(
            Diagnostic(
                code="MG0103",
                message=f"no kernel `{missing[0]}` in crate `{build.root.crate_name}`",
                notes=[f"the crate has: {', '.join(sorted(names))}"],
            )
        )
    return tuple(kernel for kernel in marked if kernel.name in wanted)
