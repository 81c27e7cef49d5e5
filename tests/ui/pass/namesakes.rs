//@ run
//! Types that share their names, each with constants that rustc moved out of their methods.
use mirgen_device::prelude::*;

trait Show {
    fn show(&self, by: u32) -> &'static [u32; 2];
}

mod north {
    pub struct Place(pub u32);
    impl super::Show for Place {
        #[inline(never)]
        fn show(&self, by: u32) -> &'static [u32; 2] {
            if by == self.0 { &[1, 2] } else { &[3, 4] }
        }
    }
}

mod south {
    pub struct Place(pub u32);
    impl super::Show for Place {
        #[inline(never)]
        fn show(&self, by: u32) -> &'static [u32; 2] {
            if by == self.0 { &[5, 6] } else { &[7, 8] }
        }
    }
}

#[inline(never)]
fn first(by: u32) -> &'static [u32; 2] {
    struct Place(u32);
    impl Show for Place {
        #[inline(never)]
        fn show(&self, by: u32) -> &'static [u32; 2] {
            if by == self.0 { &[9, 10] } else { &[11, 12] }
        }
    }
    Place(1).show(by)
}

#[inline(never)]
fn second(by: u32) -> &'static [u32; 2] {
    struct Place(u32);
    impl Show for Place {
        #[inline(never)]
        fn show(&self, by: u32) -> &'static [u32; 2] {
            if by == self.0 { &[13, 14] } else { &[15, 16] }
        }
    }
    Place(1).show(by)
}

#[mirgen::test]
fn main() {
    assert_eq!([*north::Place(1).show(1), *north::Place(1).show(2)], [[1, 2], [3, 4]]);
    assert_eq!([*south::Place(1).show(1), *south::Place(1).show(2)], [[5, 6], [7, 8]]);
    assert_eq!([*first(1), *first(2)], [[9, 10], [11, 12]]);
    assert_eq!([*second(1), *second(2)], [[13, 14], [15, 16]]);
}
