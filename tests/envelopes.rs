//! Promise: what an agent wraps a command in costs nobody a question, and hides nothing from whoever is asked.

use crate::world::{World, claim, finish, lease, parked, text, until, wait};
use std::process::Stdio;
use tollgate::assess::envelope::Kind;
use tollgate::assess::{Question, assess};

/// As each agent sends a command, written down from what its client sends.
fn wrapped(kind: Kind, command: &str, random: &str) -> String {
    let quoted = command.replace('\'', "'\"'\"'");
    match kind {
        Kind::Claude => format!(
            "\\builtin shopt -u extglob 2>/dev/null || true && {{ \\builtin unalias -- 'which'; \\builtin unset -f -- 'which'; }} \
             >/dev/null 2>&1 || true && eval '{quoted}' < /dev/null && pwd -P >| /tmp/claude-{random}-cwd"
        ),
        Kind::Gemini => format!(
            "shopt -u promptvars nullglob extglob nocaseglob dotglob; _bgpids_file=/tmp/gemini-shell-Zq{random}/bgpids.tmp\n\
             (\n  trap 'jobs -p > \"$_bgpids_file\"' EXIT\n{command}\n)\n__code=$?\nexit $__code"
        ),
        Kind::Zed => format!("({command}) </dev/null"),
    }
}

/// Commands of every class, with what is odd about quoting, lines and words.
const COMMANDS: &[&str] = &[
    "ls",
    "echo \"it's\"; cd / ",
    "ls | wc -l",
    "cat <<'X'\nbody\nX\necho done",
    "git status && git diff # and no more",
    "rm -rf build",
    "echo x > made",
    "curl https://example.com/",
    "npm install left-pad",
    "sudo rm -rf /",
    "./unknown-program --change things",
    "for f in *.c; do wc -l \"$f\"; done",
    "$x -rf y",
    "echo $(rm -rf z)",
    "f() { rm -rf q; }; f",
];

#[test]
fn a_wrapped_command_has_the_class_of_the_command() {
    for kind in Kind::ALL {
        for command in COMMANDS {
            let heredoc_or_comment = command.contains("<<") || command.contains('#');
            if kind == Kind::Zed && heredoc_or_comment {
                continue;
            }
            let (alone, whole) = (Question::text_only(*command), Question::text_only(wrapped(kind, command, "a1fd")));
            let mut inside = assess(&whole);
            let envelope = inside.envelope.take().unwrap_or_else(|| panic!("{kind:?}: {}", whole.text));
            assert_eq!((envelope.kind, envelope.command.as_str()), (kind, *command));
            assert_eq!(inside, assess(&alone), "{kind:?}: {command}");
        }
    }
}

#[test]
fn anything_that_is_not_exactly_the_envelope_is_read_whole() {
    for kind in Kind::ALL {
        let exact = wrapped(kind, "ls", "a1fd");
        let at = exact.rfind("ls").expect("the command");
        for (place, _) in exact.char_indices().filter(|(place, _)| !(at..at + 2).contains(place)) {
            for put in ["x", " y", ";rm z;", "$x", "..", "\"", "\\", "\n", "&"] {
                let other = format!("{}{put}{}", &exact[..place], &exact[place..]);
                let found = assess(&Question::text_only(other.clone()));
                if let Some(envelope) = found.envelope {
                    // What was put in became part of the command, or of a name that is the agent's to choose.
                    assert!(found.class == assess(&Question::text_only(envelope.command.clone())).class);
                    assert_eq!(wrapped_like(&other, &envelope.command), Some(kind), "{other:?}");
                }
            }
            let shorter = format!("{}{}", &exact[..place], &exact[place + 1..]);
            if let Some(envelope) = assess(&Question::text_only(shorter.clone())).envelope {
                assert_eq!(wrapped_like(&shorter, &envelope.command), Some(kind), "{shorter:?}");
            }
        }
    }
}

