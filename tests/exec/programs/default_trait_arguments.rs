//@ run-pass
fn main() {
    fn is_even_double(x: usize) -> Option<usize> {
        if x % 2 == 0 {
            Some(x * 2)
        } else {
            None
        }
    }
    let v: Vec<usize> = (0..)
        .step_by(1)
        .take(9)
        .filter_map(|x| is_even_double(x))
        .collect();
    assert_eq!(v, [0, 4, 8, 12, 16]);
}
