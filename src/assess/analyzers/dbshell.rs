//! What does a call of `sqlite3`, `duckdb`, `psql`, `mysql` or `redis-cli` do? Their statements come as options, as
//! operands or on standard input; the servers' clients always reach a host.

use super::options::{Does, Found, Grammar, flag, perhaps, read, value};
use super::{joined, say, sql, unknown_word};
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::{Class, Code, Effect, Operand};

/// What a database shell does with text on its standard input.
fn fed(language: super::Language, at: &Invocation<'_>, out: &mut Reading) {
    match at.stdin {
        Inflow::Nothing => {}
        Inflow::Known(text) => language(&Arg::known(text.as_str(), at.span), at, out),
        Inflow::Inherited | Inflow::File | Inflow::Data | Inflow::Network | Inflow::Decoded => {
            out.opaque(
                Class::Write,
                at.span,
                format!("`{}` runs the statements that arrive on its standard input", at.program),
            );
        }
    }
}

const SQLITE: Grammar = Grammar::gnu(
    "sqlite3",
    &[
        flag(
            "-ascii -bail -batch -box -column -csv -echo -header -noheader -help -html -interactive -json",
            Does::Nothing,
        ),
        flag(
            "-line -list -markdown -memtrace -nofollow -quote -readonly -safe -stats -table -tabs -version",
            Does::Nothing,
        ),
        flag(
            "--ascii --bail --batch --box --column --csv --echo --header --noheader --help --html --json",
            Does::Nothing,
        ),
        flag(
            "--line --list --markdown --quote --readonly --safe --stats --table --tabs --version -unsafe",
            Does::Nothing,
        ),
        flag("-jsonlines -latex -trash -no-stdin -s", Does::Nothing),
        value("-separator --separator -newline --newline -nullvalue --nullvalue -mmap -maxsize", Does::Nothing),
        value("-cmd --cmd -c", Does::Asked("sql")),
        value("-init --init", Does::Loads),
    ],
)
.one_dash();

/// Reads all arguments of `sqlite3`.
pub fn sqlite3(at: &Invocation<'_>) -> Reading {
    file_shell(at, &SQLITE, sql::sqlite)
}

/// Reads all arguments of `duckdb`.
pub fn duckdb(at: &Invocation<'_>) -> Reading {
    file_shell(at, &Grammar { program: "duckdb", ..SQLITE }, sql::duckdb)
}

fn file_shell(at: &Invocation<'_>, grammar: &Grammar, language: super::Language) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, grammar, at, &mut out);
    let mut texts: Vec<Arg> = found.values("sql").cloned().collect();
    let given = !texts.is_empty();
    if let Some((database, statements)) = found.operands.split_first() {
        out.reads(&database.value);
        texts.extend_from_slice(statements);
    }
    texts.iter().for_each(|text| language(text, at, &mut out));
    let asks = at.args.iter().any(|arg| {
        arg.text()
            .is_some_and(|text| matches!(text.trim_start_matches('-'), "version" | "help") && text.starts_with('-'))
    });
    if found.operands.len() < 2 && !asks && !(given && grammar.program == "duckdb") {
        fed(language, at, &mut out);
    }
    let changes = out.class >= Class::Write;
    if let Some(database) = found.operands.first().filter(|_| changes) {
        out.effects.extend(say::operands(&database.value).into_iter().map(Effect::WritePath));
    }
    out
}

const PSQL: Grammar = Grammar {
    floor: Class::Network,
    ..Grammar::gnu(
        "psql",
        &[
            flag("-a -A -b -e -E -l -n -q -s -S -t -x -X -H -1 -w -W -V -? -z -0", Does::Nothing),
            flag(
                "--echo-all --no-align --echo-queries --list --quiet --single-step --tuples-only --expanded",
                Does::Nothing,
            ),
            flag(
                "--no-psqlrc --html --csv --single-transaction --no-password --password --version --help",
                Does::Nothing,
            ),
            value("-h --host", Does::Asked("host")),
            value(
                "-p --port -U --username -d --dbname -F --field-separator -R --record-separator -P --pset -T",
                Does::Nothing,
            ),
            value("-v --set --variable", Does::Nothing),
            value("-c --command", Does::Asked("sql")),
            value("-f --file", Does::Loads),
            value("-o --output -L --log-file", Does::Writes),
        ],
    )
};

