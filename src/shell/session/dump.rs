//! How does one bash leave its state for the next? Around each command of a session stands text of ours: before it the
//! declarations that were carried, after it what prints the state to a descriptor of its own.

use super::grammar::{self, NotInGrammar};
use super::state::{Left, os, quoted};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStringExt;

/// The variable that the text after the command uses.
pub const OWN_NAME: &str = "__tollgate*";
/// Longest state.
const STATE_BYTES_MAX: u64 = 256 * 1024;
/// The state's descriptor has this number or the next free one: commands use the low ones.
const DESCRIPTOR_FROM: RawFd = 60;
/// Longest single argument of a program, less what ours adds.
const TEXT_BYTES_MAX: usize = 120 * 1024;
/// Lines of a session up to which errors name the right one.
const PADDING_MAX: usize = 20_000;

const BEGIN: &[u8] = b"\0tollgate-state\0";
const END: &[u8] = b"\0tollgate-end\0";

/// What bash says after the command.
#[derive(Debug)]
pub enum Said {
    /// Nothing: it left before.
    Nothing,
    /// The command's status, and its state where that is in the grammar.
    State(u8, Result<Box<Left>, NotInGrammar>),
}

/// Where a bash writes its state: memory that takes no more than that.
#[derive(Debug)]
pub struct Sink(File);

impl Sink {
    pub fn new() -> std::io::Result<Sink> {
        use rustix::fs::{MemfdFlags, SealFlags};
        let memory = rustix::fs::memfd_create(c"state", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&memory, STATE_BYTES_MAX)?;
        rustix::fs::fcntl_add_seals(&memory, SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        let high = rustix::io::fcntl_dupfd_cloexec(&memory, DESCRIPTOR_FROM)?;
        Ok(Sink(File::from(high)))
    }

    pub fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// What was written, by the command or by anybody it started.
    pub fn read(mut self) -> std::io::Result<Said> {
        let mut text = Vec::new();
        self.0.rewind()?;
        self.0.take(STATE_BYTES_MAX).read_to_end(&mut text)?;
        Ok(said(&text))
    }
}

/// Stands for the session's own EXIT trap in a bash that is not the last: it does nothing, and that it is still there
/// says that nobody changed the trap.
pub const TRAP_KEPT: &[u8] = b": the trap of the session";

/// What a bash of a session is given around its command.
#[derive(Debug)]
pub struct Around<'a> {
    pub declarations: &'a [u8],
    /// The list that sets the status.
    pub status: &'a [u8],
    /// The session has an EXIT trap.
    pub trap: bool,
    /// Signals that it ignores.
    pub ignored: &'a [String],
    /// The number of the command's first line.
    pub line: usize,
}

/// The text that bash is given: what was carried on the first line, the command on its own, and what prints the state.
/// Without a sink nothing prints the state: what the input ends inside of would take it for its own. `None` where the
/// text is longer than an argument can be.
pub fn around(given: &Around<'_>, command: &[u8], sink: Option<RawFd>) -> Option<OsString> {
    let Around { declarations, status, trap, ignored, line } = *given;
    let mut text: Vec<u8> = Vec::new();
    let mut first = 1;
    if trap || !ignored.is_empty() {
        text.extend_from_slice(b"{ ");
        if trap {
            text.extend([b"trap -- ", quoted(TRAP_KEPT).as_slice(), b" EXIT; "].concat());
        }
        if !ignored.is_empty() {
            text.extend_from_slice(format!("trap -- '' {}; ", ignored.join(" ")).as_bytes());
        }
        text.extend_from_slice(b"} 2>/dev/null\n");
        first += 1;
    }
    if !declarations.is_empty() {
        text.extend_from_slice(b"eval $'");
        for &byte in declarations {
            match byte {
                b'\n' => text.extend_from_slice(b"\\n"),
                b'\'' | b'\\' => text.extend_from_slice(&[b'\\', byte]),
                byte => text.push(byte),
            }
        }
        text.extend_from_slice(b"' >/dev/null 2>&1\n");
        first += 1;
    }
    let status_lines = usize::from(!status.is_empty());
    let padding = line.saturating_sub(first + status_lines).min(PADDING_MAX);
    text.resize(text.len() + padding, b'\n');
    if !status.is_empty() {
        text.extend_from_slice(b"{ ");
        text.extend_from_slice(status);
        text.extend_from_slice(b"; } 2>/dev/null\n");
    }
    text.extend_from_slice(command);
    if let Some(sink) = sink {
        if !command.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(after(sink).as_bytes());
    }
    (text.len() <= TEXT_BYTES_MAX).then(|| OsString::from_vec(text))
}

/// Everything at once that the next command would change; then the traps, which would run in between; then the rest. The
/// status of the whole is the command's.
fn after(sink: RawFd) -> String {
    let lists = ["umask", "pwd", "set +o", "shopt -p", "alias -p", "declare -F", "declare -f", "jobs -p", "declare -p"];
    let lists: String = lists.iter().map(|list| format!("builtin {list}; builtin printf '\\0'; ")).collect();
    format!(
        "{{ __tollgate=(\"$?\" \"$_\" \"${{#PIPESTATUS[@]}}\" \"${{PIPESTATUS[@]}}\"); \
         builtin printf '%s\\0' '' tollgate-state \"${{__tollgate[@]}}\" \"$#\" \"$@\" >&{sink}; \
         builtin trap -p >&{sink}; builtin trap - DEBUG ERR RETURN EXIT; \
         {{ builtin printf '\\0'; {lists}builtin printf 'tollgate-end\\0'; }} >&{sink}; \
         builtin exit \"$__tollgate\"; }} >/dev/null 2>&1"
    )
}

