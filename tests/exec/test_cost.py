"""What safety must not cost: instructions that rustc's own GPU target and nvcc do without."""

from __future__ import annotations

import pytest

from mirgen.link import parse_ptx
from mirgen.testing.conformance import ARCHS, artifact_text
from tests.exec.lanes import built

pytestmark = [pytest.mark.cuda, pytest.mark.slow]

#: Crates whose kernel of the same name asks views of arrays for its thread's elements, and its comparisons of indices:
#: with the lengths of x and y, with the width and the length.
COMPARISONS = {"saxpy": 2, "mandelbrot": 2}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("crate", COMPARISONS)
def test_an_element_that_may_be_missing_is_no_address_to_compare(crate: str, arch: str) -> None:
    """`Some(reference)` or `None` is decided by the comparison with the length, never once more by the address."""
    functions = parse_ptx(artifact_text(built(crate), arch, "ptx")).functions
    kernel = functions[crate]
    compared = {opcode: count for opcode, count in kernel.opcodes.items() if opcode.startswith("setp")}
    assert sum(count for opcode, count in compared.items() if opcode.endswith("u64")) == COMPARISONS[crate], compared
    assert not [opcode for opcode in compared if opcode.startswith(("setp.eq", "setp.ne")) and "64" in opcode]
    assert not [opcode for opcode in kernel.opcodes if opcode.startswith("selp") and "64" in opcode]
