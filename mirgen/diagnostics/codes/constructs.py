"""MG03xx: types, places and statements."""

from __future__ import annotations

from mirgen.diagnostics.codes.code import code

CODES = (
    code(
        "MG0301",
        "the layout of a type is not known",
        """
        mirgen never computes layouts itself: it asks rustc, which is the only one to know where the fields of a Rust
        type lie. For this type rustc gave no answer. That happens for types that still hold a generic parameter, for
        coroutines, and for a few types that cannot be named outside their function.

        What to do: give the type a name, or move the code that uses it into a non-generic function.
        """,
    ),
    code(
        "MG0302",
        "the variants of an enum are not known",
        """
        rustc's MIR text names enum variants; to compile a match, their order and discriminants are needed as well. They
        come from rustc's debug info, and for this enum it had none.
        """,
    ),
    code(
        "MG0303",
        "the length of an array is not known",
        """
        The array's length is a constant expression that rustc left unevaluated, as it does in code that is still
        generic. Give the length as a plain `const`, or call the function with a concrete length from a non-generic one.
        """,
    ),
    code(
        "MG0304",
        "a value of unsized type is passed or kept by value",
        """
        A local variable or argument has a type without a fixed size (`[T]`, `str`, `dyn Trait`), which only unstable
        Rust allows. Pass it by reference.
        """,
    ),
    code(
        "MG0310",
        "a trait object is used in a way that is not supported",
        """
        Methods, supertraits, closures, sizes and drops of a `dyn Trait` work. What does not: a method whose receiver is
        none of `&self`, `&mut self`, `self: Pin<..>` or a raw pointer; a method for which rustc gave no body (its
        implementation is neither inlined nor can it be named); a method of another trait that is implemented for the
        `dyn` itself, where the types cannot be named; an object in the last field of a packed struct. Make the function
        generic over the trait (`impl Trait`, `<T: Trait>`), mark the implementation `#[inline]`, or use an enum of the
        types.
        """,
    ),
    code(
        "MG0311",
        "`Box` and other heap types are not supported on the device",
        """
        The device has no heap. Use arrays of fixed length, slices that the host passes in, or `Shared` memory of the
        block.
        """,
    ),
    code(
        "MG0320",
        "the value of a compiler flag is not in rustc's text",
        """
        MIR may ask for the settings of the compilation that uses it (`UbChecks`, `OverflowChecks`, `ContractChecks`),
        and this one is not known here.
        """,
    ),
    code(
        "MG0330",
        "rustc's text lost what a closure captures",
        """
        Up to 1.97 rustc prints one value per captured variable, even where a closure captures several parts of it
        (rust-lang/rust#115307). mirgen takes the missing values from a second text of rustc's; for this function that
        text could not be had.

        What to do: copy the parts into variables of their own before the closure, or use edition 2018 in this crate,
        where whole variables are captured.
        """,
    ),
    code(
        "MG0331",
        "thread-local statics do not exist on the device",
        """
        A `thread_local!` or `#[thread_local]` static belongs to one thread of the host's operating system. Pass the
        value as an argument, or use `Shared` memory of the block.
        """,
    ),
    code(
        "MG0332",
        "a MIR statement is not known",
        """
        rustc printed a statement whose meaning this mirgen does not know; leaving it out could change the program. See
        MG0001 for what to do.
        """,
    ),
    code(
        "MG0333",
        "a MIR terminator is not supported",
        """
        The function's MIR holds a jump that belongs to coroutines (`yield`, `async drop`) or to rustc's own analyses.
        `async` code and generators cannot run on the device.
        """,
    ),
    code(
        "MG0334",
        "inline assembly is not supported",
        """
        `asm!` is written for the host's processor, and the text that rustc prints does not hold enough of it to be
        compiled for another. Use the functions of the device crate, or a portable path of the crate (many choose it by
        `cfg(target_arch)`: compile for `nvptx64-nvidia-cuda`).
        """,
    ),
    code(
        "MG0340",
        "a value of that type cannot be called",
        """
        MIR calls function items, closures and function pointers. Something else stands where the function should be.
        """,
    ),
    code(
        "MG0341",
        "a called function has no body that mirgen can see",
        """
        The same as MG0201, found while compiling the caller: see there for the reasons and for what to do.
        """,
    ),
    code(
        "MG0342",
        "a called function could not be compiled",
        """
        Another error in this output says what is wrong with the function itself. Once that is gone, so is this one.
        """,
    ),
    code(
        "MG0343",
        "variadic functions do not exist on the device",
        """
        C's `...` arguments need a calling convention that the device does not have. Pass a slice or a tuple instead.
        """,
    ),
    code(
        "MG0344",
        "the address of a function is taken that has no body",
        """
        A function or closure is turned into a function pointer, and mirgen has no body for it. Call it directly, so
        that rustc can inline it, or make the code that takes the pointer generic (`F: Fn(..)`).
        """,
    ),
    code(
        "MG0345",
        "tail calls are not supported",
        """
        `become f(..)` promises that the caller's stack is gone when `f` runs; no GPU code generator can promise that.
        Use an ordinary call, or a loop.
        """,
    ),
    code(
        "MG0350",
        "dropping a value runs code that mirgen does not have",
        """
        The type, or something inside it, implements `Drop`, and the code that runs when it goes out of scope is not in
        rustc's text. Use a type without `Drop`, or keep the value in `core::mem::ManuallyDrop`.
        """,
    ),
    code(
        "MG0351",
        "a cast is not known",
        """
        rustc printed a kind of cast that this mirgen does not know. See MG0001 for what to do.
        """,
    ),
    code(
        "MG0353",
        "an unsizing coercion is not supported",
        """
        References and raw pointers to arrays become slices and those to other types trait objects, also where that is
        the last field of a struct; other unsizing (a user's own pointer type) is not supported. Convert the inner
        reference instead.
        """,
    ),
    code(
        "MG0354",
        "a number type has no instructions on the device",
        """
        `f128` has no hardware on any GPU and no library in the tool chain. Use `f64`.
        """,
    ),
    code(
        "MG0360",
        "a kernel's parameter cannot be passed from the host",
        """
        Kernel parameters are scalars, plain aggregates of them, `&T` and `&[T]` for input, `Disjoint<[T]>` for output,
        and `Shared<[T; N]>` for memory of the block. `&mut` is refused because every thread would hold the same
        exclusive reference; a type with a `Drop`, a heap or a pointer inside cannot cross from the host to the device.
        """,
    ),
)
