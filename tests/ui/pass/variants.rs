//@ run
//! Variants that are called as the type parameters of their enum, and as words of Rust.
use mirgen_device::prelude::*;

#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
enum Either<Left, Right> {
    Left(Left),
    Right(Right),
    r#match { r#type: u8 },
}

#[inline(never)]
fn chosen(k: u32) -> Either<u32, [u8; 2]> {
    match k % 3 {
        0 => Either::Left(k),
        1 => Either::Right([k as u8, 7]),
        _ => Either::r#match { r#type: k as u8 },
    }
}

#[inline(never)]
fn told(e: Either<u32, [u8; 2]>) -> u32 {
    match e {
        Either::Left(k) => k,
        Either::Right([a, b]) => 100 + u32::from(a) * u32::from(b),
        Either::r#match { r#type } => 1000 + u32::from(r#type),
    }
}

#[mirgen::test]
fn main() {
    assert_eq!([told(chosen(3)), told(chosen(4)), told(chosen(5))], [3, 128, 1005]);
}
