//@ panic: internal error: entered unreachable code: no 3
//@ lanes: cpu-o3
//! Of a grid the first thread that comes here tells of it.
use mirgen_device::prelude::*;

#[mirgen::test(grid = 4, block = 2)]
fn main() {
    match block::thread().get() + 2 * grid::size_x() as usize {
        8 => {}
        9 if thread::index_1d().get() < 7 => {}
        _ => unreachable!("no {}", 3),
    }
}
