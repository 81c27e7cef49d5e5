"""The parts that need no tool: architectures, PTX text, assembler logs, entry checks, manifests, discovery."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from mirgen.errors import InternalError, InvalidInputError, ToolError
from mirgen.link import discover, irtext
from mirgen.link.arch import ARCHS, find_arch, parse_archs
from mirgen.link.cubin import Cubin, KernelResources
from mirgen.link.entries import check_entries, check_params
from mirgen.link.files import ArtifactFolder, write_atomic
from mirgen.link.manifest import Artifact, Kernel, Manifest, Param, load_manifest, write_manifest
from mirgen.link.ptx_info import parse_ptx
from mirgen.link.ptxas_log import read_log, warnings


def test_architectures() -> None:
    assert [arch.name for arch in parse_archs(" sm_90,sm_100 ,90, compute_120")] == ["sm_90", "sm_100", "sm_120"]
    assert find_arch("sm_90a").compute == "compute_90a"
    assert find_arch("sm_90").dialect == "legacy"
    assert find_arch("sm_100").dialect == "modern"
    assert find_arch("sm_75").ptx_version == 80
    assert find_arch("sm_120f").ptx_version == 88
    assert list(ARCHS) == sorted(ARCHS, key=lambda name: (ARCHS[name].number, name))


@pytest.mark.parametrize("text", ["sm_91", "", ",", "gfx90", "sm_90,sm_30"])
def test_unknown_architectures_list_the_known(text: str) -> None:
    with pytest.raises(InvalidInputError, match="known: sm_75, sm_80"):
        parse_archs(text)


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(InvalidInputError, match="did you mean sm_12"):
        find_arch("sm_12")


PTX = """
.version 8.7
.target sm_90, debug
.address_size 64
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};

.func (.param .b32 func_retval0) helper(
	.param .b32 helper_param_0
)
{
	ret;
}
	// .globl	two
