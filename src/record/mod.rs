//! What happened, without secrets: redaction, safe display, the audit chain. Everything that is stored, logged,
//! broadcast or shown passes through this room; nothing that runs does.

pub mod audit;
pub mod export;
pub mod redact;
pub mod signing;
pub mod visible;

pub use redact::{Context, Hidden, Redacted, Redactor};
pub use visible::{still_visible, visible, visible_block, visible_bytes};
