//! Yes, always, or no? The answer goes to the gate with the digest of what was shown; the gate decides whether it counts.

use super::output::{Done, Failure, Page};
use super::{cards, gate, key, moment, pending};
use crate::assess::Class;
use crate::facts::limits::LINE_BYTES_MAX;
use crate::gate::protocol::{Card, Choice, Decide, Decided, Method};

#[derive(Debug, clap::Args)]
pub struct ApproveArgs {
    /// The request: any unique beginning of its id; without it, what waits is listed
    id: Option<String>,
    /// The request's short code, as its card shows it: needed where it is destructive
    #[arg(long)]
    code: Option<String>,
    /// Let it run in the fence of another class, narrower or wider: read, write, network, install
    #[arg(long, value_name = "CLASS", value_parser = class)]
    fence: Option<Class>,
    /// A word to the requester and the record
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    #[command(flatten)]
    key: key::Place,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct AlwaysArgs {
    /// The request: any unique beginning of its id
    id: String,
    /// What the rule matches
    #[arg(long = "as", value_enum, default_value = "exact")]
    matching: Matching,
    /// Save nothing: show the rule, and what it would have matched in the last 7 days
    #[arg(long)]
    preview: bool,
    /// The request's short code, as its card shows it
    #[arg(long)]
    code: Option<String>,
    /// A word to the requester and the record
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    #[command(flatten)]
    key: key::Place,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Matching {
    /// Exactly this command
    Exact,
    /// Commands of its shape: the same program and words, with other paths in the workspace
    Template,
}

#[derive(Debug, clap::Args)]
pub struct DenyArgs {
    /// The request: any unique beginning of its id
    id: String,
    /// Why, and what to do instead: the requester is told
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Deny whatever is like it (the same programs and effects) without asking, for so long: 30m, 1h; at most 24h
    #[arg(long = "for", value_name = "TIME", value_parser = moment::seconds)]
    hold: Option<u64>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

pub fn approve(args: ApproveArgs) -> Done {
    match args.id {
        Some(id) => decide(
            &id,
            Said {
                code: args.code,
                comment: args.comment,
                fence: args.fence,
                key: args.key,
                ..Said::of(Choice::ApproveOnce)
            },
            args.json,
        ),
        None => pending::run(pending::Args { long: false, json: args.json }),
    }
}

pub fn always(args: AlwaysArgs) -> Done {
    let template = match args.matching {
        Matching::Exact => false,
        Matching::Template => true,
    };
    if args.preview {
        return super::rules::preview(&args.id, template, args.json);
    }
    let said =
        Said { code: args.code, comment: args.comment, template, key: args.key, ..Said::of(Choice::ApproveAlways) };
    decide(&args.id, said, args.json)
}

pub fn deny(args: DenyArgs) -> Done {
    decide(&args.id, Said { comment: args.reason, hold_s: args.hold, ..Said::of(Choice::Deny) }, args.json)
}

pub fn class(name: &str) -> Result<Class, String> {
    let names: Vec<_> = Class::ALL.iter().map(|class| class.name()).collect();
    Class::from_name(name).ok_or_else(|| format!("a class is one of {}", names.join(", ")))
}

/// What a person says to a request.
#[derive(Debug)]
pub struct Said {
    pub decision: Choice,
    pub code: Option<String>,
    pub comment: Option<String>,
    pub fence: Option<Class>,
    pub template: bool,
    pub hold_s: Option<u64>,
    pub reply: bool,
    pub key: key::Place,
}

impl Said {
    pub fn of(decision: Choice) -> Said {
        let key = key::Place::default();
        Said { decision, code: None, comment: None, fence: None, template: false, hold_s: None, reply: false, key }
    }
}

pub fn decide(id: &str, said: Said, json: bool) -> Done {
    let mut client = gate::needed(id)?;
    let card = gate::card(&mut client, id)?;
    if said.decision != Choice::Deny {
        may_approve(&card, said.decision, said.code.as_deref())?;
    }
    let Said { decision, code, comment, fence, template, hold_s, reply, key } = said;
    let (id, subject, evidence) = (card.id.clone(), card.subject.clone(), Some(card.evidence_digest.clone()));
    let (deny_for_s, signature) = (hold_s, None);
    let mut call =
        Decide { id, decision, subject, evidence, comment, code, fence, template, deny_for_s, reply, signature };
    if decision != Choice::Deny {
        key::sign(&mut client, &mut call, card.must_sign.as_deref(), &key)?;
    }
    let decided: Decided = client.call(Method::Decide, &call)?;
    let mut page = Page::open();
    if json {
        page.json(&decided)?;
    } else {
        let said = cards::decided(&decided, moment::now_ms());
        page.line(&format!("{}  {}  {said}", cards::short(&decided.id), cards::one_line(&card.command)))?;
    }
    page.done()
}

/// What the gate would refuse anyway, said with the exact next step.
fn may_approve(card: &Card, decision: Choice, code: Option<&str>) -> Result<(), Failure> {
    let id = cards::short(&card.id);
    if card.state != "PENDING" {
        // The gate's answer names who decided and when.
        return Ok(());
    }
    if let Some(why) = &card.cannot_approve {
        return Err(Failure::no(
            format!("{id} cannot be approved as it is shown: {why}"),
            "Deny it, or let it be asked again",
        ));
    }
    if card.command.len() >= LINE_BYTES_MAX / 2 || card.command.ends_with("<cut>") {
        return Err(Failure::no(
            format!("{id} is too long to be shown whole"),
            "Deny it and ask for a shorter command",
        ));
    }
    let needs_code = decision == Choice::ApproveAlways || card.class == Class::Destructive;
    if needs_code && code.is_none() {
        let what = if decision == Choice::ApproveAlways { "an always-rule" } else { "a destructive command" };
        return Err(Failure::no(
            format!("{id}: {what} needs the short code of its card"),
            format!("Read `tollgate show {id}`, then repeat this with `--code` and the code it shows"),
        ));
    }
    Ok(())
}
