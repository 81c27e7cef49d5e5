"""The consumers of our LLVM text: this machine's JIT, and for the GPU LLVM, both dialects of libNVVM, and ptxas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import llvmlite.binding as llvm

from mirgen.link import Worker, assemble, compile_ptx, find_arch

#: Generator and architecture: libNVVM reads the old dialect before sm_100 and the modern one from there on.
DEVICES: Final[tuple[tuple[Literal["llvm", "nvvm"], str], ...]] = (
    ("llvm", "sm_75"), ("llvm", "sm_90"), ("nvvm", "sm_90"), ("nvvm", "sm_100"),
)  # fmt: skip


def host_engine(text: str, *, opt: int = 2) -> llvm.ExecutionEngine:
    """Compiles a module for this machine.  The engine must stay alive while its code runs."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=opt
    )
    if opt:
        passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(opt))
        passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def device_ptx(text: str, kernels: Sequence[str]) -> dict[tuple[str, str], str]:
    """PTX by every consumer in :data:`DEVICES`, each accepted by ptxas.

    Raises ToolError with the words of the one that refuses.
    """
    found: dict[tuple[str, str], str] = {}
    with Worker() as worker:
        for codegen, name in DEVICES:
            arch = find_arch(name)
            ptx = compile_ptx(text, arch, codegen=codegen, kernels=kernels, worker=worker).ptx
            assemble(ptx, arch, kernels=kernels)
            found[(codegen, name)] = ptx
    return found