.visible .entry two(
	.param .u8 two_param_0,
	.param .align 16 .b8 two_param_1[24],
	.param .u64 .ptr .global .align 4 two_param_2
)
.maxntid 256, 1, 1
{
	.reg .pred 	%p<2>;
	.loc	1 3 4
	mov.u32 	%r1, %tid.x; // bar.sync in a comment
	@%p1 bra 	$L__BB0_2;
	bar.sync 	0;
	@!%p1 bar.sync 0;
	barrier.sync 	0;
	{ // callseq
	.param .b32 param0;
	st.param.b32 	[param0], %r1;
	call.uni (retval0), helper, (param0);
	}
$L__BB0_2: ret;
}
"""


def test_ptx_text_is_read() -> None:
    info = parse_ptx(PTX)
    assert (info.version, info.target, info.entries, info.externs) == ("8.7", "sm_90", ("two",), ("vprintf",))
    kernel = info.functions["two"]
    assert [(param.offset, param.size, param.align) for param in kernel.params] == [(0, 1, 1), (16, 24, 16), (40, 8, 8)]
    assert kernel.barriers == 3
    assert kernel.count("bra") == 1
    assert kernel.count("ret") == 1
    assert kernel.instructions == 8
    assert not info.functions["helper"].entry


@pytest.mark.parametrize("text", ["", "hello", ".version 8.0\n.target sm_90\n.visible .entry k(.param .q7 x) { ret; }"])
def test_what_is_not_ptx(text: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_ptx(text)


def test_truncated_ptx() -> None:
    with pytest.raises(InvalidInputError, match="does not end"):
        parse_ptx(PTX[: PTX.index("bar.sync 	0;")])


PTXAS_LOG = """ptxas info    : 0 bytes gmem
ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized
ptxas info    : Compiling entry function 'reduce' for 'sm_90'
ptxas info    : Function properties for reduce
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 1024+0 bytes smem
ptxas info    : Compile time = 4.8 ms
ptxas info    : Function properties for helper
    32 bytes stack frame, 1 bytes spill stores, 1 bytes spill loads
ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, 392 bytes cmem[0]
"""


def test_the_assemblers_log_is_read() -> None:
    log = read_log(PTXAS_LOG)
    assert list(log) == ["reduce", "plain"]
    reduce = log["reduce"]
    assert (reduce.registers, reduce.barriers, reduce.shared) == (40, 1, 1024)
    assert (reduce.stack, reduce.spill_stores, reduce.spill_loads) == (16, 8, 12)
    assert log["plain"].spill_loads == 0
    assert warnings(PTXAS_LOG) == ["Potential Performance Loss: wgmma.mma_async instructions are serialized"]


def cubin_of(*names: str) -> Cubin:
    kernels = {name: KernelResources(name, 8, 0, 0, 0, 0, 0, 128, ()) for name in names}
    return Cubin(b"", find_arch("sm_90"), "nvJitLink", kernels)


def test_lost_and_foreign_entries() -> None:
    check_entries(cubin_of("a", "b"), ["b", "a"])
    with pytest.raises(ToolError, match=r"nvJitLink.*sm_90 lacks the kernel `b` \(it has: a\)"):
        check_entries(cubin_of("a"), ["a", "b"])
    with pytest.raises(ToolError, match="entry `c` that is no kernel"):
        check_entries(cubin_of("a", "c"), ["a"])


@dataclass(frozen=True)
class Place:
    name: str
    offset: int
    size: int


def test_places_of_parameters() -> None:
    expected = [Place("a", 0, 4), Place("x", 8, 16), Place("tile", 24, 0), Place("flag", 24, 1)]
    check_params("k", expected, [(0, 4), (8, 8), (16, 8), (24, 1)])
    check_params("k", expected, [(0, 4), (8, 16), (24, 1)])
    for wrong in (
        [(0, 4), (8, 8), (16, 8)],
        [(0, 4), (8, 8), (16, 8), (24, 1), (28, 4)],
        [(0, 4), (16, 8), (24, 1)],
        [(0, 4), (8, 8), (16, 16), (24, 1)],
        [(0, 8), (8, 16), (24, 1)],
    ):
        with pytest.raises(InternalError, match="kernel `k`"):
            check_params("k", expected, wrong)


def test_ir_text_is_retargeted() -> None:
    text = 'target triple = "x86_64"\ntarget datalayout = "e-m:e"\ndefine void @k() {\n  ret void\n}\n'
    done = irtext.retarget(text, "e-p:64")
    assert done.count("target ") == 2
    assert "x86_64" not in done and 'datalayout = "e-p:64"' in done
    assert irtext.defined_functions(done) == ["k"]


def test_one_function_is_isolated() -> None:
    text = (
        "define internal i32 @leaf(i32 %x) {\n  ret i32 %x\n}\n"
        'define internal i32 @"middle::<u8>"(i32 %x) {\n  %y = call i32 @leaf(i32 %x)\n  ret i32 %y\n}\n'
        "define void @unused(i8* %p) {\n  ret void\n}\n"
        "define void @one(i8* %p) {\n"
        '  %y = call i32 @"middle::<u8>"(i32 1)\n  %z = call i32 @leaf(i32 1)\n  ret void\n}\n'
        '!nvvm.annotations = !{!0}\n!0 = !{void (i8*)* @one, !"kernel", i32 1}\n'
    )
    assert irtext.callees_first(text, "one") == ["leaf", "middle::<u8>", "one"]
    only = irtext.only_function(text, "middle::<u8>")
    assert 'define i32 @"middle::<u8>"(' in only
    assert only.count("define internal ") == 3
    assert "nvvm.annotations" not in only


def function(name: str, *calls: str, lines: int = 0) -> str:
    """A function that calls others; its parameter's type has parentheses."""
    body = "".join(f'  call void @"{callee}"({{ i8 }}* null)\n' for callee in calls)
    filler = "  fence seq_cst\n" * lines
    head = f'define internal void @"{name}"(void (i8)* byval(void (i8)) %".1") nounwind\n'
    return f"{head}{{\n{body}{filler}  ret void\n}}\n"


def test_large_functions_that_are_used_in_several_places() -> None:
    text = "".join(
        [
            function("once", lines=300),  # large, but all of it may go into `hash`
            function("hash", "once"),
            function("small::<(u8)>", lines=10),
            function("mid", "small::<(u8)>", lines=60),
            function("user", "hash", "hash", "mid"),
            function("loop", "loop", lines=300),  # recursive: its own call counts as a place
            function("one", "user", "mid", "loop"),
        ]
    )
    assert irtext.large_and_shared(text, 250) == {"hash", "loop"}
    assert irtext.large_and_shared(text, 50) == {"hash", "loop", "mid"}
    assert irtext.large_and_shared(text, 400) == set()
    # What stays outside does not make its users large.
    assert irtext.large_and_shared(function("two", "one", "one") + text, 250) == {"hash", "loop"}
    assert irtext.large_and_shared(function("two", "one", "one") + text, 150) == {"hash", "loop", "one"}


