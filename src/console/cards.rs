//! How does a request look: on one line in a list, and whole, so that it can be decided?
//!
//! The gate made foreign strings visible; whatever it says, nothing here lets a string act on the terminal.

use super::moment::{amount, relative};
use super::output::{Failure, Page};
use crate::gate::protocol::{Card, Decided, Executed};
use crate::record::still_visible;
use crate::store::LATELY_ROWS_MAX;

/// A list stays a list: longer commands are shown whole by `tollgate show`.
const LINE_CHARS_MAX: usize = 120;
/// As much of an id as people need to type.
pub const ID_CHARS: usize = 8;

pub fn short(id: &str) -> String {
    still_visible(id).chars().take(ID_CHARS).collect()
}

/// The beginning of a text on one line; says when there is more.
pub fn one_line(text: &str) -> String {
    let flat = still_visible(text).replace('\n', "<LF>");
    let mut out: String = flat.chars().take(LINE_CHARS_MAX).collect();
    if out.len() < flat.len() {
        out.push_str(" <more>");
    }
    out
}

/// One waiting request on one line.
pub fn row(page: &mut Page, card: &Card, now_ms: u64) -> Result<(), Failure> {
    let waits = if card.attached { "waiting" } else { "detached" };
    let class = page.class(card.class, 11);
    page.line(&format!(
        "{}  {class}  {}  [{waits}, asked {}, expires {}]",
        short(&card.id),
        one_line(&card.command),
        relative(card.created_ms, now_ms),
        relative(card.expires_ms, now_ms),
    ))
}

/// The whole request.
pub fn whole(page: &mut Page, card: &Card, now_ms: u64) -> Result<(), Failure> {
    let line = |page: &mut Page, name: &str, text: &str| {
        let text = still_visible(text).replace('\n', &format!("\n{:12}", ""));
        page.line(&format!("{name:11} {text}"))
    };
    let attributes: Vec<_> = card.attributes.iter().map(|a| a.name()).collect();
    let class = page.class(card.class, 0);
    page.line(&format!("{:11} {}  (code {})", "request", still_visible(&card.id), still_visible(&card.code)))?;
    page.line(&format!("{:11} {}", "state", still_visible(&card.state)))?;
    page.line(&format!("{:11} {class}{}", "class", listed(&attributes)))?;
    if card.privileged {
        line(page, "PRIVILEGED", "a yes lets it run WITHOUT A FENCE, with every privilege it can get")?;
    }
    line(page, "command", &card.command)?;
    line(page, "in", &card.cwd)?;
    if let Some(branch) = &card.branch {
        line(page, "branch", branch)?;
    }
    for account in &card.accounts {
        line(page, "account", account)?;
    }
    line(page, "why", &card.why)?;
    line(page, "rule", &card.rule)?;
    for segment in &card.segments {
        let class = page.class(segment.class, 11);
        let place = segment.place.as_ref().map_or(String::new(), |place| format!("  [in {}]", one_line(place)));
        page.line(&format!("  {class} {}{place}", one_line(&segment.text)))?;
        for reason in &segment.reasons {
            page.line(&format!("      {}: {}", reason.code.name(), one_line(&reason.text)))?;
            if let Some(hint) = &reason.hint {
                page.line(&format!("      hint: {}", one_line(hint)))?;
            }
        }
    }
    for unbound in &card.unbound {
        line(page, "not bound", unbound)?;
    }
    for file in &card.evidence {
        let hash: String = still_visible(&file.sha256).chars().take(16).collect();
        let hash = if hash.is_empty() { hash } else { format!(", sha256 {hash}…") };
        line(page, "bound", &format!("{} ({}{hash})", file.path, file.role))?;
    }
    for operand in &card.operands {
        line(page, "names", &format!("{} stands for {} names now", operand.pattern, operand.count))?;
    }
    for sentence in &card.fence {
        line(page, "fence", sentence)?;
    }
    let who = &card.requester;
    line(page, "asked by", &format!("{} (uid {}, pid {}, session {})", who.agent, who.uid, who.pid, who.session))?;
    let attached = if card.attached { "a client is waiting" } else { "no client is waiting now" };
    let asked = relative(card.created_ms, now_ms);
    line(page, "when", &format!("asked {asked}, expires {}; {attached}", relative(card.expires_ms, now_ms)))?;
    if card.asked_before > 0 {
        let more = if card.asked_before >= LATELY_ROWS_MAX { " or more" } else { "" };
        let text = format!("{}{more} times in the last day, denied {} times", card.asked_before, card.denied_before);
        line(page, "asked before", &text)?;
    }
    if card.approvals_needed > 1 {
        line(page, "approvals", &format!("{} of {} different users", card.approvals, card.approvals_needed))?;
    }
    if card.hidden > 0 {
        line(page, "hidden", &format!("{} places of the command are redacted", card.hidden))?;
    }
    if let Some(why) = &card.must_sign {
        line(page, "to be signed", why)?;
    }
    if card.moved {
        line(page, "note", "TOLLGATE_DIR moved this gate: it is a trial, not an installation")?;
    }
    if let Some(why) = &card.cannot_approve {
        line(page, "cannot be approved", why)?;
    }
    if let Some(decision) = &card.decision {
        line(page, "decision", &decided(decision, now_ms))?;
    }
    if let Some(execution) = &card.execution {
        line(page, "execution", &executed(execution))?;
    }
    line(page, "subject", &card.subject)?;
    line(page, "evidence", &card.evidence_digest)
}

fn listed(attributes: &[&str]) -> String {
    if attributes.is_empty() { String::new() } else { format!("  [{}]", attributes.join(", ")) }
}

/// `APPROVED by ann 2 min ago: comment`
pub fn decided(decision: &Decided, now_ms: u64) -> String {
    let comment = decision.comment.as_ref().map_or(String::new(), |comment| format!(": {}", still_visible(comment)));
    let (state, by) = (still_visible(&decision.state), still_visible(&decision.by));
    format!("{state} by {by} {}{comment}", relative(decision.at_ms, now_ms))
}

/// `FAILED, exit 3, 12 s`
pub fn executed(execution: &Executed) -> String {
    let mut out = still_visible(&execution.state);
    if let Some(exit) = execution.exit {
        out += &format!(", exit {exit}");
    }
    if let Some(signal) = execution.signal {
        out += &format!(", signal {signal}");
    }
    if let Some(ms) = execution.duration_ms {
        out += &format!(", {}", amount(ms));
    }
    if let Some(note) = &execution.note {
        out += &format!(": {}", still_visible(note));
    }
    out
}
