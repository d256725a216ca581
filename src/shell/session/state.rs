//! What lives on from one command of a session to the next? Everything bash prints about itself and can take back as
//! literal values. Written down, it is a text of declarations in one canonical form: what the gate binds and judges,
//! and what the next bash reads first.

use super::grammar::NotInGrammar;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The letters behind `declare -`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(String);

impl Attributes {
    /// From the letters that bash prints; `-` is none.
    pub fn of(letters: &[u8]) -> Result<Attributes, NotInGrammar> {
        let known =
            letters == b"-" || (!letters.is_empty() && letters.iter().all(|letter| b"aAilnrtux".contains(letter)));
        let letters = letters.iter().filter(|letter| **letter != b'-').map(|letter| char::from(*letter));
        if known { Ok(Attributes(letters.collect())) } else { Err(NotInGrammar) }
    }

    fn has(&self, letter: char) -> bool {
        self.0.contains(letter)
    }

    pub fn exported(&self) -> bool {
        self.has('x')
    }

    pub fn is_array(&self) -> bool {
        self.has('a') || self.has('A')
    }
}

/// What a variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Scalar(Vec<u8>),
    /// Subscripts and elements, in bash's order.
    Array(Vec<(Vec<u8>, Vec<u8>)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub attributes: Attributes,
    pub value: Option<Value>,
}

/// What one bash says when a command of a session has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub status: u8,
    /// `$_`
    pub last: Vec<u8>,
    /// `PIPESTATUS`
    pub pipe: Vec<u8>,
    /// `$1 …`
    pub arguments: Vec<OsString>,
    pub umask: u32,
    pub cwd: OsString,
    pub variables: Vec<Variable>,
    pub aliases: Vec<(String, Vec<u8>)>,
    pub traps: Vec<(String, Vec<u8>)>,
    /// `set -o` names and whether they are on.
    pub set: Vec<(String, bool)>,
    /// The same of `shopt`.
    pub shopt: Vec<(String, bool)>,
    /// Definitions as bash prints them. Not read here: whoever judges reads them.
    pub functions: Vec<u8>,
    /// `declare -fx name`, where a function has attributes.
    pub function_attributes: Vec<String>,
    /// Whether something still ran in the background.
    pub jobs: bool,
}

/// What the next bash begins with.
#[derive(Clone, Debug)]
pub struct State {
    /// The exported variables, as the environment.
    pub env: Vec<(OsString, OsString)>,
    pub arguments: Vec<OsString>,
    /// Options for bash's command line.
    pub options: Vec<OsString>,
    pub status: u8,
    pipe: Vec<u8>,
    last: Vec<u8>,
    declarations: Vec<u8>,
    /// Where the next bash goes first.
    directory: Option<OsString>,
    /// What bash runs when it leaves.
    pub exit_trap: Option<Vec<u8>>,
    /// Signals that nothing is done about.
    pub ignored: Vec<String>,
    /// Prompts, where they are set.
    pub prompts: BTreeMap<&'static str, Vec<u8>>,
}

/// Bash's own variables: it makes them anew, or they mean nothing later. A trailing `*` stands for any rest.
const OWN: &[&str] = &[
    "BASH*",
    "COMP_*",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "HOSTNAME",
    "HOSTTYPE",
    "LINENO",
    "MACHTYPE",
    "OSTYPE",
    "PIPESTATUS",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
    "UID",
    "_",
    super::dump::OWN_NAME,
];

/// A shell that is not interactive drops them from its environment: they are declared.
const PROMPTS: &[&str] = &["PS1", "PS2"];

/// Values that bash gives by itself.
const DEFAULTS: &[(&str, &[u8])] = &[("IFS", b" \t\n"), ("OPTERR", b"1"), ("OPTIND", b"1"), ("PS4", b"+ ")];

/// What `set -o` and `shopt` have on where nobody said anything.
const SET_ON: &[&str] = &["braceexpand", "hashall", "interactive-comments"];
const SHOPT_ON: &[&str] = &[
    "checkwinsize",
    "cmdhist",
    "complete_fullquote",
    "extquote",
    "force_fignore",
    "globasciiranges",
    "globskipdots",
    "hostcomplete",
    "interactive_comments",
    "patsub_replacement",
    "progcomp",
    "promptvars",
    "sourcepath",
];
/// Options that say how this bash was started, or that a session handles itself.
const NOT_CARRIED_QUIETLY: &[&str] = &["login_shell", "restricted_shell", "onecmd", "noexec"];

