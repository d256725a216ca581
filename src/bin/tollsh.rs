fn main() -> std::process::ExitCode {
    tollgate::shell::main()
}