/// Reads what came through the descriptor. What stands before our mark is somebody else's.
fn said(text: &[u8]) -> Said {
    let Some(at) = memchr::memmem::rfind(text, BEGIN) else { return Said::Nothing };
    let text = &text[at + BEGIN.len()..];
    let Some(status) = text.split(|&byte| byte == 0).next().and_then(number::<u8>) else { return Said::Nothing };
    Said::State(status, left(text).map(Box::new))
}

fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn left(text: &[u8]) -> Result<Left, NotInGrammar> {
    let end = memchr::memmem::rfind(text, END).ok_or(NotInGrammar)?;
    let mut fields = text[..end].split(|&byte| byte == 0);
    let mut next = || fields.next().ok_or(NotInGrammar);
    let status = number(next()?).ok_or(NotInGrammar)?;
    let last = next()?.to_vec();
    let pipe = (0..number::<usize>(next()?).ok_or(NotInGrammar)?)
        .map(|_| number(next()?).ok_or(NotInGrammar))
        .collect::<Result<_, _>>()?;
    let arguments = (0..number::<usize>(next()?).ok_or(NotInGrammar)?)
        .map(|_| Ok(os(next()?.to_vec())))
        .collect::<Result<_, _>>()?;
    let traps = grammar::traps(next()?)?;
    let umask = std::str::from_utf8(next()?).ok().and_then(|text| u32::from_str_radix(text.trim_end(), 8).ok());
    let cwd = next()?.strip_suffix(b"\n").filter(|path| path.starts_with(b"/")).ok_or(NotInGrammar)?;
    let set = grammar::switches(next()?, "set", ["-o", "+o"])?;
    let shopt = grammar::switches(next()?, "shopt", ["-s", "-u"])?;
    let aliases = grammar::aliases(next()?)?;
    let (_, function_attributes) = grammar::function_attributes(next()?)?;
    let functions = next()?.to_vec();
    let jobs = !next()?.is_empty();
    let variables = grammar::variables(next()?)?;
    if fields.next().is_some() {
        return Err(NotInGrammar);
    }
    Ok(Left {
        status,
        last,
        pipe,
        arguments,
        umask: umask.filter(|umask| *umask <= 0o777).ok_or(NotInGrammar)?,
        cwd: os(cwd.to_vec()),
        variables,
        aliases,
        traps,
        set,
        shopt,
        functions,
        function_attributes,
        jobs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// What a real bash leaves after this.
    fn of(command: &str) -> (Option<i32>, Said) {
        let sink = Sink::new().expect("memory");
        let text = around(
            &Around { declarations: b"", status: b"", trap: false, ignored: &[], line: 1 },
            command.as_bytes(),
            Some(sink.number()),
        )
        .expect("short");
        rustix::io::fcntl_setfd(&sink.0, rustix::io::FdFlags::empty()).expect("kept");
        let mut bash = Command::new("/bin/bash");
        bash.args(["--noprofile", "--norc", "-c"]).arg(text).args(["bash", "one", "t w o"]);
        let status = bash.status().expect("bash");
        (status.code(), sink.read().expect("read"))
    }

    #[test]
    fn a_real_bash_leaves_what_it_has() {
        let (code, said) = of("set -u; shopt -s extglob; umask 027; cd /usr; x=$'a\\nb'; f() { echo \"${1:-}\"; }\n\
            alias ll='ls -l'; trap 'echo bye' EXIT; false | (exit 4)");
        let Said::State(4, Ok(left)) = said else { panic!("{said:?}") };
        assert_eq!((code, left.status, left.pipe), (Some(4), 4, vec![1, 4]));
        assert_eq!(left.arguments, ["one", "t w o"]);
        assert_eq!((left.umask, left.cwd), (0o027, "/usr".into()));
        assert!(left.set.contains(&("nounset".into(), true)) && left.shopt.contains(&("extglob".into(), true)));
        // Whoever started the tests may have them ignore a signal; that shows as an empty trap.
        let said: Vec<_> = left.traps.iter().filter(|(_, text)| !text.is_empty()).cloned().collect();
        assert_eq!(said, [("EXIT".into(), b"echo bye".to_vec())]);
        assert_eq!(left.aliases, [("ll".into(), b"ls -l".to_vec())]);
        assert!(left.functions.starts_with(b"f () \n{"));
    }

    #[test]
    fn who_leaves_says_nothing_and_who_lies_is_not_believed() {
        for command in ["exit 3", "exec true", "set -e; false"] {
            assert!(matches!(of(command).1, Said::Nothing), "{command}");
        }
        // Ours comes last, and counts.
        for noise in ["echo noise", "printf '\\0tollgate-state\\0''9\\0'", "head -c 300000 /dev/zero"] {
            let (_, said) = of(&format!("for fd in {{60..70}}; do {{ {noise} >&$fd; }} 2>/dev/null; done; true"));
            match said {
                Said::State(0, Ok(_)) => {}
                Said::Nothing | Said::State(..) if noise.starts_with("head") => {}
                other => panic!("{noise}: {other:?}"),
            }
        }
        let lie = "declare() { echo 'declare -- x=\"$(id)\"'; }; builtin() { if [ $1 = declare ]; then \"$@\"; \
            else command builtin \"$@\"; fi; }";
        assert!(matches!(of(lie).1, Said::State(0, Err(NotInGrammar))), "{lie}");
    }

    #[test]
    fn a_debug_trap_neither_shows_nor_spoils_the_state() {
        let (_, said) = of("trap 'echo debug' DEBUG; x=1; trap 'echo err' ERR; set -T");
        let Said::State(0, Ok(left)) = said else { panic!("{said:?}") };
        assert!(left.traps.iter().any(|(signal, _)| signal == "DEBUG"));
    }
}
