//! Balanced search trees, serially and in transactions: the structures with which the programs in C
//! of the suite STAMP keep their maps, for a comparison with those programs.
//!
//! | file | contents |
//! |---|---|
//! | [`cells`] | the memory of both forms |
//! | [`tree`] | an AVL tree |
//!
//! Both forms are the same code, as in the suite, whose macros read and write memory either plainly
//! or in a transaction.

mod cells;
mod tree;

pub(crate) use cells::{Access, Alone, Memory, Plain, Shared};
pub(crate) use tree::Tree;
