"""From the host target's LLVM IR text to native code, in the worker process."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import llvmlite.binding as llvm

from mirgen.errors import InternalError, InvalidInputError, ToolError
from mirgen.runtime.sim import coroutine
from mirgen.runtime.sim.coroutine import Calls, functions_to_inline, rewrite_kernels
from mirgen.runtime.sim.reports import ON_SIGNAL, STATUS_PAGE
from mirgen.runtime.sim.scheduler import RUN, scheduler_ir
from mirgen.targets import host_abi
from mirgen.targets.host_abi import BARRIER, FRAME, HEAP, PANIC, PANIC_WORDS, ROUNDED, TRAP

#: Library that holds the scheduler inside the JIT.
_SCHEDULER = "mirgen.scheduler"
#: What generated code may call: libm for mathematics, libgcc for wide integers and half floats.
_LIBRARIES: Final = ("libm.so.6", "libgcc_s.so.1")
#: What the scheduler's module provides to kernels.
_PROVIDED: Final = (FRAME, PANIC, PANIC_WORDS, TRAP, ROUNDED, ROUNDED + "f", *HEAP.values())


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """``address`` of the entry; ``coroutine`` says whether it returns a coroutine's handle."""

    address: int
    coroutine: bool


@dataclass(frozen=True, slots=True)
class NativeCode:
    """An optimised module as object code; ``coroutines`` holds for each kernel whether it is one."""

    image: bytes
    coroutines: dict[str, bool]


@dataclass(frozen=True, slots=True)
class LoadedModule:
    kernels: dict[str, CompiledKernel]
    tracker: object


def machine(opt_level: int) -> llvm.TargetMachine:
    """A machine for this CPU.  No contraction: LLVM fuses nothing without a flag that mirgen never sets."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=opt_level,
        reloc="pic",
        codemodel="small",
    )


def machine_key() -> str:
    """What native code depends on besides its text: LLVM, the CPU and its features, and this package's own passes."""
    features = llvm.get_host_cpu_features().flatten()
    version = ".".join(str(part) for part in llvm.llvm_version_info)
    digest = hashlib.sha256(f"{version} {llvm.get_host_cpu_name()} {features}".encode())
    for source in (__file__, coroutine.__file__, host_abi.__file__):
        digest.update(Path(source).read_bytes())
    return digest.hexdigest()


def compile_module(text: str, kernels: Sequence[str], opt_level: int = 3) -> NativeCode:
    """Compiles ``text`` (typed or opaque pointers) with the entries ``kernels``.

    Raises :class:`InvalidInputError` for text that is no LLVM IR, :class:`InternalError` for a barrier that can't be
    brought into its kernel.
    """
    tm = machine(opt_level)
    module = _parse(text, "host IR")
    coroutines = _inline_barriers(module, kernels, tm)
    if any(coroutines.values()):
        module = _parse(rewrite_kernels(str(module), coroutines), "host IR with coroutines")
    _optimise(module, tm, opt_level)
    _check_symbols(module)
    return NativeCode(tm.emit_object(module), coroutines)


def _parse(text: str, what: str) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise InvalidInputError(str(error).strip(), what) from error
    return module


def _optimise(module: llvm.ModuleRef, tm: llvm.TargetMachine, opt_level: int) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=opt_level)
    options.loop_vectorization = options.slp_vectorization = opt_level >= 2
    builder = llvm.create_pass_builder(tm, options)
    builder.getModulePassManager().run(module, builder)


def _check_symbols(module: llvm.ModuleRef) -> None:
    """Refuses what only linking would find missing, by name."""
    load_libraries()
    for function in module.functions:
        name: str = function.name
        provided = not function.is_declaration or name.startswith("llvm.") or name in _PROVIDED
        if not provided and not llvm.address_of_symbol(name):
            raise InvalidInputError(f"the simulator has no function `{name}`", "host IR")


def load_libraries() -> None:
    """Makes the libraries that generated code may call visible to the JIT."""
    for library in _LIBRARIES:
        try:
            llvm.load_library_permanently(library)
        except RuntimeError as error:
            raise ToolError("simulator", f"can't load {library}: {error}") from error


def _inline_barriers(module: llvm.ModuleRef, kernels: Sequence[str], tm: llvm.TargetMachine) -> dict[str, bool]:
    """Inlines all that reaches a barrier into the kernels; tells which kernels reach one."""
    entries = set(kernels)
    functions = {function.name: function for function in module.functions}
    for name in kernels:
        if name not in functions or functions[name].is_declaration:
            raise InvalidInputError(f"no kernel {name} in the module", "host IR")
    if BARRIER not in functions:
        return dict.fromkeys(kernels, False)
    reaching = functions_to_inline(_calls(function) for function in functions.values())
    for name in reaching - entries:
        functions[name].add_function_attribute("alwaysinline")
    if reaching - entries:
        options = llvm.create_pipeline_tuning_options(speed_level=0)
        builder = llvm.create_pass_builder(tm, options)
        manager = llvm.create_new_module_pass_manager()
        manager.add_always_inliner_pass()
        manager.run(module, builder)
        for function in module.functions:
            if function.name not in entries and BARRIER in _calls(function).callees:
                raise InternalError(
                    f"the barrier in {function.name} can't be brought into its kernel: recursive, or called by address"
                )
    return {name: name in reaching for name in kernels}


def _calls(function: llvm.ValueRef) -> Calls:
    callees: set[str] = set()
    if not function.is_declaration:
        for block in function.blocks:
            for instruction in block.instructions:
                if instruction.opcode == "call":
                    *_, callee = instruction.operands
                    callees.add(callee.name)
    return Calls(function.name, not function.is_declaration, frozenset(callees))


class Jit:
    """All native code of one worker process."""

    def __init__(self) -> None:
        tm = machine(3)
        # The JIT needs its own machine: it takes the one it is given.
        self._jit = llvm.create_lljit_compiler(machine(3), use_jit_link=True, suppress_errors=True)
        load_libraries()
        module = _parse(scheduler_ir(), "scheduler")
        _optimise(module, tm, 3)
        self._scheduler = (
            llvm.JITLibraryBuilder()
            .add_object_img(tm.emit_object(module))
            .add_current_process()
            .export_symbol(RUN)
            .export_symbol(ON_SIGNAL)
            .export_symbol(STATUS_PAGE)
            .link(self._jit, _SCHEDULER)
        )
        self.run_address: int = self._scheduler[RUN]
        self.on_signal_address: int = self._scheduler[ON_SIGNAL]
        ctypes_address: int = self._scheduler[STATUS_PAGE]
        self._status = ctypes.c_void_p.from_address(ctypes_address)

    def set_status_page(self, address: int) -> None:
        """Tells the signal handler where to report."""
        self._status.value = address

    def load(self, code: NativeCode, library: str) -> LoadedModule:
        """Links object code under the name ``library``, which must be new."""
        builder = llvm.JITLibraryBuilder().add_object_img(code.image).add_jit_library(_SCHEDULER).add_current_process()
        for name in code.coroutines:
            builder.export_symbol(name)
        try:
            tracker = builder.link(self._jit, library)
        except RuntimeError as error:
            raise InvalidInputError(f"the module can't be linked: {error}", "host IR") from error
        kernels = {name: CompiledKernel(tracker[name], coroutine) for name, coroutine in code.coroutines.items()}
        return LoadedModule(kernels, tracker)
