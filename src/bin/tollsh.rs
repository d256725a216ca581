//! The shell. Without Rust's start-up code, which ignores SIGPIPE and reopens closed descriptors before `main`: the
//! command must get both as the caller left them.
#![no_main]

#[unsafe(no_mangle)]
pub extern "C" fn main() -> std::ffi::c_int {
    tollgate::shell::main()
}
