//! What do programs do whose arguments are commands for another program? `env`, `parallel`, `busybox`, `tmux`,
//! `screen`, and pagers and editors that take commands (`less +!cmd`, `vim -c`).

use super::options::{Does, Grammar, Opt, flag, perhaps, read, value};
use super::{may_begin_with, unknown_word};
use crate::assess::reading::{Arg, Inflow, Invocation, Nested, Reading, Value};
use crate::assess::{Attribute, Class, Code};

/// Most words a split string may have.
const WORDS_MAX: usize = 256;

const ENV: &[Opt] = &[
    flag("-i --ignore-environment -0 --null -v --debug --list-signal-handling --help --version", Does::Nothing),
    value("-u --unset -C --chdir", Does::Nothing),
    value("-P", Does::Is(Code::Influence, Class::Write, "looks for the program in other places")),
    perhaps("--block-signal --default-signal --ignore-signal", Does::Nothing),
    value("-S --split-string", Does::Asked("split")),
    value("-a --argv0", Does::Nothing),
];

/// Reads all arguments of `env`: options, assignments, then a command; `-S` splits a string into more of them.
pub fn env(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let mut args = at.args.to_vec();
    // Each `-S` puts its words in its own place and is read again.
    for _ in 0..8 {
        let found = read(&args, &Grammar::wrapper("env", ENV), at, &mut out);
        let first = found.asked.iter().zip(&found.resumes).find(|((name, _, _), _)| *name == "split");
        let Some(((_, Some(text), _), &resume)) = first else {
            command(&args, found.operands, at, &mut out);
            return out;
        };
        match text.text().map(split) {
            Some(Ok(words)) => {
                let mut next: Vec<Arg> = words.into_iter().map(|word| Arg::known(word, text.span)).collect();
                next.extend(args.iter().skip(resume).cloned());
                args = next;
            }
            Some(Err(why)) => {
                out.lost(Class::Write, text.span, format!("the string of `env -S` was not understood: {why}"));
                return out;
            }
            None => {
                out.opaque(Class::Write, text.span, "the string of `env -S` is not known before it runs");
                return out;
            }
        }
    }
    out.lost(Class::Write, at.span, "`env -S` inside `env -S`, too deep");
    out
}

fn command(args: &[Arg], operands: Vec<Arg>, at: &Invocation<'_>, out: &mut Reading) {
    let mut assignments = Vec::new();
    let mut words = operands.into_iter().peekable();
    while let Some(arg) = words.next_if(is_assignment) {
        match &arg.value {
            Value::Known(text) => {
                let (name, value) = text.split_once('=').unwrap_or((text, ""));
                assignments.push((name.to_owned(), Value::Known(value.to_owned())));
            }
            Value::Unknown { prefix } => {
                let (name, value) = prefix.split_once('=').unwrap_or((prefix, ""));
                assignments.push((name.to_owned(), Value::Unknown { prefix: value.to_owned() }));
            }
            Value::OneOf(_) | Value::Glob(_) => unknown_word(out, &arg, "an assignment that changes what runs"),
        }
    }
    let words: Vec<Arg> = words.collect();
    if words.is_empty() {
        if !args.iter().any(|arg| matches!(arg.text(), Some("--help" | "--version"))) {
            super::say::variable(out, None, at.span);
        }
        return;
    }
    out.nested.push(Nested::Argv {
        via: "env".to_owned(),
        args: words,
        appended: false,
        stdin: at.stdin.clone(),
        assignments,
    });
}

fn is_assignment(arg: &Arg) -> bool {
    let name = |text: &str| text.find('=').is_some_and(|at| at > 0);
    match &arg.value {
        Value::Known(text) | Value::Unknown { prefix: text } => !arg.many && name(text),
        Value::OneOf(texts) => !arg.many && texts.iter().all(|text| name(text)),
        Value::Glob(_) => false,
    }
}

/// The words of `env -S` text: quotes and a few escapes, nothing expanded.
pub fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('\''), '\\') | (_, '\\') => {
                let escaped = chars.next().ok_or("a backslash at the end")?;
                match escaped {
                    '\\' | '\'' | '"' | '#' | '$' => word.get_or_insert_default().push(escaped),
                    '_' if quote.is_some() => word.get_or_insert_default().push(' '),
                    '_' => words.extend(word.take()),
                    't' | 'n' => word.get_or_insert_default().push(' '),
                    _ => return Err("an unusual escape"),
                }
            }
            (Some('\''), _) => word.get_or_insert_default().push(c),
            (_, '$') => return Err("a variable"),
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, _) if c.is_ascii_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(c),
        }
        if words.len() > WORDS_MAX {
            return Err("too many words");
        }
    }
    if quote.is_some() {
        return Err("a quote has no end");
    }
    words.extend(word);
    Ok(words)
}

