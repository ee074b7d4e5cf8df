//! The spin window of an idle worker.
