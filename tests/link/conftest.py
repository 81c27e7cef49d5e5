"""One worker process for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mirgen.link import Worker


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """A worker that starts again after a job killed it."""
    with Worker() as process:
        yield process
