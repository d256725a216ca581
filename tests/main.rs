//! The only integration binary: one module per promise, named after it.

mod golden;
mod policy_table;
mod tidy;
