//! Which verified files are put in their places while a command runs? Named by the gate from what was shown; whoever
//! executes copies them and compares.

use super::{Bytes, Digest};
use serde::{Deserialize, Serialize};

/// A file that shall be read as it was verified, whatever happens to it meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The resolved real path.
    pub path: Bytes,
    pub sha256: Digest,
}
