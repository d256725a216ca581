//! The shell, without Rust's start-up code: the macro says why.
#![no_main]
tollgate::shell_entry!();
