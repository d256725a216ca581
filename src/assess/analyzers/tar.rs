//! What does `tar` do? It lists, creates or unpacks archives; some options run commands or reach another machine.

use super::options::{Does, Found, Grammar, flag, perhaps, read, value};
use super::{fits_options, say, tail, unknown_flag, unknown_word};
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::{Class, Code, Effect, Operand};

const TAR: Grammar = Grammar::gnu(
    "tar",
    &[
        flag("-t --list", Does::Asked("list")),
        flag("-d --diff --compare", Does::Asked("list")),
        flag("-c --create", Does::Asked("create")),
        flag("-x --extract --get", Does::Asked("extract")),
        flag("-r --append -u --update -A --catenate --concatenate --delete", Does::Asked("change")),
        flag("--test-label", Does::Asked("list")),
        value("-f --file", Does::Asked("file")),
        value("-C --directory", Does::Asked("directory")),
        flag("-O --to-stdout", Does::Asked("print")),
        flag("-P --absolute-names", Does::Asked("anywhere")),
        flag("--remove-files", Does::Is(Code::DeletesPath, Class::Write, "deletes the files it has archived")),
        flag("--recursive-unlink", Does::Is(Code::BroadDelete, Class::Destructive, "deletes whole directories first")),
        flag("-z --gzip --gunzip --ungzip -j --bzip2 -J --xz -Z --compress --uncompress", Does::Nothing),
        flag("--zstd --lzip --lzma --lzop --no-auto-compress -a --auto-compress", Does::Nothing),
        flag("-v --verbose -w --interactive --confirmation -k --keep-old-files -m --touch", Does::Nothing),
        flag("-p --preserve-permissions --same-permissions -s --preserve-order --same-order", Does::Nothing),
        flag("-h --dereference -l --check-links --hard-dereference -S --sparse -B --read-full-records", Does::Nothing),
        flag("-i --ignore-zeros -U --unlink-first -W --verify -n --seek --no-seek -R --block-number", Does::Nothing),
        flag("-o --no-same-owner --same-owner --numeric-owner --no-same-permissions --old-archive", Does::Nothing),
        flag("--portability --posix --null --no-null --verbatim-files-from --no-verbatim-files-from", Does::Nothing),
        flag("--no-recursion --recursion --wildcards --no-wildcards --anchored --no-anchored", Does::Nothing),
        flag("--ignore-case --no-ignore-case --wildcards-match-slash --no-wildcards-match-slash", Does::Nothing),
        flag(
            "--exclude-vcs --exclude-caches --exclude-caches-all --exclude-caches-under --exclude-backups",
            Does::Nothing,
        ),
        flag("--exclude-vcs-ignores --one-file-system --skip-old-files --overwrite --overwrite-dir", Does::Nothing),
        flag("--keep-newer-files --keep-directory-symlink --no-overwrite-dir --one-top-level", Does::Asked("plain")),
        flag("--full-time --utc --show-defaults --show-omitted-dirs --show-transformed-names", Does::Nothing),
        flag(
            "--show-stored-names --ignore-failed-read --ignore-command-error --no-ignore-command-error",
            Does::Nothing,
        ),
        flag("--acls --no-acls --xattrs --no-xattrs --selinux --no-selinux --delay-directory-restore", Does::Nothing),
        flag(
            "--no-delay-directory-restore --force-local --no-quote-chars --unquote --no-unquote",
            Does::Asked("local"),
        ),
        flag(
            "--totals --check-device --no-check-device --clamp-mtime --help --usage --version -? --restrict",
            Does::Nothing,
        ),
        perhaps("--atime-preserve --checkpoint --backup --occurrence", Does::Nothing),
        value("-b --blocking-factor --record-size -H --format -K --starting-file -L --tape-length", Does::Nothing),
        value("-N --newer --after-date --newer-mtime -V --label --exclude --exclude-tag", Does::Nothing),
        value("--exclude-tag-all --exclude-tag-under --exclude-ignore --exclude-ignore-recursive", Does::Nothing),
        value("--strip-components --transform --xform --owner --group --mode --mtime --sort --warning", Does::Nothing),
        value("--quoting-style --quote-chars --suffix --level --pax-option --hole-detection", Does::Nothing),
        value("--sparse-version --add-file --set-mtime-format", Does::Nothing),
        value("-X --exclude-from --owner-map --group-map", Does::Reads),
        value("-T --files-from", Does::Asked("names")),
        value("--index-file --volno-file", Does::Writes),
        value("-g --listed-incremental", Does::Asked("snapshot")),
        flag("-G --incremental -M --multi-volume", Does::Asked("volumes")),
        value("-I --use-compress-program", Does::Asked("compressor")),
        value("--to-command -F --info-script --new-volume-script --rmt-command", Does::Runs),
        value("--rsh-command", Does::Runs),
        value("--checkpoint-action", Does::Asked("checkpoint")),
    ],
);

