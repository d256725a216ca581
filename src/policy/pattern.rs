//! Does this text fit that pattern? Yes, no, or it cannot be known before the command runs.

use crate::assess::Operand;
use globset::{GlobBuilder, GlobMatcher};

/// Longest pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 512;

/// An answer with doubt. What is doubtful stands between no and yes, so that `and` is the least and `or` the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    No,
    Maybe,
    Yes,
}

impl Fit {
    pub const fn of(holds: bool) -> Fit {
        if holds { Fit::Yes } else { Fit::No }
    }

    /// Holds for one of them.
    pub fn any(all: impl IntoIterator<Item = Fit>) -> Fit {
        all.into_iter().max().unwrap_or(Fit::No)
    }

    /// Holds for all of them, and there is one.
    pub fn all(all: impl IntoIterator<Item = Fit>) -> Fit {
        all.into_iter().min().unwrap_or(Fit::No)
    }
}

/// One compiled pattern.
#[derive(Clone, Debug)]
pub enum Pattern {
    Literal(String),
    Glob(Box<GlobMatcher>),
}

/// What `*` may cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything.
    Word,
    /// Everything but `/`.
    Path,
}

impl Pattern {
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: &str, kind: Kind) -> Result<Pattern, String> {
        if text.is_empty() {
            return Err("an empty pattern matches nothing".to_owned());
        }
        if let Some(name) = text.strip_prefix('!') {
            return Err(format!(
                "`{text}` begins with `!`, which turns nothing round: a rule names what it leaves out in `except`; the \
                 word itself is written `'\\!{name}'`"
            ));
        }
        if text.len() > PATTERN_BYTES_MAX {
            return Err(format!("a pattern has more than {PATTERN_BYTES_MAX} bytes"));
        }
        if !text.contains(['*', '?', '[', ']', '{', '}', '\\']) {
            return Ok(Pattern::Literal(text.to_owned()));
        }
        let built = GlobBuilder::new(text).literal_separator(kind == Kind::Path).backslash_escape(true).build();
        match built {
            Ok(glob) => Ok(Pattern::Glob(Box::new(glob.compile_matcher()))),
            Err(error) => Err(format!("`{text}` is no pattern: {}", error.kind())),
        }
    }

    pub fn is(&self, text: &str) -> bool {
        match self {
            Pattern::Literal(literal) => literal == text,
            Pattern::Glob(glob) => glob.is_match(text),
        }
    }

    /// The text it stands for, if it is only one.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Pattern::Literal(text) => Some(text),
            Pattern::Glob(_) => None,
        }
    }

    /// Whether it is written for options.
    fn names_options(&self) -> bool {
        let text = match self {
            Pattern::Literal(text) => text,
            Pattern::Glob(glob) => glob.glob().glob(),
        };
        text.starts_with('-') || text.starts_with("{-")
    }

    /// Whether a word of a command fits.
    pub fn fits(&self, word: &Operand) -> Fit {
        match word {
            Operand::Known(text) => Fit::of(self.is(text)),
            Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => Fit::Maybe,
        }
    }
}

/// Any of several.
pub fn any(patterns: &[Pattern], text: &str) -> bool {
    patterns.iter().any(|pattern| pattern.is(text))
}

/// Whether the patterns occur among the words in this order, with others between them. An unknown word may be any
/// number of words.
pub fn in_order(patterns: &[Pattern], words: &[Operand]) -> Fit {
    // best[n]: how well the first n patterns were found so far.
    let mut best = vec![Fit::No; patterns.len() + 1];
    best[0] = Fit::Yes;
    for word in words {
        match word {
            Operand::Known(_) => {
                for n in (0..patterns.len()).rev() {
                    let here = best[n].min(patterns[n].fits(word));
                    best[n + 1] = best[n + 1].max(here);
                }
            }
            Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => {
                for n in 0..patterns.len() {
                    let here = best[n].min(Fit::Maybe);
                    best[n + 1] = best[n + 1].max(here);
                }
            }
        }
    }
    best[patterns.len()]
}

