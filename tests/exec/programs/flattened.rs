//@ run-pass
//@ edition: 2021
#![feature(iter_advance_by)]
fn main() {
    let mut it = [0..3, 3..5, 5..9].into_iter().flatten();
    assert_eq!(it.advance_by(4), Ok(()));
    assert_eq!(it.next(), Some(4));
    assert_eq!(it.advance_back_by(2), Ok(()));
    assert_eq!(it.next_back(), Some(6));
    let mut it = [0..3, 3..5, 5..9]
        .into_iter()
        .flat_map(|r| r.map(|x| x + 1));
    assert_eq!(it.by_ref().fold(0, |a, b| a * 10 + b), 123456789);
    let it = [0..3, 3..5, 5..9].into_iter().flatten();
    assert_eq!(it.clone().rfold(0i32, |a, b| a + b + 1), 45);
    assert_eq!(it.clone().count(), 9);
    assert_eq!(it.clone().last(), Some(8));
    assert_eq!(
        it.clone().skip(5).try_fold(0i32, i32::checked_add),
        Some(26)
    );
    assert_eq!(
        it.map(|x| x as u8)
            .filter(|x| *x < 9)
            .rev()
            .try_fold(0i8, |a, b| a.checked_add(b as i8)),
        Some(36)
    );
    let (a, b) = ((1..9u8).map(|x| x as u16), (1..9u8).map(|x| x as u16 + 1));
    assert_eq!(a.partial_cmp(b), Some(std::cmp::Ordering::Less));
}
