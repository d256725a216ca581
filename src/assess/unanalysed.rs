//! What is said of text that was not understood to its end? At least `write`; `destructive` if its raw words look so.
//!
//! The scan is high-sided and blind to quoting: it may only raise.

use super::{Assessment, Attribute, Attributes, Class, Code, Effect, Operand, Place, Question, Reason, Segment, Span};

/// Words that are catastrophic whatever stands beside them.
const ALONE: &[&str] = &[
    "sudo",
    "su",
    "doas",
    "pkexec",
    "runuser",
    "sudoedit",
    "shred",
    "wipefs",
    "mkswap",
    "fdisk",
    "sfdisk",
    "parted",
    "shutdown",
    "reboot",
    "poweroff",
    "halt",
    "setcap",
    "visudo",
    "chpasswd",
    "passwd",
    "useradd",
    "userdel",
    "usermod",
    "blkdiscard",
    "hdparm",
    "insmod",
    "rmmod",
    "modprobe",
    "kexec",
    "crontab",
    "srm",
];

/// Word pairs: the second within the few words after the first.
const TOGETHER: &[(&str, &[&str])] = &[
    ("rm", &["-rf", "-fr", "-r", "-R", "-f", "--recursive", "--force", "-Rf", "-fR"]),
    ("chmod", &["-R", "--recursive"]),
    ("chown", &["-R", "--recursive"]),
    ("push", &["--force", "-f", "--mirror", "--delete", "--force-with-lease"]),
    ("reset", &["--hard"]),
    ("clean", &["-f", "-fd", "-fdx", "-xdf", "-ffdx", "-df", "--force"]),
    ("terraform", &["destroy"]),
    ("kubectl", &["delete"]),
    ("helm", &["uninstall", "delete"]),
    ("docker", &["prune", "rm", "rmi"]),
    ("drop", &["table", "database", "schema"]),
    ("history", &["-c"]),
    ("find", &["-delete"]),
    ("truncate", &["table"]),
    ("kill", &["-1"]),
];

/// How many words after the first the second is looked for.
const WITHIN: usize = 8;

/// The answer for text that was not understood to its end.
pub fn unanalysed(question: &Question, why: &str) -> Assessment {
    let span = Span::new(0, question.text.len().min(u32::MAX as usize) as u32);
    let found = destructive_word(&question.text);
    let (class, text) = match &found {
        Some(word) => (Class::Destructive, format!("{why}; and it holds `{word}`")),
        None => (Class::Write, why.to_owned()),
    };
    let hint = Some("write it plainly, or split it into simple commands".to_owned());
    let reason = Reason { code: Code::Unanalysed, class, text, hint, span };
    let attributes: Attributes = [Attribute::Unanalysed, Attribute::Opaque].into();
    let segment = Segment {
        span,
        depth: 0,
        place: Place::Start,
        operator: String::new(),
        program: None,
        argv: Vec::new(),
        class,
        reasons: vec![reason],
        effects: vec![Effect::Exec(Operand::Unknown { prefix: String::new() })],
        attributes: attributes.clone(),
    };
    Assessment { class, attributes, segments: vec![segment], unknowns: Vec::new(), names: Vec::new(), envelope: None }
}

/// The first words of the raw text that look catastrophic. Linear in the text.
pub fn destructive_word(text: &str) -> Option<String> {
    let plain: String = text.chars().filter(|c| !matches!(c, '\\' | '\'' | '"' | '`')).collect();
    let words: Vec<&str> =
        plain.split(|c: char| c.is_whitespace() || ";|&(){}<>$,!".contains(c)).filter(|w| !w.is_empty()).collect();
    for (at, word) in words.iter().enumerate() {
        let name = word.rsplit('/').next().unwrap_or(word);
        if ALONE.contains(&name) || name.starts_with("mkfs") || word.starts_with("of=/dev/") {
            return Some((*word).to_owned());
        }
        let low = name.to_ascii_lowercase();
        if let Some((_, seconds)) = TOGETHER.iter().find(|(first, _)| *first == low) {
            let near = words.iter().skip(at + 1).take(WITHIN);
            let second =
                |w: &&&str| seconds.iter().any(|s| s.eq_ignore_ascii_case(w)) || (low == "rm" && w.starts_with('-'));
            if let Some(second) = near.clone().find(second) {
                return Some(format!("{name} {second}"));
            }
        }
    }
    raw_shape(&plain)
}

/// Shapes that splitting into words hides.
fn raw_shape(plain: &str) -> Option<String> {
    let tight: String = plain.chars().filter(|c| !c.is_whitespace()).collect();
    let shapes = [
        ">/dev/sd",
        ">/dev/nvme",
        ">/dev/vd",
        ">/dev/mem",
        ":|:&",
        ">/etc/",
        "-d|sh",
        "-d|bash",
        "--decode|sh",
        "--decode|bash",
    ];
    shapes.iter().find(|shape| tight.contains(**shape)).map(|shape| (*shape).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catastrophic_word_is_found_whatever_hides_it() {
        for text in [
            "sudo ls",
            "echo $(sudo -n true",
            "r\\m -rf /",
            "'rm' --no-preserve-root -rf /",
            "/sbin/mkfs.ext4 /dev/sda1",
            "dd if=x of=/dev/sda",
            "git push origin main --force",
            "drop  TABLE users",
            "cat x > /dev/sda",
            "echo x | base64 -d | sh )",
            ":(){ :|:& };:",
            "if then rm -fr x",
        ] {
            let answer = unanalysed(&Question::text_only(text), "it does not parse");
            assert_eq!(answer.class, Class::Destructive, "{text}");
        }
    }

    #[test]
    fn ordinary_text_is_write_and_says_that_it_was_not_understood() {
        for text in ["", "ls )", "echo first\n)", "summary of results", "transform -r x", "grep -rf pattern )"] {
            let answer = unanalysed(&Question::text_only(text), "it does not parse");
            assert_eq!(answer.class, Class::Write, "{text}");
            assert!(answer.attributes.contains(&Attribute::Unanalysed));
        }
    }
}