/// Whether every word fits one of the patterns, and all the patterns occur in this order. An option fits only a pattern
/// that is written for options: `*` stands for names and values.
pub fn covered(patterns: &[Pattern], words: &[Operand]) -> Fit {
    let each = words.iter().map(|word| {
        let option = matches!(word, Operand::Known(text) if text.starts_with('-') && text.len() > 1);
        Fit::any(patterns.iter().filter(|one| !option || one.names_options()).map(|one| one.fits(word)))
    });
    each.min().unwrap_or(Fit::Yes).min(in_order(patterns, words))
}

/// `--flag=value` as the two words it means; everything else as it is.
pub fn spread(argv: &[Operand]) -> Vec<Operand> {
    let mut words = Vec::with_capacity(argv.len());
    for word in argv {
        match word {
            Operand::Known(text) if text.starts_with("--") && text.contains('=') => {
                let (flag, value) = text.split_once('=').unwrap_or((text, ""));
                words.push(Operand::Known(flag.to_owned()));
                words.push(Operand::Known(value.to_owned()));
            }
            Operand::Known(_) | Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => words.push(word.clone()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(words: &[&str]) -> Vec<Pattern> {
        words.iter().map(|word| Pattern::new(word, Kind::Word).expect(word)).collect()
    }

    fn words(words: &[&str]) -> Vec<Operand> {
        let word = |word: &&str| match word.strip_suffix('…') {
            Some(prefix) => Operand::Unknown { prefix: prefix.to_owned() },
            None => Operand::Known((*word).to_owned()),
        };
        words.iter().map(word).collect()
    }

    #[test]
    fn patterns_are_found_in_order_and_doubt_is_neither_yes_nor_no() {
        let table: [(&[&str], &[&str], Fit); 9] = [
            (&["-h", "prod-*"], &["-x", "-h", "prod-1", "-c"], Fit::Yes),
            (&["-h", "prod-*"], &["prod-1", "-h"], Fit::No),
            (&["-h", "prod-*"], &["-h", "…"], Fit::Maybe),
            (&["-h", "prod-*"], &["…"], Fit::Maybe),
            (&["-h", "prod-*"], &["-h", "local"], Fit::No),
            (&["a", "b"], &["a", "…", "b"], Fit::Yes),
            (&["a"], &[], Fit::No),
            (&["--host", "p*"], &["--host=prod"], Fit::Yes),
            (&["a", "a"], &["a"], Fit::No),
        ];
        for (wanted, given, want) in table {
            assert_eq!(in_order(&patterns(wanted), &spread(&words(given))), want, "{wanted:?} in {given:?}");
        }
    }

    #[test]
    fn a_rule_that_allows_must_have_a_pattern_for_every_word() {
        let table: [(&[&str], &[&str], Fit); 11] = [
            (&["push", "*"], &["push", "--force"], Fit::No),
            (&["*"], &["x", "-f"], Fit::No),
            (&["*"], &["-"], Fit::Yes),
            (&["*", "-v"], &["x", "-v"], Fit::Yes),
            (&["{-n,-v}", "*"], &["-v", "x", "-n"], Fit::Yes),
            (&["-*", "*"], &["--any", "x"], Fit::Yes),
            (&["push", "origin"], &["push", "origin"], Fit::Yes),
            (&["push", "origin"], &["push", "origin", "--force"], Fit::No),
            (&["push", "origin"], &["push", "…"], Fit::Maybe),
            (&["push", "*"], &["push", "x", "y"], Fit::Yes),
            (&["push"], &[], Fit::No),
        ];
        for (wanted, given, want) in table {
            assert_eq!(covered(&patterns(wanted), &words(given)), want, "{wanted:?} covers {given:?}");
        }
    }

    #[test]
    fn a_star_crosses_slashes_in_words_and_not_in_paths() {
        for (kind, one, two) in [(Kind::Word, true, true), (Kind::Path, true, false)] {
            let pattern = Pattern::new("a/*", kind).expect("a pattern");
            assert_eq!((pattern.is("a/b"), pattern.is("a/b/c")), (one, two));
        }
        assert!(Pattern::new("a/**", Kind::Path).expect("a pattern").is("a/b/c"));
        assert!(Pattern::new("\\!x", Kind::Word).expect("a pattern").is("!x"));
        for broken in ["", "[", "{a", "a**b{", "!x", &"x".repeat(513)] {
            assert!(Pattern::new(broken, Kind::Word).is_err(), "{broken}");
        }
    }
}
