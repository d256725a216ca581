//! What does a call of `python`, `node`, `perl`, `ruby` or `php` do? Code given as text, a script, a module or standard
//! input runs: `write` at least. Asking for the version, and checking syntax where that runs nothing, only observes.

use super::options::{Does, Found, Grammar, Opt, flag, perhaps, read, value};
use super::{code, joined, say};
use crate::assess::reading::{Arg, Inflow, Invocation, Reading};
use crate::assess::{Attribute, Class, Code, Effect, Operand};

const LOADS: Does = Does::Loads;
const CODE: Does = Does::Asked("code");

const PYTHON: Grammar = Grammar::wrapper(
    "python",
    &[
        flag("-b -B -d -E -h -i -O -q -s -S -t -u -v -V -x -? --version --help --help-env --help-all", Does::Nothing),
        flag("-I -P", Does::Asked("isolated")),
        value("-W -X --check-hash-based-pycs", Does::Nothing),
        value("-c", CODE),
        value("-m", Does::Asked("module")),
    ],
)
.exact();

/// Python modules that read their input and print: harmless where the directory we are in cannot shadow them.
const MODULES_READING: &[&str] =
    &["json.tool", "tokenize", "this", "calendar", "platform", "sysconfig", "site", "dis", "ast"];

/// Reads all arguments of `python`.
pub fn python(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let (head, rest) = at.args.split_at(end_of_options(at.args, "cm"));
    let found = read(head, &PYTHON, at, &mut out);
    if asks(head) {
        return out;
    }
    let codes: Vec<Arg> = found.values("code").cloned().collect();
    if let Some(text) = joined("python", &codes) {
        code::code(&text, at, &mut out);
    } else if let Some(module) = found.values("module").next() {
        run_module(module, rest, found.has("isolated"), at, &mut out);
    } else {
        script(&found, rest, at, &mut out);
    }
    out
}

/// Where the arguments of the program itself begin: after the value of the option that ends options (`-c CODE`).
fn end_of_options(args: &[Arg], last: &str) -> usize {
    for (i, arg) in args.iter().enumerate() {
        let Some(text) = arg.text().filter(|text| text.starts_with('-') && text.len() > 1 && !text.starts_with("--"))
        else {
            continue;
        };
        if let Some(place) = text[1..].find(|c| last.contains(c)) {
            // A letter before it may take the rest as its value (`-Wc`); then this is no end, and more is read.
            let attached = place + 2 < text.len();
            let valued = text[1..=place].contains(['W', 'X']);
            if !valued {
                return args.len().min(if attached { i + 1 } else { i + 2 });
            }
        }
    }
    args.len()
}

fn asks(args: &[Arg]) -> bool {
    !args.is_empty()
        && args.iter().all(|arg| {
            matches!(arg.text(), Some("--version" | "-V" | "-VV" | "--help" | "-h" | "-v" | "-help" | "-version"))
        })
}

fn run_module(module: &Arg, rest: &[Arg], isolated: bool, at: &Invocation<'_>, out: &mut Reading) {
    match module.text() {
        Some("pip") => {
            let mut words = vec![Arg::known("pip", module.span)];
            words.extend_from_slice(rest);
            out.raise(Code::RunsCode, Class::Write, module.span, "`python -m` runs a module");
            out.runs_argv("python -m pip", words, false, at.stdin.clone());
        }
        Some("http.server" | "pydoc" | "xmlrpc.server" | "smtpd") => {
            out.effects.push(Effect::NetListen(Operand::Any));
            let text = format!("the module {} listens on the network", say::shown(&module.value));
            out.raise(Code::Listens, Class::Network, module.span, text);
        }
        Some("ensurepip" | "easy_install") => {
            out.effects.push(Effect::Install("pip".to_owned()));
            out.raise(Code::Installs, Class::Install, module.span, "the module installs packages");
        }
        Some(name) if isolated && MODULES_READING.contains(&name) && rest.len() < 2 => {
            rest.iter().for_each(|file| out.reads(&file.value));
        }
        Some("json.tool") => {
            let text = "`python -m json.tool` runs a `json` of this directory if there is one";
            out.raise_hint(Code::RunsCode, Class::Write, module.span, text, "use `jq .` or `python3 -I -m json.tool`");
        }
        Some(_) | None => {
            out.attributes.insert(Attribute::Opaque);
            out.effects.push(Effect::Exec(Operand::Any));
            out.raise(
                Code::RunsCode,
                Class::Write,
                module.span,
                format!("runs the module {}", say::shown(&module.value)),
            );
        }
    }
}