const PARALLEL: &[Opt] = &[
    flag(
        "-k --keep-order -t --verbose -v -q --quote -0 --null -m -X --xargs --bar --progress --eta --dry-run",
        Does::Asked("shape"),
    ),
    flag(
        "--dryrun --line-buffer --lb -u --ungroup --group --no-notice --will-cite --citation --help --version",
        Does::Nothing,
    ),
    flag(
        "--halt-on-error --tag --no-run-if-empty -r --trim --plain --silent --pipe --link --fifo --shuf",
        Does::Asked("shape"),
    ),
    value("-j --jobs -P --max-procs -n --max-args -N -L --max-lines -s --max-chars --delay --timeout", Does::Nothing),
    value(
        "--retries --nice --load --memfree --halt --tagstring --block --recstart --recend -E --joblog-format",
        Does::Nothing,
    ),
    value("-d --delimiter -C --colsep -I", Does::Asked("shape")),
    value("-a --arg-file", Does::Asked("file")),
    value("--joblog --results --tmpdir", Does::Writes),
    value(
        "-S --sshlogin --sshloginfile --slf",
        Does::Is(Code::ReachesNetwork, Class::Network, "runs it on other machines"),
    ),
];

/// Reads all arguments of GNU `parallel`: the words before `:::` are text for a shell, with words put in.
pub fn parallel(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &Grammar::wrapper("parallel", PARALLEL).exact(), at, &mut out);
    found.values("file").for_each(|file| out.reads(&file.value));
    let mark = found.operands.iter().position(|arg| arg.text().is_some_and(|text| text.starts_with(":::")));
    let (words, given) = found.operands.split_at(mark.unwrap_or(found.operands.len()));
    if found.has("shape") {
        out.raise(Code::NotUnderstood, Class::Write, at.span, "an option of `parallel` changes how words are put in");
    }
    let values: Option<Vec<&str>> = given.get(1..).map(|rest| rest.iter().map(Arg::text).collect()).unwrap_or(None);
    let plain = given.first().and_then(Arg::text) == Some(":::");
    let sources = values.filter(|values| {
        plain
            && values.len() <= 32
            && values.iter().all(|v| !v.starts_with(":::") && !v.contains(|c: char| !c.is_ascii_graphic()))
    });
    let texts: Option<Vec<&str>> = words.iter().map(Arg::text).collect();
    match (texts, sources) {
        (Some(texts), Some(values)) => {
            for value in values {
                let text = texts.join(" ");
                let text = if text.contains('{') { text.replace("{}", value) } else { format!("{text} {value}") };
                if text.contains("{") {
                    out.opaque(Class::Write, at.span, "`parallel` computes a part of the command");
                }
                out.shell("parallel", Arg::known(text.trim_start().to_owned(), at.span), at, Inflow::Nothing);
            }
        }
        (Some(texts), None) if !texts.is_empty() => {
            let words =
                words.iter().map(|word| super::xargs::replaced(word, "{}", &Value::Unknown { prefix: String::new() }));
            out.runs_argv("parallel", words.collect(), true, Inflow::Nothing);
            out.raise(Code::RunsCommand, Class::Write, at.span, "`parallel` runs words from its input through a shell");
        }
        (Some(_) | None, _) => out.opaque(Class::Write, at.span, "`parallel` runs commands from its input"),
    }
    out
}

/// Reads all arguments of `busybox`: an applet and its arguments.
pub fn busybox(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    match at.args.first().map(|first| (first, first.text())) {
        None | Some((_, Some("--help" | "--list" | "--list-full"))) => {}
        Some((_, Some("--install"))) => {
            out.raise(Code::Installs, Class::Install, at.span, "`busybox --install` puts links to itself everywhere");
        }
        Some((first, Some(_))) => {
            let text = "an applet of `busybox` may differ from the program of its name";
            out.raise(Code::RunsCommand, Class::Write, first.span, text);
            out.runs_argv("busybox", at.args.to_vec(), false, at.stdin.clone());
        }
        Some((first, None)) => unknown_word(&mut out, first, "any applet"),
    }
    out
}

