//! What an editor is told about policy files: a JSON Schema made from the types that read them.

use super::model::{File, ProjectFile};
use schemars::Schema;

/// Of a policy file.
pub fn policy() -> Schema {
    schemars::schema_for!(File)
}

/// Of a project's `.tollgate.toml`.
pub fn project() -> Schema {
    schemars::schema_for!(ProjectFile)
}
