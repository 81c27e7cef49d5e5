"""Two versions of one crate in one program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import PRELUDE, Done, Mirgen, make_crate

#: Which version each crate's function gives.
VALUE = "#![no_std]\npub struct Given(pub u32);\n#[inline(never)]\npub fn value(x: u32) -> Given {{ Given(x + {n}) }}\n"
MIDDLE = "#![no_std]\n#[inline(never)]\npub fn through(x: u32) -> u32 { versioned::value(x).0 }\n"
KERNEL = """
#[kernel]
pub fn both(mut out: Disjoint<[u32]>) {{
    let i = thread::index_1d();
    if let Some(out) = out.get_mut(i) {{
        *out = {value};
    }}
}}
"""
ONE = "versioned::value(i.get() as u32).0"
OTHER = "middle::through(i.get() as u32)"


def program(folder: Path, name: str, value: str) -> Path:
    """A crate that depends on version 1 of ``versioned``, and on ``middle``, which depends on version 2."""
    for number in (1, 2):
        source = folder / f"versioned{number}" / "src"
        source.mkdir(parents=True)
        (source / "lib.rs").write_text(VALUE.format(n=number * 100))
        manifest = f'[package]\nname = "versioned"\nversion = "{number}.0.0"\nedition = "2021"\n'
        (source.parent / "Cargo.toml").write_text(manifest)
    middle = folder / "middle" / "src"
    middle.mkdir(parents=True)
    (middle / "lib.rs").write_text(MIDDLE)
    (middle.parent / "Cargo.toml").write_text(
        '[package]\nname = "middle"\nversion = "1.0.0"\nedition = "2021"\n'
        '[dependencies]\nversioned = { path = "../versioned2" }\n'
    )
    dependencies = 'versioned = { path = "../versioned1" }\nmiddle = { path = "../middle" }\n'
    return make_crate(folder / name, PRELUDE + KERNEL.format(value=value), dependencies, name)


@pytest.mark.parametrize(("name", "value"), [("both_reached", f"{ONE} + {OTHER}"), ("one_reached", ONE)])
def test_versions_that_could_be_taken_for_each_other_are_refused(
    mirgen: Mirgen, built: Done, tmp_path: Path, name: str, value: str
) -> None:
    done = mirgen.build(cwd=program(tmp_path, name, value), verb="check")
    assert done.code == 103, done.err
    assert "MG0202" in done.err
    assert "`versioned 1.0.0` and `versioned 2.0.0`" in done.err


def test_versions_that_no_kernel_reaches_do_not_matter(mirgen: Mirgen, built: Done, tmp_path: Path) -> None:
    done = mirgen.build(cwd=program(tmp_path, "none_reached", "7"), verb="check")
    assert done.code == 0, done.err