/// `tmux` commands that only list.
const TMUX_LISTS: &[&str] = &[
    "ls",
    "lsp",
    "lsw",
    "lsc",
    "lsb",
    "lscm",
    "lsk",
    "display",
    "display-message",
    "list-sessions",
    "list-panes",
    "list-windows",
    "list-clients",
    "list-buffers",
    "list-commands",
    "list-keys",
    "has-session",
    "has",
    "info",
    "display-message",
    "display",
    "show",
    "show-options",
    "show-environment",
    "showenv",
    "show-messages",
    "show-hooks",
    "capture-pane",
    "capturep",
    "show-buffer",
    "showb",
    "server-info",
];

const TMUX: &[Opt] = &[
    flag("-2 -C -D -l -N -u -v -V -q", Does::Nothing),
    value("-L -T", Does::Nothing),
    value("-S", Does::Is(Code::RunsCommand, Class::Write, "talks to the server at another socket")),
    value("-f", Does::Loads),
    value("-c", Does::Runs),
];

/// Reads all arguments of `tmux`; `;` separates its commands.
pub fn tmux(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &Grammar::wrapper("tmux", TMUX).exact(), at, &mut out);
    if found.operands.is_empty() {
        if !at.args.iter().any(|arg| arg.text() == Some("-V")) {
            out.raise(Code::RunsCommand, Class::Write, at.span, "`tmux` starts a session with a shell");
        }
        return out;
    }
    let ends = |arg: &Arg| arg.text().is_none_or(|text| text.ends_with(';'));
    for words in found.operands.split_inclusive(ends) {
        tmux_command(words, at, &mut out);
    }
    out
}

fn tmux_command(words: &[Arg], at: &Invocation<'_>, out: &mut Reading) {
    let Some((first, rest)) = words.split_first() else { return };
    let Some(name) = first.text() else { return unknown_word(out, first, "a command that runs another") };
    match name.trim_end_matches(';') {
        "" => {}
        lists if TMUX_LISTS.contains(&lists) => {
            // `#(cmd)` in a format runs a command.
            let runs = |arg: &Arg| arg.text().is_none_or(|text| text.contains("#("));
            let prints = !lists.starts_with("cap")
                || rest.iter().any(|arg| arg.text().is_some_and(|t| t.starts_with('-') && t.contains('p')));
            if let Some(doubt) = rest.iter().find(|arg| runs(arg) && (arg.many || arg.text().is_some())) {
                out.opaque(Class::Write, doubt.span, "`#(…)` in a format of `tmux` runs a command");
            }
            if !prints {
                out.raise(Code::ChangesState, Class::Write, first.span, "`capture-pane` without -p fills a buffer");
            }
        }
        "send-keys" | "send" | "send-prefix" => {
            out.attributes.insert(Attribute::Opaque);
            out.raise(Code::RunsCommand, Class::Write, first.span, "`send-keys` types into a pane, where it can run");
            let typed: Option<Vec<&str>> = rest.iter().map(Arg::text).collect();
            for text in typed.unwrap_or_default().into_iter().filter(|text| text.contains(' ') || text.contains('/')) {
                out.shell("tmux send-keys", Arg::known(text, first.span), at, Inflow::Inherited);
            }
        }
        "new" | "new-session" | "neww" | "new-window" | "splitw" | "split-window" | "respawn-pane" | "respawnp"
        | "respawn-window" | "popup" | "display-popup" | "run-shell" | "run" | "if-shell" | "if" | "pipe-pane"
        | "pipep" => {
            out.raise(Code::RunsCommand, Class::Write, first.span, format!("`tmux {name}` runs a command"));
            if let Some(text) = rest.last().filter(|arg| !may_begin_with(arg, |text| text.starts_with('-'))) {
                out.shell("tmux", text.clone(), at, Inflow::Inherited);
            }
        }
        _ => out.raise(Code::ChangesState, Class::Write, first.span, format!("`tmux {name}` changes its sessions")),
    }
}

/// Reads one format: what stands in `#(…)` is a command.
pub fn tmux_format(text: &Arg, _at: &Invocation<'_>, out: &mut Reading) {
    if text.text().is_none_or(|text| text.contains("#(")) {
        let text_shown = super::say::shown(&text.value);
        out.opaque(Class::Write, text.span, format!("{text_shown} makes `tmux` run the command in `#(…)`"));
    }
}

