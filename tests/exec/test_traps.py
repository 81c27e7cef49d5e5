"""What other compilers of this kind lost on the way: barriers, checks, kernels, aliasing.

Each test also undoes the protection and sees that it would then fail.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from mirgen.errors import ToolError
from mirgen.link import Codegen, Worker, assemble, compile_ltoir, compile_ptx, find_arch, link_ltoir, parse_ptx
from mirgen.pipeline import BuildResult
from mirgen.runtime.errors import KernelPanicError
from mirgen.runtime.loading import module_of
from mirgen.testing.conformance import ARCHS, artifact_text, nvvm_ptx
from tests.exec.lanes import FIXTURES, built

pytestmark = [pytest.mark.cuda, pytest.mark.slow]

each_arch = pytest.mark.parametrize("arch", ARCHS)
each_codegen = pytest.mark.parametrize("codegen", ["llvm", "nvvm"])

#: A call of the block barrier in verbose MIR text.
MIR_BARRIER = re.compile(r"__mirgen_barrier\}\)\(\) ->")
#: How a panic ends: the number of its place for the host, and the trap.
CHECK = re.compile(r'  call void asm sideeffect "[^"\n]*membar[^\n]*\n  call void @"llvm\.trap"\(\)\n  unreachable')


def ptx_of(made: BuildResult, arch: str, codegen: Codegen) -> str:
    """A build's PTX, by one of the code generators."""
    if codegen == "llvm":
        return artifact_text(made, arch, "ptx")
    with Worker() as worker:
        return nvvm_ptx(made, arch, worker)


def compiled(text: str, kernels: list[str], arch: str, codegen: Codegen) -> str:
    """PTX of changed IR."""
    with Worker() as worker:
        return compile_ptx(text, find_arch(arch), codegen=codegen, kernels=kernels, worker=worker).ptx


def ir_function(text: str, name: str) -> str:
    """The definition in LLVM IR of the function whose name ends so."""
    (found,) = re.findall(rf'^define [^\n]*@"(?:[^"]*_)?{name}"\(.*?^}}', text, re.MULTILINE | re.DOTALL)
    return found


def block_reduce() -> BuildResult:
    return built("block_reduce")


# ------------------------------------------------------------------------------------------------ barriers


def documents(made: BuildResult) -> list[dict[str, Any]]:
    """What the shim printed of the kernels' own crate."""
    name = made.cargo.root.record.stem
    files = sorted((made.cargo.work_dir / "documents").glob(f"{name}-*/*.mir.json"))
    return [cast("dict[str, Any]", json.loads(file.read_text())) for file in files]


