//! Tollgate: a shell that AI coding agents are given instead of bash.
//!
//! Four rooms answer four questions, always in this order; the answer of one is the next one's input.
//!
//! | room | question | answer |
//! |---|---|---|
//! | [`assess`] | what would this command do? | [`assess::Assessment`] |
//! | [`policy`] | may it? | [`policy::Verdict`] |
//! | [`authorize`] | who said yes, to exactly what, until when? | a lease: one use, bound to what was seen |
//! | [`execute`] | do exactly that, inside the fence | an outcome |
//!
//! Three rooms serve them: [`record`] (redaction, the audit chain), [`store`] (SQLite, the only arbiter of state) and
//! [`gate`] (the daemon: two sockets and the wiring; no rule of its own). [`isolate`] keeps parsers of hostile text in
//! worker processes. Two faces: [`shell`] (binary `tollsh`, for agents) and [`console`] (binary `tollgate`, for
//! people). [`facts`] holds the tables everybody reads: limits, codes, environment names.

// The pages of both kinds of tests are compared in one way.
#[cfg(test)]
#[path = "../tests/golden.rs"]
mod golden;

pub mod assess;
pub mod authorize;
pub mod console;
pub mod execute;
pub mod facts;
pub mod gate;
pub mod isolate;
pub mod policy;
pub mod record;
pub mod shell;
pub mod store;
