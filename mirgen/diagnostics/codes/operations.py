"""MG04xx: operations and intrinsics."""

from __future__ import annotations

from mirgen.diagnostics.codes.code import code

CODES = (
    code(
        "MG0410",
        "the simulator does not have a mathematical function",
        """
        Mathematical functions of the device crate are NVIDIA's libdevice on the GPU, and the host's maths library
        in the simulator. A few of libdevice's have no counterpart there (`rsqrt` approximations, `normcdf`, Bessel
        functions of some orders): kernels that use them run on the GPU only.
        """,
    ),
)
