"""LLVM's NVPTX back end through llvmlite.  Runs in the worker process only, because LLVM aborts on some inputs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from mirgen.link import irtext
from mirgen.link.jobs import CodegenJob, Json, Report, ToolFailure

TOOL = "LLVM"


def _target_machine(cpu: str, ptx_version: int, opt_level: int) -> llvm.TargetMachine:
    """The code generator for one GPU.

    FMA contraction stays off: llvmlite leaves ``AllowFPOpFusion`` at its default, in which NVPTX prints ``mul.rn``
    and ``add.rn``, which ptxas must not fuse; the option makes sure of it.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.set_option("mirgen", "-nvptx-fma-level=0")
    target = llvm.Target.from_triple(irtext.TRIPLE)
    return target.create_target_machine(cpu=cpu, features=f"+ptx{ptx_version}", opt=opt_level)


def _parse(text: str) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        message = str(error).strip()
        detail = irtext.excerpt(text, message)
        raise ToolFailure(TOOL, "the IR is not valid", "\n".join(filter(None, [message, detail]))) from None
    return module


def _link_libdevice(module: llvm.ModuleRef, path: str, layout: str) -> None:
    library = llvm.parse_bitcode(Path(path).read_bytes())
    library.triple = irtext.TRIPLE
    library.data_layout = layout
    module.link_in(library)


def _internalize(module: llvm.ModuleRef, kernels: Sequence[str]) -> None:
    """Everything but the kernels becomes internal, and what no kernel reaches is dropped."""
    missing = set(kernels)
    for function in module.functions:
        if function.name in missing:
            missing.remove(function.name)
        elif not function.is_declaration:
            function.linkage = llvm.Linkage.internal
    if missing:
        raise ToolFailure(TOOL, f"the IR does not define the kernel `{min(missing)}`")


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, opt_level: int) -> None:
    tuning = llvm.create_pipeline_tuning_options(opt_level)
    builder = llvm.create_pass_builder(machine, tuning)
    dead = llvm.create_new_module_pass_manager()
    dead.add_global_dead_code_eliminate_pass()
    dead.run(module, builder)
    builder.getModulePassManager().run(module, builder)
    dead.run(module, builder)


def _prepared(job: CodegenJob, machine: llvm.TargetMachine, kernels: Sequence[str], report: Report) -> llvm.ModuleRef:
    """The module parsed, joined with libdevice, and everything but ``kernels`` internal."""
    layout = str(machine.target_data)
    report("read the IR")
    module = _parse(irtext.retarget(Path(job["text"]).read_text(encoding="utf-8"), layout))
    if job["libdevice"]:
        report("link libdevice")
        _link_libdevice(module, job["libdevice"], layout)
    _internalize(module, kernels)
    return module


def generate(job: CodegenJob, report: Report) -> Json:
    """PTX (file ``out``/ptx) and the optimized IR (``out``/ll) of the text; the answer has seconds of each step."""
    machine = _target_machine(job["cpu"], job["ptx_version"], job["opt_level"])
    start = time.perf_counter()
    module = _prepared(job, machine, job["kernels"], report)
    parsed = time.perf_counter()
    names = ", ".join(job["kernels"])
    report(f"optimize {names}")
    _optimize(module, machine, job["opt_level"])
    optimized = time.perf_counter()
    report(f"generate PTX for {names}")
    ptx = machine.emit_assembly(module)
    done = time.perf_counter()
    out = Path(job["out"])
    (out / "ptx").write_text(ptx, encoding="utf-8")
    (out / "ll").write_text(str(module), encoding="utf-8")
    version = ".".join(str(part) for part in llvm.llvm_version_info)
    return {
        "log": "",
        "seconds": {"parse": parsed - start, "optimize": optimized - parsed, "codegen": done - optimized},
        "tools": {"llvmlite": llvmlite.__version__, "llvm": version},
    }


def _alone(module: llvm.ModuleRef, machine: llvm.TargetMachine, keep: str) -> llvm.ModuleRef:
    """A copy of ``module`` with ``keep`` and what it needs, and nothing else."""
    copy = module.clone()
    for function in copy.functions:
        if not function.is_declaration:
            function.linkage = llvm.Linkage.external if function.name == keep else llvm.Linkage.internal
    dead = llvm.create_new_module_pass_manager()
    dead.add_global_dead_code_eliminate_pass()
    dead.run(copy, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0)))
    return copy


def probe(job: CodegenJob, report: Report) -> Json:
    """Find what kills LLVM.  The last report before the process dies names the culprit.

    Every kernel is compiled alone, after a report of its name; with a single kernel, every function that it reaches,
    callees first.
    """
    machine = _target_machine(job["cpu"], job["ptx_version"], job["opt_level"])

    def silent(stage: str) -> None:
        pass

    if len(job["kernels"]) > 1:
        for kernel in job["kernels"]:
            module = _prepared(job, machine, [kernel], silent)
            report(f"kernel `{kernel}`")
            _optimize(module, machine, job["opt_level"])
            machine.emit_assembly(module)
        return {}
    module = _prepared(job, machine, job["kernels"], silent)
    text = Path(job["text"]).read_text(encoding="utf-8")
    for name in irtext.callees_first(text, job["kernels"][0]):
        report(f"function `{name}`")
        machine.emit_assembly(_alone(module, machine, name))
    return {}
