"""What is known where the next piece of a random program is written: names, what they may be used for, and how much
may still come.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from mirgen.testing.fuzz.tree import Node, text
from mirgen.testing.fuzz.types import Array, Enum, Slice, Struct, Tuple, Ty

T = TypeVar("T")
Passed = Literal["value", "ref", "mut"]

#: How often the innermost code of an entry may run.
MAX_COST = 6_000


@dataclass(slots=True)
class Var:
    """A name in scope; ``place`` is how its value is written, ``*r`` behind a reference."""

    ty: Ty
    place: str
    mutable: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A variable or a part of one.  ``root`` is the variable."""

    text: Node
    ty: Ty
    mutable: bool
    root: Var


@dataclass(frozen=True, slots=True)
class Function:
    """Something that can be called; ``h: &mut u64`` comes last.  ``cost`` is how many nodes run in one call."""

    name: str
    params: tuple[tuple[Ty, Passed], ...]
    result: Ty
    cost: int
    #: The first argument counts the calls of itself that are left.
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that can be left from here: its label, and the type of its value where it has one."""

    label: str
    value: Ty | None


@dataclass(slots=True)
class Cx:
    """The state of one program's generation.  ``const`` limits it to what rustc evaluates at compile time."""

    rng: random.Random
    const: bool
    expr: Callable[[Ty], Node]
    #: Whether it has generic functions, traits and objects: what mirgen has to ask rustc about.
    generic: bool
    vars: list[Var] = field(default_factory=list[Var])
    loops: list[Loop] = field(default_factory=list[Loop])
    functions: list[Function] = field(default_factory=list[Function])
    structs: list[Struct] = field(default_factory=list[Struct])
    enums: list[Enum] = field(default_factory=list[Enum])
    constants: list[Var] = field(default_factory=list[Var])
    traits: list[Trait] = field(default_factory=list["Trait"])
    returns: Ty | None = None
    #: Nodes that the function may still have, and how often the code that is being written runs in one call.
    fuel: int = 0
    times: int = 1
    cost: int = 0
    depth: int = 0
    #: Whether nothing may be changed here but ``h``: in a guard.
    pure: bool = False
    #: Whether nothing may panic: what rustc has to evaluate.
    calm: bool = False
    counter: int = 0

    def fresh(self, prefix: str) -> str:
        """A name that is used nowhere else."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def chance(self, percent: float) -> bool:
        """Whether something happens that happens so often."""
        return self.rng.random() * 100 < percent

    def pick(self, choices: Sequence[T]) -> T:
        """One of several."""
        return choices[int(self.rng.random() * len(choices))]

    def weighted(self, choices: Sequence[tuple[float, T]]) -> T:
        """One of several, each with a weight."""
        at = self.rng.random() * sum(weight for weight, _ in choices)
        for weight, choice in choices:
            at -= weight
            if at < 0:
                return choice
        return choices[-1][1]

    def below(self, end: int) -> int:
        """A number from 0 on."""
        return int(self.rng.random() * end)

    def spend(self) -> None:
        """One more node."""
        self.fuel -= 1
        self.cost += self.times

    def declare(self, ty: Ty, prefix: str = "v", *, mutable: bool = False, place: str = "{}") -> str:
        """A new variable in the innermost scope; its name."""
        name = self.fresh(prefix)
        self.vars.append(Var(ty, place.format(name), mutable))
        return name

    @contextmanager
    def scope(self) -> Generator[None]:
        """Variables that are declared inside end with it."""
        before = list(self.vars)
        try:
            yield
        finally:
            self.vars = before

    @contextmanager
    def only(self, chosen: list[Var]) -> Generator[None]:
        """Inside there are no other variables."""
        before, self.vars = self.vars, list(chosen)
        try:
            yield
        finally:
            self.vars = before

    @contextmanager
    def without(self, hidden: Sequence[Var]) -> Generator[None]:
        """Inside these variables cannot be named; new ones stay after it."""
        before = list(self.vars)
        self.vars = [var for var in self.vars if var not in hidden]
        try:
            yield
        finally:
            new = [var for var in self.vars if var not in before]
            self.vars = before + new

    @contextmanager
    def frozen(self, chosen: Sequence[Var]) -> Generator[None]:
        """Inside these variables cannot be changed."""
        changed = [var for var in chosen if var.mutable]
        for var in changed:
            var.mutable = False
        try:
            yield
        finally:
            for var in changed:
                var.mutable = True

    @contextmanager
    def repeated(self, times: int) -> Generator[None]:
        """What is written inside runs so often."""
        before = self.times
        self.times *= max(1, times)
        try:
            yield
        finally:
            self.times = before

    @contextmanager
    def inside(self, returns: Ty | None) -> Generator[None]:
        """A body of its own: no loop outside can be left, ``return`` gives another type."""
        before = self.returns, self.loops
        self.returns, self.loops = returns, []
        try:
            yield
        finally:
            self.returns, self.loops = before

    @contextmanager
    def guard(self) -> Generator[None]:
        """Inside nothing is changed, and nothing left."""
        before = self.pure
        self.pure = True
        try:
            with self.frozen(self.vars), self.inside(None):
                yield
        finally:
            self.pure = before

    def room(self, cost: int) -> bool:
        """Whether code of this cost may run here."""
        return self.times * cost <= MAX_COST

    def places(self, want: Ty | None = None, *, mutable: bool = False) -> list[Place]:
        """Variables and their parts, of one type or all, perhaps only what may be changed."""
        found: list[Place] = []
        for var in self.vars:
            if not mutable or var.mutable:
                self._parts(Place(text(var.place), var.ty, var.mutable, var), 3, found)
        return [place for place in found if not isinstance(place.ty, Slice) and (want is None or place.ty == want)]

    def _parts(self, place: Place, depth: int, found: list[Place]) -> None:
        found.append(place)
        if depth == 0:
            return
        shown = str(place.text)
        base = f"({shown})" if shown.startswith("*") else shown

        def part(suffix: str, ty: Ty) -> None:
            self._parts(Place(text(base + suffix), ty, place.mutable, place.root), depth - 1, found)

        match place.ty:
            case Tuple():
                for index, ty in enumerate(place.ty.of):
                    part(f".{index}", ty)
            case Struct():
                for name, ty in place.ty.fields:
                    part(f".{name}", ty)
            case Array():
                index = self.rng.randrange(place.ty.length)
                part(
                    f"[{index}]" if self.chance(40) else f"[(*h >> {index}) as usize % {place.ty.length}]", place.ty.of
                )
            case Slice():
                part(f"[(*h as usize) % {shown}.len()]", place.ty.of)
            case _:
                pass


@dataclass(frozen=True, slots=True)
class Trait:
    """A trait of the program with one method that takes ``param`` and gives ``result``, and who implements it."""

    name: str
    method: str
    param: Ty
    result: Ty
    implementors: tuple[Ty, ...]
    cost: int
