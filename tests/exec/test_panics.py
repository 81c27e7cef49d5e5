"""Every way to panic says what it says natively, at the same place: the crate in ``fixtures/panics`` runs both ways.

What is left out is named: values whose ``Debug`` is code, and macros in functions of core.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mirgen.cargo.options import CargoOptions
from mirgen.link import Worker, assemble, find_arch, parse_ptx
from mirgen.pipeline import BuildOptions, BuildResult, Panics, Progress, build
from mirgen.runtime.errors import KernelPanicError
from mirgen.runtime.loading import module_of
from mirgen.runtime.sim.launch import SimOptions
from mirgen.testing.conformance import ARCHS, artifact_text, build_options, nvvm_ptx
from mirgen.testing.lanes import Lane
from tests.exec.lanes import CRATES, FIXTURES, LANES

pytestmark = pytest.mark.slow

PANICS = CRATES.parent / "panics"
NAMES = re.findall(r"^pub fn (\w+)\(v: &\[i64\], out:", (PANICS / "src" / "lib.rs").read_text(), re.MULTILINE)
NUMBERS = np.array([7, 2**31 - 1, 1, 4], dtype=np.int64)

#: Kernels whose message has a value that is not shown.
HIDDEN = frozenset({"a_struct", "assert_eq_of_structs", "unwrap_error_of_ones_own", "text_inside_a_character"})
#: A macro that a function of core calls: the place stays inside the macro.
IN_CORE = frozenset({"digit"})
#: What release builds do not check.
UNCHECKED = frozenset({"add", "subtract", "multiply", "negate", "shift_left", "shift_right", "debug_assertion"})
#: Kernels whose message depends most on the compiler, for the other lanes.
SAMPLE = (
    "bounds_slice", "formatted", "only_a_string", "widths", "groups", "assert_eq_with_text", "unwrap_error", "text_to",
    "own_macro_in_macro", "same_text_twice", "in_a_closure", "tracked_through_two", "tracked_method", "caller",
)  # fmt: skip

#: Where and how a kernel panics: ``file:line:col`` and the message, or neither.
Said = tuple[str | None, str | None]


@functools.cache
def native(lane: Lane, profile: str) -> Path:
    """The crate's example, compiled by the lane's own compiler."""
    target = CRATES / "target" / f"panics-native-{lane.rustc.release}"
    manifest = str(PANICS / "Cargo.toml")
    command = ["cargo", "build", "-q", "--example", "native", "--manifest-path", manifest, "--profile", profile]
    with lane.active():
        subprocess.run([*command, "--target-dir", str(target)], check=True)
    return target / ("debug" if profile == "dev" else profile) / "examples" / "native"


def said_natively(program: Path, name: str) -> Said:
    done = subprocess.run([str(program), name], capture_output=True, text=True, timeout=60)
    if not done.stdout:
        return None, None
    place, text = done.stdout.splitlines()[0].split("\t")
    return place, json.loads(text)


@functools.cache
def made(
    lane: Lane, profile: str, kernels: tuple[str, ...] = (), panics: Panics = "auto", archs: tuple[str, ...] = ()
) -> BuildResult:  # fmt: skip
    cargo = CargoOptions(
        manifest_path=PANICS / "Cargo.toml", profile=profile, target=lane.target, locked=True, quiet=True,
        target_dir=CRATES / "target" / f"panics-{lane}-{panics}-{len(kernels)}",
    )  # fmt: skip
    with lane.active():
        return build(BuildOptions(cargo, archs=archs, kernels=kernels, panics=panics), Progress(quiet=True))


def said_by_mirgen(lane: Lane, profile: str, kernels: tuple[str, ...] = ()) -> dict[str, Said]:
    built = made(lane, profile, kernels)
    module = module_of(built.manifest, built.manifest_path.parent, "sim")
    said: dict[str, Said] = {}
    for name, kernel in module.kernels.items():
        try:
            kernel[1, 1](NUMBERS, np.zeros(1, np.int64))
        except KernelPanicError as panic:
            assert (panic.kernel, panic.block, panic.thread) == (name, (0, 0, 0), (0, 0, 0))
            said[name] = panic.location, panic.message
        else:
            said[name] = None, None
    return said


def same(name: str, ours: Said, theirs: Said) -> bool:
    """Whether what was said is the same but for what cannot be shown."""
    (place, message), (native_place, native_message) = ours, theirs
    if name in IN_CORE:
        assert place is not None and native_place is not None
        place, native_place = place.partition("/src/")[0][-4:], native_place.partition("/src/")[0][-4:]
    if name in HIDDEN:
        assert message is not None and native_message is not None
        parts = re.split(r"<value[^>]*>", message)
        assert len(parts) > 1, f"{name} shows everything"
        pattern = ".+".join(map(re.escape, parts))
        message = native_message if re.fullmatch(pattern, native_message, re.DOTALL) else message
    return (place, message) == (native_place, native_message)


def differences(lane: Lane, profile: str, kernels: tuple[str, ...] = ()) -> list[str]:
    program = native(lane, profile)
    found: list[str] = []
    ours = said_by_mirgen(lane, profile, kernels)
    assert sorted(ours) == sorted(kernels or NAMES)
    for name, said in ours.items():
        theirs = said_natively(program, name)
        if not same(name, said, theirs):
            found.append(f"{name}: {said}, natively {theirs}")
    return found


@pytest.mark.parametrize("profile", ["dev", "release"])
def test_every_panic_says_what_it_says_natively(profile: str) -> None:
    assert not differences(LANES[0], profile)


def test_checks_follow_the_profile() -> None:
    """Or the test above would compare nothing for these."""
    silent = {name for name, said in said_by_mirgen(LANES[0], "release").items() if said == (None, None)}
    assert silent == UNCHECKED
    assert (None, None) not in said_by_mirgen(LANES[0], "dev").values()


@pytest.mark.parametrize("lane", LANES[1:], ids=str)
def test_on_other_compilers(lane: Lane) -> None:
    assert not differences(lane, "dev", SAMPLE)


def test_block_and_thread_are_told() -> None:
    built = made(LANES[0], "dev", ())
    options = SimOptions(schedule="reverse")
    kernel = module_of(built.manifest, built.manifest_path.parent, "sim", options)["tracked_through_two"]
    with pytest.raises(KernelPanicError) as caught:
        kernel[3, 8](NUMBERS, np.zeros(24, np.int64))
    assert (caught.value.block, caught.value.thread) == ((2, 0, 0), (7, 0, 0))
    assert str(caught.value).startswith("kernel `tracked_through_two`: out of line with 7\n  --> src/lib.rs:")


# ------------------------------------------------------------------------------------------------ on the GPU

ON_GPU = ("bounds_array", "formatted", "strings", "other_scalars", "floats", "slices", "tracked_out_of_line", "caller")


def strings(ptx: str) -> list[str]:
    """The C strings in PTX."""
    arrays = re.findall(r"__mirgen_text[\w.$]*\[\d+\] = \{([\d, ]+)\}", ptx)
    return [bytes(map(int, numbers.split(","))).rstrip(b"\0").decode() for numbers in arrays]


def ptx_by_all(built: BuildResult) -> dict[tuple[str, str], str]:
    """The build's PTX by both code generators, for all architectures."""
    by_llvm = {("llvm", arch): artifact_text(built, arch, "ptx") for arch in ARCHS}
    with Worker() as worker:
        return by_llvm | {("nvvm", arch): nvvm_ptx(built, arch, worker) for arch in ARCHS}


