"""Kernels as coroutines do what the same kernels do as plain functions."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import llvmlite.binding as llvm
import numpy as np
import pytest

from mirgen.errors import InternalError
from mirgen.runtime.sim.client import Simulator
from mirgen.runtime.sim.coroutine import BARRIER, Calls, functions_to_inline, rewrite_kernels
from mirgen.runtime.sim.launch import BufferPointer, SimLaunch, SimModule, SimOptions
from mirgen.runtime.sim.memory import Buffer

VARIABLES = 6
CALL = f"  call void @{BARRIER}(i8* %ctx, i32 0)\n"


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    simulator = Simulator()
    yield simulator
    simulator.close()


class Program:
    """A random kernel: variables in memory, SSA values live across barriers, phis, loops, branches, helpers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.fresh = 0
        self.lines: list[str] = []
        self.helpers = [self.helper(number) for number in range(self.random.randrange(3))]
        self.kernel = self.main()

    def text(self, *, barriers: bool) -> str:
        whole = f"declare void @{BARRIER}(i8*, i32)\n" + "".join(self.helpers) + self.kernel
        return whole if barriers else whole.replace(CALL, "")

    # ---- pieces

    def name(self) -> str:
        self.fresh += 1
        return f"n{self.fresh}"

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def variable(self) -> str:
        pointer = self.name()
        index = self.random.randrange(VARIABLES)
        self.emit(f"  %{pointer} = getelementptr i32, i32* %vars, i64 {index}")
        return pointer

    def load(self) -> str:
        pointer, value = self.variable(), self.name()
        self.emit(f"  %{value} = load i32, i32* %{pointer}")
        return f"%{value}"

    def operand(self, live: list[str]) -> str:
        if live and self.random.random() < 0.6:
            return self.random.choice(live)
        return self.load() if self.random.random() < 0.7 else str(self.random.randrange(1, 100))

    def barrier(self) -> None:
        self.lines.append(CALL.rstrip("\n"))

    def statements(self, depth: int, live: list[str]) -> None:
        """Some statements; leaves the position in a block without terminator."""
        live = list(live)
        for _ in range(self.random.randrange(1, 6)):
            match self.random.randrange(8 if depth < 3 else 5):
                case 0 | 1:
                    value = self.name()
                    op = self.random.choice(["add", "sub", "mul", "xor", "or"])
                    left, right = self.operand(live), self.operand(live)
                    self.emit(f"  %{value} = {op} i32 {left}, {right}")
                    live.append(f"%{value}")
                case 2:
                    value, pointer = self.operand(live), self.variable()
                    self.emit(f"  store i32 {value}, i32* %{pointer}")
                case 3 | 4:
                    self.barrier()
                case 5:
                    self.branch(depth, live)
                case 6:
                    self.loop(depth, live)
                case _:
                    self.call(live)

    def condition(self, live: list[str]) -> str:
        value, bit, test = self.operand(live), self.name(), self.name()
        self.emit(f"  %{bit} = and i32 {value}, {self.random.choice([1, 2, 4])}")
        self.emit(f"  %{test} = icmp eq i32 %{bit}, 0")
        return test

    def branch(self, depth: int, live: list[str]) -> None:
        test = self.condition(live)
        yes, no, join = self.name(), self.name(), self.name()
        self.emit(f"  br i1 %{test}, label %{yes}, label %{no}")
        values: list[tuple[str, str]] = []
        for label in (yes, no):
            self.emit(f"{label}:")
            self.statements(depth + 1, live)
            value, tail = self.operand([]), self.name()
            # Sometimes the phi's predecessor ends in a barrier itself.
            self.emit(f"  br label %{tail}")
            self.emit(f"{tail}:")
            if self.random.random() < 0.5:
                self.barrier()
            self.emit(f"  br label %{join}")
            values.append((value, tail))
        self.emit(f"{join}:")
        merged, pointer = self.name(), self.name()
        edges = ", ".join(f"[ {value}, %{label} ]" for value, label in values)
        self.emit(f"  %{merged} = phi i32 {edges}")
        self.emit(f"  %{pointer} = getelementptr i32, i32* %vars, i64 0")
        self.emit(f"  store i32 %{merged}, i32* %{pointer}")

    def loop(self, depth: int, live: list[str]) -> None:
        before, head, latch, out = (self.name() for _ in range(4))
        i, i2, acc, acc2, more = (self.name() for _ in range(5))
        self.emit(f"  br label %{before}")
        self.emit(f"{before}:")
        start = self.operand(live)
        if self.random.random() < 0.5:
            self.barrier()
        self.emit(f"  br label %{head}")
        self.emit(f"{head}:")
        self.emit(f"  %{i} = phi i32 [ 0, %{before} ], [ %{i2}, %{latch} ]")
        self.emit(f"  %{acc} = phi i32 [ {start}, %{before} ], [ %{acc2}, %{latch} ]")
        self.statements(depth + 1, [*live, f"%{i}", f"%{acc}"])
        self.emit(f"  br label %{latch}")
        self.emit(f"{latch}:")
        if self.random.random() < 0.5:
            self.barrier()
        added = self.operand(live)
        self.emit(f"  %{acc2} = add i32 %{acc}, {added}")
        self.emit(f"  %{i2} = add i32 %{i}, 1")
        self.emit(f"  %{more} = icmp ult i32 %{i2}, {self.random.randrange(1, 4)}")
        self.emit(f"  br i1 %{more}, label %{head}, label %{out}")
        self.emit(f"{out}:")
        pointer = self.variable()
        self.emit(f"  store i32 %{acc}, i32* %{pointer}")

    def call(self, live: list[str]) -> None:
        if not self.helpers_done:
            return
        value, result, pointer = self.operand(live), self.name(), self.variable()
        which = self.random.randrange(self.helpers_done)
        self.emit(f"  %{result} = call i32 @helper{which}(i8* %ctx, i32* %vars, i32 {value})")
        self.emit(f"  store i32 %{result}, i32* %{pointer}")

    helpers_done = 0

    def helper(self, number: int) -> str:
        """May call the helpers before it, returns early sometimes, keeps an array of its own."""
        self.lines = []
        self.emit("  %own = alloca [4 x i32], align 16")
        self.emit("  %own.p = getelementptr [4 x i32], [4 x i32]* %own, i64 0, i64 2")
        self.emit("  store i32 %x, i32* %own.p")
        test = self.condition(["%x"])
        self.emit(f"  br i1 %{test}, label %early, label %late")
        self.emit("early:")
        self.statements(2, ["%x"])
        self.emit("  ret i32 %x")
        self.emit("late:")
        self.statements(1, ["%x"])
        self.emit("  %own.v = load i32, i32* %own.p")
        value = self.operand(["%own.v"])
        self.emit(f"  ret i32 {value}")
        self.helpers_done = number + 1
        body = "\n".join(self.lines)
        return f"define internal i32 @helper{number}(i8* %ctx, i32* %vars, i32 %x) {{\n{body}\n}}\n"

    def main(self) -> str:
        self.lines = []
        self.emit("  %array = alloca [8 x i32], align 32")
        self.emit("  %vars = getelementptr [8 x i32], [8 x i32]* %array, i64 0, i64 0")
        self.emit("  %pp = bitcast i8* %args to i32**")
        self.emit("  %data = load i32*, i32** %pp")
        self.emit("  %cta.p = getelementptr i8, i8* %ctx, i64 24")
        self.emit("  %cta.q = bitcast i8* %cta.p to i32*")
        self.emit("  %cta = load i32, i32* %cta.q")
        for index in range(VARIABLES):
            self.emit(f"  %init{index} = mul i32 %cta, {self.random.randrange(1 << 20) | 1}")
            self.emit(f"  %init.p{index} = getelementptr i32, i32* %vars, i64 {index}")
            self.emit(f"  store i32 %init{index}, i32* %init.p{index}")
        self.statements(0, ["%cta"])
        self.barrier()
        self.emit("  %base = mul i32 %cta, 6")
        for index in range(VARIABLES):
            self.emit(f"  %last{index} = load i32, i32* %init.p{index}")
            self.emit(f"  %at{index} = add i32 %base, {index}")
            self.emit(f"  %at64.{index} = zext i32 %at{index} to i64")
            self.emit(f"  %out.p{index} = getelementptr i32, i32* %data, i64 %at64.{index}")
            self.emit(f"  store i32 %last{index}, i32* %out.p{index}")
        self.emit("  ret void")
        return "define void @k(i8* %ctx, i8* %args) {\n" + "\n".join(self.lines) + "\n}\n"


