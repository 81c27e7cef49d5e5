"""mirgen's own build folder: whoever else was in it, the next build is of the crate that was asked for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.cli.support import PRELUDE, Done, Mirgen, make_crate

KERNEL = """
#[kernel]
pub fn {name}(mut out: Disjoint<[u32]>) {{
    if let Some(out) = out.get_mut(thread::index_1d()) {{
        *out = {value};
    }}
}}
"""


def test_two_packages_of_one_name_and_version_share_a_target_folder(
    mirgen: Mirgen, built: Done, tmp_path: Path
) -> None:
    names = ("first", "second")
    crates = [make_crate(tmp_path / n, PRELUDE + KERNEL.format(name=n, value=7), name="same_name") for n in names]
    # cargo goes by time alone, where it does not take one for the other in the first place.
    for crate in crates:
        os.utime(crate / "src" / "lib.rs", (1_000_000_000, 1_000_000_000))
    for i in (0, 1, 0):
        done = mirgen.build(cwd=crates[i])
        assert done.code == 0, done.err
        assert f"Kernel {names[i]} " in done.err


def test_a_plain_cargo_in_the_folder_does_no_harm(mirgen: Mirgen, built: Done, crate: Path) -> None:
    (folder,) = (mirgen.target / "mirgen" / "build").iterdir()
    triple = folder.name.split("-", 2)[2]
    environment = {k: v for k, v in os.environ.items() if k not in ("RUSTC", "RUSTC_WRAPPER", "RUSTFLAGS")}
    command = ["cargo", "check", "--offline", "--quiet", "--target", triple, "--target-dir", folder]
    subprocess.run(command, cwd=crate, env=environment, check=True, capture_output=True)
    assert "MIRGEN_STAMP" not in next(folder.glob(f"{triple}/debug/deps/mirgen_device-*.d")).read_text()
    done = mirgen.build(cwd=crate)
    assert done.code == 0, done.err


def test_an_unchanged_crate_is_fresh_at_once(mirgen: Mirgen, built: Done, tmp_path: Path) -> None:
    crate = make_crate(tmp_path / "fresh", PRELUDE + KERNEL.format(name="fresh", value=1), name="fresh_at_once")
    assert mirgen.build(cwd=crate).code == 0
    done = mirgen.build(cwd=crate)
    assert "Fresh" in done.err, done.err
