"""What lowering asks of a target: names, kernel entries, and the operations that differ between GPU and host.

A target holds no state: everything it emits goes through the function context ``fx`` (builder ``fx.b``) or the
module context ``cx`` (``cx.module``).  Pointers are ``i8*``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from llvmlite import ir

if TYPE_CHECKING:
    from mirgen.lower.context import FunctionContext, ModuleContext, PanicSite
    from mirgen.lower.shown import Shown

ParamKind = Literal["scalar", "aggregate", "slice", "ref", "disjoint", "shared"]


@dataclass(frozen=True, slots=True)
class KernelParam:
    """One parameter as the host packs it: ``offset``, ``size`` and ``align`` in bytes in the parameter block.

    Slices and ``Disjoint`` are two 8-byte words, pointer then element count; ``ref`` is one pointer; ``shared`` has
    size 0 and is never an argument (``elem_size`` is then the bytes of block memory).  ``elem`` is the element
    type of a slice, reference, ``Disjoint`` or ``Shared``, ``elem_size`` and ``elem_align`` its layout (1 where a raw
    pointer promises no alignment).  Types are as users read them.
    """

    name: str
    rust_type: str
    kind: ParamKind
    offset: int
    size: int
    align: int
    elem: str | None
    elem_size: int
    mutable: bool
    elem_align: int = 1


@dataclass(frozen=True, slots=True)
class KernelAbi:
    """``static_shared`` is the bytes of block memory that the kernel's ``Shared`` parameters take."""

    name: str
    params: tuple[KernelParam, ...]
    static_shared: int


@dataclass(frozen=True, slots=True)
class EntryParam:
    """How one kernel parameter reaches the body, in the order of :attr:`KernelAbi.params`.

    ``llvm_types`` are the LLVM types of the body function's arguments that this parameter supplies, in order:
    one or two immediates, or one ``i8*`` where ``by_memory`` (to a copy of ``param.size`` bytes, aligned to
    ``param.align``, that the body may write); none for zero-sized types.  ``stored_types`` are the same types as they
    lie in the parameter block (``i8`` where the immediate is ``i1``), at ``param.offset`` plus ``stored_offsets``.

    A ``shared`` parameter supplies one ``i8*`` to ``param.elem_size`` bytes of block memory aligned to
    ``shared_align``; ``shared_offset`` is where they lie if all of the kernel's block memory is one piece.
    ``Shared<[T]>``, sized at launch, supplies ``i8*`` and the number of elements of ``param.elem_size`` bytes that the
    launch's dynamic block memory holds; a kernel has at most one.
    ``read_only``: what a slice or reference points to is not written by anyone during the launch.
    """

    param: KernelParam
    llvm_types: tuple[ir.Type, ...]
    stored_types: tuple[ir.Type, ...]
    stored_offsets: tuple[int, ...]
    by_memory: bool
    read_only: bool = False
    shared_offset: int = 0
    shared_align: int = 1


class Target(Protocol):
    """A code generation target."""

    name: str
    triple: str
    data_layout: str
    #: whether every function takes the launch context (``i8*``) as a hidden first parameter, ``fx.ctx``
    hidden_ctx: bool

    def suspends(self, path: str) -> bool:
        """Whether a call of the reserved extern or intrinsic ``path`` is a barrier or a warp operation, so that the
        functions that reach it get ``reaches_barrier`` in :meth:`function_attributes`."""
        ...

    def finish_module(self, cx: ModuleContext) -> None:
        """Called once after all bodies are lowered (metadata, declarations)."""
        ...

    def function_attributes(self, function: ir.Function, *, reaches_barrier: bool) -> None:
        """Adds the target's attributes to an internal function right after its declaration."""
        ...

    def define_kernel(self, cx: ModuleContext, abi: KernelAbi, params: Sequence[EntryParam], body: ir.Function) -> None:
        """Emits the entry point ``abi.name``: fetches the parameters, calls ``body``, returns.

        ``body`` takes the context first where ``hidden_ctx``, then each parameter's ``llvm_types``; it returns void.
        """
        ...

    def special_register(self, fx: FunctionContext, register: str, axis: str) -> ir.Value:
        """``register`` in ``tid ntid ctaid nctaid``, ``axis`` in ``x y z``: an ``i32``."""
        ...

    def barrier(self, fx: FunctionContext) -> None:
        """A barrier of the whole block."""
        ...

    def panic(self, fx: FunctionContext, site: PanicSite, values: Sequence[Shown]) -> None:
        """Ends the thread (GPU: the grid) for ``site``, whose message shows ``values``, and terminates the current
        block."""
        ...

    def trap(self, fx: FunctionContext) -> None:
        """Stops execution without a message and terminates the current block."""
        ...

    def heap(self, fx: FunctionContext, op: str, args: Sequence[ir.Value]) -> ir.Value | None:
        """Rust's ``alloc alloc_zeroed dealloc realloc`` with the arguments of ``__rust_<op>``: pointers, and sizes and
        alignments as ``i64``.  Returns the pointer, null where there is no memory; nothing for ``dealloc``."""
        ...

    def math(self, fx: FunctionContext, name: str, args: Sequence[ir.Value], result: ir.Type) -> ir.Value:
        """Calls the mathematical function that libdevice calls ``__nv_<name>`` (``sinf``, ``pow``, ..)."""
        ...

    def atomic_rmw(
        self, fx: FunctionContext, op: str, ptr: ir.Value, value: ir.Value, *, ordering: str, scope: str
    ) -> ir.Value:
        """Returns the old value.  ``op`` is LLVM's name (``xchg add sub and or xor nand max min umax umin fadd``);
        ``ordering`` is ``relaxed acquire release acq_rel seq_cst``; ``scope`` is ``block cluster device system``."""
        ...

    def atomic_cas(
        self, fx: FunctionContext, ptr: ir.Value, expected: ir.Value, new: ir.Value, *, success: str, failure: str,
        scope: str,
    ) -> tuple[ir.Value, ir.Value]:  # fmt: skip
        """Returns the old value and an ``i1`` for success.  Integers of 32 and 64 bits at least."""
        ...

    def atomic_load(
        self, fx: FunctionContext, ptr: ir.Value, ty: ir.Type, *, ordering: str, scope: str
    ) -> ir.Value: ...

    def atomic_store(
        self, fx: FunctionContext, ptr: ir.Value, value: ir.Value, *, ordering: str, scope: str
    ) -> None: ...

    def fence(self, fx: FunctionContext, *, ordering: str, scope: str) -> None: ...
