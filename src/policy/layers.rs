//! Where do policies come from, and who stands above whom?

use super::effective::Policy;
use super::file::{self, Document, PolicyError};
use super::fold;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Whose file it is, highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    /// `/etc/tollgate/policy.toml` and `/etc/tollgate/policy.d/*.toml`
    System,
    /// The user's own.
    User,
    /// `.tollgate.toml` in the workspace.
    Project,
}

impl LayerKind {
    pub const fn name(self) -> &'static str {
        match self {
            LayerKind::System => "system",
            LayerKind::User => "user",
            LayerKind::Project => "project",
        }
    }
}

/// Where a layer is looked for; a missing file is an empty layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub kind: LayerKind,
    pub path: PathBuf,
}

impl Layer {
    /// The directory whose files belong to the layer too.
    pub fn drop_ins(&self) -> Option<PathBuf> {
        match self.kind {
            LayerKind::System => Some(self.path.with_file_name("policy.d")),
            LayerKind::User | LayerKind::Project => None,
        }
    }

    fn read(&self, uid: u32) -> Result<Vec<Document>, PolicyError> {
        let mut documents = file::read_all(&self.path, uid)?;
        if let Some(dir) = self.drop_ins() {
            documents.extend(file::read_directory(&dir, uid)?);
        }
        Ok(documents)
    }
}

impl Policy {
    /// The policy without any file.
    pub fn built_in() -> Policy {
        fold::fold(&[]).unwrap_or_else(|_| unreachable!("no layer, nothing to refuse"))
    }

    /// Reads and folds the layers, highest first. `uid` is the gate's own: files belong to it or to root.
    ///
    /// # Errors
    /// Any file of any layer is wrong, or a test that a policy carries fails.
    pub fn load(layers: &[Layer], uid: u32) -> Result<Policy, PolicyError> {
        fold::fold(&read(layers, uid)?)
    }

    /// As [`Policy::load`], also where tests that the layers carry fail: what failed comes with it. Only to look at.
    ///
    /// # Errors
    /// Anything else is wrong.
    pub fn look(layers: &[Layer], uid: u32) -> Result<(Policy, Option<PolicyError>), PolicyError> {
        fold::looked_at(&read(layers, uid)?)
    }

    /// As [`Policy::from_file`], also where tests that it carries fail: what failed comes with it. Only to look at.
    ///
    /// # Errors
    /// Anything else is wrong.
    pub fn look_at_file(path: &Path, uid: u32) -> Result<(Policy, Option<PolicyError>), PolicyError> {
        fold::looked_at(&[(LayerKind::User, file(path, uid)?)])
    }

    /// One policy from its text, as a topmost layer.
    ///
    /// # Errors
    /// As [`Policy::load`]; including is an error.
    pub fn from_text(path: &Path, text: &str) -> Result<Policy, PolicyError> {
        let document = Document::new(path, text.to_owned())?;
        if !document.file.include.is_empty() || !document.file.catalogue.files.is_empty() {
            let key = if document.file.include.is_empty() { "catalogue" } else { "include" };
            return Err(document.wrong(&file::at![key], "other files need a file", "Load it from its file"));
        }
        fold::fold(&[(LayerKind::User, vec![document])])
    }

    /// One policy from its file and what that includes, as a topmost layer; whoever wrote it.
    ///
    /// # Errors
    /// As [`Policy::load`].
    pub fn from_file(path: &Path, uid: u32) -> Result<Policy, PolicyError> {
        fold::fold(&[(LayerKind::User, file(path, uid)?)])
    }
}

/// The files of all layers that there are; what is wrong in any of them is said at once.
fn read(layers: &[Layer], uid: u32) -> Result<Vec<(LayerKind, Vec<Document>)>, PolicyError> {
    let (mut read, mut faults) = (Vec::new(), Vec::new());
    for layer in layers {
        match layer.read(uid) {
            Ok(documents) if documents.is_empty() => {}
            Ok(documents) => read.push((layer.kind, documents)),
            Err(fault) => faults.push(fault),
        }
    }
    PolicyError::gathered(faults).map_or(Ok(read), Err)
}

/// One file and what it includes.
pub fn file(path: &Path, uid: u32) -> Result<Vec<Document>, PolicyError> {
    match file::read_all(path, uid)? {
        documents if documents.is_empty() => {
            Err(PolicyError::new(path, "is not there", "Name a policy file that can be read"))
        }
        documents => Ok(documents),
    }
}
