use mirgen_device::launch;

fn too_large() {
    launch::block_is::<64, 32, 1>();
}

fn main() {
    too_large();
}
