"""`build` and `check`: what they say and leave."""

from __future__ import annotations

import dataclasses
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mirgen.cli.main import main
from mirgen.link.manifest import load_manifest
from tests.cli.support import FIXTURE, ROOT, Done, Mirgen, make_crate


def folder(mirgen: Mirgen) -> Path:
    """Where the artefacts are."""
    return mirgen.target / "mirgen" / "debug" / "saxpy"


def test_a_build_ends_with_kernels_and_paths(mirgen: Mirgen, built: Done) -> None:
    lines = built.err.splitlines()
    finished = next(i for i, line in enumerate(lines) if line.startswith("    Finished 2 kernel"))
    kernels, files = lines[finished + 1 : finished + 3], lines[finished + 3 :]
    takes = r"sm_90: \d+ registers, 0 B shared, \d+ B stack, no spills"
    assert re.fullmatch(rf" {{6}}Kernel saxpy         {takes}", kernels[0])
    assert re.fullmatch(rf" {{6}}Kernel saxpy_stride  {takes}", kernels[1])
    made = [*(f"sm_90/saxpy.{kind}" for kind in ("ll", "ptx", "cubin")), "manifest.json"]
    assert [line.split()[1] for line in files] == [str(folder(mirgen) / name) for name in made]
    assert all((folder(mirgen) / name).is_file() for name in made)


def test_stdout_is_for_data(built: Done) -> None:
    assert built.out == ""


def test_paths_below_the_current_folder_are_short(mirgen: Mirgen, built: Done, crate: Path) -> None:
    manifest = str(crate / "Cargo.toml")
    done = mirgen.build("--manifest-path", manifest, cwd=mirgen.target)
    assert done.code == 0
    assert "    Manifest mirgen/debug/saxpy/manifest.json\n" in done.err


def test_a_second_build_does_nothing(mirgen: Mirgen, built: Done, crate: Path) -> None:
    manifest = folder(mirgen) / "manifest.json"
    before = manifest.stat().st_mtime_ns
    done = mirgen.build("--message-format", "json", cwd=crate)
    assert done.code == 0
    assert "       Fresh 2 kernel(s) of saxpy\n" in done.err
    assert "      Kernel saxpy " in done.err, "the summary is for every build"
    assert manifest.stat().st_mtime_ns == before
    (line,) = done.out.splitlines()
    assert json.loads(line) == {
        "reason": "mirgen-artifact",
        "manifest_path": str(manifest),
        "kernels": ["saxpy", "saxpy_stride"],
        "archs": ["sm_90"],
    }


def test_two_at_once_wait_for_each_other(mirgen: Mirgen, crate: Path, tmp_path: Path) -> None:
    """As with cargo; both then are what they would have been alone."""
    apart = dataclasses.replace(mirgen, target=tmp_path / "target")
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(apart.build, "--arch", arch, cwd=crate) for arch in ("sm_80", "sm_90")]
        done = [call.result() for call in calls]
    assert [one.code for one in done] == [0, 0], [one.err for one in done]
    assert sum("Blocking waiting for another mirgen to finish in" in one.err for one in done) == 1
    for one in done:
        assert "Finished" in one.err


def test_quiet_says_nothing(mirgen: Mirgen, built: Done, crate: Path) -> None:
    done = mirgen.build("-q", cwd=crate)
    assert (done.code, done.out, done.err) == (0, "", "")


def test_colour_when_asked_for(mirgen: Mirgen, built: Done, crate: Path) -> None:
    assert "\x1b[1;92m       Fresh\x1b[0m" in mirgen.build("--color", "always", cwd=crate).err
    assert "\x1b" not in mirgen.build("--color", "never", cwd=crate, CARGO_TERM_COLOR="always").err


def test_without_an_assembler_there_is_ptx_only(
    mirgen: Mirgen, built: Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def find_nothing(_name: str) -> None:
        return None

    monkeypatch.setattr("mirgen.pipeline.find_tool", find_nothing)
    monkeypatch.chdir(make_crate(tmp_path / "crate", (FIXTURE / "src" / "lib.rs").read_text(), name="bare"))
    with pytest.raises(SystemExit) as ended:
        main(["build", "--target-dir", str(mirgen.target), "--target", "host", "--offline", "saxpy"])
    err = capfd.readouterr().err
    assert ended.value.code == 0, err
    assert "Warning no ptxas and no nvJitLink here: PTX only, no cubin (install NVIDIA's wheels with" in err
    assert "      Kernel saxpy  sm_90: PTX only\n" in err
    manifest = load_manifest(mirgen.target / "mirgen" / "debug" / "bare")
    assert set(manifest.artifact("sm_90").files) == {"ll", "ptx"}


def test_check_makes_no_artefacts(mirgen: Mirgen, built: Done, crate: Path) -> None:
    def files() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in folder(mirgen).rglob("*")}

    before = files()
    done = mirgen.build("saxpy", cwd=crate, verb="check")
    assert (done.code, done.out) == (0, "")
    assert "    Finished 1 kernel(s) of saxpy in " in done.err
    assert files() == before


def test_clean_removes_mirgens_own_only(mirgen: Mirgen, crate: Path, tmp_path: Path) -> None:
    for path in ("mirgen/debug/saxpy/saxpy.ptx", "mirgen/build/x", "debug/libsaxpy.rlib"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    done = mirgen("clean", "--target-dir", tmp_path, cwd=crate)
    assert (done.code, done.out, done.err) == (0, "", f"     Removed 2 files in {tmp_path / 'mirgen'}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["debug"]
    assert mirgen("clean", "--target-dir", tmp_path, cwd=crate).err.startswith("     Removed 0 files")


@pytest.fixture
def bare_rustc(tmp_path: Path) -> str:
    """A rustc that has nothing but itself."""
    rustc = tmp_path / "rustc"
    answer = "release: 1.96.0\\nhost: x86_64-unknown-linux-gnu\\ncommit-hash: 0123456789abcdef"
    rustc.write_text(f"#!/bin/sh\ncase $1 in -vV) printf '{answer}\\n';; *) echo {tmp_path};; esac\n")
    rustc.chmod(0o755)
    return str(rustc)


def test_setup_without_library_sources_says_how_to_get_them(mirgen: Mirgen, bare_rustc: str, tmp_path: Path) -> None:
    done = mirgen("setup", cwd=ROOT, RUSTC=bare_rustc, MIRGEN_CACHE_DIR=str(tmp_path / "cache"))
    assert done.code == 101
    assert "library sources are not installed: `rustup component add rust-src`" in done.err


def test_no_core_for_the_gpu_target(mirgen: Mirgen, crate: Path, bare_rustc: str, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    done = mirgen("build", "--target", "nvptx64", cwd=crate, RUSTC=bare_rustc, MIRGEN_CACHE_DIR=cache)
    assert done.code == 101
    assert "no core for nvptx64-nvidia-cuda: `rustup target add nvptx64-nvidia-cuda`" in done.err