/// A script file, or what arrives on standard input.
fn script(found: &Found, _rest: &[Arg], at: &Invocation<'_>, out: &mut Reading) {
    match found.operands.first().filter(|arg| arg.text() != Some("-")) {
        Some(file) => {
            out.reads(&file.value);
            out.attributes.insert(Attribute::Opaque);
            out.effects.extend(say::operands(&file.value).into_iter().map(Effect::Exec));
            let text = format!("`{}` runs the script {}", at.program, say::shown(&file.value));
            out.raise(Code::RunsCode, Class::Write, file.span, text);
        }
        None => fed(at, out),
    }
}

/// Code that arrives on standard input.
fn fed(at: &Invocation<'_>, out: &mut Reading) {
    let class = match at.stdin {
        Inflow::Known(text) => {
            code::code(&Arg::known(text.as_str(), at.span), at, out);
            return;
        }
        Inflow::Nothing | Inflow::Inherited | Inflow::File => Class::Write,
        Inflow::Network => Class::Install,
        Inflow::Data | Inflow::Decoded => Class::Destructive,
    };
    out.attributes.insert(Attribute::Opaque);
    out.effects.push(Effect::Exec(Operand::Unknown { prefix: String::new() }));
    out.raise(
        Code::FedCode,
        class,
        at.span,
        format!("`{}` runs the code that arrives on its standard input", at.program),
    );
}

const NODE: &[Opt] = &[
    flag("-v --version -h --help -i --interactive --no-warnings --trace-warnings --enable-source-maps", Does::Nothing),
    flag("--experimental-vm-modules --expose-gc --no-deprecation --throw-deprecation --trace-uncaught", Does::Nothing),
    flag("--experimental-strip-types --harmony --test --watch", Does::Nothing),
    flag("-c --check", Does::Asked("check")),
    value("-e --eval -p --print -pe", CODE),
    value("-r --require --import --loader --experimental-loader --env-file --openssl-config", LOADS),
    value(
        "--max-old-space-size --stack-trace-limit --input-type -C --conditions --unhandled-rejections",
        Does::Nothing,
    ),
    perhaps("--inspect --inspect-brk --inspect-port", Does::Is(Code::Listens, Class::Network, "opens a debugger port")),
];
const RUBY: &[Opt] = &[
    flag("-a -d -h -l -n -p -s -S -v -w -y -U --version --help --verbose --copyright --yjit --jit", Does::Nothing),
    flag("-c", Does::Asked("check")),
    value("-e", CODE),
    value("-r -I -C", LOADS),
    perhaps("-F -E -K -T -W -x -0 --encoding --disable --enable", Does::Nothing),
    perhaps("-i", Does::Is(Code::WritesPath, Class::Write, "edits files in place")),
];
const PERL: &[Opt] = &[
    flag("-a -f -h -l -n -p -s -S -t -T -u -U -v -w -W -X -g --version --help", Does::Nothing),
    flag("-c", Does::Asked("check")),
    value("-e -E", CODE),
    perhaps("-M -m -I -x", LOADS),
    perhaps("-F -0 -C -d -D -V", Does::Nothing),
    perhaps("-i", Does::Is(Code::WritesPath, Class::Write, "edits files in place")),
];
const PHP: &[Opt] = &[
    flag(
        "-a -C -e -h -H -i -m -n -q -s -v -w -l --version --help --ini --syntax-check --modules --info",
        Does::Nothing,
    ),
    value("-r --run -B --process-begin -R --process-code -E --process-end", CODE),
    value("-c --php-ini -d --define -f --file -F --process-file -z", LOADS),
    value("-S --server", Does::Is(Code::Listens, Class::Network, "serves on the network")),
    value("-t --docroot --rf --rc --re --ri", Does::Nothing),
];

