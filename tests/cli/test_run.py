"""`run`: launches from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirgen.link.manifest import load_manifest
from tests.cli.support import FIXTURE, PRELUDE, Done, Mirgen, make_crate

GRID = ("--grid", "4", "--block", "256")
VALUES = ("--arg", "a=2.0", "--arg", "x=@x.npy", "--arg", "y=@y.npy")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with x.npy and y.npy."""
    folder = tmp_path_factory.mktemp("run")
    np.save(folder / "x.npy", np.arange(1000, dtype=np.float32))
    np.save(folder / "y.npy", np.ones(1000, np.float32))
    return folder


@pytest.fixture(scope="module")
def manifest(built: Done, crate: Path) -> tuple[str, str]:
    """The flags that name the built crate."""
    return ("--manifest-path", str(crate / "Cargo.toml"))


def test_arrays_from_and_to_files(mirgen: Mirgen, manifest: tuple[str, str], place: Path) -> None:
    done = mirgen.build("saxpy", *GRID, *VALUES, "--out", "y=out/y.npy", *manifest, cwd=place, verb="run")
    assert (done.code, done.out) == (0, ""), done.err
    assert "       Fresh 2 kernel(s) of saxpy\n" in done.err, "what `build` made is taken as it is"
    assert "     Running saxpy[4, 256] on sim\n" in done.err
    assert "       Wrote y to out/y.npy\n" in done.err
    result = np.load(place / "out" / "y.npy")
    assert result.dtype == np.float32
    assert (result == 2 * np.arange(1000, dtype=np.float32) + 1).all()


def test_what_was_built_for_other_architectures_stays(mirgen: Mirgen, built: Done, tmp_path: Path) -> None:
    """Launching and looking do not build the crate for the default architecture instead."""
    crate = make_crate(tmp_path / "crate", (FIXTURE / "src" / "lib.rs").read_text(), name="archs")
    assert mirgen.build("--arch", "sm_80,sm_100", "-q", cwd=crate).code == 0
    args = ("--arg", "a=2.0", "--arg", "x=[1.0]", "--arg", "y=[1.0]")
    done = mirgen.build("saxpy", "--grid", "1", "--block", "1", *args, cwd=crate, verb="run")
    assert done.code == 0 and "       Fresh 2 kernel(s) of archs\n" in done.err
    done = mirgen.build("saxpy", "-q", cwd=crate, verb="asm")
    assert done.out.startswith("// saxpy for sm_80: ")
    assert load_manifest(mirgen.target / "mirgen" / "debug" / "archs").artifact("sm_100")


STATICS = """
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering};

static COUNTER: AtomicU32 = AtomicU32::new(5);

#[inline(never)]
fn bump(by: u32) {
    COUNTER.fetch_add(by, Ordering::Relaxed);
}

#[kernel]
pub fn count(_unit: (), mut y: Disjoint<[u32]>, marker: PhantomData<u8>) {
    let _ = marker;
    bump(10);
    if let Some(y) = y.get_mut(thread::index_1d()) {
        *y = COUNTER.load(Ordering::Relaxed);
    }
}
"""


def test_statics_and_parameters_of_no_size(mirgen: Mirgen, built: Done, tmp_path: Path) -> None:
    """A static that two functions name is one place; what has no size has its name all the same."""
    crate = make_crate(tmp_path / "crate", PRELUDE + STATICS, name="statics")
    args = ("--grid", "1", "--block", "1", "--arg", "y=[0]", "--arg", "marker=()")
    done = mirgen.build("count", *args, cwd=crate, verb="run")
    assert done.code == 2 and "argument `_unit` is missing: count(_unit: (), y: Disjoint<[u32]>, " in done.err, done.err
    assert "    Finished 1 kernel(s) for the simulator in " in done.err
    done = mirgen.build("count", *args, "--arg", "_unit=()", "-q", cwd=crate, verb="run")
    assert (done.code, done.out) == (0, "y: Disjoint<[u32]>, 1 element\n[15]\n"), done.err
    (kernel,) = load_manifest(mirgen.target / "mirgen" / "debug" / "statics").kernels
    assert [param.name for param in kernel.params] == ["_unit", "y", "marker"]
    assert kernel.span is not None
    line = (PRELUDE + STATICS).splitlines()[kernel.span.line - 1]
    assert (kernel.span.file, line[kernel.span.col - 1 :]) == ("src/lib.rs", line.removeprefix("pub fn "))


