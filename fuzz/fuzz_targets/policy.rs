//! A project's own file never makes a verdict milder. Three parts with lines of `---` between them: a policy, what the
//! project says, a command.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use tollgate::assess::{Question, assess};
use tollgate::policy::{Circumstances, PROJECT_FILE, Policy, Projects, judge};

/// Where the project's file lies.
static PROJECT: LazyLock<PathBuf> = LazyLock::new(|| {
    let dir = std::env::temp_dir().join(format!("tollgate-fuzz-policy-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory of its own");
    dir
});

fuzz_target!(|text: &str| {
    let mut parts = text.splitn(3, "\n---\n");
    let (Some(above), Some(project), Some(command)) = (parts.next(), parts.next(), parts.next()) else { return };
    let Ok(above) = Policy::from_text(Path::new("/etc/tollgate/policy.toml"), above) else { return };
    std::fs::write(PROJECT.join(PROJECT_FILE), project).expect("written");
    let above = Arc::new(above);
    let tightened = Projects::default().policy(&above, Some(&PROJECT));
    let answer = assess(&Question::text_only(command));
    let at = Circumstances { cwd: Some("/w"), workspace: Some("/w"), ..Circumstances::UNKNOWN };
    let before = judge(&above, &answer, &at).decision;
    let after = judge(&tightened, &answer, &at).decision;
    // Whatever asks is asked about; where nobody is there to ask, the policy above says what then.
    assert!(after >= before || (before.asks() && after.asks()), "{before:?} became {after:?}");
});