fn is_own(name: &str) -> bool {
    name != "BASH_REMATCH" && OWN.iter().any(|row| crate::facts::environment::matches(row, name.as_bytes()))
}

impl State {
    /// Before the first command.
    pub fn new(env: Vec<(OsString, OsString)>, arguments: Vec<OsString>) -> State {
        let prompt = |name: &'static str| {
            let found = env.iter().find(|(found, _)| found == name);
            found.map(|(_, value)| (name, value.as_bytes().to_vec()))
        };
        let prompts = PROMPTS.iter().filter_map(|name| prompt(name)).collect();
        State {
            env,
            arguments,
            options: Vec::new(),
            status: 0,
            pipe: vec![0],
            last: Vec::new(),
            declarations: Vec::new(),
            directory: None,
            exit_trap: None,
            ignored: Vec::new(),
            prompts,
        }
    }

    /// After a command that did not run, or whose state is not known.
    pub fn refuse(&mut self, status: u8) {
        self.status = status;
        self.pipe = vec![status];
    }

    /// Goes to the directory that a command left. One that only stands inside the fence is entered by the next command.
    pub fn place(&mut self, directory: OsString) {
        let entered = std::env::set_current_dir(&directory).is_ok();
        self.directory = (!entered).then_some(directory);
    }

    /// Takes over what a command left. `kept` says which variables of the environment were hidden from it or made up for
    /// it: those stay as they were. Returns what cannot be carried, for people.
    pub fn take(&mut self, left: Left, was_made_up: impl Fn(&OsStr, Option<&OsStr>) -> bool) -> Vec<&'static str> {
        let mut lost = Vec::new();
        self.status = left.status;
        self.pipe = left.pipe;
        self.last = left.last;
        self.arguments = left.arguments;
        if left.jobs {
            lost.push("background jobs end with the command that started them (tollgate job start -- CMD)");
        }
        let trap = self.exit_trap.take();
        self.ignored.clear();
        for (signal, code) in left.traps {
            match signal.as_str() {
                "EXIT" if code == super::dump::TRAP_KEPT => self.exit_trap = trap.clone(),
                "EXIT" => self.exit_trap = Some(code),
                _ if code.is_empty() => self.ignored.push(signal),
                _ => lost.push("traps of other events than EXIT"),
            }
        }
        self.options = options(&left.set, &left.shopt, &mut lost);
        self.take_environment(&left.variables, was_made_up);
        self.declarations = declarations(&left.variables, &left.aliases, &left.functions, &left.function_attributes);
        // One that came with the environment is not among what bash says: it stays.
        for prompt in PROMPTS {
            if let Some(Variable { value: Some(Value::Scalar(text)), .. }) =
                left.variables.iter().find(|variable| variable.name == *prompt)
            {
                self.prompts.insert(prompt, text.clone());
            }
        }
        lost.dedup();
        lost
    }

    fn take_environment(&mut self, variables: &[Variable], was_made_up: impl Fn(&OsStr, Option<&OsStr>) -> bool) {
        let mut now: BTreeMap<&OsStr, &OsStr> = BTreeMap::new();
        for variable in variables.iter().filter(|variable| variable.attributes.exported()) {
            if let Some(Value::Scalar(value)) = &variable.value
                && !is_own(&variable.name)
            {
                now.insert(OsStr::new(&variable.name), OsStr::from_bytes(value));
            }
        }
        let mut env = Vec::with_capacity(now.len());
        for (name, value) in std::mem::take(&mut self.env) {
            let text = name.to_str().unwrap_or_default();
            // What is no name to bash it hands on unseen.
            let unseen = !super::grammar::is_name(name.as_bytes()) || is_own(text);
            let new = now.remove(name.as_os_str());
            if unseen || was_made_up(&name, new) {
                env.push((name, value));
            } else if let Some(new) = new {
                env.push((name, new.to_owned()));
            }
        }
        let added = now.into_iter().filter(|(name, value)| !was_made_up(name, Some(value)));
        env.extend(added.map(|(name, value)| (name.to_owned(), value.to_owned())));
        self.env = env;
    }

    /// What the next bash reads before `command`: declarations, and where the command may look at them the status and
    /// last word of the one before.
    pub fn carried(&self, command: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let holds = |text: &[u8], what: &[u8]| memchr::memmem::find(text, what).is_some();
        let looks = |what: &[u8]| holds(command, what) || holds(&self.declarations, what);
        let mut line = Vec::new();
        if looks(b"$_") || looks(b"${_") {
            match self.status {
                0 => line = [b": ", quoted(&self.last).as_slice()].concat(),
                1 => line = [b"! : ", quoted(&self.last).as_slice()].concat(),
                _ => {}
            }
        }
        let asks_status = [&b"?"[..], b"exit", b"return", b"PIPESTATUS", b"trap"].into_iter().any(looks);
        if line.is_empty() && asks_status && (self.status != 0 || self.pipe.len() > 1) {
            let subshells: Vec<String> = match self.pipe.split_last() {
                Some((_, before)) if !before.is_empty() => {
                    before.iter().chain([&self.status]).map(|status| format!("(exit {status})")).collect()
                }
                _ => vec![format!("(exit {})", self.status)],
            };
            // Not the last of an `&&` list: `set -e` does not end the shell here.
            line = format!("{} && :", subshells.join(" | ")).into_bytes();
        }
        let mut declarations = self.declarations.clone();
        if let Some(directory) = &self.directory {
            declarations.extend([b"cd -- ", quoted(directory.as_bytes()).as_slice(), b"\n"].concat());
        }
        (declarations, line)
    }

    /// The value of a variable of the environment.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_os_str())
    }

    /// Whether an option is on for the next bash.
    pub fn is_set(&self, name: &str) -> bool {
        self.options.windows(2).any(|pair| pair[0] == "-o" && pair[1] == name)
    }
}