/// Reads all arguments of `psql`.
pub fn psql(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &PSQL, at, &mut out);
    let asks =
        at.args.iter().any(|arg| matches!(arg.text(), Some("--help" | "--version" | "-V" | "-?" | "--list" | "-l")));
    server(&found, "postgres", sql::postgres, asks, at, &mut out);
    out
}

const MYSQL: Grammar = Grammar {
    floor: Class::Network,
    ..Grammar::gnu(
        "mysql",
        &[
            flag("-A -B -b -c -C -E -f -G -H -i -n -N -q -r -s -t -v -V -w -X -? -I", Does::Nothing),
            flag(
                "--batch --skip-column-names --silent --table --vertical --xml --html --raw --verbose --force",
                Does::Nothing,
            ),
            flag(
                "--version --help --compress --no-auto-rehash --skip-auto-rehash --quick --safe-updates",
                Does::Nothing,
            ),
            flag("--skip-ssl --binary-as-hex --ssl --comments --no-defaults --no-beep --column-names", Does::Nothing),
            perhaps("-p --password", Does::Nothing),
            value("-h --host", Does::Asked("host")),
            value("-u --user -P --port -D --database -S --socket --protocol --default-character-set", Does::Nothing),
            value("--connect-timeout --ssl-mode --ssl-ca --ssl-cert --ssl-key --max-allowed-packet", Does::Nothing),
            value("-e --execute", Does::Asked("sql")),
            value("--tee", Does::Writes),
            value("--init-command", Does::Asked("sql")),
            value("--defaults-file --defaults-extra-file --default-auth --plugin-dir --pager", Does::Loads),
        ],
    )
};

/// Reads all arguments of `mysql` and `mariadb`.
pub fn mysql(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &MYSQL, at, &mut out);
    let asks = at.args.iter().any(|arg| matches!(arg.text(), Some("--help" | "--version" | "-V" | "-?")));
    server(&found, "mysql", sql::mysql, asks, at, &mut out);
    out
}

fn server(found: &Found, name: &str, language: super::Language, asks: bool, at: &Invocation<'_>, out: &mut Reading) {
    let texts: Vec<Arg> = found.values("sql").cloned().collect();
    match joined(name, &texts) {
        Some(text) => language(&text, at, out),
        None if asks => {}
        None => fed(language, at, out),
    }
    let quiet = matches!(at.args, [only] if matches!(only.text(), Some("--help" | "--version" | "-V" | "-?")));
    if !quiet {
        let host = found.values("host").next().map_or(Value::Known("localhost".to_owned()), |host| host.value.clone());
        out.effects.push(Effect::UsesCredential(name.to_owned()));
        out.reaches(&host, at.span, &format!("`{}`", at.program));
    }
}

const REDIS: Grammar = Grammar {
    floor: Class::Network,
    ..Grammar::wrapper(
        "redis-cli",
        &[
            flag(
                "-3 -c -x -X -e --tls --raw --no-raw --csv --json --quoted-json --no-auth-warning --verbose",
                Does::Nothing,
            ),
            flag(
                "--stat --latency --latency-history --latency-dist --bigkeys --memkeys --hotkeys --scan",
                Does::Nothing,
            ),
            flag("--version --help -v --insecure --quoted-input --show-pushes", Does::Nothing),
            flag("--pipe", Does::Is(Code::ChangesState, Class::Network, "sends commands that are not known")),
            value("-h", Does::Asked("host")),
            value(
                "-p -s -a -u -r -i -n -d -D -t --user --pass --pattern --count --sni --cacert --cert --key",
                Does::Nothing,
            ),
            value("--intrinsic-latency --lru-test --cacertdir --memkeys-samples", Does::Nothing),
            value("--rdb --functions-rdb", Does::Writes),
            value("--eval", Does::Loads),
        ],
    )
    .exact()
};

