//! What flows from one command into the next? Data, the network's, a decoder's or known text; and what leaves.

use super::{Walk, count, literal};
use crate::assess::reading::Inflow;
use crate::assess::scope::Origin;
use crate::assess::syntax::{Command, Script};
use crate::assess::{Attribute, Class, Code, Effect, Operand, Reason, Segment};

/// Programs that send what they read on standard input to another machine as it is.
const UPLOADERS: &[&str] =
    &["curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "ssh", "ftp", "tftp", "mail", "sendmail"];

/// Programs whose output says what is there, not what is in it.
const LISTERS: &[&str] =
    &["ls", "find", "fd", "ps", "df", "du", "date", "uname", "hostname", "whoami", "id", "pwd", "wc", "seq", "which"];

impl Walk<'_> {
    /// What the stage whose segments begin at `from` hands to the next one.
    pub(super) fn outflow(&self, stage: &Command, from: usize) -> Inflow {
        if let Some(text) = literal::printed(&self.words(), stage, &self.stdin) {
            return Inflow::Known(text);
        }
        match (origin_of(&self.segments[from..]), &self.stdin) {
            (Origin::Decoded, _) | (_, Inflow::Decoded) => Inflow::Decoded,
            (Origin::Network, _) | (_, Inflow::Network) => Inflow::Network,
            (
                Origin::Text | Origin::Number | Origin::Data,
                Inflow::Inherited | Inflow::Nothing | Inflow::Known(_) | Inflow::File | Inflow::Data,
            ) => Inflow::Data,
        }
    }

    /// Workspace data that a stage reads and the next one sends away.
    pub(super) fn uploads(&mut self, fed_from: usize, from: usize) {
        let reads = |s: &Segment| {
            s.effects.iter().any(|e| matches!(e, Effect::ReadPath(_)))
                && !s.program.as_deref().is_some_and(|p| LISTERS.contains(&p))
        };
        if !matches!(self.stdin, Inflow::Data) || !self.segments[fed_from..from].iter().any(reads) {
            return;
        }
        for segment in &mut self.segments[from..] {
            let sends = segment.program.as_deref().is_some_and(|p| UPLOADERS.contains(&p));
            if sends && reaches_network(segment) {
                exfiltrates(segment, "what the command before it reads is sent to another machine");
            }
        }
    }
}

/// What each line begins with that the stage whose segments these are prints; `fed` is the same for what it reads.
pub(super) fn lines_begin(stage: &[Segment], fed: Option<String>) -> Option<String> {
    let [only] = stage else { return None };
    let known: Vec<&str> = known_args(only).collect();
    if known.len() + 1 != only.argv.len() {
        return None;
    }
    match only.program.as_deref() {
        Some("find") => {
            let other =
                |a: &&str| ["print", "exec", "ok", "ls"].iter().any(|act| a[1..].contains(act)) && *a != "-print";
            let places = known.iter().take_while(|a| !a.starts_with(['-', '(', '!'])).count();
            match known.split_at(places) {
                (_, tests) if tests.iter().any(|a| a.starts_with('-') && other(a)) => None,
                ([], _) => Some(".".to_owned()),
                ([place], _) => Some((*place).to_owned()),
                (_, _) => None,
            }
        }
        Some("sort" | "head" | "tail") => fed.filter(|_| known.iter().all(|a| a.starts_with('-') && a.len() == 2)),
        Some(_) | None => None,
    }
}

/// Where the output of these segments comes from: the most doubtful of them.
pub(super) fn origin_of(segments: &[Segment]) -> Origin {
    let worst = segments.iter().map(|segment| {
        if decodes(segment) {
            Origin::Decoded
        } else if reaches_network(segment) {
            Origin::Network
        } else {
            Origin::Data
        }
    });
    match worst.max() {
        None => Origin::Text,
        Some(origin) => origin,
    }
}

