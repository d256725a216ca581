//! Argv templates that turn a prompt into allow, for `auto_approve` and for always-rules. A command is covered only if
//! every part of it is.

use super::circumstances::Circumstances;
use super::place;
use crate::assess::{Assessment, Class, Effect, Operand, Segment};
use serde::{Serialize, Serializer};

/// Programs that run anything they are given: a template for them would be a template for everything.
const RUNS_ANYTHING: &[&str] = &[
    "ansible", "awk", "bash", "bun", "busybox", "bunx", "command", "dash", "deno", "docker", "doas", "env", "eval",
    "exec", "find", "fish", "gawk", "kubectl", "ksh", "lua", "make", "nice", "node", "nohup", "npx", "parallel",
    "perl", "php", "pkexec", "pnpx", "podman", "python", "python2", "python3", "ruby", "script", "sed", "setsid", "sh",
    "source", "ssh", "stdbuf", "su", "sudo", "time", "timeout", "tmux", "uvx", "watch", "xargs", "zsh",
];

/// One word that is a path in the workspace.
const PATH: &str = "<path>";

/// `cargo test`, `git commit -m *`, `git add <path>`: literal words; `*` alone stands for one word that is no option,
/// `<path>` for one that names something in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.text)
    }
}

impl Template {
    /// The template, or what is wrong with it and the remedy.
    ///
    /// # Errors
    /// Where it does not name one program and its words.
    pub fn parse(text: &str) -> Result<Template, (String, &'static str)> {
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
        if let Some(word) = words.find(|word| !is_hole(word) && word.contains(['*', '$', '`', ';', '|', '&', '<', '>']))
        {
            return Err((
                format!("`{word}` is not a literal word"),
                "Write literal words, `*` for one whole word or `<path>` for a path in the workspace",
            ));
        }
        Ok(Template { text: text.split_whitespace().collect::<Vec<_>>().join(" ") })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The template of one call: its words, with a hole for each that names a path it acts on in the workspace.
    ///
    /// # Errors
    /// Why there is none, and the remedy.
    pub fn of(segment: &Segment, at: &Circumstances<'_>) -> Result<Template, (String, &'static str)> {
        let exact = "Approve exactly this command instead";
        let program = segment.program.as_deref().ok_or_else(|| ("a part has no plain program".to_owned(), exact))?;
        let mut words = vec![program.to_owned()];
        for word in segment.argv.get(1..).unwrap_or_default() {
            let Operand::Known(word) = word else { return Err(("a word is not known beforehand".to_owned(), exact)) };
            let acts_on = |effect: &Effect| match place::path_of(effect) {
                Some(Operand::Known(path)) => path == word,
                Some(Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any) | None => false,
            };
            let path = segment.effects.iter().any(acts_on) && is_path_inside(word, at);
            if !path && word.contains(char::is_whitespace) || word.is_empty() || is_hole(word) {
                return Err(("a word cannot be written in a template".to_owned(), exact));
            }
            words.push(if path { PATH.to_owned() } else { word.clone() });
        }
        let template = Template::parse(&words.join(" "))?;
        if template.covers(segment, at) {
            Ok(template)
        } else {
            Err(("it does more than its words show".into(), exact))
        }
    }

    fn covers(&self, segment: &Segment, at: &Circumstances<'_>) -> bool {
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
            && words.iter().zip(&argv[1..]).all(|(want, got)| match *want {
                "*" => !got.starts_with('-') && !got.is_empty(),
                PATH => is_path_inside(got, at),
                want => want == *got,
            })
    }
}

fn is_hole(word: &str) -> bool {
    word == "*" || word == PATH
}

fn is_path_inside(word: &str, at: &Circumstances<'_>) -> bool {
    !word.is_empty() && !word.starts_with('-') && place::is_in_workspace(word, at)
}

/// Whether the words show this effect: a redirect or a leading assignment is not what the template was written for.
pub(super) fn shown_in(effect: &Effect, argv: &[&str]) -> bool {
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
pub fn covering<'t>(
    templates: &'t [Template],
    assessment: &Assessment,
    at: &Circumstances<'_>,
) -> Option<&'t Template> {
    if assessment.class >= Class::Destructive || !assessment.attributes.is_empty() || !assessment.unknowns.is_empty() {
        return None;
    }
    let mut last = None;
    for segment in assessment.segments.iter().filter(|segment| segment.class > Class::Read) {
        last = Some(templates.iter().find(|template| template.covers(segment, at))?);
    }
    last
}
