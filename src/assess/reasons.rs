//! Reason codes: one row per thing a person can be told about a segment. The generated page comes from this table.

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $what:literal;)*) => {
        /// The lint-like name of a reason.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum Code { $($(#[$doc])* #[serde(rename = $name)] $variant,)* }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];
            /// The name people and policies see.
            pub const fn name(self) -> &'static str { match self { $(Code::$variant => $name,)* } }
            /// What it means, one line.
            pub const fn what(self) -> &'static str { match self { $(Code::$variant => $what,)* } }
        }
    };
}

reasons! {
    Unanalysed = "unanalysed", "the text was not understood to its end";
    KnownRead = "known-read", "a known program that only observes with these arguments";
    UnknownProgram = "unknown-program", "no entry in the catalogue: it could do anything";
    UnknownFlag = "unknown-flag", "the program is known, this option is not";
}
