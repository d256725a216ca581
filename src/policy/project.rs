//! What does a project say about itself? Its file is under the agent's hands: it only tightens, it is read for every
//! request, and an error in it makes this project ask for everything and touches nothing else.

use super::effective::Policy;
use super::file::{self, PolicyError};
use super::fold;
use super::model::ProjectFile;
use crate::facts::Digest;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The file in the root of the workspace.
pub const PROJECT_FILE: &str = ".tollgate.toml";
/// Largest file of a project, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Rules and patterns of one project.
const RULES_MAX: usize = 100;
/// Projects whose policy is remembered.
const REMEMBERED_MAX: usize = 256;

/// Policies of projects, as long as neither their file nor the policy above changes.
#[derive(Debug, Default)]
pub struct Projects {
    known: Mutex<HashMap<PathBuf, Known>>,
}

#[derive(Debug)]
struct Known {
    above: String,
    content: Digest,
    policy: Arc<Policy>,
}

impl Projects {
    /// The policy in this workspace; the one above where the project says nothing.
    pub fn policy(&self, above: &Arc<Policy>, workspace: Option<&Path>) -> Arc<Policy> {
        let Some(workspace) = workspace else { return Arc::clone(above) };
        let path = workspace.join(PROJECT_FILE);
        let read = file::open(&path).and_then(|file| match file {
            Some(file) => file::text(&path, file, FILE_BYTES_MAX).map(Some),
            None => Ok(None),
        });
        let text = match read {
            Ok(Some(text)) => text,
            Ok(None) => return Arc::clone(above),
            Err(error) => return Arc::new(above.with_broken_project(&error)),
        };
        let content = Digest::of(text.as_bytes());
        // A poisoned cache is only forgotten.
        if let Ok(known) = self.known.lock()
            && let Some(known) = known.get(workspace)
            && known.content == content
            && known.above == above.version()
        {
            return Arc::clone(&known.policy);
        }
        let policy = Arc::new(tightened(above, &path, &text).unwrap_or_else(|error| above.with_broken_project(&error)));
        if let Ok(mut known) = self.known.lock() {
            if known.len() >= REMEMBERED_MAX {
                known.clear();
            }
            let entry = Known { above: above.version().to_owned(), content, policy: Arc::clone(&policy) };
            known.insert(workspace.to_owned(), entry);
        }
        policy
    }
}

/// The policy with what a project's text adds.
///
/// # Errors
/// The text is no project's policy, or loosens.
pub fn tightened(above: &Policy, path: &Path, text: &str) -> Result<Policy, PolicyError> {
    let project: ProjectFile = file::parse(path, text)?;
    file::version(path, text, project.version)?;
    if project.rule.len() > RULES_MAX {
        let message = format!("has more than {RULES_MAX} rules");
        return Err(PolicyError::new(path, message, "Put some of them together"));
    }
    fold::with_project(above, path, text, &project)
}