/// Letters of an old-style cluster (`tar xzf a`) whose value is one of the next words.
const OLD_VALUED: &[u8] = b"fCbTXVgIKLNFH";

/// Reads all arguments of `tar`.
pub fn tar(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let args = modern(at.args);
    let found = read(&args, &TAR, at, &mut out);
    commands(&found, at, &mut out);
    archive(&found, at, &mut out);
    out
}

/// `xzf a b` as `-x -z -f a b`.
fn modern(args: &[Arg]) -> Vec<Arg> {
    let Some((first, rest)) = args.split_first() else { return Vec::new() };
    let Some(cluster) = first.text().filter(|text| !text.starts_with('-')) else { return args.to_vec() };
    let mut rest = rest.iter();
    let mut words = Vec::new();
    for letter in cluster.chars() {
        words.push(Arg::known(format!("-{letter}"), first.span));
        if u8::try_from(letter).is_ok_and(|byte| OLD_VALUED.contains(&byte)) {
            words.extend(rest.next().cloned());
        }
    }
    words.extend(rest.cloned());
    words
}

fn commands(found: &Found, at: &Invocation<'_>, out: &mut Reading) {
    for action in found.values("checkpoint") {
        match action.text() {
            Some(text) => match text.strip_prefix("exec=") {
                Some(_) => {
                    out.runs_shell("tar --checkpoint-action", tail(action, 5), at, Inflow::Inherited);
                }
                None => {
                    let kind = text.split('=').next().unwrap_or("");
                    if !matches!(kind, "dot" | "." | "echo" | "bell" | "ttyout" | "sleep" | "totals" | "wait") {
                        unknown_flag(out, at.program, text, action.span);
                    }
                }
            },
            None => out.opaque(Class::Write, action.span, "`--checkpoint-action` is not known: it could run a command"),
        }
    }
    for program in found.values("compressor") {
        out.shell("tar --use-compress-program", program.clone(), at, Inflow::Data);
    }
    for list in found.values("names") {
        out.reads(&list.value);
        if !at.args.iter().any(|arg| arg.text() == Some("--verbatim-files-from")) {
            let text = format!("the names in {} may be options of `tar`", say::shown(&list.value));
            out.raise_hint(Code::OpaqueCode, Class::Write, list.span, text, "add --verbatim-files-from");
        }
    }
    for snapshot in found.values("snapshot") {
        out.writes(&snapshot.value, snapshot.span, "`--listed-incremental`");
    }
}

