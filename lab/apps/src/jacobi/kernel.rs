//! One row of the six-point stencil, and what is known about its fixed point.
//!
//! A site becomes `C1` times itself and `C2` times each of its six neighbours; the sites at the
//! faces of the cube stay as they are. Of the seven loads and the store of an update, one load and
//! one store reach the memory, as long as three layers of what is worked on stay in a cache.

use sinew::{Intent, Row, Streams, prefetch, streaming, wide};

const C1: f64 = 0.5;
const C2: f64 = 1.0 / 12.0;

/// Sites between requests for what is needed next.
const PIECE: usize = 64;

/// Distance of the prefetch of the row above, which comes from memory: about a published row, or
/// some hundred nanoseconds. It was tried from 256 to 1200 sites; without, one core updates a third
/// fewer sites.
const AHEAD: usize = 600;

/// The way to store results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stores {
    /// As ever: a line that is not in the cache is read before it is overwritten. 24 bytes an
    /// update.
    #[default]
    Ordinary,
    /// Past the caches: 16 bytes an update.
    Streaming,
}

impl Stores {
    /// Bytes that an update moves to and from memory: one site read, one written, and, with
    /// ordinary stores, read before that.
    pub fn bytes_an_update(self) -> usize {
        match self {
            Self::Ordinary => 24,
            Self::Streaming => 16,
        }
    }
}

/// A row of sites with its neighbours: itself, and those before and behind it in its layer, below
/// and above.
type Rows<'a> = [&'a [f64]; 5];

/// A cubic field of sites, row by row, layer by layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) side: usize,
    pub(crate) sites: &'a [f64],
}

impl<'a> Field<'a> {
    #[inline(always)]
    fn row(&self, row: usize, layer: usize) -> &'a [f64] {
        &self.sites[(layer * self.side + row) * self.side..][..self.side]
    }

    #[inline(always)]
    fn around(&self, row: usize, layer: usize) -> Rows<'a> {
        [(row, layer), (row - 1, layer), (row + 1, layer), (row, layer - 1), (row, layer + 1)]
            .map(|(row, layer)| self.row(row, layer))
    }

    /// Whether a row has neighbours on all sides.
    fn is_inside(&self, row: usize, layer: usize) -> bool {
        let inner = 1..self.side - 1;
        inner.contains(&row) && inner.contains(&layer)
    }

    /// Makes rows of the next time step from this one.
    pub(crate) fn relax<'r>(&self, rows: impl Iterator<Item = Row<'r, f64>>, stores: Stores) {
        let inside = rows.filter(|row| self.is_inside(row.row, row.layer));
        match stores {
            Stores::Ordinary => wide(|| {
                for row in inside {
                    self.store(row);
                }
            }),
            Stores::Streaming => {
                wide(|| {
                    streaming(|streams| {
                        for row in inside {
                            self.stream(streams, row);
                        }
                    });
                });
            }
        }
    }

    #[inline(always)]
    fn store(&self, Row { row, layer, values }: Row<'_, f64>) {
        let rows = self.around(row, layer);
        for at in (0..self.side).step_by(PIECE) {
            let end = (at + PIECE).min(self.side);
            prefetch(rows[4], at + AHEAD, PIECE, Intent::Read);
            prefetch(values, at + AHEAD, PIECE, Intent::Write);
            relax(&mut values[at..end], at, &rows);
        }
    }

    #[inline(always)]
    fn stream<'r>(&self, streams: &mut Streams<'r>, Row { row, layer, values }: Row<'r, f64>) {
        let rows = self.around(row, layer);
        streams.write(values, |piece, first| {
            prefetch(rows[4], first + AHEAD, piece.len(), Intent::Read);
            relax(piece, first, &rows);
        });
    }
}

/// Makes a piece of a row, of which `first` is the first site. Inlined into what is compiled for
/// wide vectors.
#[inline(always)]
pub(crate) fn relax(piece: &mut [f64], first: usize, rows: &Rows<'_>) {
    let (side, end) = (rows[0].len(), first + piece.len());
    let (from, to) = (first.max(1), end.min(side - 1));
    if first == 0 {
        piece[0] = rows[0][0];
    }
    if end == side {
        piece[side - 1 - first] = rows[0][side - 1];
    }
    relax_inner(
        &mut piece[from - first..to - first],
        &rows[0][from - 1..to + 1],
        rows.map(|row| &row[from..to]),
    );
}

