//! Whom would a command act as, and against what? The account, context or remote a tool would use, read from the files it
//! reads. A change makes it another request.

use super::asked::Asked;
use super::closure::{View, git_directories, git_start, small};
use crate::assess::{Assessment, Class, Segment};
use crate::authorize::subject::Account;
use crate::authorize::{InstallKey, Tag};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// How an account is found: by which programs, and where.
struct Tool {
    kind: &'static str,
    programs: &'static [&'static str],
    /// The least class at which it is used.
    from: Class,
    find: fn(&Asked, &Segment) -> Option<Found>,
}

/// For people, and everything that decides it.
struct Found {
    name: String,
    bound: Vec<String>,
}

const TOOLS: &[Tool] = &[
    Tool { kind: "git", programs: &["git"], from: Class::Network, find: git },
    Tool { kind: "gh", programs: &["gh"], from: Class::Read, find: gh },
    Tool { kind: "kube", programs: &["kubectl", "helm", "k9s", "kustomize", "flux"], from: Class::Read, find: kube },
    Tool { kind: "aws", programs: &["aws", "cdk", "sam", "eksctl"], from: Class::Read, find: aws },
    Tool { kind: "gcloud", programs: &["gcloud", "gsutil", "bq"], from: Class::Read, find: gcloud },
    Tool { kind: "docker", programs: &["docker"], from: Class::Read, find: docker },
];

/// The variables that decide it: kept while a request waits, to look again.
pub const VARIABLES: &[&str] =
    &["AWS_PROFILE", "CLOUDSDK_ACTIVE_CONFIG_NAME", "DOCKER_CONTEXT", "DOCKER_HOST", "KUBECONFIG"];

/// The accounts of all parts, each once, in the order of the table.
pub fn of(asked: &Asked, assessment: &Assessment, key: &InstallKey) -> Vec<Account> {
    let mut found: Vec<Account> = Vec::new();
    for tool in TOOLS {
        for segment in &assessment.segments {
            let Some(program) = segment.program.as_deref() else { continue };
            if !tool.programs.contains(&program) || segment.class < tool.from {
                continue;
            }
            if let Some(account) = (tool.find)(asked, segment) {
                let tag: Tag = key.tag("account", account.bound.iter().map(String::as_bytes));
                let name = asked.redactor.output(account.name.as_bytes()).into_string();
                let account = Account { kind: tool.kind.to_owned(), name, tag };
                if !found.contains(&account) {
                    found.push(account);
                }
            }
        }
    }
    found
}

fn home(asked: &Asked, below: &str) -> Option<PathBuf> {
    Some(asked.home.as_ref()?.join(below))
}

fn variable(asked: &Asked, name: &str) -> Option<String> {
    asked.variable(name).map(|value| String::from_utf8_lossy(value).into_owned())
}

/// Every remote with its addresses.
fn git(asked: &Asked, segment: &Segment) -> Option<Found> {
    let view = View { start: asked.cwd_path(), root: None, home: asked.home.as_deref() };
    let start = git_start(segment, &view.directory(segment)?);
    let text = small(&git_directories(&start)?.common.join("config"))?;
    let (mut section, mut remotes, mut bound) = (String::new(), Vec::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']).to_owned();
            continue;
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let is_remote = section.starts_with("remote ") && (name == "url" || name == "pushurl");
        let rewrites = section.starts_with("url ");
        if is_remote || rewrites {
            bound.push(format!("{section}\0{name}\0{value}"));
        }
        if is_remote {
            remotes.push(format!("{} {value}", section.trim_start_matches("remote ").trim_matches('"')));
        }
    }
    (!bound.is_empty()).then(|| Found { name: remotes.join(", "), bound })
}

/// The user of each host.
fn gh(asked: &Asked, _: &Segment) -> Option<Found> {
    let text = small(&home(asked, ".config/gh/hosts.yml")?)?;
    let users = |line: &str| line.trim().strip_prefix("user:").map(|user| user.trim().to_owned());
    let users: Vec<String> = text.lines().filter_map(users).collect();
    Some(Found { name: users.join(", "), bound: users })
}

fn kube(asked: &Asked, _: &Segment) -> Option<Found> {
    let path = match variable(asked, "KUBECONFIG") {
        Some(list) => PathBuf::from(OsStr::from_bytes(list.split(':').find(|path| !path.is_empty())?.as_bytes())),
        None => home(asked, ".kube/config")?,
    };
    let text = small(&asked.cwd_path().join(path))?;
    let context = text.lines().find_map(|line| line.strip_prefix("current-context:"))?;
    let name = context.trim().trim_matches(['"', '\'']).to_owned();
    Some(Found { bound: vec![name.clone(), text], name })
}

