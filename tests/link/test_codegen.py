"""PTX by both code generators, for every supported generation of GPUs, through both assemblers."""

from __future__ import annotations

import pytest

from mirgen.errors import InternalError, ToolError
from mirgen.link import (
    Arch,
    Codegen,
    Worker,
    assemble,
    compile_ltoir,
    compile_ptx,
    fatbin,
    find_arch,
    link_ltoir,
)
from mirgen.link.assemble import Assembler
from mirgen.link.cubin import read_elf
from mirgen.link.irtext import INLINED_LINES
from tests.link import kernels

pytestmark = pytest.mark.cuda

ARCHS = [find_arch(name) for name in ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")]
CODEGENS: tuple[Codegen, ...] = ("llvm", "nvvm")
ASSEMBLERS: tuple[Assembler, ...] = ("ptxas", "nvjitlink")

each_arch = pytest.mark.parametrize("arch", ARCHS, ids=str)
each_codegen = pytest.mark.parametrize("codegen", CODEGENS)
each_assembler = pytest.mark.parametrize("tool", ASSEMBLERS)


@each_arch
@each_codegen
def test_a_product_and_a_sum_stay_two_roundings(arch: Arch, codegen: Codegen, worker: Worker) -> None:
    result = compile_ptx(kernels.SAXPY, arch, codegen=codegen, kernels=["saxpy"], worker=worker)
    kernel = result.info.functions["saxpy"]
    assert kernel.count("fma") == 0 and kernel.count("mad.rn") == 0
    assert kernel.opcodes["mul.rn.f32"] == 1, "without .rn the assembler may still fuse it"
    assert kernel.opcodes["add.rn.f32"] == 1
    assert result.info.target == arch.name


@each_arch
@each_codegen
def test_a_bounds_check_still_traps(arch: Arch, codegen: Codegen, worker: Worker) -> None:
    result = compile_ptx(kernels.SAXPY, arch, codegen=codegen, kernels=["saxpy"], worker=worker)
    kernel = result.info.functions["saxpy"]
    assert kernel.opcodes["trap"] == 1
    assert kernel.count("setp") >= 1
    assert kernel.count("bra") >= 1


def test_without_the_trap_the_check_is_gone(worker: Worker) -> None:
    """What the trap is for: `unreachable` alone takes the check with it.  Else the test above would prove nothing."""
    text = kernels.SAXPY.replace("  call void @llvm.trap()\n  unreachable", "  unreachable")
    kernel = compile_ptx(text, ARCHS[2], kernels=["saxpy"], worker=worker).info.functions["saxpy"]
    assert kernel.count("setp") == 0
    assert kernel.count("trap") == 0


@each_arch
@pytest.mark.parametrize(("lines", "apart"), [(100, False), (INLINED_LINES + 100, True)])
def test_libnvvm_does_not_multiply_large_functions(arch: Arch, lines: int, apart: bool, worker: Worker) -> None:
    """It would inline the function at both of its calls."""
    text = kernels.called_twice(lines)
    info = compile_ptx(text, arch, codegen="nvvm", kernels=["twice"], worker=worker).info
    assert set(info.functions) == ({"twice", "rounds"} if apart else {"twice"})
    assert max(function.count("xor") for function in info.functions.values()) >= lines // 2


@each_arch
@each_codegen
def test_both_barriers_stay(arch: Arch, codegen: Codegen, worker: Worker) -> None:
    result = compile_ptx(kernels.EXCHANGE, arch, codegen=codegen, kernels=["exchange"], worker=worker)
    assert result.info.functions["exchange"].barriers == 2


@each_arch
@each_codegen
@each_assembler
def test_assembled_with_its_resources(arch: Arch, codegen: Codegen, tool: Assembler, worker: Worker) -> None:
    result = compile_ptx(kernels.EXCHANGE, arch, codegen=codegen, kernels=["exchange"], worker=worker)
    cubin = assemble(result.ptx, arch, tool, kernels=["exchange"], worker=worker)
    assert cubin.data[:4] == b"\x7fELF"
    kernel = cubin.kernels["exchange"]
    assert 4 <= kernel.registers <= 32
    assert kernel.shared == 1024
    assert kernel.barriers == 1
    assert (kernel.stack, kernel.spill_loads, kernel.spill_stores) == (0, 0, 0)
    assert kernel.params == ((0, 8),)


@each_arch
@each_codegen
def test_libdevice_leaves_no_call(arch: Arch, codegen: Codegen, worker: Worker) -> None:
    result = compile_ptx(kernels.SINE, arch, codegen=codegen, kernels=["sine"], worker=worker)
    assert list(result.info.functions) == ["sine"]
    assert result.info.functions["sine"].count("call") == 0
    assert result.info.functions["sine"].instructions > 30
    assert "sine" in assemble(result.ptx, arch, "ptxas").kernels


@each_codegen
@pytest.mark.parametrize("level", [0, 1, 3])
def test_every_level_keeps_meaning(codegen: Codegen, level: int, worker: Worker) -> None:
    result = compile_ptx(kernels.SAXPY, ARCHS[2], codegen=codegen, kernels=["saxpy"], opt_level=level, worker=worker)
    total = [opcode for function in result.info.functions.values() for opcode in function.opcodes]
    assert "mul.rn.f32" in total and "add.rn.f32" in total and "trap" in total
    assert "saxpy" in assemble(result.ptx, ARCHS[2], "ptxas").kernels


@each_arch
@each_codegen
def test_parameters_have_their_places(arch: Arch, codegen: Codegen, worker: Worker) -> None:
    result = compile_ptx(kernels.PARAMS, arch, codegen=codegen, kernels=["params"], worker=worker)
    expected = [(0, 1), (2, 2), (8, 8), (16, 16), (32, 16), (48, 1)]
    assert [(param.offset, param.size) for param in result.info.functions["params"].params] == expected
    assert list(assemble(result.ptx, arch, "ptxas").kernels["params"].params) == expected


@each_arch
def test_ltoir_keeps_its_kernel(arch: Arch, worker: Worker) -> None:
    module = compile_ltoir(kernels.SAXPY, arch, kernels=["saxpy"], worker=worker)
    cubin = link_ltoir([module], ["saxpy"], worker=worker)
    assert cubin.kernels["saxpy"].params == ((0, 4), (8, 8), (16, 8), (24, 8), (32, 8))


def test_a_kernel_that_the_linker_drops_is_an_error(worker: Worker) -> None:
    """nvJitLink drops what is not in `llvm.used`, and says nothing."""
    text = kernels.SAXPY + '@llvm.used = appending global [1 x i8*] [i8* null], section "llvm.metadata"\n'
    with pytest.raises(ToolError, match=r"@llvm\.used of its own"):
        compile_ltoir(text, ARCHS[2], kernels=["saxpy"], worker=worker)
    module = compile_ltoir(kernels.SAXPY, ARCHS[2], kernels=["saxpy"], worker=worker)
    with pytest.raises(ToolError, match="lacks the kernel `other`"):
        link_ltoir([module], ["saxpy", "other"], worker=worker)


def test_assembled_for_another_architecture(worker: Worker) -> None:
    result = compile_ptx(kernels.SAXPY, find_arch("sm_90"), kernels=["saxpy"], worker=worker)
    with pytest.raises(ToolError, match="ptxas") as caught:
        assemble(result.ptx, find_arch("sm_80"), "ptxas")
    assert caught.value.status != 0


def test_spills_are_counted(worker: Worker) -> None:
    text = kernels.pressure(300)
    result = compile_ptx(text, ARCHS[2], kernels=["pressure"], worker=worker)
    for tool in ASSEMBLERS:
        kernel = assemble(result.ptx, ARCHS[2], tool, worker=worker).kernels["pressure"]
        assert kernel.registers >= 250
        assert kernel.spill_stores > 100 and kernel.spill_loads > 100
        assert kernel.stack > 100


def test_what_the_assembler_says_is_kept_with_the_line() -> None:
    ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tnonsense.u32 %r1;\n\tret;\n}\n"
    with pytest.raises(ToolError) as caught:
        assemble(ptx, find_arch("sm_90"), "ptxas")
    assert "nonsense" in caught.value.output
    assert "6 | nonsense.u32 %r1;" in caught.value.output
    assert caught.value.command[0].endswith("ptxas")


def test_nvjitlink_says_what_is_wrong(worker: Worker) -> None:
    ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tnonsense.u32 %r1;\n\tret;\n}\n"
    with pytest.raises(ToolError, match="nvJitLink") as caught:
        assemble(ptx, find_arch("sm_90"), "nvjitlink", worker=worker)
    assert "nonsense" in caught.value.output


def test_not_a_cubin() -> None:
    with pytest.raises(ToolError, match="not a cubin"):
        read_elf(b"\x7fELF and nothing", "ptxas")


def test_a_fat_binary_holds_all(worker: Worker) -> None:
    cubins = [
        assemble(compile_ptx(kernels.SAXPY, arch, kernels=["saxpy"], worker=worker).ptx, arch) for arch in ARCHS[2:4]
    ]
    last = compile_ptx(kernels.SAXPY, ARCHS[4], kernels=["saxpy"], worker=worker)
    data = fatbin(cubins, [(ARCHS[4], last.ptx)])
    assert data[:4] == b"\x50\xed\x55\xba"
    assert len(data) > sum(len(cubin.data) for cubin in cubins) // 2
    with pytest.raises(InternalError):
        fatbin([])