fn options(set: &[(String, bool)], shopt: &[(String, bool)], lost: &mut Vec<&'static str>) -> Vec<OsString> {
    let mut options: Vec<OsString> = Vec::new();
    for (names, default, carried, on, off) in
        [(set, SET_ON, super::super::argv::SET, "-o", "+o"), (shopt, SHOPT_ON, super::super::argv::SHOPT, "-O", "+O")]
    {
        for (name, is_on) in names {
            let name = name.as_str();
            if default.contains(&name) == *is_on || NOT_CARRIED_QUIETLY.contains(&name) {
                continue;
            }
            if carried.contains(&name) {
                options.extend([if *is_on { on } else { off }.into(), name.into()]);
            } else {
                lost.push("an option that changes what a text means");
            }
        }
    }
    options
}

fn declarations(
    variables: &[Variable],
    aliases: &[(String, Vec<u8>)],
    functions: &[u8],
    function_attributes: &[String],
) -> Vec<u8> {
    let mut text: Vec<u8> = Vec::new();
    for variable in variables {
        let Variable { name, attributes, value } = variable;
        let is_default = matches!(value, Some(Value::Scalar(value))
            if DEFAULTS.iter().any(|(default, own)| name == default && value == own));
        let in_environment =
            attributes.exported() && matches!(value, Some(Value::Scalar(_))) && !PROMPTS.contains(&name.as_str());
        // The rest of an exported one: whether it is read-only, an integer …
        let more: String = attributes.0.chars().filter(|letter| !"xt".contains(*letter)).collect();
        if is_own(name) || (is_default && more.trim_matches('i').is_empty()) || (in_environment && more.is_empty()) {
            continue;
        }
        let letters = if in_environment { more } else { attributes.0.replace('t', "") };
        let letters = if letters.is_empty() { "-".to_owned() } else { letters };
        text.extend_from_slice(format!("declare -{letters} {name}").as_bytes());
        match value {
            _ if in_environment => {}
            None => {}
            Some(Value::Scalar(value)) => {
                text.push(b'=');
                text.extend(quoted(value));
            }
            Some(Value::Array(elements)) => {
                text.extend_from_slice(b"=(");
                for (at, (subscript, element)) in elements.iter().enumerate() {
                    if at > 0 {
                        text.push(b' ');
                    }
                    text.push(b'[');
                    let plain = subscript.iter().all(u8::is_ascii_alphanumeric) && !subscript.is_empty();
                    if plain {
                        text.extend_from_slice(subscript)
                    } else {
                        text.extend(quoted(subscript))
                    }
                    text.extend_from_slice(b"]=");
                    text.extend(quoted(element));
                }
                text.push(b')');
            }
        }
        text.push(b'\n');
    }
    text.extend_from_slice(functions);
    for line in function_attributes {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    for (name, value) in aliases {
        text.extend_from_slice(format!("alias {name}=").as_bytes());
        text.extend(quoted(value));
        text.push(b'\n');
    }
    text
}

/// In single quotes: the one form in which nothing means anything.
pub fn quoted(value: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for &byte in value {
        if byte == b'\'' { out.extend_from_slice(b"'\\''") } else { out.push(byte) }
    }
    out.push(b'\'');
    out
}

/// Bytes as the system has them.
pub fn os(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(variables: &[u8]) -> Left {
        Left { variables: super::super::grammar::variables(variables).unwrap(), ..Left::default() }
    }

    #[test]
    fn exported_values_are_the_environment_and_the_rest_is_declared() {
        let mut state = State::new(vec![("A".into(), "1".into()), ("GONE".into(), "x".into())], vec![]);
        let text = b"declare -x A=\"2\"\ndeclare -ix N=\"5\"\ndeclare -- p=\"it's\"\ndeclare -a a=([0]=\"x y\")\n\
            declare -ir UID=\"0\"\ndeclare -- IFS=$' \\t\\n'\ndeclare -A h=([\"k'\"]=\"v\" )\n";
        assert_eq!(state.take(left(text), |_, _| false), Vec::<&str>::new());
        assert_eq!(state.env, [("A".into(), "2".into()), ("N".into(), "5".into())] as [(OsString, OsString); 2]);
        let (declarations, line) = state.carried(b"ls");
        let expected =
            "declare -i N\ndeclare -- p='it'\\''s'\ndeclare -a a=([0]='x y')\ndeclare -A h=(['k'\\''']='v')\n";
        assert_eq!(String::from_utf8(declarations).unwrap(), expected);
        assert!(line.is_empty());
    }

    #[test]
    fn what_the_fence_hid_or_made_up_stays_as_it_was() {
        let given = [("TMPDIR", "/mine"), ("PYTHONPATH", "/p"), ("odd.name", "kept")];
        let mut state = State::new(given.map(|(n, v)| (n.into(), v.into())).into(), vec![]);
        let made_up = |name: &OsStr, value: Option<&OsStr>| match name.to_str() {
            Some("TMPDIR") => value == Some(OsStr::new("/tmp")),
            Some("PYTHONPATH") => value.is_none(),
            _ => name == "PAGER",
        };
        state.take(left(b"declare -x TMPDIR=\"/tmp\"\ndeclare -x PAGER=\"cat\"\n"), made_up);
        assert_eq!(state.env, given.map(|(n, v)| (OsString::from(n), OsString::from(v))));
    }

    #[test]
    fn the_status_is_there_for_who_looks_at_it() {
        let mut state = State::new(vec![], vec![]);
        state.take(Left { status: 3, pipe: vec![2, 3], last: b"x y".to_vec(), ..Left::default() }, |_, _| false);
        assert_eq!(state.carried(b"ls").1, b"");
        assert_eq!(state.carried(b"echo $?").1, b"(exit 2) | (exit 3) && :");
        state.take(Left { status: 1, pipe: vec![1], last: b"x y".to_vec(), ..Left::default() }, |_, _| false);
        assert_eq!(state.carried(b"echo $?").1, b"(exit 1) && :");
        assert_eq!(state.carried(b"echo $_").1, b"! : 'x y'");
    }

    #[test]
    fn options_go_on_the_command_line_and_what_changes_the_meaning_of_text_is_said() {
        let mut lost = Vec::new();
        let on = |names: &[&str], all: &[&str]| -> Vec<(String, bool)> {
            all.iter().map(|name| ((*name).to_owned(), names.contains(name))).collect()
        };
        let set = on(&["braceexpand", "errexit"], &["braceexpand", "errexit", "keyword"]);
        let shopt = on(&["extglob"], &["extglob", "sourcepath"]);
        assert_eq!(options(&set, &shopt, &mut lost), ["-o", "errexit", "-O", "extglob", "+O", "sourcepath"]);
        assert!(lost.is_empty());
        options(&on(&["keyword"], &["keyword"]), &[], &mut lost);
        assert_eq!(lost.len(), 1);
    }
}
