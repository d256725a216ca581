//! What do `systemctl`, `openssl`, `make` and `xxd` do? Verbs and modes that only show are listed; the rest changes
//! services, writes keys, builds, or reaches a host.

use super::options::{Does, Grammar, Opt, flag, perhaps, read, value};
use super::unknown_word;
use crate::assess::reading::{Arg, Invocation, Reading};
use crate::assess::{Attribute, Class, Code, Effect, Operand};

const SYSTEMCTL: &[Opt] = &[
    flag(
        "-a -l -q -r -h --all --full --quiet --recursive --no-pager --no-legend --plain --failed --user",
        Does::Nothing,
    ),
    flag("--system --now --force -f --value --show-types --no-block --wait --no-ask-password --global", Does::Nothing),
    flag(
        "--runtime --reverse --after --before --with-dependencies --no-reload --no-wall --version --help -T",
        Does::Nothing,
    ),
    value(
        "-t -p -P -n -o --type --property --lines --output --state --job-mode --kill-whom --kill-who -s",
        Does::Nothing,
    ),
    value("--signal --what --timestamp --root --preset-mode --message --check-inhibitors --legend", Does::Nothing),
    value("-H --host", Does::Is(Code::ReachesNetwork, Class::Network, "acts on another machine")),
    value("-M --machine", Does::Is(Code::ChangesState, Class::Write, "acts inside a container")),
];

const SHOWS: &[&str] = &[
    "status",
    "show",
    "cat",
    "help",
    "is-active",
    "is-enabled",
    "is-failed",
    "is-system-running",
    "get-default",
    "list-units",
    "list-unit-files",
    "list-dependencies",
    "list-jobs",
    "list-machines",
    "list-sockets",
    "list-timers",
    "list-automounts",
    "list-paths",
    "show-environment",
    "whoami",
];

/// Verbs after which code runs by itself at the next start.
const PERSISTS: &[&str] = &[
    "enable",
    "reenable",
    "preset",
    "preset-all",
    "link",
    "edit",
    "add-wants",
    "add-requires",
    "set-default",
    "revert",
    "unmask",
    "import-environment",
    "set-environment",
    "set-property",
    "bind",
    "mount-image",
];

const STOPS_MACHINE: &[&str] = &[
    "poweroff",
    "reboot",
    "halt",
    "kexec",
    "soft-reboot",
    "suspend",
    "hibernate",
    "hybrid-sleep",
    "sleep",
    "rescue",
    "emergency",
    "isolate",
    "exit",
    "switch-root",
    "default",
    "suspend-then-hibernate",
];

/// Reads all arguments of `systemctl`.
pub fn systemctl(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &Grammar::gnu("systemctl", SYSTEMCTL), at, &mut out);
    let Some(first) = found.operands.first() else { return out };
    let Some(verb) = first.text() else {
        unknown_word(&mut out, first, "a verb that stops services");
        return out;
    };
    if SHOWS.contains(&verb) {
        return out;
    }
    if STOPS_MACHINE.contains(&verb) {
        out.raise(Code::Destroys, Class::Destructive, first.span, format!("`systemctl {verb}` stops the machine"));
    } else if PERSISTS.contains(&verb) {
        out.attributes.insert(Attribute::Persistence);
        let text = format!("`systemctl {verb}` changes what runs later by itself");
        out.raise(Code::Persistence, Class::Install, first.span, text);
    } else {
        let text = format!("{} changes services", super::say::cut(&format!("systemctl {verb}")));
        out.raise(Code::ChangesState, Class::Write, first.span, text);
    }
    out
}

/// `openssl` commands whose options decide, with the same harmless options.
const OPENSSL_SHOWS: &[&str] = &[
    "asn1parse",
    "base64",
    "ciphers",
    "cms",
    "crl",
    "crl2pkcs7",
    "dgst",
    "dh",
    "dhparam",
    "dsa",
    "dsaparam",
    "ec",
    "ecparam",
    "enc",
    "errstr",
    "gendsa",
    "genpkey",
    "genrsa",
    "help",
    "info",
    "list",
    "md5",
    "mac",
    "nseq",
    "passwd",
    "pkcs12",
    "pkcs7",
    "pkcs8",
    "pkey",
    "pkeyparam",
    "pkeyutl",
    "prime",
    "rand",
    "req",
    "rsa",
    "rsautl",
    "sess_id",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "smime",
    "spkac",
    "storeutl",
    "verify",
    "version",
    "x509",
    "speed",
    "blake2b512",
];

