"""Where settings come from, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.cli.settings import read_settings
from mirgen.errors import InvalidInputError


def manifest(folder: Path, settings: str, name: str = "one") -> Path:
    """A Cargo.toml with these settings."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "Cargo.toml"
    path.write_text(f'[package]\nname = "{name}"\n\n[package.metadata.mirgen]\n{settings}\n')
    return path


def test_the_last_one_wins(tmp_path: Path) -> None:
    path = manifest(tmp_path, 'arch = "sm_80"\ncodegen = "nvvm"\nassembler = "none"')
    environment = {"MIRGEN_CODEGEN": "llvm", "MIRGEN_ASSEMBLER": "ptxas"}
    found = read_settings({"manifest_path": path, "assembler": "nvjitlink"}, environment)
    assert found == {"arch": "sm_80", "codegen": "llvm", "assembler": "nvjitlink"}


def test_a_list_of_architectures(tmp_path: Path) -> None:
    assert (
        read_settings({"manifest_path": manifest(tmp_path, 'arch = ["sm_80", "sm_90"]')}, {})["arch"] == "sm_80,sm_90"
    )


def test_the_nearest_manifest_is_cargos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest(tmp_path, 'arch = "sm_80"')
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert read_settings({}, {}) == {"arch": "sm_80"}


def test_the_chosen_package_of_a_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Cargo.toml").write_text('[workspace]\nmembers = ["crates/*"]\n')
    manifest(tmp_path / "crates" / "one", 'arch = "sm_80"', "one")
    manifest(tmp_path / "crates" / "two", 'arch = "sm_75"', "two")
    monkeypatch.chdir(tmp_path)
    assert read_settings({"package": "two"}, {}) == {"arch": "sm_75"}
    monkeypatch.chdir(tmp_path / "crates" / "one")
    assert read_settings({"package": "two"}, {}) == {"arch": "sm_75"}
    assert read_settings({"package": "three"}, {}) == {}


def test_what_cargo_will_complain_of_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "Cargo.toml"
    path.write_text("[package\n")
    assert read_settings({"manifest_path": path}, {}) == {}
    assert read_settings({"manifest_path": tmp_path / "nowhere" / "Cargo.toml"}, {}) == {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('arhc = "sm_90"', "unknown key `arhc`; did you mean `arch`?"),
        ('colour = "red"', "unknown key `colour`; known are arch, codegen, assembler, target or panic"),
        ('codegen = "gcc"', "`codegen` is `gcc`, expected llvm or nvvm"),
        ("arch = 90", "`arch` is 90, expected a string"),
    ],
)
def test_refused(settings: str, message: str, tmp_path: Path) -> None:
    path = manifest(tmp_path, settings)
    with pytest.raises(InvalidInputError) as error:
        read_settings({"manifest_path": path}, {})
    assert error.value.message == message
    assert error.value.where == f"{path}, [package.metadata.mirgen]"


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(InvalidInputError) as error:
        read_settings({"manifest_path": Path("nowhere")}, {"MIRGEN_TARGET_KIND": "gpu"})
    assert error.value.where == "MIRGEN_TARGET_KIND"
    assert error.value.message == "`target` is `gpu`, expected auto, nvptx64 or host"
