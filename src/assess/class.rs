//! The five classes, lowest first. The class of a whole is the highest of its parts.

use serde::{Deserialize, Serialize};

/// What a command can do to the machine and beyond. There is deliberately no `Default`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Proven to only observe.
    Read,
    /// Changes files, processes or shell state; and everything that is not recognised.
    Write,
    /// Reaches the network.
    Network,
    /// Installs packages, or code that later runs by itself.
    Install,
    /// Catastrophic, irreversible, or privilege escalation.
    Destructive,
}

impl Class {
    /// Every class, lowest first.
    pub const ALL: [Class; 5] = [Class::Read, Class::Write, Class::Network, Class::Install, Class::Destructive];

    /// The word people and files use.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Read => "read",
            Class::Write => "write",
            Class::Network => "network",
            Class::Install => "install",
            Class::Destructive => "destructive",
        }
    }

    /// The class with this name.
    pub fn from_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