/// Commands that reach a host or listen.
const OPENSSL_REACHES: &[&str] = &["s_client", "s_server", "s_time", "ocsp", "ts", "cmp", "tsget"];

/// Options that write a file, of any command.
const OPENSSL_WRITES: &[&str] = &[
    "-out",
    "-keyout",
    "-writerand",
    "-signature_out",
    "-certsout",
    "-crl_out",
    "-sigout",
    "-req_out",
    "-sess_out",
    "-certout",
    "-cacertsout",
    "-extracertsout",
    "-chainout",
    "-respout",
    "-noout_file",
    "-certfile_out",
    "-outdir",
];

/// Options that load code or take other configuration.
const OPENSSL_LOADS: &[&str] = &["-engine", "-provider", "-provider-path", "-config", "-propquery", "-keygen_engine"];

/// Reads all arguments of `openssl`: every option is one word, with one dash.
pub fn openssl(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let Some((first, rest)) = at.args.split_first() else {
        out.raise(Code::FedCode, Class::Write, at.span, "`openssl` takes commands from its standard input");
        return out;
    };
    let Some(command) = first.text() else {
        unknown_word(&mut out, first, "any command of `openssl`");
        return out;
    };
    if OPENSSL_REACHES.contains(&command) {
        out.effects.push(Effect::NetOut(Operand::Any));
        out.raise(
            Code::ReachesNetwork,
            Class::Network,
            first.span,
            format!("`openssl {command}` reaches a host or listens"),
        );
    } else if !OPENSSL_SHOWS.contains(&command) && !matches!(command, "--version" | "-v" | "--help") {
        let text = format!("{} is not a command of `openssl` that is known to only show", super::say::cut(command));
        out.raise(Code::UnknownSubcommand, Class::Write, first.span, text);
    }
    let mut i = 0;
    while let Some(arg) = rest.get(i) {
        i += 1;
        match arg.text() {
            Some(option) => {
                // `--out` is `-out`.
                let option = if option.starts_with("--") { &option[1..] } else { option };
                i += openssl_option(option, rest.get(i), arg, &mut out);
            }
            None if super::may_be_option(arg) => unknown_word(&mut out, arg, "`-out`, which writes"),
            None => out.reads(&arg.value),
        }
    }
    out
}

fn openssl_option(option: &str, next: Option<&Arg>, arg: &Arg, out: &mut Reading) -> usize {
    if OPENSSL_WRITES.contains(&option)
        || option.ends_with("out") && !matches!(option, "-noout" | "-pubout" | "-RSAPublicKey_out" | "-text_out")
    {
        if let Some(file) = next {
            out.writes(&file.value, file.span, &format!("`openssl {option}`"));
        }
        return 1;
    }
    if OPENSSL_LOADS.contains(&option) {
        out.attributes.insert(Attribute::Opaque);
        out.raise(Code::OpaqueCode, Class::Write, arg.span, format!("`openssl {option}` loads code or configuration"));
        return 1;
    }
    let takes_file = [
        "-in",
        "-inkey",
        "-CAfile",
        "-CApath",
        "-CA",
        "-CAkey",
        "-key",
        "-cert",
        "-untrusted",
        "-trusted",
        "-sign",
        "-verify",
        "-signature",
        "-kfile",
        "-pass",
        "-passin",
        "-passout",
    ];
    if takes_file.contains(&option) {
        if let Some(file) = next {
            out.reads(&file.value);
        }
        return 1;
    }
    if matches!(option, "-CAcreateserial") {
        out.raise(Code::WritesPath, Class::Write, arg.span, "`openssl -CAcreateserial` writes a serial file");
    }
    0
}

