//! What do the command lines of clouds, clusters and platforms do? They are too many to list and all call a service;
//! what cannot be undone is named by its verb (`az group delete`, `aws ec2 terminate-instances`, `heroku apps:destroy`).

use super::{say, unknown_word};
use crate::assess::reading::{Arg, Invocation, Reading, Value};
use crate::assess::{Class, Code};

/// Words that are such a verb by themselves, or after the `:` of a topic.
const VERBS: &[&str] = &[
    "delete",
    "del",
    "destroy",
    "drop",
    "empty",
    "erase",
    "nuke",
    "purge",
    "rb",
    "reset",
    "rm",
    "teardown",
    "terminate",
    "uninstall",
    "wipe",
];

/// What longer verbs begin with.
const BEGINNINGS: &[&str] = &[
    "delete-",
    "deregister-",
    "destroy-",
    "purge-",
    "terminate-",
    "batch-delete-",
    "force-delete-",
    "schedule-key-deletion",
];

/// Reads every word that may be a verb; the rest is the table's.
pub fn cloud(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    for arg in at.args {
        let undoes = match &arg.value {
            Value::Known(text) => is_undoing(text),
            Value::OneOf(texts) => texts.iter().any(|text| is_undoing(text)),
            Value::Unknown { prefix } | Value::Glob(prefix) => BEGINNINGS.iter().any(|verb| prefix.starts_with(verb)),
        };
        if arg.many || matches!(&arg.value, Value::Unknown { prefix } if prefix.is_empty()) {
            unknown_word(&mut out, arg, "a verb that removes");
        }
        if undoes {
            out.raise(Code::Destroys, Class::Destructive, arg.span, sentence(at.program, arg));
        }
    }
    out
}

fn is_undoing(text: &str) -> bool {
    let verb = text.rsplit(':').next().unwrap_or(text);
    let topic = text.len() == verb.len() || text.bytes().all(|b| b.is_ascii_lowercase() || b == b':' || b == b'-');
    matches!(text, "--delete" | "--purge" | "-purge")
        || topic && (VERBS.contains(&verb) || BEGINNINGS.iter().any(|beginning| verb.starts_with(beginning)))
}

fn sentence(program: &str, verb: &Arg) -> String {
    format!("{} makes `{program}` remove what it cannot bring back", say::shown(&verb.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::analyzers::testing::{class_of, whole_reading};

    #[test]
    fn verbs_that_cannot_be_undone_are_seen_wherever_they_stand() {
        for line in [
            "gcloud compute instances delete vm -q",
            "gcloud -q projects delete p",
            "az group delete -n g",
            "gsutil -m rm -r gs://b",
            "aws sqs purge-queue --queue-url u",
            "aws ec2 delete-$x",
            "heroku apps:destroy a",
            "doctl compute droplet delete 1",
            "nomad job stop -purge j",
            "aws s3 sync . s3://b --delete",
        ] {
            assert_eq!(class_of(&cloud_reading(line)), Class::Destructive, "{line}");
        }
        for line in ["gcloud compute instances list", "az vm list", "aws s3 ls s3://delete-me", "fly status -a rm-app"]
        {
            assert_eq!(class_of(&cloud_reading(line)), Class::Read, "{line}");
        }
    }

    fn cloud_reading(line: &str) -> Reading {
        whole_reading(&format!("cloud {}", line.split_once(' ').map_or("", |(_, rest)| rest)))
    }
}