fn archive(found: &Found, at: &Invocation<'_>, out: &mut Reading) {
    let files: Vec<&Arg> = found.values("file").collect();
    let changes = found.has("create") || found.has("change");
    let local = found.has("local");
    for file in &files {
        if matches!(&file.value, Value::Glob(pattern) if fits_options(pattern)) {
            unknown_word(out, file, "`--checkpoint-action`, which runs a command");
        }
        if changes && file.text() != Some("-") {
            out.writes(&file.value, file.span, "`tar`");
        } else {
            out.reads(&file.value);
        }
        if local {
            continue;
        }
        if let Some(host) = host(file) {
            out.reaches(&Value::Known(host), file.span, "a `HOST:FILE` archive");
        } else if let Value::Unknown { prefix } = &file.value
            && !prefix.contains('/')
        {
            let text = "the archive is not known: `tar` asks another machine for HOST:FILE";
            out.raise_hint(Code::UnknownWord, Class::Write, file.span, text, "add --force-local");
        }
    }
    let places: Vec<&Arg> = found.values("directory").collect();
    if changes {
        let operands = found.operands.iter().flat_map(|arg| say::operands(&arg.value));
        out.effects.extend(operands.map(Effect::ReadPath));
    }
    if found.has("extract") && !found.has("print") {
        if places.is_empty() {
            out.writes(&Value::Known(".".to_owned()), at.span, "unpacking");
        }
        for place in &places {
            out.writes(&place.value, place.span, "unpacking");
        }
        if found.has("anywhere") {
            let anywhere = Operand::Unknown { prefix: "/".to_owned() };
            out.effects.push(Effect::WritePath(anywhere));
            let text = "`--absolute-names` lets the archive choose every path that is written";
            out.raise(Code::WritesPath, Class::Destructive, at.span, text);
        }
    }
    let mode = ["list", "create", "change", "extract"].iter().any(|name| found.has(name));
    let asks = at.args.iter().any(|arg| matches!(arg.text(), Some("--help" | "--version" | "--usage" | "-?")));
    if !mode && !asks {
        match at.args.first() {
            Some(first) if first.text().is_none() => unknown_word(out, first, "a mode that unpacks or runs"),
            Some(_) | None => out.lost(Class::Write, at.span, "`tar` without a mode that is known"),
        }
    }
}

/// The host of a remote archive: a `:` before any `/`.
fn host(file: &Arg) -> Option<String> {
    let text = match &file.value {
        Value::Known(text) | Value::Unknown { prefix: text } | Value::Glob(text) => text.as_str(),
        Value::OneOf(texts) => texts.iter().find(|text| text.contains(':'))?,
    };
    let (host, _) = text.split_once(':')?;
    (!host.contains('/')).then(|| host.rsplit('@').next().unwrap_or(host).to_owned())
}

#[cfg(test)]
mod tests {
    use crate::assess::analyzers::testing::{all, at_least, nested, whole_reading};
    use crate::assess::{Class, Effect, Operand};

    #[test]
    fn listing_only_observes_in_every_spelling() {
        all(
            Class::Read,
            &[
                "tar tf a.tar",
                "tar -tzf a.tgz",
                "tar --list --file=a.tar",
                "tar -t -v -f a.tar",
                "tar xOf a.tar name",
                "tar -xzf a -O",
                "tar --force-local -tvf $x",
                "tar tvf ./$x",
                "tar --help",
                "tar cf - src",
                "tar cf /dev/null src",
                "tar -tf a --checkpoint-action=dot",
                "tar -I zstd -tf a",
            ],
        );
    }

    #[test]
    fn unpacking_creating_and_hidden_commands_do_more() {
        all(
            Class::Write,
            &[
                "tar xf a",
                "tar xzf a -C out",
                "tar cf b src",
                "tar -czf b src",
                "tar --ext --file a",
                "tar rf a b",
                "tar -tf a --checkpoint-action=exec=touch",
                "tar -xOf a --to-command=./x",
                "tar -tf a -T names",
                "tar $x a",
                "tar tvf $x",
                "tar",
                "tar -tf a --frob",
                "tar --rsh-comm=x -tf a",
                "tar -tf a --checkpoint-action=$x",
            ],
        );
        at_least(Class::Network, &["tar cf user@host:f a", "tar tf host:f"]);
        all(Class::Destructive, &["tar xPf a", "tar xf a --recursive-unlink"]);
        assert_eq!(nested(&whole_reading("tar tf a --checkpoint-action=exec=id")), ["sh: id"]);
        assert_eq!(nested(&whole_reading("tar tf a -I ./x")), ["sh: ./x"]);
    }

    #[test]
    fn old_style_values_come_in_the_order_of_their_letters() {
        let read = whole_reading("tar cfC b dir src");
        assert!(read.effects.contains(&Effect::WritePath(Operand::Known("b".into()))));
        let read = whole_reading("tar xCf dir a");
        assert!(read.effects.contains(&Effect::WritePath(Operand::Known("dir".into()))));
    }
}