const MAKE: &[Opt] = &[
    flag(
        "-b -B -d -e -i -k -L -m -n -p -q -r -R -s -S -t -v -w -h --always-make --dry-run --just-print --recon",
        Does::Nothing,
    ),
    flag(
        "--keep-going --silent --quiet --question --touch --print-directory --no-print-directory --version",
        Does::Nothing,
    ),
    flag(
        "--help --print-data-base --no-builtin-rules --no-builtin-variables --warn-undefined-variables",
        Does::Nothing,
    ),
    flag("--ignore-errors --environment-overrides --trace --stop --check-symlink-times", Does::Nothing),
    perhaps("-j --jobs -l --load-average -O --output-sync --debug --shuffle", Does::Nothing),
    value(
        "-C --directory -f --file --makefile -I --include-dir -o --old-file --assume-old -W --what-if",
        Does::Nothing,
    ),
    value("--new-file --assume-new", Does::Nothing),
    value("-E --eval", Does::Loads),
];

/// Reads all arguments of `make`: it runs what the makefile says, with `-n` too (`$(shell …)`, `+` lines).
pub fn make(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    if matches!(at.args, [only] if matches!(only.text(), Some("--version" | "-v" | "--help" | "-h"))) {
        return out;
    }
    let found = read(at.args, &Grammar::gnu("make", MAKE), at, &mut out);
    out.attributes.insert(Attribute::Opaque);
    out.effects.push(Effect::Exec(Operand::Any));
    out.raise(Code::RunsCode, Class::Write, at.span, "`make` runs the commands of a makefile, even with -n");
    for operand in &found.operands {
        match operand.text() {
            Some(text) => {
                if let Some(shell) = text.strip_prefix("SHELL=") {
                    out.runs_argv("make SHELL=", vec![Arg::known(shell, operand.span)], true, at.stdin.clone());
                }
                let target = text.rsplit(['-', '_', ':']).next().unwrap_or(text);
                if matches!(target, "install" | "uninstall") {
                    out.effects.push(Effect::Install("make".to_owned()));
                    out.raise(
                        Code::Installs,
                        Class::Install,
                        operand.span,
                        "`make install` puts files into the system",
                    );
                }
            }
            None => unknown_word(&mut out, operand, "any target"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{all, at_least};

    #[test]
    fn verbs_that_show_observe_and_the_rest_does_not() {
        all(
            Class::Read,
            &[
                "systemctl status x",
                "systemctl --user list-units -t service",
                "systemctl",
                "systemctl --no-pager show x",
            ],
        );
        all(
            Class::Write,
            &[
                "systemctl restart x",
                "systemctl stop x",
                "systemctl frob",
                "systemctl $x",
                "systemctl --frob status",
                "systemctl daemon-reload",
            ],
        );
        all(Class::Install, &["systemctl enable --now x", "systemctl edit x"]);
        all(Class::Destructive, &["systemctl poweroff", "systemctl isolate rescue.target"]);
        at_least(Class::Network, &["systemctl -H h status", "systemctl --host=h status"]);
    }

    #[test]
    fn openssl_writes_where_out_says() {
        all(
            Class::Read,
            &[
                "openssl version",
                "openssl x509 -noout -text -in c.pem",
                "openssl dgst -sha256 f",
                "openssl rand -hex 8",
                "openssl enc -d -a -in f",
                "openssl help",
            ],
        );
        all(
            Class::Write,
            &[
                "openssl enc -in a -out b",
                "openssl genrsa --out k 2048",
                "openssl req -x509 -keyout k",
                "openssl frob",
                "openssl",
                "openssl dgst -engine ./x f",
                "openssl rand $x",
                "openssl x509 -CAcreateserial",
            ],
        );
        all(Class::Network, &["openssl s_client -connect h:1", "openssl s_server -port 1"]);
    }

    #[test]
    fn make_always_runs_code() {
        all(Class::Read, &["make --version"]);
        all(Class::Write, &["make", "make -n", "make -j4 all", "make --eval=x", "make -q"]);
        all(Class::Install, &["make install", "make -C a install"]);
    }
}