/// Where the output of a substitution comes from: a number, if all that prints can print nothing else.
pub(super) fn origin_of_output(script: &Script, segments: &[Segment]) -> Origin {
    let origin = origin_of(segments);
    let numeric = matches!(origin, Origin::Data) && count::prints_numbers(script, segments);
    if numeric { Origin::Number } else { origin }
}

pub(super) fn reaches_network(segment: &Segment) -> bool {
    segment.class == Class::Network
        || segment.effects.iter().any(|e| matches!(e, Effect::NetOut(_)))
        || segment.reasons.iter().any(|r| matches!(r.code, Code::ReachesNetwork | Code::Uploads))
}

/// Whether its output is what was packed or encoded in its input.
fn decodes(segment: &Segment) -> bool {
    match segment.program.as_deref() {
        Some("base64" | "base32" | "basenc" | "uuencode" | "gbase64") => {
            has_option(segment, "-d", "--decode") || has_option(segment, "-D", "--decode")
        }
        Some("xxd") => has_option(segment, "-r", "-revert"),
        Some("gzip" | "bzip2" | "xz" | "zstd" | "lz4" | "lzma" | "brotli" | "lzip" | "compress") => {
            has_option(segment, "-d", "--decompress") || has_option(segment, "-dc", "--uncompress")
        }
        Some(
            "gunzip" | "zcat" | "bunzip2" | "bzcat" | "unxz" | "xzcat" | "unzstd" | "zstdcat" | "uudecode" | "unlzma"
            | "lzcat" | "uncompress",
        ) => true,
        Some("openssl") => has_option(segment, "-d", "-d"),
        Some("gpg" | "gpg2" | "age" | "sops") => has_option(segment, "-d", "--decrypt"),
        Some(_) | None => false,
    }
}

pub(super) fn known_args(segment: &Segment) -> impl Iterator<Item = &str> {
    segment.argv.iter().skip(1).filter_map(|operand| match operand {
        Operand::Known(text) => Some(text.as_str()),
        Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => None,
    })
}

/// Whether the option is there, also in a cluster; a doubtful word may be it.
pub(super) fn has_option(segment: &Segment, short: &str, long: &str) -> bool {
    let doubtful = segment
        .argv
        .iter()
        .skip(1)
        .any(|o| matches!(o, Operand::Unknown { prefix } if prefix.is_empty() || prefix.starts_with('-')));
    let letter = short.trim_start_matches('-');
    doubtful
        || known_args(segment).any(|arg| {
            arg == short
                || (arg.len() > 3 && long.starts_with(arg.split('=').next().unwrap_or(arg)) && arg.starts_with("--"))
                || arg == long
                || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter))
        })
}

/// A secret that is read and a network that is reached in one command.
pub(super) fn exfiltration(segments: &mut [Segment]) {
    let secret = segments.iter().any(|s| s.attributes.contains(&Attribute::SecretRead));
    if secret && segments.iter().any(reaches_network) {
        for segment in segments.iter_mut().filter(|s| reaches_network(s)) {
            exfiltrates(segment, "a secret is read and the network reached in one command");
        }
    }
}

fn exfiltrates(segment: &mut Segment, why: &str) {
    segment.attributes.insert(Attribute::Exfiltration);
    segment.class = Class::Destructive;
    let reason = Reason {
        code: Code::Exfiltration,
        class: Class::Destructive,
        text: why.to_owned(),
        hint: None,
        span: segment.span,
    };
    if !segment.reasons.contains(&reason) {
        segment.reasons.insert(0, reason);
    }
}

/// The origin of what arrives.
pub(super) fn origin_of_inflow(inflow: &Inflow) -> Origin {
    match inflow {
        Inflow::Inherited | Inflow::Nothing | Inflow::Known(_) => Origin::Text,
        Inflow::File | Inflow::Data => Origin::Data,
        Inflow::Network => Origin::Network,
        Inflow::Decoded => Origin::Decoded,
    }
}
