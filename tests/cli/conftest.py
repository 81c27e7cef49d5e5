"""One target folder and one built crate for all tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import FIXTURE, Done, Mirgen, make_crate


@pytest.fixture(scope="session")
def mirgen(tmp_path_factory: pytest.TempPathFactory) -> Mirgen:
    """Calls with a target folder of this session."""
    return Mirgen(tmp_path_factory.mktemp("cli-target"))


@pytest.fixture(scope="session")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """saxpy and saxpy_stride, not built."""
    return make_crate(tmp_path_factory.mktemp("cli") / "saxpy", (FIXTURE / "src" / "lib.rs").read_text())


@pytest.fixture(scope="session")
def built(mirgen: Mirgen, crate: Path) -> Done:
    """What the first build of ``crate`` said."""
    done = mirgen.build(cwd=crate)
    assert done.code == 0, done.err
    return done
