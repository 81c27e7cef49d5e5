"""Running hand-made programs: lowered for the plain host target, compiled by MCJIT at -O0 and -O2."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import llvmlite.binding as llvm
import pytest

from mirgen.layout.builder import LayoutMaker
from mirgen.lower.callsite import Handler
from mirgen.lower.context import PanicSite
from mirgen.lower.program import Lowered, lower_program
from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir.builder import program
from mirgen.targets.plain import PlainHost

_PANIC_TY = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True, slots=True)
class Panicked:
    """How a run ended that did not come back."""

    site: PanicSite
    args: tuple[int, int]


@dataclass(slots=True)
class Host:
    """``ty`` makes types with their layouts; ``run`` lowers, compiles and calls a kernel."""

    ty: LayoutMaker = field(default_factory=LayoutMaker)
    intrinsics: Callable[[str], Handler | None] = lambda path: None

    def lower(
        self, *bodies: m.Body, kernels: Sequence[str] = ("k",), allocs: Mapping[int, m.Alloc] | None = None,
        annotate: bool = False, constants: Mapping[m.FnKey, p.Operand] | None = None,
    ) -> Lowered:  # fmt: skip
        made = program(*bodies, kernels=kernels, allocs=allocs, constants=constants)
        return lower_program(made, self.ty.layouts, PlainHost(), annotate=annotate, intrinsics=self.intrinsics)

    def run(
        self, *bodies: m.Body, args: Sequence[bytes | bytearray | int] = (), kernel: str = "k",
        allocs: Mapping[int, m.Alloc] | None = None,
    ) -> Panicked | None:  # fmt: skip
        """Runs ``kernel`` at both levels.

        ``args``: an ``int`` for a scalar of the parameter's size, ``bytes`` for a value, a ``bytearray`` for memory
        that is passed by pointer (and length in elements, for slices) and read back.
        """
        return self.run_lowered(self.lower(*bodies, kernels=(kernel,), allocs=allocs), args, kernel)

    def run_program(
        self, made: m.Program, args: Sequence[bytes | bytearray | int] = (), kernel: str = "k"
    ) -> Panicked | None:
        """The same for a whole program."""
        lowered = lower_program(made, self.ty.layouts, PlainHost(), intrinsics=self.intrinsics)
        return self.run_lowered(lowered, args, kernel)

    @staticmethod
    def run_lowered(lowered: Lowered, args: Sequence[bytes | bytearray | int], kernel: str) -> Panicked | None:
        outcomes = [_call(lowered, kernel, args, level) for level in (0, 2)]
        first = outcomes[0]
        assert all(outcome == first for outcome in outcomes[1:]), f"-O0 and -O2 differ: {outcomes}"
        if isinstance(first, Panicked):
            return first
        for arg, content in zip((a for a in args if isinstance(a, bytearray)), first, strict=True):
            arg[:] = content
        return None


@pytest.fixture
def host() -> Host:
    return Host()


def _call(lowered: Lowered, kernel: str, args: Sequence[bytes | bytearray | int], level: int) -> list[bytes] | Panicked:
    """One run in a forked child, because a panic cannot return."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            _child(lowered, kernel, args, level, writer)
        except BaseException as error:
            os.write(writer, b"E" + repr(error).encode())
        os._exit(0)
    os.close(writer)
    data = bytearray()
    while chunk := os.read(reader, 1 << 16):
        data += chunk
    os.close(reader)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the code died with status {status}:\n{lowered.text}"
    kind = bytes(data[:1])
    assert kind in (b"P", b"D"), bytes(data).decode() + "\n" + lowered.text
    if kind == b"P":
        site, one, two = struct.unpack("<iqq", data[1:])
        return Panicked(lowered.panics[site], (one, two))
    contents: list[bytes] = []
    at = 1
    for arg in args:
        if isinstance(arg, bytearray):
            contents.append(bytes(data[at : at + len(arg)]))
            at += len(arg)
    return contents


def _child(lowered: Lowered, kernel: str, args: Sequence[bytes | bytearray | int], level: int, writer: int) -> None:
    def panic(site: int, one: int, two: int) -> None:
        os.write(writer, b"P" + struct.pack("<iqq", site, one, two))
        os._exit(0)

    callback = _PANIC_TY(panic)
    address = ctypes.cast(callback, ctypes.c_void_p).value or 0
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.add_symbol("__mirgen_panic", address)
    module = llvm.parse_assembly(lowered.text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=level)
    if level:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(level))
        builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.get_function_address(kernel))
    abi = next(k for k in lowered.kernels if k.name == kernel)
    size = max([param.offset + param.size for param in abi.params], default=0)
    block = _aligned(bytes(size) or b"\0")
    held: list[tuple[int, int]] = []
    assert len(args) == sum(param.kind != "shared" for param in abi.params)
    for param, arg in zip((q for q in abi.params if q.kind != "shared"), args, strict=True):
        at = block + param.offset
        if isinstance(arg, bytearray):
            memory = _aligned(bytes(arg))
            held.append((memory, len(arg)))
            words = [memory] if param.size == 8 else [memory, len(arg) // max(1, param.elem_size)]
            content = struct.pack(f"<{len(words)}Q", *words)
        elif isinstance(arg, int):
            content = (arg & ((1 << 8 * param.size) - 1)).to_bytes(param.size, "little")
        else:
            content = arg
        assert len(content) == param.size, (param, content)
        ctypes.memmove(at, content, len(content))
    entry(block)
    os.write(writer, b"D" + b"".join(ctypes.string_at(memory, length) for memory, length in held))


_KEEP: list[object] = []


def _aligned(content: bytes, align: int = 64) -> int:
    """The address of a copy of ``content``."""
    buffer = ctypes.create_string_buffer(len(content) + align)
    _KEEP.append(buffer)
    address = (ctypes.addressof(buffer) + align - 1) // align * align
    ctypes.memmove(address, content, len(content))
    return address
