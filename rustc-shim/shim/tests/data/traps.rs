//! What the printed MIR says badly; `regenerate` prints it with every release.
#![feature(thread_local)]
#![no_std]
#![crate_type = "lib"]
#![allow(dead_code, non_camel_case_types, static_mut_refs)]

// Structs and variants that are called like operators and keywords of the text.
pub struct Add(pub u32, pub u32);
pub struct Cmp(pub u32, pub u32);
pub struct Not(pub u32);
pub struct UbChecks;
pub struct discriminant(pub u32);
pub struct copy { pub a: u32 }
pub struct ConstValue(pub fn() -> u32);
pub enum Ops { Add(u32, u32), Eq { a: u32 }, Lt, r#type(u8) }
pub fn named(a: &mut Add, c: &mut Cmp, n: &mut Not, d: &mut discriminant, k: &mut copy, v: &mut ConstValue, x: u32) {
    *a = Add(x, x);
    *c = Cmp(x, x);
    *n = Not(x);
    *d = discriminant(x);
    *k = copy { a: x };
    *v = ConstValue(seven);
}
pub static UNIT: UbChecks = UbChecks;
pub fn ops(k: u32) -> Ops { match k { 0 => Ops::Add(k, 1), 1 => Ops::Eq { a: k }, 2 => Ops::Lt, _ => Ops::r#type(k as u8) } }
pub fn read_ops(o: &Ops) -> u32 { match *o { Ops::Add(a, b) => a ^ b, Ops::Eq { a } => a, Ops::Lt => 5, Ops::r#type(x) => x as u32 } }
pub fn ordering(a: u32, b: u32) -> core::cmp::Ordering { a.cmp(&b) }

// Function items that return functions.
pub fn seven() -> u32 { 7 }
pub fn ff() -> fn() -> u32 { seven }
pub fn rf() -> &'static fn() -> u32 { &(seven as fn() -> u32) }
#[inline(never)] fn size<T>(_: T) -> usize { core::mem::size_of::<T>() }
pub fn items() -> usize { let c = || seven; let d = || ff; size(ff) ^ size(rf) ^ size(c) ^ size(d) ^ size((c(), d())) }
pub fn impl_arg(f: impl Fn(u32) -> u32 + Copy, x: u32) -> u32 { f(f(x)) }
pub fn higher(f: &dyn for<'a> Fn(&'a u32, &mut u8) -> &'a u32, g: for<'a, 'b> fn(&'a u8, &'b u8) -> &'a u8) -> u32 {
    let (x, mut y) = (3, 4);
    *f(&x, &mut y) ^ *g(&1, &2) as u32
}
extern "C" { fn printf(format: *const i8, ...) -> i32; }
pub fn variadic(p: *const i8) -> i32 { unsafe { printf(p, 4u32, 2.5f64) } }

// Calls that do not return, and what is cleaned up.
pub struct D(u32);
impl Drop for D { fn drop(&mut self) { unsafe { COUNTER += self.0 } } }
static mut COUNTER: u32 = 5;
#[inline(never)] fn stop(x: u32) -> ! { panic!("stop {x}") }
pub fn diverges(x: u32) -> u32 { let d = D(x); if x > 3 { stop(x) } d.0 }
pub fn cleans(x: u32, f: fn(u32) -> u32) -> u32 { let d = D(x); let y = f(x); y ^ d.0 }
pub fn checked(a: i32, b: i32, s: u32) -> i32 { a / b + a % b + (a << s) + (a >> s) - (-a) * b }

// Closures that capture places of variables.
pub struct P { pub a: u32, pub b: f32, pub c: (u8, u64) }
pub fn captures(p: P, q: &mut P) -> impl FnMut(u32) -> u64 + '_ { move |x| { q.c.1 ^= x as u64; q.a ^= 1; p.a as u64 ^ p.c.1 } }

// Places.
pub fn slices(v: &[u32]) -> u32 {
    match v { [] => 0, [a] => *a, [a, .., b] if *a > 3 => a ^ b, [_, rest @ ..] => match rest { [.., x, _] => *x, _ => 1 } }
}
pub fn arrays(v: [D; 5]) -> (D, [D; 3]) { let [a, rest @ .., _] = v; (a, rest) }
pub fn switches(x: i8, y: u128, c: char) -> u32 {
    (match x { -3 => 1, 5 => 2, _ => 3 }) ^ (match y { 0xffff_ffff_ffff_ffff_ffff => 1, 7 => 2, _ => 3 }) ^ match c { '"' => 5, '\u{10FFFF}' => 2, _ => 3 }
}
pub union Bits { pub u: u32, pub f: f32 }
pub fn bits(x: f32) -> Bits { Bits { f: x } }

// Text that looks like something else.
pub fn asm(x: u64) -> u64 {
    let y: u64;
    unsafe {
        core::arch::asm!("
# first column, \"quotes\", bb0[1]: scope 0
# fn evil(_1: u32) -> u32 {{
# }}
", "mov {0}, {1}", out(reg) y, in(reg) x, options(nomem, nostack))
    }
    y
}
pub fn strings(k: usize) -> &'static str { ["a\"b\\c\n{} // bb0[1]: scope 0 at x:1:1: 1:1", "})] -> [return: bb1", "alloc1 (size: 4)"][k & 1] }
pub fn floats() -> (f32, f64) { (f32::from_bits(0x7fc0_0001), -0.0) }
#[thread_local] static TLS: u32 = 3;
pub fn tls() -> u32 { TLS }

// Allocations.
#[repr(C, packed)] pub struct Packed(u8, &'static u32, u16, &'static str, fn() -> u32);
unsafe impl Sync for Packed {}
pub static TABLE: [u32; 5] = [1, 2, 3, 4, 5];
pub static BIG: ([u8; 300], u32) = ([7; 300], 8);
pub static PACKED: [Packed; 2] = [Packed(1, &TABLE[2], 3, "p", seven), Packed(2, &BIG.1, 4, "qq", seven)];
pub static EMPTY: [u32; 0] = [];
pub static HOLES: [(u8, u32); 2] = [(1, 2), (3, 4)];
pub static DEBUG: &(dyn core::fmt::Debug + Sync) = &5u32;
pub static CYCLE: Cycle = Cycle(&CYCLE, 3);
pub struct Cycle(&'static Cycle, u32);
pub fn statics(i: usize) -> usize {
    PACKED[i].0 as usize ^ BIG.0[i] as usize ^ EMPTY.len() ^ HOLES[i].1 as usize ^ DEBUG as *const _ as *const u8 as usize ^ CYCLE.0 as *const _ as usize
}

// Constants that stay paths, and constant generics.
pub trait Tr { const K: u32; const S: &'static str; const A: [u8; 3]; type O: Copy; fn m(&self) -> u32 { Self::K } }
pub fn generic<T: Tr>(x: &T, o: T::O) -> (u32, &'static str, [u8; 3], T::O) { (T::K ^ x.m(), T::S, T::A, o) }
pub fn constants<const N: usize, const B: bool>(x: [u8; N]) -> (usize, bool, [u8; N], [u32; 2]) { (N, B, x, [N as u32; 2]) }
pub fn promoted(k: u32) -> &'static Option<[u32; 3]> { if k == 0 { &Some([1, 2, 3]) } else { &None } }
pub const fn both(x: u32) -> u32 { x ^ 1 }
pub mod two {
    pub fn f() -> u32 {
        let a = { fn inner() -> u32 { core::hint::black_box(1) } inner() };
        a ^ { fn inner() -> u32 { core::hint::black_box(2) } inner() }
    }
}
impl Add { pub fn local(self) -> u32 { struct In(u32, u32); let i = In(self.0, self.1); core::hint::black_box(i).1 } }
macro_rules! same { ($($n:ident)*) => { $(pub struct $n(u32); impl Mac for $n { fn mac(&self) -> u32 { self.0 } })* } }
pub trait Mac { fn mac(&self) -> u32; }
same! { M1 M2 }
