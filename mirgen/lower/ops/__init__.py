"""Arithmetic on plain LLVM values: ``(ir.IRBuilder, ir.Value, ..) -> ir.Value``, one meaning on every target.

Nothing here knows MIR, layouts or targets.  Every expansion uses only what LLVM 22 (NVPTX and x86), libNVVM's LLVM 7
dialect and its modern one all accept, and makes no library call.  Where an operation is long it becomes an internal
function of the module (:func:`mirgen.lower.ops.emit.helper`).
"""
