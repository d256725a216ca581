//! The tables everybody reads. A fact that two rooms need lives here once; nothing here acts.

pub mod codes;
pub mod environment;
pub mod limits;
