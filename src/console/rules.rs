//! What runs unasked because somebody said so: always-rules and session grants. List them, look at one, take it back.

use super::output::{Done, Failure, Page};
use super::{cards, gate, moment, withdraw};
use crate::gate::protocol::{ById, Card, Grant, GrantRow, Method, Preview, PreviewRule, RuleRow, Rules};
use crate::record::still_visible;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Answer as one JSON object
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// All that hold now
    List,
    /// One rule whole
    Show {
        /// Any unique beginning of its id
        id: String,
    },
    /// Take a rule or a grant back; unused approvals that came from it end with it
    Remove {
        /// Any unique beginning of its id
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub struct GrantArgs {
    /// The request: any unique beginning of its id
    id: String,
    /// How long: 30m, 1h; at most 1h
    #[arg(long = "for", value_name = "TIME", value_parser = moment::seconds)]
    hold: Option<u64>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Done {
    match args.verb {
        None | Some(Verb::List) => list(args.json),
        Some(Verb::Show { id }) => show(&id, args.json),
        Some(Verb::Remove { id }) => remove(id, args.json),
    }
}

/// What holds now; nothing where no gate runs.
pub fn standing() -> Result<Rules, Failure> {
    match gate::approver()? {
        Some(mut client) => Ok(client.call(Method::Rules, &json!({}))?),
        None => Ok(Rules { rules: Vec::new(), grants: Vec::new() }),
    }
}

fn list(json: bool) -> Done {
    let all = standing()?;
    let mut page = Page::open();
    if json {
        page.json(&all)?;
        return page.done();
    }
    if all.rules.is_empty() && all.grants.is_empty() {
        page.line("No always-rule and no session grant holds.")?;
    }
    let now = moment::now_ms();
    for rule in &all.rules {
        let class = page.class(rule.ceiling, 11);
        page.line(&format!(
            "{}  {class}  {:8}  {}  [in {}, {} uses, expires {}]",
            cards::short(&rule.id),
            still_visible(&rule.kind),
            cards::one_line(&rule.shown),
            still_visible(&rule.cwd),
            rule.uses,
            moment::relative(rule.expires_ms, now),
        ))?;
    }
    grants(&mut page, &all.grants, now)?;
    page.done()
}

/// Session grants, one on a line.
pub fn grants(page: &mut Page, grants: &[GrantRow], now_ms: u64) -> Result<(), Failure> {
    for grant in grants {
        let class = page.class(grant.ceiling, 11);
        page.line(&format!(
            "{}  {class}  granted   session {}  [in {}, by {}, {} uses, expires {}]",
            cards::short(&grant.id),
            still_visible(&grant.session),
            still_visible(&grant.cwd),
            still_visible(&grant.by),
            grant.uses,
            moment::relative(grant.expires_ms, now_ms),
        ))?;
    }
    Ok(())
}

fn show(id: &str, json: bool) -> Done {
    let all = standing()?;
    let mut named = all.rules.iter().filter(|rule| rule.id.starts_with(&id.to_ascii_lowercase()));
    let (Some(rule), None) = (named.next(), named.next()) else {
        return Err(Failure::no(
            format!("no rule, or more than one, is called {id}"),
            "List them with `tollgate rules`",
        ));
    };
    let mut page = Page::open();
    if json {
        page.json(rule)?;
    } else {
        whole(&mut page, rule)?;
    }
    page.done()
}

fn whole(page: &mut Page, rule: &RuleRow) -> Result<(), Failure> {
    let class = page.class(rule.ceiling, 0);
    page.line(&format!("rule      {}", still_visible(&rule.id)))?;
    page.line(&format!("matches   {} ({})", cards::one_line(&rule.shown), still_visible(&rule.kind)))?;
    page.line(&format!("up to     {class}"))?;
    page.line(&format!("in        {} and below", still_visible(&rule.cwd)))?;
    page.line(&format!("said by   {}, to request {}", still_visible(&rule.by), still_visible(&rule.request)))?;
    page.line(&format!("used      {} times", rule.uses))?;
    page.line(&format!("expires   {}", moment::relative(rule.expires_ms, moment::now_ms())))
}

fn remove(id: String, json: bool) -> Done {
    let mut client = gate::needed(&id)?;
    let all: Rules = client.call(Method::Rules, &json!({}))?;
    let named = id.to_ascii_lowercase();
    let is_rule = all.rules.iter().any(|rule| rule.id.starts_with(&named));
    if !is_rule && all.grants.iter().any(|grant| grant.id.starts_with(&named)) {
        return withdraw::end(&mut client, Method::Revoke, id, json);
    }
    let rule: RuleRow = client.call(Method::RemoveRule, &ById { id })?;
    let mut page = Page::open();
    if json {
        page.json(&rule)?;
    } else {
        page.line(&format!("{}  {}  removed: it asks again", cards::short(&rule.id), cards::one_line(&rule.shown)))?;
    }
    page.done()
}

/// What an always-rule made of this request would be, and what it would have matched.
pub fn preview(id: &str, template: bool, json: bool) -> Done {
    let mut client = gate::needed(id)?;
    let found: Preview = client.call(Method::PreviewRule, &PreviewRule { id: id.to_owned(), template })?;
    let mut page = Page::open();
    if json {
        page.json(&found)?;
        return page.done();
    }
    page.line(&format!("the rule   {} ({})", cards::one_line(&found.shown), still_visible(&found.kind)))?;
    let holds = moment::amount(found.ttl_s * 1000);
    page.line(&format!("up to      {}, in {} and below, for {holds}", found.ceiling, still_visible(&found.cwd)))?;
    page.line(&format!("would have matched {} of {} requests of the last 7 days", found.matches, found.looked_at))?;
    for command in &found.matched {
        page.line(&format!("  {}", cards::one_line(command)))?;
    }
    page.done()
}

pub fn grant(args: GrantArgs) -> Done {
    let mut client = gate::needed(&args.id)?;
    let card: Card = gate::card(&mut client, &args.id)?;
    let call = Grant { id: card.id.clone(), subject: card.subject.clone(), ttl_s: args.hold };
    let grant: GrantRow = client.call(Method::Grant, &call)?;
    let mut page = Page::open();
    if args.json {
        page.json(&grant)?;
    } else {
        grants(&mut page, &[grant], moment::now_ms())?;
    }
    page.done()
}