@pytest.mark.cuda
def test_messages_are_printed_by_cuda() -> None:
    """With the values that ``printf`` can show; the trap follows wherever CUDA does not stop the thread."""
    built = made(LANES[0], "dev", ON_GPU, "message", tuple(ARCHS))
    for (codegen, arch), ptx in ptx_by_all(built).items():
        said = strings(ptx)
        assert "panicked at %s:%llu:%llu:\nindex out of bounds: the len is %llu but the index is %llu\n" in said
        assert "index out of bounds: the len is <value> but the index is <value>" in said
        assert any("%s %s <value of type char> <value of type ()>" in text for text in said)
        assert "src/lib.rs" in said
        assert "tracked_never_inlined" in said
        functions = parse_ptx(ptx).functions
        tellers = [function for name, function in functions.items() if name.startswith("__mirgen_panic_at_")]
        assert len(tellers) >= len(ON_GPU), (codegen, arch)
        for function in tellers:
            body = function.body
            assert body.count("__assertfail") == 1, (codegen, arch, function.name)
            assert body.rindex("trap;") > body.index("__assertfail"), (codegen, arch, function.name)
        assert {"__assertfail", "vprintf"} <= set(parse_ptx(ptx).externs)
    with Worker() as worker:
        ptx = artifact_text(built, "sm_90", "ptx")
        linked = assemble(ptx, find_arch("sm_90"), "nvjitlink", kernels=list(ON_GPU), worker=worker)
    assert sorted(linked.entries) == sorted(ON_GPU)


