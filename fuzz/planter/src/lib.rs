//! Writes shell programs that do something known, in disguise. A classifier that says less of one than was planted in it
//! has a hole; one that says less of a text than of another that means the same has one too.
//!
//! Three layers of disguise lie over each other: how a word is written ([`spell`]), what stands before a command's words
//! ([`call`]) and what stands around a text ([`place`]). Nothing here knows the classifier.

pub mod call;
pub mod choice;
pub mod effects;
pub mod place;
pub mod spell;

pub use choice::{Choice, bytes_of};
pub use effects::{Effect, Kind, PLANTS, READS};

/// A program in disguise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What it does, as it stands in the table.
    pub plain: String,
    pub text: String,
    /// The disguises, outermost last.
    pub worn: Vec<&'static str>,
}

/// A program that has an effect, and the effect.
pub fn planted(bytes: &[u8]) -> (Effect, Program) {
    let mut choice = Choice::of(bytes);
    let effect = *choice.one(PLANTS);
    (effect, disguised(effect.form, &mut choice))
}

/// A program that only reads.
pub fn reading(bytes: &[u8]) -> Program {
    let mut choice = Choice::of(bytes);
    let form = *choice.one(READS);
    disguised(form, &mut choice)
}

/// The words of a form: `␠` is a blank inside a word, `⏎` a line end.
pub fn words(form: &str) -> Vec<String> {
    form.split(' ').map(|word| word.replace('␠', " ").replace('⏎', "\n")).collect()
}

/// The form as a command without any disguise.
pub fn plain(form: &str) -> String {
    call::written(&words(form), &mut Choice::of(&[]), &mut Vec::new())
}

/// Whether a text is a form: words that need no quotes, with one blank between them, the first one no assignment.
pub fn is_form(text: &str) -> bool {
    let fits = |(at, word): (usize, &str)| {
        let setting = word.replacen('=', "", usize::from(at > 0));
        spell::is_plain(&setting) && !KEYWORDS.contains(&word)
    };
    !text.is_empty() && text.split(' ').enumerate().all(fits)
}

/// Words that are none at the beginning of a command.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "select", "function",
    "time", "in", "coproc", "!", "{", "}", "[[", "]]",
];

/// A command (words with blanks between them, `␠` for a blank inside a word) in as many disguises as the choice wants.
pub fn disguised(form: &str, choice: &mut Choice<'_>) -> Program {
    let mut worn = Vec::new();
    let mut text = call::written(&words(form), choice, &mut worn);
    for _ in 0..choice.below(4) {
        let around = *choice.one(place::PLACES);
        if place::holds(around, &text) {
            text = place::within(around, &text, choice);
            worn.push(around);
        }
    }
    Program { plain: form.to_owned(), text, worn }
}
