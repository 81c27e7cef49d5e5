"""What the code generators refuse, and what kills them, is an error that names the culprit."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mirgen.errors import InternalError, ToolError
from mirgen.link import Codegen, Worker, compile_ptx, find_arch
from mirgen.link.worker import WorkerDied
from tests.link import kernels

pytestmark = pytest.mark.cuda

SM_90 = find_arch("sm_90")
SM_100 = find_arch("sm_100")


def test_the_death_of_llvm_names_the_function(worker: Worker) -> None:
    with pytest.raises(ToolError) as caught:
        compile_ptx(kernels.ABORT, SM_90, kernels=["harmless", "culprit"], worker=worker)
    error = caught.value
    assert error.tool == "LLVM"
    assert "function `swap` of kernel `culprit`" in error.message
    assert "harmless" not in error.message
    assert error.status != 0
    assert "unsupported cmpxchg" in error.output


def test_after_a_death_the_worker_goes_on(worker: Worker) -> None:
    with pytest.raises(ToolError):
        compile_ptx(kernels.ABORT, SM_90, kernels=["harmless", "culprit"], worker=worker)
    assert compile_ptx(kernels.SAXPY, SM_90, kernels=["saxpy"], worker=worker).info.entries == ("saxpy",)


def test_the_same_kernel_without_its_culprit_compiles(worker: Worker) -> None:
    text = kernels.ABORT.replace("cmpxchg i128*", "cmpxchg i64*").replace("i128 0, i128 1", "i64 0, i64 1")
    text = text.replace("bitcast i8* %at to i128*", "bitcast i8* %at to i64*")
    result = compile_ptx(text, SM_90, kernels=["harmless", "culprit"], worker=worker)
    assert set(result.info.entries) == {"harmless", "culprit"}


def test_a_job_that_takes_too_long_is_ended() -> None:
    with Worker(timeout=0.0) as worker, pytest.raises(ToolError, match="took longer than 0 s"):
        compile_ptx(kernels.SAXPY, SM_90, kernels=["saxpy"], worker=worker)


def test_a_worker_killed_from_outside_says_so() -> None:
    with Worker() as worker:
        compile_ptx(kernels.SAXPY, SM_90, kernels=["saxpy"], worker=worker)
        process = worker._process  # pyright: ignore[reportPrivateUsage]
        assert process is not None
        os.kill(process.pid, 9)
        process.wait()
        with pytest.raises(WorkerDied, match="SIGKILL"):
            worker.run("llvm", "LLVM", {})
        assert compile_ptx(kernels.SAXPY, SM_90, kernels=["saxpy"], worker=worker).info.entries == ("saxpy",)


def test_a_fault_of_the_worker_is_internal() -> None:
    with Worker() as worker, pytest.raises(InternalError, match="KeyError"):
        worker.run("no such job", "LLVM", {})


@pytest.mark.parametrize("codegen", ["llvm", "nvvm"])
def test_text_that_is_not_ir_is_shown_with_its_line(codegen: Codegen, worker: Worker) -> None:
    text = kernels.SAXPY.replace("  %m = fmul float %a, %x", "  %m = fmul double %a, %x")
    with pytest.raises(ToolError) as caught:
        compile_ptx(text, SM_90, codegen=codegen, kernels=["saxpy"], worker=worker)
    assert "fmul double %a" in caught.value.output


def test_libnvvm_refuses_the_other_dialect(worker: Worker) -> None:
    text = kernels.SAXPY.replace("%m = fmul float %a, %x", "%n = fneg float %a\n  %m = fmul float %n, %x")
    with pytest.raises(ToolError, match="libNVVM"):
        compile_ptx(text, SM_90, codegen="nvvm", kernels=["saxpy"], worker=worker)
    assert compile_ptx(text, SM_100, codegen="nvvm", kernels=["saxpy"], worker=worker).info.entries == ("saxpy",)


def test_the_verifier_of_libnvvm_is_asked(worker: Worker) -> None:
    """`ctpop.i128` compiles for sm_100; only the verifier knows that it must not."""
    text = """
declare i128 @llvm.ctpop.i128(i128)
define void @count(i8* %data) {
  %p = bitcast i8* %data to i128*
  %v = load i128, i128* %p, align 16
  %c = call i128 @llvm.ctpop.i128(i128 %v)
  store i128 %c, i128* %p, align 16
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (i8*)* @count, !"kernel", i32 1}
"""
    with pytest.raises(ToolError, match="the verifier refuses the IR"):
        compile_ptx(text, SM_100, codegen="nvvm", kernels=["count"], worker=worker)


@pytest.mark.parametrize("codegen", ["llvm", "nvvm"])
def test_a_kernel_that_is_not_there(codegen: Codegen, worker: Worker) -> None:
    with pytest.raises(ToolError, match="`other`"):
        compile_ptx(kernels.SAXPY, SM_90, codegen=codegen, kernels=["saxpy", "other"], worker=worker)


def test_an_entry_that_nobody_asked_for(worker: Worker) -> None:
    with pytest.raises(ToolError, match="`culprit`"):
        compile_ptx(kernels.ABORT, SM_90, codegen="nvvm", kernels=["harmless"], worker=worker)


@pytest.mark.parametrize("codegen", ["llvm", "nvvm"])
def test_a_call_of_nothing(codegen: Codegen, worker: Worker) -> None:
    text = kernels.SAXPY.replace("%r = call float @axpy", "%r = call float @nowhere")
    text = text.replace(
        "define internal float @axpy", "declare float @nowhere(float, float, float)\ndefine float @axpy"
    )
    with pytest.raises(ToolError, match="`nowhere`, which nothing defines"):
        compile_ptx(text, SM_90, codegen=codegen, kernels=["saxpy"], worker=worker)


def test_no_kernel_at_all(worker: Worker) -> None:
    with pytest.raises(InternalError):
        compile_ptx(kernels.SAXPY, SM_90, kernels=[], worker=worker)


def test_importing_the_link_stage_needs_no_package() -> None:
    """`doctor` runs where nothing is installed."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from mirgen.link import all_tools\n"
        "found = all_tools()\n"
        "assert found['llvmlite'] is None and found['libnvvm'] is None, found\n"
        "print(sorted(found))\n"
    )
    root = str(__import__("pathlib").Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", code, root], capture_output=True, text=True, env={"PATH": "/nonexistent"}
    )
    assert done.returncode == 0, done.stderr
    assert "ptxas" in done.stdout
