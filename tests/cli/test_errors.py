"""What goes wrong for users, on purpose: the message, and the exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.support import PRELUDE, Done, Mirgen, make_crate

UNSUPPORTED = (
    PRELUDE
    + """
unsafe extern "C" {
    fn getpid() -> i32;
}

fn helper() -> i32 {
    unsafe { getpid() }
}

#[kernel]
pub fn step(mut y: Disjoint<[i32]>) {
    if let Some(y) = y.get_mut(thread::index_1d()) {
        *y += helper();
    }
}
"""
)

SNIPPET = """\
error[MG0201]: kernel `step` calls `getpid`, which has no body to compile
 --> src/lib.rs:9:14
  |
9 |     unsafe { getpid() }
  |              ^^^^^^^^ called from here
"""


@pytest.fixture(scope="module")
def unsupported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crate whose kernel calls a foreign function."""
    return make_crate(tmp_path_factory.mktemp("unsupported") / "crate", UNSUPPORTED, name="unsupported")


def program(folder: Path, name: str, script: str = "") -> None:
    """An executable in ``folder``: a shell script, or a link to the real thing."""
    folder.mkdir(exist_ok=True)
    if script:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    else:
        real = shutil.which(name)
        assert real is not None
        (folder / name).symlink_to(real)


def test_no_rustc(mirgen: Mirgen, crate: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin", "cargo")
    done = mirgen.build(cwd=crate, PATH=str(tmp_path / "bin"))
    assert done.code == 101
    assert done.err == (
        "error: rustc: no rustc found (`rustc` on PATH); install Rust 1.95 or newer: https://rustup.rs\n"
    )


def test_no_cargo(mirgen: Mirgen, crate: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin", "rustc")
    done = mirgen.build(cwd=crate, PATH=str(tmp_path / "bin"), RUSTUP_TOOLCHAIN="")
    assert done.code == 101
    assert "error: cargo: no cargo found (`cargo` on PATH)" in done.err


def test_a_rustc_that_is_too_old(mirgen: Mirgen, crate: Path, tmp_path: Path) -> None:
    answer = "release: 1.80.0\\nhost: x86_64-unknown-linux-gnu\\ncommit-hash: 0123456789abcdef"
    program(tmp_path / "bin", "rustc", f"case $1 in -vV) printf '{answer}\\n';; *) echo /nowhere;; esac")
    program(tmp_path / "bin", "cargo")
    done = mirgen.build(cwd=crate, PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert done.code == 101
    assert done.err == "error: rustc: rustc 1.80.0 is too old; mirgen needs 1.95.0 or newer (rustup update)\n"


def test_a_cargo_toml_that_cannot_be_read(mirgen: Mirgen, tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text("nonsense [\n")
    done = mirgen.build(cwd=tmp_path)
    assert done.code == 102
    assert done.err.startswith("error: key with no value, expected `=`\n --> Cargo.toml:1:10\n")


def test_no_cargo_toml(mirgen: Mirgen, tmp_path: Path) -> None:
    done = mirgen.build(cwd=tmp_path)
    assert done.code == 102
    assert done.err == f"error: could not find `Cargo.toml` in `{tmp_path}` or any parent directory\n"


def test_an_unknown_setting(mirgen: Mirgen, tmp_path: Path) -> None:
    crate = make_crate(tmp_path / "crate", PRELUDE, '[package.metadata.mirgen]\narhc = "sm_90"\n')
    done = mirgen.build(cwd=crate)
    assert done.code == 2
    assert "error: unknown key `arhc`; did you mean `arch`?\n" in done.err
    assert f"--> {crate / 'Cargo.toml'}, [package.metadata.mirgen]" in done.err


def test_no_kernel(mirgen: Mirgen, built: Done, tmp_path: Path) -> None:
    crate = make_crate(tmp_path / "crate", PRELUDE + "pub fn saxpy() {}\n", name="none")
    done = mirgen.build(cwd=crate)
    assert done.code == 103
    assert "error[MG0101]: no kernel in crate `none`\n" in done.err
    assert "= help: mark a function with `#[kernel]`" in done.err
    assert done.err.endswith("\nFor more information about this error, try `cargo mirgen explain MG0101`.\n")


def test_two_kernels_of_one_name(mirgen: Mirgen, built: Done, tmp_path: Path) -> None:
    kernel = "use super::*; #[kernel] pub fn step(y: Disjoint<[u32]>) { let _ = y.len(); }"
    source = f"{PRELUDE}pub mod a {{ {kernel} }}\npub mod b {{ {kernel} }}\n"
    crate = make_crate(tmp_path / "crate", source, name="two")
    done = mirgen.build(cwd=crate)
    assert done.code == 103
    assert "error[MG0102]: two kernels are named `step`\n" in done.err
    assert "`a::step`" in done.err and "`b::step`" in done.err


def test_no_kernel_of_that_name(mirgen: Mirgen, built: Done, crate: Path) -> None:
    done = mirgen.build("saxpi", cwd=crate)
    assert done.code == 103
    assert "error[MG0103]: no kernel `saxpi` in crate `saxpy`\n" in done.err
    assert "the crate has: saxpy, saxpy_stride" in done.err


def test_rustcs_errors_are_its_own(mirgen: Mirgen, tmp_path: Path) -> None:
    """Word for word what `cargo check` shows, and nothing after it."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text("pub fn step(y: &[u8]) -> u32 {\n    y.len()\n}\n")
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "wrong"\nversion = "0.1.0"\nedition = "2021"\n')
    done = mirgen.build(cwd=tmp_path)
    assert (done.code, done.out) == (101, "")
    command = ["cargo", "check", "--lib", "--offline", "--color=never", "--target-dir", tmp_path / "plain"]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert plain.returncode == 101
    assert "error[E0308]: mismatched types" in plain.stderr
    assert done.err == plain.stderr


@pytest.mark.parametrize("form", ["short", "json"])
def test_rustcs_messages_in_the_form_asked_for(mirgen: Mirgen, tmp_path: Path, form: str) -> None:
    """Warnings and errors as `cargo check` gives them, `json` on stdout, one line each."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text("fn unused() {}\npub fn step(y: &[u8]) -> u32 {\n    y.len()\n}\n")
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "wrong"\nversion = "0.1.0"\nedition = "2021"\n')
    done = mirgen.build("--message-format", form, "-q", cwd=tmp_path)
    assert done.code == 101
    command = ["cargo", "check", "--lib", "-q", "--offline", "--color=never", "--target-dir", tmp_path / "plain"]
    plain = subprocess.run([*command, "--message-format", form], cwd=tmp_path, capture_output=True, text=True)
    assert plain.returncode == 101
    assert done.err == plain.stderr
    if form == "short":
        assert done.out == "" and "src/lib.rs:3:5: error[E0308]: mismatched types" in done.err
        return
    theirs = [json.loads(line) for line in plain.stdout.splitlines()]
    messages = [line for line in theirs if line["reason"] == "compiler-message"]
    assert [json.loads(line) for line in done.out.splitlines()] == messages
    assert "E0308" in [line["message"]["code"]["code"] for line in messages if line["message"]["code"]]


@pytest.mark.parametrize("folder", [".", "src"])
def test_unsupported_code_shows_the_users_line(mirgen: Mirgen, built: Done, unsupported: Path, folder: str) -> None:
    done = mirgen.build(cwd=unsupported / folder)
    assert (done.code, done.out) == (103, "")
    assert SNIPPET in done.err
    assert "= note: reached from kernel step" in done.err
    assert done.err.endswith("\nFor more information about this error, try `cargo mirgen explain MG0201`.\n")


def test_a_method_of_a_trait_object_that_is_not_understood(mirgen: Mirgen, built: Done, tmp_path: Path) -> None:
    """The library's sources, or `#[inline]`, would be no help."""
    source = """
use core::pin::Pin;
pub trait Op: Unpin {
    fn run(self: Pin<Pin<&Self>>, a: u32) -> u32;
    fn plain(&self) -> u32 { 1 }
}
struct Double; struct Square;
impl Op for Double { fn run(self: Pin<Pin<&Self>>, a: u32) -> u32 { a + a } }
impl Op for Square { fn run(self: Pin<Pin<&Self>>, a: u32) -> u32 { a * a } }

#[kernel]
pub fn step(mut y: Disjoint<[u32]>) {
    if let Some(y) = y.get_mut(thread::index_1d()) {
        let op: &dyn Op = if *y > 3 { &Double } else { &Square };
        *y = op.plain() + Pin::new(Pin::new(op)).run(*y);
    }
}
"""
    crate = make_crate(tmp_path / "crate", PRELUDE + source, name="objects")
    done = mirgen.build(cwd=crate)
    assert done.code == 103
    assert "error[MG0310]: kernel `step` calls `<(dyn Op) as Op>::run`, which has no body to compile\n" in done.err
    assert done.err.count("error[") == 1
    assert "= note: it is called on a trait object in a way that is not understood" in done.err
    assert "= help: make the function generic over the trait (`impl Trait`, `<T: Trait>`)" in done.err
    assert "rust-src" not in done.err


def test_unsupported_code_in_one_line(mirgen: Mirgen, built: Done, unsupported: Path) -> None:
    manifest = str(unsupported / "Cargo.toml")
    done = mirgen.build("--message-format", "short", "--manifest-path", manifest, cwd=unsupported.parent, verb="check")
    assert done.code == 103
    message = "src/lib.rs:9:14: error[MG0201]: kernel `step` calls `getpid`, which has no body to compile\n"
    assert done.err.endswith(message)


def test_unsupported_code_as_json(mirgen: Mirgen, built: Done, unsupported: Path) -> None:
    done = mirgen.build("--message-format", "json", "-q", cwd=unsupported, verb="check")
    assert (done.code, done.err) == (103, "")
    (message,) = [json.loads(line) for line in done.out.splitlines()]
    assert message["code"]["code"] == "MG0201" and message["level"] == "error"
    assert message["spans"][0]["text"][0]["text"] == "    unsafe { getpid() }"


def test_what_cargo_cannot_do(mirgen: Mirgen, built: Done, crate: Path) -> None:
    done = mirgen.build("-p", "nobody", cwd=crate)
    assert done.code == 2
    assert "error: no package `nobody`. The workspace holds: saxpy" in done.err
    done = mirgen.build("--example", "nothing", cwd=crate)
    assert done.code == 101
    assert "no example target named `nothing`" in done.err


def test_arguments_after_two_dashes_are_cargos(mirgen: Mirgen, built: Done, crate: Path) -> None:
    done = mirgen.build("--", "--no-such-flag-of-cargo", cwd=crate)
    assert done.code != 0
    assert "unexpected argument '--no-such-flag-of-cargo' found" in done.err


def test_a_barrier_that_some_threads_might_miss(mirgen: Mirgen, built: Done, tmp_path: Path) -> None:
    """A warning: the kernel is compiled all the same, and a launch that hangs is stopped by the simulator."""
    source = (
        "#[kernel]\npub fn part(n: u32) {\n    if thread::x() < n {\n        block::barrier();\n    }\n"
        "    block::barrier();\n}\n"
    )
    crate = make_crate(tmp_path / "crate", PRELUDE + source, name="part")
    done = mirgen.build("-q", cwd=crate, verb="check")
    assert (done.code, done.out) == (0, "")
    assert done.err == (
        "warning[MG0105]: kernel `part` waits at a barrier that some threads of a block might not reach\n"
        " --> src/lib.rs:6:9\n"
        "  |\n"
        "5 |     if thread::x() < n {\n"
        "  |        --------------- the threads might part here: what is asked may differ between them\n"
        "6 |         block::barrier();\n"
        "  |         ^^^^^^^^^^^^^^^^ all threads of the block have to come here, or none\n"
        "  |\n"
        "  = help: bring the barrier out of the branch or loop: "
        "let the condition guard only what is between barriers\n\n"
    )
    done = mirgen.build("-q", "--message-format", "json", cwd=crate, verb="check")
    message = json.loads(done.out)
    assert (message["level"], message["code"]["code"]) == ("warning", "MG0105")
    assert [span["is_primary"] for span in message["spans"]] == [True, False]
    done = mirgen.build("part", "--grid", "1", "--block", "64", "--arg", "n=32", "-q", cwd=crate, verb="run")
    assert done.code == 105 and "barrier" in done.err
