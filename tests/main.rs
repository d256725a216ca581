//! The only integration binary: one module per promise, named after it.

mod agent;
mod effects;
