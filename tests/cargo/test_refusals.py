"""Reading rustc's own words when it refuses a question."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from mirgen.cargo.overlay import Private, make_overlay
from mirgen.cargo.queries import Query
from mirgen.cargo.refusals import at_fault, crates_without_name, private_items, unstable_features
from mirgen.cargo.unit import UnitRecord

SOURCE = """mod m {
    mod inner {
        pub const K: [u8; 2] = [1, 2];
    }
    pub struct S;
    impl S {
        const OWN: [u8; 2] = [1, 2];
        fn method(
            &self,
        ) -> u8 {
            1
        }
    }
    pub(crate) mod far;
}
"""
FAR = "\n\npub struct F;\nimpl F {\n    #[inline]\n    pub(super) const fn g() -> u8 { 1 }\n}\n"


def test_private_items_and_questions_at_fault(tmp_path: Path) -> None:
    """Modules, associated constants, methods over several lines and in other files; all are found in the original."""
    source = tmp_path / "src"
    (source / "m").mkdir(parents=True)
    root = source / "lib.rs"
    root.write_text(SOURCE)
    (source / "m/far.rs").write_text(FAR)
    texts = {
        "q1": "crate::m::inner::K[0]", "q2": "crate::m::S::OWN[0]", "q3": "crate::m::S.method()",
        "q4": "crate::m::far::F::g()", "q5": "crate::m::missing()", "q6": "7",
    }  # fmt: skip
    queries = [
        Query(name, ("k", name), root, f"pub fn {name}<'a>() -> u8 {{ {text} }}") for name, text in texts.items()
    ]
    unit = UnitRecord("k", root, source, tmp_path, {}, True, "k 1.0.0")

    overlay = make_overlay(root, source, queries, tmp_path / "copies")
    options = ["--edition=2021", "--crate-type=lib", "--crate-name=k", f"--out-dir={tmp_path}"]
    options.append(f"--remap-path-prefix={overlay.copy}={source}")
    command = [os.environ.get("RUSTC", "rustc"), str(overlay.root_file), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert at_fault(done.stderr, overlay, queries) == {"q1", "q2", "q3", "q4", "q5"}
    assert private_items(done.stderr, unit) == {
        Private(root, 2, 5), Private(root, 7, 9), Private(root, 8, 9), Private(source / "m/far.rs", 6, 5),
    }  # fmt: skip


def test_features_that_the_library_asks_for(tmp_path: Path) -> None:
    source = tmp_path / "k.rs"
    source.write_text("pub fn f() -> usize { core::intrinsics::size_of::<u8>() }\n")
    command = [
        os.environ.get("RUSTC", "rustc"),
        "--edition=2021",
        "--crate-type=lib",
        f"--out-dir={tmp_path}",
        str(source),
    ]
    env = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert unstable_features(done.stderr) == {"core_intrinsics"}


def test_a_private_method_in_a_file_that_rustc_does_not_show(tmp_path: Path) -> None:
    """Of a file that is not what it compiled, rustc prints positions only, and columns that count otherwise."""
    file = tmp_path / "mod.rs"
    file.write_text("impl X {\n    /// Grows.\n    unsafe fn grow(\n        &self,\n    ) {\n    }\n}\n")
    unit = UnitRecord("k", file, tmp_path, tmp_path, {}, True, "k 1.0.0")
    output = f"""error[E0624]: method `grow` is private
  --> user/lib.rs:31:246
   |
31 | ...unsafe {{ ::k::X::grow(a0) }} }}
   |                    ^^^^ private method
   |
  --> {file}:3:4
  ::: {file}:5:7
   |
   = note: private method defined here

error: aborting due to 1 previous error
"""
    assert private_items(output, unit) == {Private(file, 3, 5)}


@pytest.mark.parametrize("edition", ["2015", "2018", "2021"])
def test_crates_of_the_standard_library_get_the_names_that_questions_use(tmp_path: Path, edition: str) -> None:
    source = tmp_path / "src"
    source.mkdir()
    root = source / "lib.rs"
    root.write_text("pub fn plain() {}\n")
    text = "pub fn q<'a>(a: *mut ::alloc::boxed::Box<(dyn for<> ::core::fmt::Debug + 'a)>) {}"
    queries = [Query("q", ("k", "q"), root, text)]

    def compiled(crates: frozenset[str]) -> str:
        overlay = make_overlay(root, source, queries, tmp_path / "copies", crates=crates)
        command = [os.environ.get("RUSTC", "rustc"), f"--edition={edition}", "--crate-type=lib", "--emit=metadata"]
        command += [f"--out-dir={tmp_path}", str(overlay.root_file)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    missing = crates_without_name(compiled(frozenset()))
    assert missing == {"alloc", "core"} if edition == "2015" else {"alloc"}
    assert "error" not in compiled(missing)