/// Reads all arguments of `node`.
pub fn node(at: &Invocation<'_>) -> Reading {
    other(at, Grammar::wrapper("node", NODE).exact(), "node")
}

/// Reads all arguments of `ruby`.
pub fn ruby(at: &Invocation<'_>) -> Reading {
    other(at, Grammar::wrapper("ruby", RUBY).exact(), "ruby")
}

/// Reads all arguments of `perl`.
pub fn perl(at: &Invocation<'_>) -> Reading {
    other(at, Grammar::wrapper("perl", PERL).exact(), "perl")
}

/// Reads all arguments of `php`.
pub fn php(at: &Invocation<'_>) -> Reading {
    other(at, Grammar::wrapper("php", PHP).exact(), "php")
}

fn other(at: &Invocation<'_>, grammar: Grammar, language: &str) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &grammar, at, &mut out);
    if asks(at.args) {
        return out;
    }
    let codes: Vec<Arg> = found.values("code").cloned().collect();
    match joined(language, &codes) {
        Some(text) => {
            match language {
                "perl" => code::perl(&text, at, &mut out),
                _ => code::code(&text, at, &mut out),
            }
            found.operands.iter().for_each(|file| out.reads(&file.value));
            // Perl reads its operands with the two-argument open: `|cmd` and `>file` are not names.
            let magic = |arg: &Arg| arg.text().is_none_or(|text| text.contains(['|', '>', '<', '`']));
            if let Some(odd) = found.operands.iter().find(|arg| language == "perl" && magic(arg)) {
                let plain = matches!(&odd.value, crate::assess::reading::Value::Glob(p) if closed(p));
                if !plain {
                    out.opaque(Class::Write, odd.span, "perl may run or write an operand that is no plain name");
                }
            }
        }
        // `node --check f` and kin parse only; Perl and Ruby run BEGIN blocks even so.
        None if found.has("check") && language == "node" => {
            found.operands.iter().for_each(|file| out.reads(&file.value))
        }
        None => script(&found, &[], at, &mut out),
    }
    out
}

/// Whether every name that fits begins and ends with letters of the pattern: none is a command or a redirection.
fn closed(pattern: &str) -> bool {
    let wild = ['*', '?', '[', ']', '{', '}'];
    !pattern.contains(['|', '>', '<']) && !pattern.starts_with(wild) && !pattern.ends_with(wild)
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{all, at_least, nested, whole_reading};

    #[test]
    fn versions_and_closed_forms_observe() {
        all(
            Class::Read,
            &[
                "python --version",
                "python -V",
                "node -v",
                "node --check a.js",
                "ruby --version",
                "perl -v",
                "php -v",
                "perl -ne print␠if␠/a/ f",
                "perl -nE print␠if␠/a/ f g",
                "python -I -m json.tool a",
            ],
        );
    }

    #[test]
    fn code_scripts_and_modules_run() {
        all(
            Class::Write,
            &[
                "python -c print(1)",
                "python a.py --version",
                "python -m json.tool",
                "python -m pytest",
                "python",
                "python -",
                "python -Wc -c 1",
                "node -e 1",
                "node -pe 1",
                "ruby -e 1",
                "perl -pi -e print␠if␠/a/ f",
                "perl -ne print␠if␠/a/ >f",
                "perl -Mx -ne print␠if␠/a/ f",
                "php -r 1",
                "perl -c a",
                "python $x",
                "python -m pip list",
                "python -frob",
                "node --frob a.js",
            ],
        );
        all(
            Class::Network,
            &["python -m http.server", "php -S :80", "python -c requests.get(x)", "node --inspect a.js"],
        );
        at_least(
            Class::Destructive,
            &["python -c shutil.rmtree('/')", "python -cshutil.rmtree('/')", "python -Bc shutil.rmtree('/')"],
        );
        assert_eq!(nested(&whole_reading("python -m pip install x")), ["pip install x"]);
        assert_eq!(nested(&whole_reading("ruby -e system('id')")), ["sh: id"]);
    }
}
