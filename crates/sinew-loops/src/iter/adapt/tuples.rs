//! Tuples of chains as one chain.

use std::ops::{ControlFlow, Range};

use crate::iter::{IndexedPositions, IntoParallelIterator, Positions, Uncontrolled};
use crate::loops::Options;

/// The chain of a tuple of chains, as long as the shortest. The options are those of the first.
#[derive(Debug, Clone)]
#[must_use = "nothing runs before a last call, for example `for_each`"]
pub struct MultiZip<T>(T);

/// The items of several iterators, as tuples.
#[derive(Debug)]
pub struct Together<T>(T);

/// Implements chains of tuples with these types and fields.
macro_rules! tuples {
    ($($($type:ident.$field:tt)+;)*) => {$(
        impl<$($type),+> IntoParallelIterator for ($($type,)+)
        where
            $($type: IntoParallelIterator<Iter: IndexedPositions>,)+
        {
            type Item = ($($type::Item,)+);
            type Iter = MultiZip<($($type::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                MultiZip(($(self.$field.into_par_iter(),)+))
            }
        }

        impl<'a, $($type),+> IntoParallelIterator for &'a ($($type,)+)
        where
            $(&'a $type: IntoParallelIterator<Iter: IndexedPositions>,)+
        {
            type Item = ($(<&'a $type as IntoParallelIterator>::Item,)+);
            type Iter = MultiZip<($(<&'a $type as IntoParallelIterator>::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                MultiZip(($((&self.$field).into_par_iter(),)+))
            }
        }

        impl<'a, $($type),+> IntoParallelIterator for &'a mut ($($type,)+)
        where
            $(&'a mut $type: IntoParallelIterator<Iter: IndexedPositions>,)+
        {
            type Item = ($(<&'a mut $type as IntoParallelIterator>::Item,)+);
            type Iter = MultiZip<($(<&'a mut $type as IntoParallelIterator>::Iter,)+)>;

            fn into_par_iter(self) -> Self::Iter {
                MultiZip(($((&mut self.$field).into_par_iter(),)+))
            }
        }

        // SAFETY: position `i` is position `i` of each.
        unsafe impl<$($type),+> Positions for MultiZip<($($type,)+)>
        where
            $($type: IndexedPositions<Mode = Uncontrolled>,)+
        {
            type Item = ($($type::Item,)+);
            type Mode = Uncontrolled;

            #[inline]
            fn num_positions(&self) -> usize {
                usize::MAX$(.min(self.0.$field.num_positions()))+
            }

            #[inline]
            fn opt_len(&self) -> Option<usize> {
                Some(self.num_positions())
            }

            fn options(&self) -> Options<'_> {
                self.0.0.options()
            }

            fn change_options(&mut self, change: impl FnOnce(&mut Options<'_>)) {
                self.0.0.change_options(change);
            }

            #[inline]
            unsafe fn run<S>(&self, positions: Range<usize>, sink: S) -> ControlFlow<()>
            where
                S: FnMut(Self::Item) -> ControlFlow<()>,
            {
                // SAFETY: the caller's promise is the same.
                unsafe { self.piece(positions) }.try_for_each(sink)
            }
        }

        // SAFETY: as above.
        unsafe impl<$($type),+> IndexedPositions for MultiZip<($($type,)+)>
        where
            $($type: IndexedPositions<Mode = Uncontrolled>,)+
        {
            type Piece<'p>
                = Together<($($type::Piece<'p>,)+)>
            where
                Self: 'p;
            type Backward<'p>
                = Together<($($type::Backward<'p>,)+)>
            where
                Self: 'p;

            #[inline]
            unsafe fn piece(&self, positions: Range<usize>) -> Self::Piece<'_> {
                // SAFETY: the range ends at or below the shortest length; the caller's promise is
                // the same.
                Together(($(unsafe { self.0.$field.piece(positions.clone()) },)+))
            }

            #[inline]
            unsafe fn backward(&self, positions: Range<usize>) -> Self::Backward<'_> {
                // SAFETY: as in `piece`.
                Together(($(unsafe { self.0.$field.backward(positions.clone()) },)+))
            }
        }

        impl<$($type: Iterator),+> Iterator for Together<($($type,)+)> {
            type Item = ($($type::Item,)+);

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                Some(($(self.0.$field.next()?,)+))
            }
        }
    )*};
}

tuples! {
    A.0;
    A.0 B.1;
    A.0 B.1 C.2;
    A.0 B.1 C.2 D.3;
    A.0 B.1 C.2 D.3 E.4;
    A.0 B.1 C.2 D.3 E.4 F.5;
    A.0 B.1 C.2 D.3 E.4 F.5 G.6;
    A.0 B.1 C.2 D.3 E.4 F.5 G.6 H.7;
    A.0 B.1 C.2 D.3 E.4 F.5 G.6 H.7 I.8;
    A.0 B.1 C.2 D.3 E.4 F.5 G.6 H.7 I.8 J.9;
    A.0 B.1 C.2 D.3 E.4 F.5 G.6 H.7 I.8 J.9 K.10;
    A.0 B.1 C.2 D.3 E.4 F.5 G.6 H.7 I.8 J.9 K.10 L.11;
}