def test_a_summary_without_out(mirgen: Mirgen, manifest: tuple[str, str], place: Path) -> None:
    done = mirgen.build("saxpy", *GRID, *VALUES, "-q", *manifest, cwd=place, verb="run")
    assert (done.code, done.err) == (0, "")
    assert done.out == ("y: Disjoint<[f32]>, 1000 elements\n[1.0, 3.0, 5.0, 7.0, .., 1993.0, 1995.0, 1997.0, 1999.0]\n")


def test_another_schedule(mirgen: Mirgen, manifest: tuple[str, str], place: Path) -> None:
    args = ("--arg", "a=0.5", "--arg", "x=ones(3)", "--arg", "y=[1, 2, 3]")
    done = mirgen.build(
        "saxpy", "--grid", "1", "--block", "4", *args, "-q", "--seed", "7", *manifest, cwd=place, verb="run"
    )
    assert (done.code, done.err) == (0, "")
    assert done.out == "y: Disjoint<[f32]>, 3 elements\n[1.5, 2.5, 3.5]\n"


def test_a_panic_shows_the_line(mirgen: Mirgen, manifest: tuple[str, str], place: Path) -> None:
    args = ("--arg", "a=2.0", "--arg", "x=[1.0; 900]", "--arg", "y=zeros(1000)", "--out", "y=never.npy")
    done = mirgen.build("saxpy", *GRID, *args, "-q", *manifest, cwd=place, verb="run")
    assert (done.code, done.out) == (105, "")
    assert done.err == (
        "error: index out of bounds: the len is 900 but the index is 900\n"
        "  --> src/lib.rs:11:19\n"
        "   |\n"
        "11 |         *y += a * x[i.get()];\n"
        "   |                   ^\n"
        "   |\n"
        "   = note: in kernel `saxpy`, block (3, 0, 0), thread (132, 0, 0)\n"
    )
    assert not (place / "never.npy").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            (*GRID, *VALUES),
            "which kernel? The crate has:\n  saxpy(a: f32, x: &[f32], y: Disjoint<[f32]>)\n  saxpy_stride(",
        ),
        (("saxpy", "--grid", "4,2", "--block", "256", *VALUES), "needs a launch of 1 dimension"),
        (("saxpy", *GRID, *VALUES, "--out", "a=a.npy"), "argument `a: f32` is passed by value and has no result"),
    ],
)
def test_refused_before_the_launch(
    mirgen: Mirgen, manifest: tuple[str, str], place: Path, args: tuple[str, ...], message: str
) -> None:
    done = mirgen.build(*args, "-q", *manifest, cwd=place, verb="run")
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU")
def test_no_gpu(mirgen: Mirgen, manifest: tuple[str, str], place: Path) -> None:
    done = mirgen.build("saxpy", *GRID, *VALUES, "--device", "cuda:0", "-q", *manifest, cwd=place, verb="run")
    assert done.code == 105
    assert "no GPU cuda:0" in done.err or "cuda.core is not installed" in done.err


def test_a_file_that_cannot_be_written_after_all(mirgen: Mirgen, manifest: tuple[str, str], place: Path) -> None:
    done = mirgen.build("saxpy", *GRID, *VALUES, "--out", "y=/dev/full/y.npy", "-q", *manifest, cwd=place, verb="run")
    assert done.code == 110
    assert "/dev/full/y.npy: cannot be written" in done.err
