//! A program without the feature `experiments` has no two-field stacks: types that have no value,
//! with the functions of `two_field`.

#![expect(missing_docs, clippy::missing_safety_doc, reason = "nothing can be called")]

use sinew_topology::PlacementError;

use super::{Popped, Steal, Task};
use crate::node::PreferredNode;

#[derive(Debug)]
pub(super) struct Optional;

impl Optional {
    pub(super) fn new(wanted: bool, _: PreferredNode) -> Self {
        assert!(!wanted, "a two-field stack needs the feature `experiments`");
        Self
    }

    #[inline]
    pub(super) fn get(&self) -> Option<&TwoField> {
        None
    }
}

#[derive(Debug)]
pub enum Descriptor {}

impl Descriptor {
    pub fn depth(&self) -> u32 {
        match *self {}
    }

    pub fn thief(&self) -> Option<usize> {
        match *self {}
    }

    pub fn finish(&self) -> bool {
        match *self {}
    }

    pub fn is_done(&self) -> bool {
        match *self {}
    }

    pub fn await_finish(&self) -> bool {
        match *self {}
    }
}

#[derive(Debug)]
pub enum TwoField {}

impl TwoField {
    pub fn is_full(&self) -> bool {
        match *self {}
    }

    pub(super) fn is_empty(&self) -> bool {
        match *self {}
    }

    pub(super) fn bytes(&self) -> usize {
        match *self {}
    }

    pub(super) fn page_nodes(&self) -> Result<Vec<Option<usize>>, PlacementError> {
        match *self {}
    }

    pub unsafe fn push(&self, _: Task, _: u32) -> usize {
        match *self {}
    }

    pub unsafe fn pop(&self, _: usize) -> Option<Popped> {
        match *self {}
    }

    pub unsafe fn pop_again(&self, _: usize) -> Option<Popped> {
        match *self {}
    }

    pub fn newest(&self, _: *const ()) -> Option<usize> {
        match *self {}
    }

    pub fn descriptor(&self, _: usize) -> &Descriptor {
        match *self {}
    }

    pub unsafe fn unpin(&self, _: usize) {
        match *self {}
    }

    pub(super) fn steal(
        &self,
        _: usize,
        _: Option<u32>,
        _: impl FnOnce() -> bool,
    ) -> Result<(&Descriptor, Task), Steal<'_>> {
        match *self {}
    }

    pub(super) fn load(&self) -> usize {
        match *self {}
    }

    pub(super) fn oldest_depth(&self) -> Option<u32> {
        match *self {}
    }
}