/// Reads all arguments of `screen`.
pub fn screen(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let texts: Vec<&str> = at.args.iter().map(|arg| arg.text().unwrap_or("")).collect();
    if matches!(texts.as_slice(), ["-ls" | "-list" | "-v" | "--version" | "--help"]) {
        return out;
    }
    out.attributes.insert(Attribute::Opaque);
    out.raise(Code::RunsCommand, Class::Write, at.span, "`screen` runs a shell or a command, or types into one");
    if let Some(stuffed) = texts.iter().position(|text| *text == "stuff").and_then(|i| at.args.get(i + 1)) {
        out.shell("screen stuff", stuffed.clone(), at, Inflow::Inherited);
    } else if let Some(first) = texts.iter().position(|text| !text.starts_with('-') && !text.is_empty()) {
        // `-S NAME`, `-t TITLE`: the word after them is no command.
        let named = first > 0 && texts[first - 1].ends_with(['S', 't', 'h', 'e', 's', 'T', 'p', 'c']);
        let words = at.args.get(first + usize::from(named)..).unwrap_or(&[]);
        if !words.is_empty() {
            out.runs_argv("screen", words.to_vec(), false, Inflow::Inherited);
        }
    }
    out
}

/// Reads one `+cmd` or `--cmd` of `less` (and `man`, whose pager it is): `!` and `|` run, `v` edits, `s` writes.
pub fn less(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    let Some(text) = expr.text() else {
        return out.opaque(Class::Write, expr.span, "the pager command is not known before it runs");
    };
    let command = text.trim_start_matches('+');
    // Where to begin: a number, `F`, `G`, a search without control characters.
    let place = command.trim_end_matches(['g', 'G', 'p', '%', 'F']);
    let starts = place.bytes().all(|b| b.is_ascii_digit()) && command.len() <= place.len() + 2;
    let searches = command.strip_prefix(['/', '?']).is_some_and(|rest| !rest.contains(['\n', '\r']));
    if starts || searches {
        return;
    }
    if let Some(rest) = command.find('!').map(|at| &command[at + 1..]) {
        return out.runs_shell("the pager command `!`", Arg::known(rest, expr.span), at, Inflow::Inherited);
    }
    out.lost(Class::Write, expr.span, "the pager command was not understood: it could run or write something");
}

/// Reads one command of `vim -c`, `ex`, `ed`: nothing but leaving and moving is known to be harmless.
pub fn vim(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    let Some(text) = expr.text() else {
        return out.opaque(Class::Write, expr.span, "the editor command is not known before it runs");
    };
    for command in text.split(['\n', '|']) {
        let command = command.trim().trim_start_matches(':');
        let name = command.trim_start_matches(|c: char| c.is_ascii_digit() || "%,.$'<>+- ".contains(c));
        if matches!(name, "" | "q" | "q!" | "qa" | "qa!" | "quit" | "quit!" | "p" | "print" | "=" | "number" | "nu") {
            continue;
        }
        if let Some(shell) = name.strip_prefix('!') {
            out.runs_shell("the editor command `!`", Arg::known(shell, expr.span), at, Inflow::Inherited);
        } else if let Some((verb, shell)) = name.split_once('!').filter(|(verb, _)| {
            matches!(
                verb.trim(),
                "r" | "re" | "read" | "w" | "wr" | "write" | "sil" | "silent" | "exe" | "term" | "terminal"
            )
        }) {
            let _ = verb;
            out.runs_shell("the editor command `!`", Arg::known(shell, expr.span), at, Inflow::Inherited);
        } else {
            let text = format!("the editor command {} can write or run", super::say::cut(name));
            out.raise(Code::RunsCode, Class::Write, expr.span, text);
        }
    }
}

