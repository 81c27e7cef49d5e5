"""Random well-typed Rust programs, and what each lane makes of them: see :mod:`mirgen.testing.fuzz.generator`."""
