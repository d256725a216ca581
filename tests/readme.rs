//! What the README shows is what happens: every `console` block runs here, in order, against a real gate.
//!
//! `agent` blocks run as an agent would and may wait; `person` blocks run beside them. In what is expected, `…` stands for
//! anything, and the one id of the tour for whatever waits at that moment.

use crate::world::World;
use std::process::{Command, Output, Stdio};

const ID_OF_THE_TOUR: &str = "hqey2bxh";

struct Step {
    agent: bool,
    line: usize,
    command: String,
    expected: String,
}

fn steps(readme: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut block = None;
    for (number, line) in readme.lines().enumerate() {
        match (line, block) {
            ("```console agent", None) => block = Some(true),
            ("```console person", None) => block = Some(false),
            ("```", Some(_)) => block = None,
            (line, Some(agent)) => match line.strip_prefix("$ ") {
                Some(command) => {
                    steps.push(Step { agent, line: number + 1, command: command.to_owned(), expected: String::new() });
                }
                None => {
                    let step = steps.last_mut().expect("a block begins with a command");
                    step.expected.push_str(line);
                    step.expected.push('\n');
                }
            },
            (_, None) => {}
        }
    }
    steps
}

/// Whether `text` is `pattern` with something for each `…`.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn shell(world: &World, command: &str) -> Command {
    let mut bin = std::path::PathBuf::from(env!("CARGO_BIN_EXE_tollgate"));
    bin.pop();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("{command}\nexit $?")]).env_clear().env("HOME", world.dir());
    shell.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())).env("TOLLGATE_DIR", world.dir());
    shell.current_dir(world.work()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

#[track_caller]
fn check(step: &Step, id: &str, output: &Output) {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said).replace(id, ID_OF_THE_TOUR);
    let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let (want, got) = (trimmed(&step.expected), trimmed(&said));
    assert!(matches(&want, &got), "README.md:{}: $ {}\nshown:\n{want}\nsaid:\n{got}", step.line, step.command);
}

#[test]
fn everything_shown_in_the_readme_happens() {
    let readme = include_str!("../README.md");
    let world = World::with_gate();
    std::fs::write(world.work().join("notes.txt"), "milk\neggs\n").expect("written");
    std::fs::write(world.work().join("policy.toml"), include_str!("../policies/full.toml")).expect("written");
    let rules = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a rule to copy");
    std::fs::write(world.work().join("rules.toml"), rules).expect("written");
    let steps = steps(readme);
    assert!(steps.iter().any(|step| step.agent) && steps.iter().any(|step| !step.agent));
    let (mut waiting, mut id) = (None, String::from(ID_OF_THE_TOUR));
    for step in &steps {
        if step.agent {
            let child = shell(&world, &step.command).spawn().expect("the agent's call starts");
            let parks = !step.command.contains("head -1");
            if parks {
                id = world.until_pending(1)[0].id[..ID_OF_THE_TOUR.len()].to_owned();
                waiting = Some((step, child));
            } else {
                check(step, &id, &child.wait_with_output().expect("ends"));
            }
            continue;
        }
        let command = step.command.replace(ID_OF_THE_TOUR, &id);
        check(step, &id, &shell(&world, &command).output().expect("the person's call runs"));
        if world.pending().is_empty()
            && let Some((asked, child)) = waiting.take()
        {
            check(asked, &id, &child.wait_with_output().expect("ends"));
        }
    }
    assert!(waiting.is_none(), "a request of the tour was never decided");
}

#[test]
fn the_two_commands_are_the_ones_that_ci_runs() {
    let readme = include_str!("../README.md");
    let ci = include_str!("../.ci/run");
    for command in ["cargo run --release -- run -c 'ls | head -3'", "cargo test"] {
        assert!(readme.contains(&format!("```sh\n{command}\n```")), "README.md no longer shows {command}");
        assert!(ci.lines().any(|line| line.starts_with(command)), ".ci/run does not run {command}");
    }
}

#[test]
fn the_exit_statuses_are_those_of_the_table() {
    let readme = include_str!("../README.md");
    for code in tollgate::facts::codes::Code::ALL {
        assert!(readme.contains(&format!("| {} |", code.exit())), "the README does not list exit {}", code.exit());
    }
}
