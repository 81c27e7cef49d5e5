"""The consumers of our LLVM text, each as one function: host JIT, LLVM's NVPTX, libNVVM, ptxas.

Code generators run in a child process: LLVM ends the process on some inputs, and a test must say on which.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

NVPTX_TRIPLE = "nvptx64-nvidia-cuda"
NVPTX_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64"
    "-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)


class ConsumerError(Exception):
    """A consumer refused the text; the message is its own."""


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
        options = llvm.create_pipeline_tuning_options(speed_level=opt)
        passes = llvm.create_pass_builder(machine, options)
        passes.getModulePassManager().run(module, passes)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def nvptx_module(text: str, kernels: list[str]) -> str:
    """Adds triple, data layout, libNVVM's version and the kernels' annotations to functions ``void (i8*, i8*, i64)``."""
    from cuda.bindings import nvvm

    version = nvvm.ir_version()
    lines = [line for line in text.splitlines() if not line.startswith(("target triple", "target datalayout"))]
    lines[:0] = [f'target datalayout = "{NVPTX_LAYOUT}"', f'target triple = "{NVPTX_TRIPLE}"']
    marks = [f'!{n} = !{{void (i8*, i8*, i64)* @{name}, !"kernel", i32 1}}' for n, name in enumerate(kernels)]
    lines += marks
    lines.append("!nvvm.annotations = !{" + ", ".join(f"!{n}" for n in range(len(kernels))) + "}")
    lines.append(f"!nvvmir.version = !{{!{len(kernels)}}}")
    lines.append(f"!{len(kernels)} = !{{" + ", ".join(f"i32 {part}" for part in version) + "}")
    return "\n".join(lines) + "\n"


def llvm_ptx(text: str, arch: str, *, opt: int = 3) -> str:
    """PTX from LLVM's NVPTX for an arch such as ``sm_90``, after the standard pipeline."""

    def work() -> str:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        module = llvm.parse_assembly(text)
        module.verify()
        machine = llvm.Target.from_triple(NVPTX_TRIPLE).create_target_machine(cpu=arch, opt=opt)
        options = llvm.create_pipeline_tuning_options(speed_level=opt)
        passes = llvm.create_pass_builder(machine, options)
        passes.getModulePassManager().run(module, passes)
        return machine.emit_assembly(module)

    return _in_child(work)




def nvvm_ptx(text: str, arch: str) -> str:
    """PTX from libNVVM for an arch such as ``compute_90``; the text is verified first."""
    from cuda.bindings import nvvm

    def log(program: Any) -> str:
        buffer = bytearray(nvvm.get_program_log_size(program))
        nvvm.get_program_log(program, buffer)
        return bytes(buffer).decode(errors="replace").rstrip("\0")

    def work() -> str:
        program = nvvm.create_program()
        data = text.encode()
        nvvm.add_module_to_program(program, data, len(data), "test")
        try:
            nvvm.verify_program(program, 1, [f"-arch={arch}"])
            nvvm.compile_program(program, 2, [f"-arch={arch}", "-fma=0"])
        except nvvm.nvvmError as error:
            raise ConsumerError(f"libNVVM {arch}: {log(program) or error}") from None
        buffer = bytearray(nvvm.get_compiled_result_size(program))
        nvvm.get_compiled_result(program, buffer)
        return bytes(buffer).decode().rstrip("\0")

    return _in_child(work)


def ptxas(ptx: str, arch: str) -> bytes:
    """The cubin, or :class:`ConsumerError` with ptxas' own words."""
    tool = _ptxas_path()
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "module.ptx"), Path(folder, "module.cubin")
        source.write_text(ptx)
        done = subprocess.run(
            [str(tool), f"-arch={arch}", "-o", str(cubin), str(source)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ConsumerError(f"ptxas {arch}: {done.stderr.strip()}")
        return cubin.read_bytes()


def check_all(text: str, kernels: list[str]) -> None:
    """Every device consumer must accept the module of ``void (i8*, i8*, i64)`` kernels: LLVM, both dialects, ptxas."""
    module = nvptx_module(text, kernels)
    for arch in ("sm_75", "sm_90"):
        ptxas(llvm_ptx(module, arch), arch)
    for arch in ("compute_90", "compute_100"):
        ptxas(nvvm_ptx(module, arch), arch.replace("compute", "sm"))


def _ptxas_path() -> Path:
    spec = importlib.util.find_spec("nvidia")
    for root in () if spec is None else spec.submodule_search_locations or ():
        for found in sorted(Path(root).glob("*/bin/ptxas")):
            return found
    raise ConsumerError("ptxas: not found in the CUDA wheels")


def _in_child(work: Callable[[], str]) -> str:
    """Runs ``work`` in a forked process, so that its death is an exception here."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def run() -> None:
        try:
            theirs.send((True, work()))
        except Exception as error:  # crosses the process boundary as text
            theirs.send((False, str(error)))

    child = context.Process(target=run)
    child.start()
    theirs.close()
    try:
        done, result = ours.recv()
    except EOFError:
        child.join()
        raise ConsumerError(f"the code generator died with status {child.exitcode}") from None
    child.join()
    if not done:
        raise ConsumerError(result)
    return result
