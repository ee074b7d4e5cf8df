//! Draws the Mandelbrot set with letters.
//!
//! Shows: `par_chunks_mut` and `enumerate`; rows of unequal size.

use sinew::prelude::*;

const WIDTH: usize = 72;
const HEIGHT: usize = 30;
const LIMIT: usize = 50_000;

/// The steps until the point leaves the circle of radius 2, at most `LIMIT`.
fn steps(x: f64, y: f64) -> usize {
    let (mut re, mut im) = (0.0, 0.0);
    (0..LIMIT)
        .find(|_| {
            (re, im) = (re * re - im * im + x, 2.0 * re * im + y);
            re * re + im * im > 4.0
        })
        .unwrap_or(LIMIT)
}

fn draw(row: usize, letters: &mut [u8]) {
    let y = (row as f64 + 0.5) / HEIGHT as f64 * 2.4 - 1.2;
    for (column, letter) in letters.iter_mut().enumerate() {
        let x = column as f64 / WIDTH as f64 * 3.0 - 2.2;
        *letter = match steps(x, y) {
            LIMIT => b'#',
            20.. => b'+',
            8.. => b'.',
            _ => b' ',
        };
    }
}

fn main() {
    let mut image = vec![0; WIDTH * HEIGHT];
    image.par_chunks_mut(WIDTH).enumerate().for_each(|(row, letters)| draw(row, letters));
    for row in image.chunks(WIDTH) {
        println!("{}", String::from_utf8_lossy(row));
    }

    let mut serial = vec![0; WIDTH * HEIGHT];
    serial.chunks_mut(WIDTH).enumerate().for_each(|(row, letters)| draw(row, letters));
    assert_eq!(image, serial);
}
