//@ run
//@ ptx: bar.sync count=2
//@ ptx: .shared
//@ arch: sm_80, sm_100
//! The threads of a block turn an array around in shared memory.
use mirgen_device::prelude::*;

#[mirgen::test(block = 32)]
fn main(mut shared: Shared<[u32; 32]>) {
    let me = block::thread();
    if let Some(mine) = shared.get_mut(me) {
        *mine = me.get() as u32;
    }
    let all = block::sync(shared);
    assert_eq!(all[31 - me.get()], 31 - me.get() as u32);
    let _again = block::sync(all);
}
