//! Sorts a million numbers by merging.
//!
//! Shows: nested `join` with an explicit worker, which costs little more than a call.

use sinew::prelude::*;

/// Sorts `data`; `buffer` is as long.
fn sort(w: &Worker, data: &mut [u32], buffer: &mut [u32]) {
    if data.len() <= 32 {
        data.sort_unstable();
        return;
    }
    let middle = data.len() / 2;
    let (left, right) = data.split_at_mut(middle);
    let (left_buffer, right_buffer) = buffer.split_at_mut(middle);
    w.join(|w| sort(w, left, left_buffer), |w| sort(w, right, right_buffer));
    merge(left, right, buffer);
    data.copy_from_slice(buffer);
}

fn merge<'d>(mut left: &'d [u32], mut right: &'d [u32], to: &mut [u32]) {
    for slot in to {
        let from = match (left.first(), right.first()) {
            (Some(a), Some(b)) if a <= b => &mut left,
            (Some(_), None) => &mut left,
            _ => &mut right,
        };
        *slot = from[0];
        *from = &from[1..];
    }
}

fn main() {
    let mut data: Vec<u32> = (0..1_000_000_u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let mut expected = data.clone();
    let mut buffer = vec![0; data.len()];
    sinew::run(|w| sort(w, &mut data, &mut buffer));

    // The library's own sort.
    expected.par_sort_unstable();
    assert_eq!(data, expected);
    println!("least {}, median {}, greatest {}", data[0], data[data.len() / 2], data[999_999]);
}
