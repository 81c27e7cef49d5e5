//@ run-pass
//@ edition: 2021
#![feature(iter_array_chunks, iter_map_windows)]
use std::cell::Cell;
use std::rc::Rc;

struct Noted<'a>(&'a Cell<u32>, u32);
impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() * 10 + self.1);
    }
}

struct Pair<I: Iterator, F> {
    first: Option<I::Item>,
    run: F,
    rest: I,
}
impl<I: Iterator, F: FnMut(&I::Item) -> u32> Pair<I, F> {
    #[inline(never)]
    fn new(mut rest: I, run: F) -> Self {
        Pair {
            first: rest.next(),
            run,
            rest,
        }
    }
    #[inline(never)]
    fn total(&mut self) -> u32 {
        let mut n = 0;
        if let Some(f) = &self.first {
            n += (self.run)(f);
        }
        n
    }
}

fn apply(x: &u32) -> u32 {
    x + 1
}

fn main() {
    let seen = Cell::new(0);
    {
        let (own, kept) = (Noted(&seen, 3), Rc::new(5u32));
        let again = kept.clone();
        let items = [Noted(&seen, 1), Noted(&seen, 2)];
        let mut pair = Pair::new(items.into_iter(), move |n: &Noted| {
            let own = &own;
            n.1 + own.1 + *kept
        });
        assert_eq!(pair.total(), 9);
        assert_eq!(Rc::strong_count(&again), 2);
        drop(pair);
        assert_eq!(Rc::strong_count(&again), 1);
    }
    assert_eq!(seen.get(), 132);
    {
        let inner = {
            let own = Noted(&seen, 4);
            move |x: u32| {
                let own = &own;
                x + own.1
            }
        };
        let mut outer = Pair::new([7u32, 8].into_iter(), move |x: &u32| inner(*x));
        assert_eq!(outer.total(), 11);
    }
    assert_eq!(seen.get(), 1324);
    let mut pointer = Pair::new([7u32].into_iter(), apply as fn(&u32) -> u32);
    assert_eq!(pointer.total(), 8);
    let mut named = Pair::new([vec![7u32]].into_iter(), |v| apply(&v[0]));
    assert_eq!(named.total(), 8);
    seen.set(0);
    {
        let mut made = (1..4u32).map(|n| Noted(&seen, n)).array_chunks::<2>();
        let first = made.next();
        assert_eq!(seen.get(), 0);
        drop(first);
        assert_eq!(seen.get(), 12);
        assert!(made.next().is_none());
        assert_eq!(seen.get(), 12);
    }
    assert_eq!(seen.get(), 123);
    seen.set(0);
    {
        let mut flat = (1..3u32).flat_map(|n| vec![Noted(&seen, n), Noted(&seen, n + 4)]);
        assert_eq!(flat.next().map(|n| n.1), Some(1));
        assert_eq!(seen.get(), 1);
    }
    assert_eq!(seen.get(), 15);
    let text: String = ["a", "b"]
        .into_iter()
        .map(|s| s.to_string())
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(text, "ab");
}
