//! [`TGrid`]: a grid of two or three dimensions.

use crate::array::TArray;
use crate::tx::Tx;
use crate::tx_error::TxResult;

/// A grid of transactional values. Neighbours along x share records: see [`TArray`].
///
/// An index is `[x, y, z]`, each below the grid's [`size`](Self::size); a two-dimensional grid has
/// the third size 1.
///
/// ```
/// use sinew_stm::{TGrid, atomically};
///
/// let board = TGrid::new([8, 8, 1], '.');
/// atomically(|tx| board.set(tx, [0, 7, 0], 'R'));
/// assert_eq!(atomically(|tx| board.get(tx, [0, 7, 0])), 'R');
/// assert_eq!(board.neighbours([0, 7, 0]).collect::<Vec<_>>(), [[1, 7, 0], [0, 6, 0]]);
/// ```
#[derive(Debug)]
pub struct TGrid<T: Copy> {
    size: [usize; 3],
    cells: TArray<T>,
}

impl<T: Copy> TGrid<T> {
    /// A grid of `size` cells along x, y and z, each with `value`.
    ///
    /// # Panics
    ///
    /// If the number of cells overflows a `usize`.
    #[track_caller]
    pub fn new(size: [usize; 3], value: T) -> Self {
        let cells = size.iter().try_fold(1_usize, |cells, side| cells.checked_mul(*side));
        let cells = cells
            .unwrap_or_else(|| panic!("a grid of {size:?} has more cells than a number can count"));
        Self { size, cells: TArray::new(cells, value) }
    }

    /// The number of cells along x, y and z.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    #[inline]
    #[track_caller]
    fn index(&self, place: [usize; 3]) -> usize {
        let inside = place.iter().zip(&self.size).all(|(at, side)| at < side);
        assert!(inside, "place {place:?} of a grid of {:?}", self.size);
        let ([x, y, z], [width, height, _]) = (place, self.size);
        (z * height + y) * width + x
    }

    /// The value at `place`.
    ///
    /// # Errors
    ///
    /// The attempt is lost: return the error with `?`. The same holds for the other methods with
    /// `tx`.
    ///
    /// # Panics
    ///
    /// If `place` is outside of the grid. The same holds for all methods.
    #[inline]
    #[track_caller]
    pub fn get<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, place: [usize; 3]) -> TxResult<T> {
        self.cells.get(tx, self.index(place))
    }

    /// Sets the value at `place`.
    #[inline]
    #[track_caller]
    pub fn set<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, place: [usize; 3], value: T) -> TxResult<()> {
        self.cells.set(tx, self.index(place), value)
    }

    /// The cells that share a face with `place`: along x, then y, then z, the smaller first.
    #[track_caller]
    pub fn neighbours(&self, place: [usize; 3]) -> impl Iterator<Item = [usize; 3]> + use<T> {
        self.index(place);
        let size = self.size;
        let beside = move |axis: usize, at: usize| {
            let mut other = place;
            other[axis] = at;
            other
        };
        (0..3).flat_map(move |axis| {
            let below = place[axis].checked_sub(1);
            let above = Some(place[axis] + 1).filter(|at| *at < size[axis]);
            below.into_iter().chain(above).map(move |at| beside(axis, at))
        })
    }

    /// All values at one time, x fastest, then y, read by a transaction of its own.
    #[track_caller]
    pub fn load_all(&self) -> Vec<T> {
        self.cells.load_all()
    }
}
