//! What do programs really do with the options the catalogue calls harmless? Calls of installed programs, made of what
//! their entries list.

use std::path::Path;
use std::sync::LazyLock;
use tollgate::assess::Class;
use tollgate::assess::catalogue::BUILT_IN;
use tollgate::assess::catalogue::schema::{Arity, Entry, Flag, Role, Style};
use tollgate_planter::Choice;

/// Where programs are looked for.
const BINARIES: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/// Reading leaves of programs that this machine has.
static LEAVES: LazyLock<Vec<&'static Entry>> = LazyLock::new(|| {
    let is_here = |entry: &&Entry| {
        let name = entry.path.split(' ').next().unwrap_or("");
        entry.class == Class::Read && BINARIES.iter().any(|dir| Path::new(dir).join(name).is_file())
    };
    BUILT_IN.entries().filter(is_here).collect()
});

/// One call; what it is made of is all in its program's entry.
pub fn call(choice: &mut Choice<'_>) -> Option<String> {
    if LEAVES.is_empty() {
        return None;
    }
    let entry = *choice.one(&LEAVES);
    let flags: Vec<Flag<'_>> = Flag::list(entry.flags.as_deref().unwrap_or("")).filter(Flag::observes).collect();
    let mut words: Vec<String> = entry.path.split(' ').map(str::to_owned).collect();
    for _ in 0..choice.below(4) {
        if flags.is_empty() {
            break;
        }
        let flag = choice.one(&flags);
        let names: Vec<&str> = flag.spellings().collect();
        let name = choice.one(&names).trim_end_matches('*').replace('#', "3");
        let value = value(flag.kind.role, choice);
        match flag.arity {
            Arity::Required if entry.style == Style::Dd => words.push(format!("{name}={value}")),
            Arity::Required if name.starts_with("--") && choice.often(128) => words.push(format!("{name}={value}")),
            Arity::Required => words.extend([name, value]),
            Arity::Optional if name.starts_with("--") && choice.often(128) => words.push(format!("{name}={value}")),
            Arity::None | Arity::Optional => words.push(name),
        }
    }
    for _ in 0..choice.below(4) {
        words.push((*choice.one(OPERANDS)).to_owned());
    }
    Some(words.join(" "))
}

const OPERANDS: &[&str] = &[
    "a",
    "victim",
    "a.txt",
    "sub",
    ".",
    "src/main.rs",
    "data.csv",
    "data.json",
    "notes.gz",
    "pack.tar",
    "link",
    "HEAD",
    "1",
    "x",
    "new",
    "main",
    "-",
    "list",
    "empty",
    "./new/x",
    "+x",
    "a=b",
];

fn value(role: Role, choice: &mut Choice<'_>) -> String {
    let values: &[&str] = match role {
        Role::Number => &["1", "0", "3", "10"],
        Role::PathRead | Role::Dir | Role::Cd | Role::Source => &["a", "sub", ".", "data.csv", "new"],
        Role::Glob => &["a", "x"],
        Role::Ref => &["HEAD", "main"],
        _ => &["a", "1", "new", "x", "always", "full", "%h", "json", ",", "sub"],
    };
    (*choice.one(values)).to_owned()
}