def run(sim: Simulator, text: str, opt_level: int, *, coroutine: bool) -> list[int]:
    """What 16 blocks of one thread leave: each takes its own way, and no barrier can diverge."""
    module = SimModule(text, ("k",))
    assert sim.load(module, opt_level) == {"k": coroutine}
    nbytes = 16 * VARIABLES * 4
    buffer = Buffer(nbytes)
    pointer = BufferPointer(0, buffer, buffer.offset_of(nbytes), writable=True)
    launch = SimLaunch("k", (16, 1, 1), (1, 1, 1), 0, 0, bytes(8), (pointer,))
    sim.launch(module, launch, SimOptions(opt_level=opt_level, timeout=20))
    return buffer.bytes_at_end(nbytes).view(np.uint32).tolist()


def unnamed(text: str) -> str:
    """The same module with numbers for names, as a front end prints that gives none."""
    llvm.initialize_native_target()
    module = llvm.parse_assembly(text)
    tm = llvm.Target.from_default_triple().create_target_machine()
    builder = llvm.create_pass_builder(tm, llvm.create_pipeline_tuning_options(0))
    manager = llvm.create_new_module_pass_manager()
    manager.add_strip_symbols_pass()
    manager.run(module, builder)
    # Functions have to keep a name.
    stripped = re.sub(r"@(\d+)", r"@h\1", str(module))
    assert "%array" not in stripped
    return stripped


