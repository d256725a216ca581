//! The only integration binary: one module per promise, named after it.

mod golden;
mod isolate;
mod policy_table;
mod tidy;