def test_calls_that_stay_calls() -> None:
    text = function("small::<(u8)>") + function("hash", "small::<(u8)>")
    head = 'define internal void @"{}"(void (i8)* byval(void (i8)) %".1"){} nounwind\n'
    assert irtext.out_of_line(text, {"small::<(u8)>"}) == text.replace(
        head.format("small::<(u8)>", ""), head.format("small::<(u8)>", " noinline")
    )
    assert irtext.out_of_line(text, set()) == text


def test_attributes_of_the_legacy_dialect() -> None:
    text = "define void @k(%T* byval(%T) align 16 %a, { i8, void (i32)* }* byval({ i8, void (i32)* }) %b) {"
    assert irtext.legacy_attributes(text) == "define void @k(%T* byval align 16 %a, { i8, void (i32)* }* byval %b) {"


def test_a_missing_tool_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(discover, "_in_wheel", lambda row: None)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    monkeypatch.setattr(discover, "_toolkits", lambda: iter(()))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert discover.find_tool("ptxas") is None
    with pytest.raises(ToolError, match=r"pip install 'mirgen\[cuda\]'"):
        discover.require_tool("ptxas")


def test_a_toolkit_is_found_by_cuda_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "ptxas"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.9, V12.9.86'\n")
    program.chmod(0o755)
    library = tmp_path / "nvvm" / "lib64" / "libnvvm.so.4.0.0"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"")
    monkeypatch.setattr(discover, "_in_wheel", lambda row: None)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert discover.find_tool("ptxas") == discover.Tool("ptxas", program, "12.9.86", "CUDA_HOME")
    assert discover.find_tool("libnvvm") == discover.Tool("libnvvm", library, "4.0.0", "CUDA_HOME")


def manifest(files: dict[str, str]) -> Manifest:
    param = Param(
        name="x", rust_type="&[f32]", kind="slice", offset=0, size=16, align=8, elem="f32", elem_size=4, mutable=False
    )
    return Manifest(
        mirgen="0.1.0",
        crate_name="hello",
        crate_version="0.1.0",
        profile="release",
        target="nvptx64-nvidia-cuda",
        rustc="1.96.0",
        tools={"ptxas": "13.5.37"},
        kernels=(Kernel(name="saxpy", symbol="saxpy", path="hello::saxpy", params=(param,), static_shared=0),),
        artifacts=(
            Artifact(
                arch="sm_90",
                codegen="llvm",
                assembler="ptxas",
                files=files,
                resources=Artifact.resources_of(cubin_of("saxpy")),
            ),
        ),
    )


def test_a_manifest_comes_back(tmp_path: Path) -> None:
    folder = ArtifactFolder.of(tmp_path, "release", "hello")
    name = folder.write("ptx", "hello", b"// ptx\n", find_arch("sm_90"))
    assert name == "sm_90/hello.ptx"
    made = manifest({"ptx": name})
    path = write_manifest(made, folder.root)
    assert path == tmp_path / "mirgen" / "release" / "hello" / "manifest.json"
    assert load_manifest(path) == made == load_manifest(folder.root)
    assert sorted(file.name for file in folder.root.iterdir()) == ["manifest.json", "sm_90"]
    assert made.kernel("saxpy").params[0].elem == "f32"
    with pytest.raises(InvalidInputError, match=r"no kernel `axpy` .*\(it has: saxpy\)"):
        made.kernel("axpy")
    with pytest.raises(InvalidInputError, match="was not built for sm_75"):
        made.artifact("sm_75")


def test_bad_manifests(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        load_manifest(tmp_path)
    path = write_manifest(manifest({"ptx": "sm_90/gone.ptx"}), tmp_path)
    with pytest.raises(InvalidInputError, match=r"gone\.ptx is gone: build again"):
        load_manifest(path)
    path = write_manifest(manifest({"ptx": "../../outside.ptx"}), tmp_path)
    with pytest.raises(InvalidInputError, match="outside its folder"):
        load_manifest(path)
    raw = json.loads(manifest({}).model_dump_json())
    changes: tuple[tuple[dict[str, object], str], ...] = (
        ({"version": 2}, "of version 2"),
        ({"kernels": [{}]}, r"kernels\.0\.name"),
        ({"surprise": 1}, "surprise"),
    )
    for change, message in changes:
        path.write_text(json.dumps({**raw, **change}))
        with pytest.raises(InvalidInputError, match=message):
            load_manifest(path)
    for text in ("[]", "{", "\x00"):
        path.write_text(text)
        with pytest.raises(InvalidInputError):
            load_manifest(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a" / "file"
    write_atomic(path, b"old")
    with pytest.raises(TypeError):
        write_atomic(path, None)  # pyright: ignore[reportArgumentType]
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]