@pytest.mark.cuda
def test_a_compact_build_leaves_the_number_of_the_place() -> None:
    built = made(LANES[0], "release", ON_GPU, "auto", tuple(ARCHS))
    assert built.manifest.panic == "code"
    messages = {panic.index: panic.message for panic in built.manifest.panics}
    for (codegen, arch), ptx in ptx_by_all(built).items():
        assert not parse_ptx(ptx).externs, (codegen, arch)
        assert re.search(r"^\.visible \.global .*\bmirgen_panic\b", ptx, re.MULTILINE), (codegen, arch)
        kernel = parse_ptx(ptx).functions["bounds_array"].body
        left = re.findall(r"st\.volatile\.u32 \[h\+0\], (%r\d+);", kernel)
        numbers = [re.search(rf"mov\.[bu]32\s+{register}, (\d+);", kernel) for register in left]
        said = {messages[int(number[1]) - 1] for number in numbers if number is not None}
        assert "index out of bounds: the len is {} but the index is {}" in said, (codegen, arch)
        assert kernel.count("trap;") >= len(left) > 0, (codegen, arch)


@pytest.mark.cuda
def test_what_each_mode_costs() -> None:
    """Numbers of places cost no register; messages cost what ptxas keeps for calls that it does not know, no more."""
    fixture = FIXTURES["block_reduce"]
    every = build_options(fixture, LANES[0], [kernel.name for kernel in fixture.kernels], archs=("sm_90",))
    modes: tuple[Panics, ...] = ("trap", "code", "message")
    registers: dict[str, dict[str, int]] = {}
    for mode in modes:
        cargo = dataclasses.replace(every.cargo, target_dir=CRATES / "target" / f"panics-cost-{mode}")
        with LANES[0].active():
            built = build(dataclasses.replace(every, cargo=cargo, panics=mode), Progress(quiet=True))
        used = built.manifest.artifact("sm_90").resources
        registers[mode] = {name: kernel.registers for name, kernel in used.items()}
        assert not any(kernel.spill_stores for kernel in used.values()), mode
    assert registers["code"] == registers["trap"]
    assert all(count <= max(24, registers["trap"][name] + 2) for name, count in registers["message"].items())


@pytest.mark.cuda
def test_a_panic_that_only_traps() -> None:
    built = made(LANES[0], "dev", ("bounds_array",), "trap", ("sm_90",))
    ptx = artifact_text(built, "sm_90", "ptx")
    assert "mirgen_panic" not in ptx
    assert "trap;" in parse_ptx(ptx).functions["bounds_array"].body
