//! When is a parser's dissent set aside? One row for each construct that a parser is known not to read, each with a
//! test that shows bash reading it as we do.
//!
//! A row never adds trust: the reader and every other parser must still agree on the whole outline.

/// A construct of the text that some parser does not read as bash does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feature {
    /// `select x in …; do … done`
    Select,
    /// `for ((;;))` with an empty part.
    EmptyForPart,
    /// `for x in …; { … }`
    BraceLoop,
    /// `f() [[ … ]]`
    FunctionTest,
    /// A here-document that ends with the text.
    OpenHereDocument,
    /// A backslash at the very end, which is a backslash.
    LastBackslash,
    /// `<(…)` as the command itself.
    ProcessCommand,
    /// `A=1 if …`: behind an assignment or a redirect `if` is an ordinary word.
    OrdinaryReserved,
    /// `{name}>file`
    VariableDescriptor,
    /// An expansion in brackets behind a `<<` on its line: brush shifts it out of its place.
    BehindHereDocument,
    /// `case x in a) … esac` inside `$( )`: brush takes the `)` for the end.
    BareArm,
    /// `for x in; do … done`: brush takes it for a loop over `"$@"`.
    EmptyList,
    /// `( (a) )`: brush takes it for arithmetic.
    SubshellInSubshell,
    /// `@(a|b)`: read by both with their extended globs turned on.
    ExtendedGlob,
}

/// How far a row goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aside {
    /// The parser may refuse the text; if it reads it, it must agree.
    Refusal,
    /// The parser is not asked: it accepts the text and reads it wrongly.
    Reading,
}

/// Dissent that is set aside.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) parser: &'static str,
    pub(super) feature: Feature,
    pub(super) aside: Aside,
}

const fn refusal(feature: Feature) -> Row {
    Row { parser: "brush", feature, aside: Aside::Refusal }
}

pub(super) const ROWS: [Row; 13] = [
    refusal(Feature::Select),
    refusal(Feature::EmptyForPart),
    refusal(Feature::BraceLoop),
    refusal(Feature::FunctionTest),
    refusal(Feature::OpenHereDocument),
    refusal(Feature::LastBackslash),
    refusal(Feature::ProcessCommand),
    refusal(Feature::OrdinaryReserved),
    refusal(Feature::BareArm),
    Row { parser: "brush", feature: Feature::VariableDescriptor, aside: Aside::Reading },
    Row { parser: "brush", feature: Feature::BehindHereDocument, aside: Aside::Reading },
    Row { parser: "brush", feature: Feature::EmptyList, aside: Aside::Reading },
    Row { parser: "brush", feature: Feature::SubshellInSubshell, aside: Aside::Reading },
];

/// What may be set aside of `parser` for a text with these features.
pub(super) fn aside(parser: &str, features: &[Feature]) -> Option<Aside> {
    let rows = ROWS.iter().filter(|row| row.parser == parser && features.contains(&row.feature));
    rows.map(|row| row.aside).max_by_key(|aside| match aside {
        Aside::Refusal => 0,
        Aside::Reading => 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::parse::{brush, script};
    use crate::assess::{Dialect, syntax::*};

    /// Text that bash 5.2 runs as stated: each was run with inert names. The last column is the first command bash
    /// runs and how many there are at top level.
    const PROOFS: &[(Feature, &str, &str, usize)] = &[
        (Feature::Select, "select pick in one two; do probe; done", "select", 1),
        (Feature::EmptyForPart, "for ((;;)); do probe; break; done", "for", 1),
        (Feature::EmptyForPart, "for ((i = 0;; i++)); do probe; break; done; after", "for", 2),
        (Feature::BraceLoop, "for each in one two; { probe; }", "for", 1),
        (Feature::FunctionTest, "check() [[ -n $1 ]]\nafter", "function", 2),
        (Feature::OpenHereDocument, "probe <<END; after\nbody", "probe", 2),
        (Feature::OpenHereDocument, "probe <<END", "probe", 1),
        (Feature::LastBackslash, "probe one \\", "probe", 1),
        (Feature::ProcessCommand, "<(inner) one", "", 1),
        (Feature::OrdinaryReserved, "A=1 if one; after", "if", 2),
        (Feature::OrdinaryReserved, ">out done; after", "done", 2),
        (Feature::VariableDescriptor, "{log}>out probe one", "probe", 1),
        (Feature::VariableDescriptor, "probe {log}<&0; after", "probe", 2),
        (Feature::BehindHereDocument, "probe <<E >\"${file}\"\nbody\nE\nafter", "probe", 2),
        (Feature::BehindHereDocument, "probe <<E $(inner)\nbody\nE\nafter", "probe", 2),
        (Feature::EmptyList, "for each in; do probe; done; after", "for", 2),
        (Feature::SubshellInSubshell, "( (probe) )", "(", 1),
        (Feature::SubshellInSubshell, "((probe one) ); after", "(", 2),
        (Feature::BareArm, "probe $(case x in a) inner;; esac)\nafter", "probe", 2),
    ];

    fn first(script: &Script) -> String {
        match &script.items[0].first.commands[0].kind {
            CommandKind::Simple { words, .. } => match words[0].parts.first().map(|part| &part.kind) {
                Some(PartKind::Text(text)) => text.clone(),
                _ => String::new(),
            },
            CommandKind::Select { .. } => "select".to_owned(),
            CommandKind::For { .. } | CommandKind::ForArithmetic { .. } => "for".to_owned(),
            CommandKind::Function { .. } => "function".to_owned(),
            CommandKind::Subshell(_) => "(".to_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_row_has_a_proof_and_brush_still_needs_it() {
        for row in &ROWS {
            let proofs = PROOFS.iter().filter(|proof| proof.0 == row.feature);
            assert!(proofs.clone().count() > 0, "{row:?} has no proof");
            for (_, text, command, items) in proofs {
                let script = script(text, Dialect::Bash).unwrap_or_else(|no| panic!("{text:?}: {no}"));
                assert_eq!((first(&script).as_str(), script.items.len()), (*command, *items), "{text:?}");
                let refuses = brush::outline(text, false).is_err();
                assert_eq!(refuses, row.aside == Aside::Refusal, "{text:?}: the row is dead");
            }
        }
    }

    #[test]
    fn a_row_sets_nothing_else_aside() {
        // brush takes the here-document of this text for another one, whatever else the text holds.
        for text in ["select x in a; do probe; done\nprobe <<$'E'\nE\nhidden\n$E\n", "{log}>out probe <<$'E'\nE\n$E\n"]
        {
            assert!(script(text, Dialect::Bash).is_err(), "{text:?}");
        }
    }
}
