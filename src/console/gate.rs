//! How does the console reach the gate, and what does it say when there is none or it says no?

use super::output::Failure;
use crate::facts::codes::Code;
use crate::gate::protocol::{ById, Card, Method};
use crate::gate::{Client, Dirs, Trouble};
use std::io::{self, Write};

/// The gate, if one runs.
pub fn approver() -> Result<Option<Client>, Failure> {
    let mut client = Client::approver(&Dirs::find()?)?;
    if let Some(client) = &mut client
        && client.hello()?.off
    {
        // Nothing is lost if nobody reads it: `doctor` says it as well.
        _ = writeln!(io::stderr(), "tollgate: the policy has switched the gate off: what would wait runs unasked");
    }
    Ok(client)
}

/// The gate; without one there is nothing to decide.
pub fn needed(id: &str) -> Result<Client, Failure> {
    approver()?.ok_or_else(|| {
        Failure::no(
            format!("{}: no gate is running, so nothing called {id} is known", Code::UnknownRequest.name()),
            "List what was decided with `tollgate history` once a gate runs, or start one with `tollgate daemon`",
        )
    })
}

/// One request whole, by any unique prefix of its id.
pub fn card(client: &mut Client, id: &str) -> Result<Card, Failure> {
    Ok(client.call(Method::Get, &ById { id: id.to_owned() })?)
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        Failure::no(format!("{}: {}", trouble.code.name(), trouble.message), trouble.next)
    }
}
