"""A module of single operations, run over many cases on the host and compiled by every device consumer.

Each operation becomes ``void @name(i8* in, i8* out, i64 n)``: a loop over cases whose operands and results lie in
slots of 16 bytes.  Values travel as bit patterns, so comparisons are exact.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm
from llvmlite import ir

from mirgen.testing import consumers

SLOT = 16
Emit = Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value | tuple[ir.Value, ...]]
PTR = ir.IntType(8).as_pointer()
I64 = ir.IntType(64)


class OpModule:
    """Add operations, then :meth:`run` them; :meth:`device_ptx` compiles the same text for the GPU."""

    def __init__(self) -> None:
        self.module = ir.Module("ops")
        self.names: list[str] = []
        self._shape: dict[str, tuple[int, int]] = {}
        self._engine: llvm.ExecutionEngine | None = None

    def add(self, name: str, params: Sequence[ir.Type], emit: Emit) -> None:
        """Defines the operation ``name``; ``emit`` gives one value or several."""
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [PTR, PTR, I64]), name)
        source, sink, count = function.args
        entry = function.append_basic_block("entry")
        head, body, done = (function.append_basic_block(part) for part in ("head", "body", "done"))
        b = ir.IRBuilder(entry)
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(I64)
        index.add_incoming(I64(0), entry)
        b.cbranch(b.icmp_unsigned("<", index, count), body, done)
        b.position_at_end(body)
        args = [
            _load(b, source, b.add(b.mul(index, I64(SLOT * len(params))), I64(SLOT * n)), ty)
            for n, ty in enumerate(params)
        ]
        results = emit(b, args)
        values = results if isinstance(results, tuple) else (results,)
        for n, value in enumerate(values):
            _store(b, sink, b.add(b.mul(index, I64(SLOT * len(values))), I64(SLOT * n)), value)
        index.add_incoming(b.add(index, I64(1)), b.block)
        b.branch(head)
        b.position_at_end(done)
        b.ret_void()
        self.names.append(name)
        self._shape[name] = (len(params), len(values))

    def run(self, name: str, cases: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """The results of every case as bit patterns of 16 bytes, zero-extended."""
        if self._engine is None:
            self._engine = consumers.host_engine(str(self.module))
        params, results = self._shape[name]
        data = b"".join(word.to_bytes(SLOT, "little") for case in cases for word in case)
        if len(data) != SLOT * params * len(cases):
            raise ValueError(f"{name} takes {params} operands")
        source = ctypes.create_string_buffer(data, max(1, len(data)))
        sink = ctypes.create_string_buffer(SLOT * results * len(cases) or 1)
        address = self._engine.get_function_address(name)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
        call(ctypes.addressof(source), ctypes.addressof(sink), len(cases))
        ends = range(0, SLOT * results * len(cases), SLOT)
        words = [int.from_bytes(sink.raw[at : at + SLOT], "little") for at in ends]
        return [tuple(words[at : at + results]) for at in range(0, len(words), results)]

    def device_ptx(self) -> dict[tuple[str, str], str]:
        """PTX of the operations as kernels, by every device consumer; raises ToolError where one refuses."""
        annotations = self.module.add_named_metadata("nvvm.annotations")
        for name in self.names:
            function = self.module.get_global(name)
            annotations.add(self.module.add_metadata([function, "kernel", ir.Constant(ir.IntType(32), 1)]))
        return consumers.device_ptx(str(self.module), self.names)


def _load(b: ir.IRBuilder, base: ir.Value, at: ir.Value, ty: ir.Type) -> ir.Value:
    memory = ir.IntType(8) if isinstance(ty, ir.IntType) and ty.width == 1 else ty
    value = b.load(b.bitcast(b.gep(base, [at]), memory.as_pointer()))
    return b.trunc(value, ty) if memory is not ty else value


def _store(b: ir.IRBuilder, base: ir.Value, at: ir.Value, value: ir.Value) -> None:
    """Clears the slot, then stores."""
    slot = b.gep(base, [at])
    b.store(ir.Constant(ir.IntType(128), 0), b.bitcast(slot, ir.IntType(128).as_pointer()))
    if isinstance(value.type, ir.IntType) and value.type.width == 1:
        value = b.zext(value, ir.IntType(8))
    b.store(value, b.bitcast(slot, value.type.as_pointer()))
