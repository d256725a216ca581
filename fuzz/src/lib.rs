//! The kit that tries to break the classifier: what the fuzz targets and the oracles share. README.md says how to use it.

pub mod cage;
pub mod corpus;
pub mod hunt;
pub mod options;
pub mod structure;
pub mod trial;