/// Reads all arguments of `crontab`: `-l` lists; a file, `-e` and `-` install what runs later by itself.
pub fn crontab(at: &Invocation<'_>) -> Reading {
    const TABLE: &[Opt] = &[
        flag("-l", Does::Asked("list")),
        flag("-r", Does::Is(Code::Destroys, Class::Destructive, "removes every job")),
        flag("-e", Does::Is(Code::Persistence, Class::Install, "edits what runs later by itself")),
        flag("-i -V --version --help -h", Does::Nothing),
        value("-u", Does::Is(Code::Privilege, Class::Destructive, "acts on another user's jobs")),
        value("-T", Does::Reads),
    ];
    let mut out = Reading::observing();
    let found = read(at.args, &Grammar::gnu("crontab", TABLE).exact(), at, &mut out);
    let asks = at.args.iter().any(|arg| matches!(arg.text(), Some("-V" | "-h" | "--help" | "--version" | "-T")));
    if !found.operands.is_empty() || (!found.has("list") && !asks && out.class == Class::Read) {
        out.attributes.insert(Attribute::Persistence);
        out.raise(Code::Persistence, Class::Install, at.span, "`crontab` installs what runs later by itself");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::split;
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{all, at_least, language_class as class, nested, whole_reading};

    #[test]
    fn env_hands_on_what_it_runs() {
        assert_eq!(nested(&whole_reading("env A=1 -i rm x")), ["-i rm x"]);
        assert_eq!(nested(&whole_reading("env -i -u B A=1 rm x")), ["rm x"]);
        assert_eq!(nested(&whole_reading("env -Srm␠-rf x")), ["rm -rf x"]);
        assert_eq!(nested(&whole_reading("env --split-string=A=1␠rm␠-f x")), ["rm -f x"]);
        assert_eq!(nested(&whole_reading("env -S -i␠-Srm␠a")), ["rm a"]);
        assert_eq!(nested(&whole_reading("env -S-i -Srm␠a b")), ["rm a b"]);
        at_least(Class::Write, &["env -S$x", "env -Sa␠$x", "env --frob ls", "env $x", "env -S'a"]);
        assert_eq!(split("a 'b c' \"d\\\"e\" f\\_g # h").unwrap(), ["a", "b c", "d\"e", "f", "g"]);
        assert!(split("a ${B}").is_err() && split("a\\c b").is_err());
    }

    #[test]
    fn wrapped_commands_are_found() {
        assert_eq!(nested(&whole_reading("parallel rm ::: a b")), ["sh: rm a", "sh: rm b"]);
        assert_eq!(nested(&whole_reading("parallel -j4 gzip {} ::: a")), ["sh: gzip a"]);
        assert_eq!(nested(&whole_reading("parallel rm -f")), ["rm -f"]);
        assert_eq!(nested(&whole_reading("busybox rm -rf /")), ["rm -rf /"]);
        assert_eq!(nested(&whole_reading("tmux send-keys -t a rm␠-rf␠/ Enter")), ["sh: rm -rf /"]);
        assert_eq!(nested(&whole_reading("tmux new -d rm␠x")), ["sh: rm x"]);
        assert_eq!(nested(&whole_reading("screen -dmS name rm x")), ["rm x"]);
        assert_eq!(nested(&whole_reading("screen -S a -X stuff rm␠x")), ["sh: rm x"]);
        at_least(
            Class::Write,
            &[
                "parallel",
                "parallel ls",
                "busybox ls",
                "busybox $x",
                "screen",
                "tmux",
                "tmux kill-server",
                "tmux -S f ls",
                "tmux ls ; kill-server",
                "tmux ls; kill-server",
                "tmux display -p #(id)",
                "tmux $x",
            ],
        );
        all(
            Class::Read,
            &["tmux ls", "tmux list-panes -t a", "tmux capture-pane -p -t a", "screen -ls", "busybox --list"],
        );
    }

    #[test]
    fn pagers_editors_and_schedules() {
        for (language, text) in
            [("less", "+G"), ("less", "+/foo"), ("less", "10"), ("less", "+F"), ("vim", ":q!"), ("vim", "1,5p")]
        {
            assert_eq!(class(language, text), Class::Read, "{text}");
        }
        for (language, text) in [
            ("less", "+!id"),
            ("less", "v"),
            ("less", "+/a\n!id"),
            ("vim", "!id"),
            ("vim", "wq"),
            ("vim", "p|!id"),
            ("vim", "py x"),
            ("vim", "%s/a/b/e"),
        ] {
            assert!(class(language, text) >= Class::Write, "{text}");
        }
        all(Class::Read, &["crontab -l"]);
        all(Class::Install, &["crontab f", "crontab -", "crontab -e", "crontab"]);
        all(Class::Destructive, &["crontab -r", "crontab -u root -l"]);
    }
}