/// `redis-cli` commands that lose data, load code or stop the server.
const REDIS_DESTROYS: &str = " flushall flushdb shutdown debug module replicaof slaveof swapdb restore ";

/// Reads all arguments of `redis-cli`.
pub fn redis(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &REDIS, at, &mut out);
    if matches!(at.args, [only] if matches!(only.text(), Some("--version" | "--help" | "-v"))) {
        return out;
    }
    let host = found.values("host").next().map_or(Operand::Known("localhost".to_owned()), |host| {
        say::operands(&host.value).into_iter().next().unwrap_or(Operand::Any)
    });
    out.effects.push(Effect::NetOut(host));
    out.raise(Code::ReachesNetwork, Class::Network, at.span, "`redis-cli` reaches a server");
    let Some(first) = found.operands.first() else {
        match at.stdin {
            Inflow::Known(text) => text.lines().for_each(|line| {
                let mut words = line.split_whitespace();
                redis_command(words.next().unwrap_or(""), words.next(), at, &mut out);
            }),
            Inflow::Nothing | Inflow::Inherited | Inflow::File | Inflow::Data | Inflow::Network | Inflow::Decoded => {}
        }
        return out;
    };
    match first.text() {
        Some(command) => redis_command(command, found.operands.get(1).and_then(Arg::text), at, &mut out),
        None => unknown_word(&mut out, first, "a command that loses data"),
    }
    out
}

fn redis_command(command: &str, second: Option<&str>, at: &Invocation<'_>, out: &mut Reading) {
    let lower = command.to_ascii_lowercase();
    let second = second.unwrap_or("").to_ascii_lowercase();
    let configures =
        lower == "config" && matches!(second.as_str(), "set" | "rewrite") || lower == "acl" && second != "whoami";
    if REDIS_DESTROYS.split_ascii_whitespace().any(|row| row == lower) || configures {
        let text = format!("`{}` on the server cannot be undone", lower.to_uppercase());
        out.raise(Code::Destroys, Class::Destructive, at.span, text);
    }
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{all, at_least, nested, whole_reading};

    #[test]
    fn statements_are_found_in_every_place() {
        all(
            Class::Read,
            &[
                "sqlite3 db .tables",
                "sqlite3 -header -csv db select␠1",
                "sqlite3 -readonly db pragma␠table_info(t)",
                "sqlite3 --version",
                "duckdb -c select␠1",
                "psql --version",
            ],
        );
        at_least(
            Class::Write,
            &[
                "sqlite3 db",
                "sqlite3 db .shell␠x",
                "sqlite3 db select␠1 delete␠from␠t␠where␠a",
                "sqlite3 -cmd .shell␠x db select␠1",
                "sqlite3 -init f db select␠1",
                "sqlite3 -A x",
                "sqlite3 db $x",
                "duckdb db",
                "sqlite3 -frob db .tables",
            ],
        );
        all(
            Class::Network,
            &["psql -h h -c select␠1", "mysql -e select␠1", "mysql -ppw -h h db", "redis-cli get a", "psql -l"],
        );
        all(
            Class::Destructive,
            &[
                "psql -c drop␠table␠x",
                "psql -cdrop␠table␠x",
                "psql -c select␠1 --command=drop␠database␠x",
                "mysql --execute drop␠database␠x",
                "redis-cli -h h FLUSHALL",
                "redis-cli -n 1 config set dir /x",
                "sqlite3 db drop␠table␠t",
            ],
        );
        assert_eq!(nested(&whole_reading("psql -c \\!␠id")), ["sh: id"]);
    }
}
