"""Line tables: every instruction knows its place in the Rust source, through rustc's inlining.

Only what ``.loc`` needs: files, functions, positions and inlined calls.  No types and no variables, which two of the
three code generators would refuse or misprint.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from llvmlite import ir

from mirgen.lower.context import FunctionContext, body_span
from mirgen.mir.body import Body, Kernel
from mirgen.mir.names import readable
from mirgen.mir.statement import SourceInfo, Span

#: Longest function name in a table; longer ones are cut.
_NAME = 200


class DebugInfo:
    """The debug metadata of one module."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._unit: ir.DIValue | None = None
        self._files: dict[str, ir.DIValue] = {}
        self._inlined: dict[tuple[str, str], ir.DIValue] = {}
        self._locations: dict[tuple[int, int | None, Span | None], ir.DIValue] = {}

    def begin(self, fx: FunctionContext, span: Span | None) -> None:
        """Gives the function of ``fx`` its entry, with the position of its body."""
        file, line = ("unknown", 0) if span is None else (span.file, span.line)
        name = readable(fx.body.name)[:_NAME]
        program = self._subprogram(name, file, line, linkage_name=fx.function.name)
        fx.function.set_metadata("dbg", program)
        fx.subprogram = program

    def entry(self, kernel: Kernel, body: Body, functions: Iterable[ir.Function]) -> None:
        """Gives a kernel's entry, made by the target, the position of the kernel; its calls stand there."""
        span = kernel.span or body_span(body)
        file, line = ("unknown", 0) if span is None else (span.file, span.line)
        for function in functions:
            program = self._subprogram(kernel.name, file, line, linkage_name=function.name)
            function.set_metadata("dbg", program)
            position = self._position(program, span, None)
            for block in function.blocks:
                for instruction in block.instructions:
                    instruction.set_metadata("dbg", position)

    def location(self, fx: FunctionContext, source: SourceInfo) -> ir.DIValue:
        """The position of a statement of ``fx``, inside the calls that rustc inlined."""
        if fx.subprogram is None:
            raise fx.internal("a position before the function's entry")
        key = (id(fx.body), source.scope, source.span)
        known = self._locations.get(key)
        if known is None:
            known = self._locations[key] = self._locate(fx, fx.subprogram, source.span, source.scope)
        return known

    def _locate(self, fx: FunctionContext, subprogram: ir.DIValue, span: Span | None, scope: int | None) -> ir.DIValue:
        """Walks outwards from ``scope`` to the first inlined function; its call site is located in turn."""
        while scope is not None and scope < len(fx.body.scopes):
            entry = fx.body.scopes[scope]
            if entry.inlined is not None:
                file = span.file if span is not None else "unknown"
                callee = self._callee(readable(entry.inlined)[:_NAME], file)
                site = self.location(fx, SourceInfo(entry.span, entry.parent))
                return self._position(callee, span, site)
            scope = entry.parent
        return self._position(subprogram, span, None)

    def _position(self, scope: ir.DIValue, span: Span | None, inlined_at: ir.DIValue | None) -> ir.DIValue:
        operands: dict[str, object] = {
            "line": 0 if span is None else span.line, "column": 0 if span is None else span.col, "scope": scope,
        }  # fmt: skip
        if inlined_at is not None:
            operands["inlinedAt"] = inlined_at
        return self._module.add_debug_info("DILocation", operands, is_distinct=inlined_at is not None)

    def _callee(self, name: str, file: str) -> ir.DIValue:
        key = (name, file)
        known = self._inlined.get(key)
        if known is None:
            known = self._inlined[key] = self._subprogram(name, file, 0)
        return known

    def _subprogram(self, name: str, file: str, line: int, *, linkage_name: str | None = None) -> ir.DIValue:
        where = self._file(file)
        operands: dict[str, object] = {
            "name": name, "scope": where, "file": where, "line": line, "scopeLine": line, "isDefinition": True,
            "isLocal": True, "isOptimized": True, "unit": self._compile_unit(where),
            "type": self._module.add_debug_info("DISubroutineType", {"types": self._module.add_metadata([])}),
        }  # fmt: skip
        if linkage_name is not None:
            operands["linkageName"] = linkage_name
        return self._module.add_debug_info("DISubprogram", operands, is_distinct=True)

    def _file(self, file: str) -> ir.DIValue:
        known = self._files.get(file)
        if known is None:
            folder, name = posixpath.split(file)
            known = self._module.add_debug_info("DIFile", {"filename": name or file, "directory": folder})
            self._files[file] = known
        return known

    def _compile_unit(self, file: ir.DIValue) -> ir.DIValue:
        if self._unit is None:
            self._unit = self._module.add_debug_info(
                "DICompileUnit",
                {
                    "language": ir.DIToken("DW_LANG_Rust"), "file": file, "producer": "mirgen", "isOptimized": True,
                    "runtimeVersion": 0, "emissionKind": ir.DIToken("DebugDirectivesOnly"),
                },
                is_distinct=True,
            )  # fmt: skip
            self._module.add_named_metadata("llvm.dbg.cu", self._unit)
            version = [ir.Constant(ir.IntType(32), 2), "Debug Info Version", ir.Constant(ir.IntType(32), 3)]
            self._module.add_named_metadata("llvm.module.flags", version)
        return self._unit