/// The kind whose fixed words are all there, around this command.
fn wrapped_like(text: &str, command: &str) -> Option<Kind> {
    let plain = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    Kind::ALL.into_iter().find(|kind| {
        if *kind != Kind::Claude {
            return text == wrapped(*kind, command, "a1fd");
        }
        let (Some((_, name)), Some((_, file))) = (text.split_once("unset -f -- '"), text.rsplit_once("/tmp/claude-"))
        else {
            return text.contains("eval") && text.contains("< /dev/null && pwd -P >| /tmp/claude-");
        };
        let random = file.trim_end_matches("-cwd");
        plain(name.split('\'').next().unwrap_or("'")) && random.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

#[test]
fn what_changes_what_the_envelope_does_after_it_is_read_whole() {
    let none = |text: String| assert_eq!(assess(&Question::text_only(text.clone())).envelope, None, "{text}");
    none(wrapped(Kind::Claude, "pwd() { echo x; }", "a1fd"));
    none(wrapped(Kind::Gemini, "jobs() { echo x; }", "a1fd"));
    none(wrapped(Kind::Gemini, "_bgpids_file=other", "a1fd"));
    none(wrapped(Kind::Gemini, "ls\n)\n(\nls", "a1fd"));
    none(wrapped(Kind::Zed, "ls); (ls", "a1fd"));
    for random in ["a1f", "a1fg", "../x", "$x", "A1FD", "{a,b}", "a1fd/../x"] {
        none(wrapped(Kind::Claude, "ls", random));
    }
    none(format!("{}; ls", wrapped(Kind::Claude, "ls", "a1fd")));
    none(format!("{} &", wrapped(Kind::Claude, "ls", "a1fd")));
}

/// A name that no other test or agent uses.
fn random() -> String {
    format!(
        "{:08x}{:04x}",
        std::process::id(),
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.subsec_nanos() & 0xffff)
    )
}

#[test]
fn a_wrapped_read_runs_at_once_and_its_agent_learns_the_directory() {
    let world = World::with_gate();
    let random = random();
    let file = format!("/tmp/claude-{random}-cwd");
    let mut shell = world.shell_of_an_agent(&wrapped(Kind::Claude, "echo one; cd /", &random));
    let output = shell.stdin(Stdio::null()).output().expect("it starts");
    let said = (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    let held = std::fs::read_to_string(&file);
    drop(std::fs::remove_file(&file));
    assert_eq!(said, (Some(0), "one\n".to_owned(), String::new()));
    assert_eq!(held.expect("written where the agent looks"), "/\n");
    let mut shell = world.shell_of_an_agent(&wrapped(Kind::Claude, "false", &random));
    assert_eq!(shell.stdin(Stdio::null()).status().expect("it starts").code(), Some(1));
    assert!(!std::path::Path::new(&file).exists(), "as under bash, nothing is left of a command that failed");
}

#[test]
fn asking_again_in_a_new_envelope_finds_the_same_yes() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let first = wrapped(Kind::Claude, "./unknown-program --change things", "00aa");
    let id = parked(agent.submit(&first));
    let card = world.until_pending(1).remove(0);
    assert_eq!(card.command, "./unknown-program --change things");
    assert!(card.fence.iter().any(|said| said.contains("the envelope of Claude Code")), "{:?}", card.fence);
    agent.hang_up();
    until(|| (!world.card(&id).attached).then_some(()));
    let again = wrapped(Kind::Claude, "./unknown-program --change things", "00bb");
    assert_eq!(parked(agent.submit(&again)), id, "the same is asked");
    world.approve(&card);
    let lease = lease(wait(&mut agent, &id, 20_000));
    let claimed = claim(&mut agent, &lease).expect("claimed");
    assert_eq!(text(&claimed["fence"]["envelope"]), "/tmp/claude-00bb-cwd");
    finish(&mut agent, &claimed["execution"], 0);
}
