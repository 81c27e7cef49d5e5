"""MG00xx: rustc's text and the toolchain."""

from __future__ import annotations

from mirgen.diagnostics.codes.code import code

CODES = (
    code(
        "MG0001",
        "rustc's MIR text holds something that mirgen does not know",
        """
        mirgen reads the MIR that a stock rustc prints. That text is not stable: every rustc release may change it, and
        mirgen knows the grammar of some releases only. Whatever it does not know it refuses, because guessing could
        compile another program than yours.

        What to do: see with `cargo mirgen doctor` which rustc is used and which ones this mirgen was tested with, and
        choose one of them (`rustup override set 1.96`, or `RUSTC=...`). If the release is one of those, the construct
        itself is missing: please report it with the line that the message names.
        """,
    ),
)