@pytest.mark.parametrize("seed", range(25))
def test_random_kernels(sim: Simulator, seed: int) -> None:
    program = Program(seed)
    expected = run(sim, program.text(barriers=False), 1, coroutine=False)
    text = program.text(barriers=True)
    assert run(sim, text, 3, coroutine=True) == expected
    assert run(sim, text, 0, coroutine=True) == expected
    if seed % 3 == 0:
        assert run(sim, unnamed(text), 2, coroutine=True) == expected


def test_who_has_to_be_inlined() -> None:
    functions = [
        Calls("kernel", True, frozenset({"a", "pure"})),
        Calls("a", True, frozenset({"b"})),
        Calls("b", True, frozenset({BARRIER, "b2"})),
        Calls("b2", True, frozenset()),
        Calls("pure", True, frozenset({"sinf"})),
        Calls(BARRIER, False, frozenset()),
        Calls("sinf", False, frozenset()),
    ]
    assert functions_to_inline(functions) == {"kernel", "a", "b"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"define void @k(ptr %c, ptr %a) {{\n  call void @{BARRIER}(ptr %c, i32 %n)\n  ret void\n}}",
            "unexpected use",
        ),
        (f"define void @f(ptr %c) {{\n  call void @{BARRIER}(ptr %c, i32 1)\n  ret void\n}}", "not a kernel"),
        ("define i32 @k(ptr %c, ptr %a) {\n  ret i32 0\n}", "does not return void"),
        ("define void @k(ptr %c) {\n  ret void\n}", "does not take a context"),
    ],
)
def test_shapes_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        rewrite_kernels(text, {"k": True})


def test_attributes_stay() -> None:
    text = 'define dso_local void @k(ptr noalias %0, ptr %"a b") local_unnamed_addr #0 align 16 {\n  ret void\n}\n'
    assert (
        'define dso_local ptr @k(ptr noalias %0, ptr %"a b") local_unnamed_addr presplitcoroutine #0 align 16 {'
        in rewrite_kernels(text, {"k": True})
    )
