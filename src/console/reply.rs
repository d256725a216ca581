//! A yes or no from a chat: it decides the request whose code it carries, never "the latest".

use super::decide::{Said, decide};
use super::output::{Done, Failure};
use super::pending;
use crate::gate::protocol::Choice;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// `yes CODE`, `no CODE` or `no CODE REASON`: the code of the card
    text: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Done {
    let mut words = args.text.split_whitespace();
    let (word, code) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let rest: Vec<&str> = words.collect();
    let comment = (!rest.is_empty()).then(|| rest.join(" "));
    let decision = match word.to_ascii_lowercase().as_str() {
        "yes" => Choice::ApproveOnce,
        "no" => Choice::Deny,
        _ => return Err(Failure::usage(format!("`{word}` is neither yes nor no"), "Write `yes CODE` or `no CODE`")),
    };
    let waiting = pending::waiting()?;
    let mut named = waiting.iter().filter(|card| card.code.eq_ignore_ascii_case(code));
    let (Some(card), None) = (named.next(), named.next()) else {
        let message = format!("nothing that waits has the code `{code}`");
        return Err(Failure::no(message, "Copy the code of the card, or look with `tollgate pending`"));
    };
    let said = Said { code: Some(code.to_owned()), comment, reply: true, ..Said::of(decision) };
    decide(&card.id, said, args.json)
}