/// The loop that counts: `long` is the row itself with a site more at each end, `rows[1..]` are its
/// neighbours.
#[inline(always)]
fn relax_inner(piece: &mut [f64], long: &[f64], rows: Rows<'_>) {
    let count = piece.len();
    let long = &long[..count + 2];
    let [_, before, behind, below, above] = rows.map(|row| &row[..count]);
    for i in 0..count {
        let around = (long[i] + long[i + 2]) + (before[i] + behind[i]) + (below[i] + above[i]);
        piece[i] = C1 * long[i + 1] + C2 * around;
    }
}

/// The field that the stencil only scales: a half wave in each direction, nothing at the faces.
#[derive(Debug)]
pub(crate) struct Wave {
    sines: Vec<f64>,
}

impl Wave {
    pub(crate) fn new(side: usize) -> Self {
        let last = (side - 1) as f64;
        let mut sines: Vec<f64> =
            (0..side).map(|i| (std::f64::consts::PI * i as f64 / last).sin()).collect();
        sines[side - 1] = 0.0;
        Self { sines }
    }

    /// The site at this place in memory.
    pub(crate) fn site(&self, at: usize) -> f64 {
        let side = self.sines.len();
        self.sines[at % side] * self.sines[at / side % side] * self.sines[at / (side * side)]
    }

    /// By what a time step scales the field: an eigenvalue of the stencil.
    fn factor(&self) -> f64 {
        C1 + 6.0 * C2 * (std::f64::consts::PI / (self.sines.len() - 1) as f64).cos()
    }

    /// The largest error of `sites` after `steps` time steps, as a share of the largest site.
    pub(crate) fn error(&self, sites: &[f64], steps: usize) -> f64 {
        let scale = self.factor().powi(i32::try_from(steps).unwrap_or(i32::MAX));
        let errors =
            sites.iter().enumerate().map(|(at, site)| (site - scale * self.site(at)).abs());
        // Not `f64::max`, which would pass over what is not a number.
        errors
            .fold(0.0, |most: f64, error| if error <= most || most.is_nan() { most } else { error })
            / scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a site that is left out at a piece's end, or one at a face that moves.
    #[test]
    fn a_row_in_pieces_is_the_row_as_a_whole() {
        let sites: Vec<f64> = (0..5 * 5 * 5).map(f64::from).map(f64::sqrt).collect();
        let rows = Field { side: 5, sites: &sites }.around(2, 3);
        let mut whole = [0.0; 5];
        relax(&mut whole, 0, &rows);
        assert_eq!((whole[0], whole[4]), (rows[0][0], rows[0][4]));
        for cut in 1..5 {
            let mut parts = [0.0; 5];
            let (left, right) = parts.split_at_mut(cut);
            relax(left, 0, &rows);
            relax(right, cut, &rows);
            assert_eq!(parts, whole);
        }
    }

    /// Catches: a wrong neighbour, or wrong weights.
    #[test]
    fn a_step_by_hand() {
        let mut sites = vec![0.0; 27];
        for (at, value) in
            [(13, 2.0), (12, 12.0), (14, 24.0), (10, 36.0), (16, 48.0), (4, 60.0), (22, 72.0)]
        {
            sites[at] = value;
        }
        let mut row = [0.0; 3];
        relax(&mut row, 0, &Field { side: 3, sites: &sites }.around(1, 1));
        assert_eq!(row, [12.0, 1.0 + 1.0 + 2.0 + 3.0 + 4.0 + 5.0 + 6.0, 24.0]);
    }

    /// Catches: an error that a site hides by being no number.
    #[test]
    fn a_wrong_site_is_an_error() {
        let wave = Wave::new(6);
        let mut sites: Vec<f64> = (0..216).map(|at| wave.site(at)).collect();
        assert_eq!(wave.error(&sites, 0), 0.0);
        sites[7] = f64::NAN;
        sites[8] = 0.5;
        assert!(wave.error(&sites, 0).is_nan());
        sites[7] = wave.site(7);
        assert!(wave.error(&sites, 0) > 0.1);
    }
}