def mir_text(made: BuildResult, *, jump_threading: bool) -> str:
    """rustc's MIR of the kernels' crate, with exactly the flags of the build, except perhaps for one."""
    flags = cast("list[str]", documents(made)[0]["flags"])
    off, on = (f"-Zmir-enable-passes={sign}JumpThreading" for sign in "-+")
    assert flags.count(off) == 1
    unit = cast("dict[str, Any]", json.loads(made.cargo.root.record.read_text()))
    command = [unit["rustc"], *(on if jump_threading and flag == off else flag for flag in flags)]
    environment = {**os.environ, **unit["env"], "RUSTC_BOOTSTRAP": "1"}
    done = subprocess.run(command, cwd=unit["cwd"], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def mir_barriers(text: str, kernel: str) -> int:
    (body,) = re.findall(rf"^(?:pub )?fn \S*__mirgen_kernel_{kernel}_L1\b.*?^}}", text, re.MULTILINE | re.DOTALL)
    return len(MIR_BARRIER.findall(body))


def test_two_barriers_are_two_in_the_mir() -> None:
    made = block_reduce()
    assert mir_barriers(mir_text(made, jump_threading=False), "block_exchange") == 2
    assert mir_barriers(mir_text(made, jump_threading=True), "block_exchange") == 3


@pytest.mark.parametrize("kernel", ["block_exchange", "block_sum"])
def test_two_barriers_are_two_in_the_ir(kernel: str) -> None:
    text = artifact_text(block_reduce(), "sm_90", "ll")
    body = ir_function(text, f"__mirgen_kernel_{kernel}_L1")
    assert body.count('call void @"llvm.nvvm.barrier0"() convergent') == 2
    assert "convergent" in body.splitlines()[0]
    assert re.search(r'^declare void @"llvm\.nvvm\.barrier0"\(\) convergent', text, re.MULTILINE)


@each_codegen
@each_arch
def test_two_barriers_are_two_in_the_ptx(arch: str, codegen: Codegen) -> None:
    functions = parse_ptx(ptx_of(block_reduce(), arch, codegen)).functions
    assert functions["block_exchange"].barriers == 2
    # A loop of eight rounds with two barriers each, unrolled or not.
    assert functions["block_sum"].barriers in (2, 4, 8, 16)


@each_codegen
def test_a_lost_barrier_would_be_seen(codegen: Codegen) -> None:
    text = artifact_text(block_reduce(), "sm_90", "ll")
    body = ir_function(text, "__mirgen_kernel_block_exchange_L1")
    fewer = text.replace(body, body.replace('  call void @"llvm.nvvm.barrier0"() convergent\n', "", 1))
    names = [kernel.symbol for kernel in block_reduce().manifest.kernels]
    assert parse_ptx(compiled(fewer, names, "sm_90", codegen)).functions["block_exchange"].barriers == 1


# ------------------------------------------------------------------------------------------------ checks


@each_codegen
@each_arch
def test_an_index_out_of_range_still_traps(arch: str, codegen: Codegen) -> None:
    """``x[i]`` where only ``i < y.len()`` is known: a comparison of its own, and a trap.

    Without the trap, ``unreachable`` takes the comparison with it.
    """
    kernel = parse_ptx(ptx_of(built("saxpy"), arch, codegen)).functions["saxpy"]
    text = artifact_text(built("saxpy"), arch, "ll")
    assert CHECK.search(text)
    changed = compiled(CHECK.sub("  unreachable", text), ["saxpy", "saxpy_stride"], arch, codegen)
    unchecked = parse_ptx(changed).functions["saxpy"]
    assert (kernel.count("trap"), unchecked.count("trap")) == (1, 0)
    assert kernel.count("setp") == unchecked.count("setp") + 1
    assert kernel.count("bra") > unchecked.count("bra")


def test_an_index_out_of_range_panics_on_the_simulator() -> None:
    made = built("saxpy")
    fixture = next(kernel for kernel in FIXTURES["saxpy"].kernels if kernel.name == "saxpy")
    inputs = fixture.inputs()
    short = inputs["x"][: len(inputs["y"]) - 1]
    saxpy = module_of(made.manifest, made.manifest_path.parent, "sim")["saxpy"]
    with pytest.raises(KernelPanicError, match=f"index out of bounds: the len is {len(short)}"):
        saxpy[fixture.grid, fixture.block](inputs["a"][0], short, inputs["y"])


@each_codegen
@each_arch
@pytest.mark.parametrize("crate", ["saxpy", "block_reduce", "histogram", "params"])
def test_no_kernel_is_only_a_trap(crate: str, arch: str, codegen: Codegen) -> None:
    functions = parse_ptx(ptx_of(built(crate), arch, codegen)).functions
    for kernel in built(crate).manifest.kernels:
        ptx = functions[kernel.symbol]
        assert ptx.instructions > 5, kernel.name
        assert ptx.count("st") + ptx.count("red") + ptx.count("atom") > 0, f"{kernel.name} has no effect"


# ------------------------------------------------------------------------------------------------ kernels


@pytest.mark.parametrize("crate", ["block_reduce", "histogram", "params"])
def test_no_linker_loses_a_kernel(crate: str) -> None:
    made = built(crate)
    names = sorted(kernel.symbol for kernel in made.manifest.kernels)
    assert names == sorted(kernel.name for kernel in FIXTURES[crate].kernels)
    with Worker() as worker:
        for arch in ARCHS:
            assert sorted(made.manifest.artifact(arch).resources) == names
            ptx = artifact_text(made, arch, "ptx")
            assert sorted(assemble(ptx, find_arch(arch), "nvjitlink", kernels=names, worker=worker).entries) == names
        ltoir = compile_ltoir(artifact_text(made, "sm_90", "ll"), find_arch("sm_90"), kernels=names, worker=worker)
        assert sorted(link_ltoir([ltoir], names, worker=worker).entries) == names


def test_a_lost_kernel_is_an_error() -> None:
    ptx = artifact_text(built("saxpy"), "sm_90", "ptx")
    start = ptx.index(".visible .entry saxpy_stride(")
    shorter = ptx[:start] + ptx[ptx.index("\n}", start) + 2 :]
    assert parse_ptx(shorter).entries == ("saxpy",)
    with pytest.raises(ToolError, match="lacks the kernel `saxpy_stride`"):
        assemble(shorter, find_arch("sm_90"), kernels=["saxpy", "saxpy_stride"])


# ------------------------------------------------------------------------------------------------ aliasing


def attributes(made: BuildResult, kernel: str, param: str) -> list[str]:
    """The words before a parameter of an entry in LLVM IR, its type left out."""
    (signature,) = re.findall(rf'^define void @"{kernel}"\((.*)\)', artifact_text(made, "sm_90", "ll"), re.MULTILINE)
    (words,) = re.findall(rf'i8 addrspace\(1\)\* ([^%]*)%"{param}"', signature)
    return words.split()


@pytest.mark.parametrize(
    ("kernel", "param"),
    [
        ("histogram", "bins.ptr"),
        ("histogram_shared", "bins.ptr"),
        ("commutative", "words.ptr"),
        ("commutative", "signed.ptr"),
        ("commutative", "long"),
        ("saturating_sum", "sums.ptr"),
    ],
)
def test_shared_atomics_are_neither_readonly_nor_noalias(kernel: str, param: str) -> None:
    assert {"readonly", "noalias"}.isdisjoint(attributes(built("histogram"), kernel, param))


def test_plain_shared_slices_are_both() -> None:
    """Or the test above would prove nothing."""
    assert {"readonly", "noalias"} <= set(attributes(built("histogram"), "histogram", "data.ptr"))


def test_raw_pointers_promise_nothing() -> None:
    assert attributes(built("params"), "raw", "x") == attributes(built("params"), "raw", "y") == []


@each_codegen
@each_arch
def test_atomics_are_atomic_instructions(arch: str, codegen: Codegen) -> None:
    """And the bins are never read past the caches' coherence."""
    functions = parse_ptx(ptx_of(built("histogram"), arch, codegen)).functions
    histogram = functions["histogram"]
    assert histogram.count("red") + histogram.count("atom") == 1
    assert functions["saturating_sum"].count("atom") >= 1
    (sums,) = re.findall(r"ld\.param\.[bu]64\s+(%rd\d+), \[saturating_sum_param_2\]", functions["saturating_sum"].body)
    assert f"ld.global.nc.b32 {sums}" not in functions["saturating_sum"].body


def test_where_the_builds_lie() -> None:
    """Builds of tests stay below the fixtures' target folder, which git ignores."""
    assert (Path(__file__).parents[2] / "fixtures" / "crates" / "target") in built("saxpy").manifest_path.parents
