//! `auto_approve`: argv templates that turn a prompt into allow. A command is covered only if every part of it is.

use crate::assess::{Assessment, Class, Effect, Operand, Segment};
use serde::{Serialize, Serializer};

/// Programs that run anything they are given: a template for them would be a template for everything.
const RUNS_ANYTHING: &[&str] = &[
    "ansible", "awk", "bash", "bun", "busybox", "bunx", "command", "dash", "deno", "docker", "doas", "env", "eval",
    "exec", "find", "fish", "gawk", "kubectl", "ksh", "lua", "make", "nice", "node", "nohup", "npx", "parallel",
    "perl", "php", "pkexec", "pnpx", "podman", "python", "python2", "python3", "ruby", "script", "sed", "setsid", "sh",
    "source", "ssh", "stdbuf", "su", "sudo", "time", "timeout", "tmux", "uvx", "watch", "xargs", "zsh",
];

/// `cargo test`, `git commit -m *`: literal words; `*` alone stands for one word that is no option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    text: String,
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.text)
    }
}

impl Template {
    /// The template, or what is wrong with it and the remedy.
    pub(super) fn parse(text: &str) -> Result<Template, (String, &'static str)> {
        let mut words = text.split_whitespace();
        let Some(program) = words.next() else {
            return Err(("an auto_approve entry is empty".into(), "Write a program and its words"));
        };
        if program.contains(['*', '/']) {
            return Err((format!("`{program}` does not name one program"), "Write the program's plain name"));
        }
        if RUNS_ANYTHING.contains(&program) {
            return Err((format!("`{program}` runs anything it is given"), "Approve such commands one by one"));
        }
        if let Some(word) = words.find(|word| *word != "*" && word.contains(['*', '$', '`', ';', '|', '&', '<', '>'])) {
            return Err((format!("`{word}` is not a literal word"), "Write literal words, or `*` for one whole word"));
        }
        Ok(Template { text: text.split_whitespace().collect::<Vec<_>>().join(" ") })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn covers(&self, segment: &Segment) -> bool {
        let argv: Option<Vec<&str>> = segment
            .argv
            .iter()
            .map(|word| match word {
                Operand::Known(text) => Some(text.as_str()),
                Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => None,
            })
            .collect();
        let Some(argv) = argv else { return false };
        let mut words = self.text.split(' ');
        let program_matches = words.next().is_some_and(|program| segment.program.as_deref() == Some(program));
        let words: Vec<&str> = words.collect();
        program_matches
            && segment.effects.iter().all(|effect| shown_in(effect, &argv))
            && argv.len() == words.len() + 1
            && words
                .iter()
                .zip(&argv[1..])
                .all(|(want, got)| if *want == "*" { !got.starts_with('-') && !got.is_empty() } else { want == got })
    }
}

/// Whether the words show this effect: a redirect or a leading assignment is not what the template was written for.
fn shown_in(effect: &Effect, argv: &[&str]) -> bool {
    match effect {
        Effect::WritePath(operand) | Effect::DeletePath(operand) | Effect::Device(operand) => match operand {
            Operand::Any => true,
            Operand::Known(path) => argv.contains(&path.as_str()),
            Operand::Glob(_) | Operand::Unknown { .. } => false,
        },
        Effect::EnvInfluence(_) | Effect::Privilege(_) | Effect::SecretRead(_) => false,
        Effect::ReadPath(_) | Effect::Exec(_) | Effect::NetOut(_) | Effect::NetListen(_) | Effect::UnixSocket(_) => {
            true
        }
        Effect::UsesCredential(_) | Effect::Install(_) | Effect::Signal(_) | Effect::ShellState(_) => true,
        Effect::ProcInspect | Effect::NetInspect => true,
    }
}

/// The template that covers the command whole: every segment above read is covered by one, nothing is destructive and
/// nothing about it is in doubt.
pub(super) fn covering<'t>(templates: &'t [Template], assessment: &Assessment) -> Option<&'t Template> {
    if assessment.class >= Class::Destructive || !assessment.attributes.is_empty() || !assessment.unknowns.is_empty() {
        return None;
    }
    let mut last = None;
    for segment in assessment.segments.iter().filter(|segment| segment.class > Class::Read) {
        last = Some(templates.iter().find(|template| template.covers(segment))?);
    }
    last
}
