//! The only integration binary: one module per promise, named after it.

mod gate_protocol;
mod golden;
mod policy_table;
mod tidy;
mod world;
