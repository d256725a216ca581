//! Who is told that something waits? A command of the admin's, one at a time, with the redacted card and its short code
//! on standard input. It can be slow, hang or fail: the gate never waits for it.

use super::protocol::Card;
use crate::policy::Policy;
use crate::record::still_visible;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

/// A notification that takes longer is ended.
const WITHIN: Duration = Duration::from_secs(5);
/// Notifications that wait for their turn; more are left out.
const QUEUED_MAX: usize = 32;
/// How often a running one is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The queue of one gate.
#[derive(Debug)]
pub struct Notifier {
    queue: Option<SyncSender<Notice>>,
}

/// One command and what it is given.
#[derive(Debug)]
struct Notice {
    argv: Vec<String>,
    text: String,
}

impl Notifier {
    /// Starts the thread that runs them. Without one, nobody is told, and the log says so.
    pub fn start() -> Notifier {
        let (queue, notices) = sync_channel::<Notice>(QUEUED_MAX);
        let started = std::thread::Builder::new().name("notify".to_owned()).spawn(move || {
            for notice in notices {
                if let Err(why) = run(&notice) {
                    tracing::warn!(why, program = notice.argv.first().map(String::as_str), "not notified");
                }
            }
        });
        match started {
            Ok(_) => Notifier { queue: Some(queue) },
            Err(error) => {
                tracing::error!(%error, "nobody will be notified");
                Notifier { queue: None }
            }
        }
    }

    /// Queues what the policy wants said about a request that parked.
    pub fn parked(&self, policy: &Policy, card: &Card) {
        for notify in policy.values().notify.iter().filter(|notify| card.class >= notify.class) {
            let notice = Notice { argv: notify.command.clone(), text: text(card) };
            match self.queue.as_ref().map(|queue| queue.try_send(notice)) {
                Some(Ok(())) | None => {}
                Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) => {
                    tracing::warn!(request = card.id, "too many notifications wait; this one is left out");
                }
            }
        }
    }
}

/// The card in a few lines; the code first, for a chat that shows one line.
fn text(card: &Card) -> String {
    let attributes: Vec<&str> = card.attributes.iter().map(|attribute| attribute.name()).collect();
    format!(
        "{} {}{}\n{}\nin {}\nby {}\n{}\nreply: yes {} or no {}\n",
        card.code,
        card.class,
        if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) },
        still_visible(&card.command),
        still_visible(&card.cwd),
        still_visible(&card.requester.agent),
        still_visible(&card.why),
        card.code,
        card.code,
    )
}

/// Runs it to its end, or ends it with all it started.
fn run(notice: &Notice) -> Result<(), String> {
    let Some((program, args)) = notice.argv.split_first() else { return Ok(()) };
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .envs(
            ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "HOME"]
                .iter()
                .filter_map(|name| std::env::var_os(name).map(|value| (*name, value))),
        )
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let until = Instant::now() + WITHIN;
    if let Some(mut stdin) = child.stdin.take() {
        // A few lines fit a pipe: writing does not wait for a reader. One that has gone does not want them.
        _ = stdin.write_all(notice.text.get(..notice.text.len().min(32 * 1024)).unwrap_or_default().as_bytes());
    }
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("it ended with {status}")),
            None if Instant::now() >= until => {
                let group = i32::try_from(child.id()).map_err(|e| e.to_string())?;
                // It may just have ended by itself.
                _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(group), nix::sys::signal::Signal::SIGKILL);
                child.wait().map_err(|e| e.to_string())?;
                return Err(format!("it took longer than {} s", WITHIN.as_secs()));
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    }
}
