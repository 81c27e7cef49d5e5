//@ run-pass
#![feature(iter_map_windows, iter_array_chunks)]
#[inline(never)]
fn filled<T: Copy, const N: usize, F: FnMut(usize) -> T>(first: T, mut f: F) -> [T; N] {
    let mut all = [first; N];
    let mut i = 0;
    while i < N {
        all[i] = f(i);
        i += 1;
    }
    all
}
struct Held<T, const N: usize> {
    n: usize,
    all: [T; N],
}
#[inline(never)]
fn held<T: Copy, const N: usize, F: FnMut(usize) -> T>(at: &mut Held<T, N>, f: F)
where
    F: Copy,
{
    let mut f = f;
    at.all = [f(N); N];
    at.n = N;
}
fn main() {
    let k = 3;
    let v: [usize; 5] = filled(7usize, |i| i * k);
    assert_eq!(v, [0, 3, 6, 9, 12]);
    let mut h = Held {
        n: 0,
        all: [1u8; 3],
    };
    held(&mut h, |n| n as u8 + k as u8);
    assert_eq!(h.all, [6, 6, 6]);
    assert_eq!(h.n, 3);
    let mut it = (0..7)
        .inspect(|x| assert!(*x < 9))
        .map_windows(|[a, b]| a + b);
    assert_eq!(it.next(), Some(1));
    assert_eq!(it.next(), Some(3));
    let mut c = (0..5).rev().map(|x| x * k).array_chunks::<2>();
    assert_eq!(c.next(), Some([12, 9]));
}
