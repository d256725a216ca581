fn main() -> std::process::ExitCode {
    tollgate::console::main()
}