/// The profile and its section.
fn aws(asked: &Asked, segment: &Segment) -> Option<Found> {
    let words: Vec<&str> = segment
        .argv
        .iter()
        .filter_map(|word| match word {
            crate::assess::Operand::Known(text) => Some(text.as_str()),
            crate::assess::Operand::Glob(_) | crate::assess::Operand::Unknown { .. } | crate::assess::Operand::Any => {
                None
            }
        })
        .collect();
    let told = words.windows(2).find(|pair| pair[0] == "--profile").map(|pair| pair[1].to_owned());
    let told = told.or_else(|| words.iter().find_map(|word| word.strip_prefix("--profile=")).map(str::to_owned));
    let name = told.or_else(|| variable(asked, "AWS_PROFILE")).unwrap_or_else(|| "default".to_owned());
    let text = home(asked, ".aws/config").and_then(|path| small(&path)).unwrap_or_default();
    let heads = [format!("[profile {name}]"), format!("[{name}]")];
    let section: Vec<&str> = text
        .lines()
        .skip_while(|line| !heads.iter().any(|head| line.trim() == head))
        .enumerate()
        .take_while(|(at, line)| *at == 0 || !line.trim_start().starts_with('['))
        .map(|(_, line)| line)
        .collect();
    Some(Found { bound: vec![name.clone(), section.join("\n")], name })
}

fn gcloud(asked: &Asked, _: &Segment) -> Option<Found> {
    let dir = home(asked, ".config/gcloud")?;
    let active = variable(asked, "CLOUDSDK_ACTIVE_CONFIG_NAME").or_else(|| small(&dir.join("active_config")))?;
    let name = active.trim().to_owned();
    if name.contains('/') {
        return None;
    }
    let text = small(&dir.join(format!("configurations/config_{name}"))).unwrap_or_default();
    Some(Found { bound: vec![name.clone(), text], name })
}

fn docker(asked: &Asked, _: &Segment) -> Option<Found> {
    let context = variable(asked, "DOCKER_CONTEXT").or_else(|| {
        let text = small(&home(asked, ".docker/config.json")?)?;
        let read: serde_json::Value = serde_json::from_str(&text).ok()?;
        read.get("currentContext")?.as_str().map(str::to_owned)
    });
    let host = variable(asked, "DOCKER_HOST");
    let name = host.or(context)?;
    Some(Found { bound: vec![name.clone()], name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Operand, Question, unanalysed};
    use crate::gate::asked::tests::asked_at_home;

    #[test]
    fn each_tool_names_the_account_it_would_use_and_a_change_is_another_one() {
        let temp = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| {
            let path = temp.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        write(".git/config", "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@host:a/b.git\n");
        write(".kube/config", "apiVersion: v1\ncurrent-context: prod\n");
        write(".aws/config", "[default]\nregion = x\n[profile ops]\nrole_arn = r\n");
        write(".config/gh/hosts.yml", "github.com:\n    user: ana\n");
        write(".config/gcloud/active_config", "work");
        write(".config/gcloud/configurations/config_work", "project = p\n");
        write(".docker/config.json", "{\"currentContext\": \"remote\"}");
        let asked = asked_at_home(temp.path());
        let key = InstallKey::new([7; 32]);
        let look = |words: &[&str], class: Class| {
            let mut whole = unanalysed(&Question::text_only("x"), "a test");
            whole.segments[0].class = class;
            whole.segments[0].program = Some(words[0].to_owned());
            whole.segments[0].argv = words.iter().map(|word| Operand::Known((*word).to_owned())).collect();
            of(&asked, &whole, &key)
        };
        let cases: [(&[&str], &str, (&str, &str)); 6] = [
            (&["git", "push"], "origin git@host:a/b.git", (".git/config", "[remote \"origin\"]\nurl = git@evil:a/b\n")),
            (&["gh", "pr", "list"], "ana", (".config/gh/hosts.yml", "github.com:\n    user: eve\n")),
            (&["kubectl", "get", "pods"], "prod", (".kube/config", "current-context: prod\nserver: other\n")),
            (&["aws", "s3", "ls", "--profile", "ops"], "ops", (".aws/config", "[profile ops]\nrole_arn = other\n")),
            (&["gcloud", "info"], "work", (".config/gcloud/configurations/config_work", "project = q\n")),
            (&["docker", "ps"], "remote", (".docker/config.json", "{\"currentContext\": \"other\"}")),
        ];
        assert!(look(&["git", "status"], Class::Read).is_empty(), "no remote is used");
        assert!(look(&["ls"], Class::Network).is_empty());
        for (words, name, (file, other)) in cases {
            let before = look(words, Class::Network);
            assert_eq!(before.len(), 1, "{words:?}");
            assert_eq!(before[0].name, name);
            assert_eq!(look(words, Class::Network), before, "looking changes nothing");
            write(file, other);
            assert_ne!(look(words, Class::Network), before, "{words:?}");
        }
    }
}
