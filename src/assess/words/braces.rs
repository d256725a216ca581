//! Which words does a brace expansion make? Text and opaque parts in, alternatives out; bounded.

use crate::assess::syntax::{Part, PartKind};
use crate::facts::limits::BRACE_WORDS_MAX;

/// A piece of a word while braces are expanded.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// An unquoted character of text.
    Char(char),
    /// A quoted part or an expansion.
    Whole(&'a Part),
}

/// More words than are followed.
#[derive(Debug, PartialEq, Eq)]
pub struct TooMany;

/// Whether anything in the word could be a brace expansion (cheap, before taking it apart).
pub fn possible(parts: &[Part]) -> bool {
    parts.iter().any(|part| match &part.kind {
        PartKind::Text(text) => !part.quoted && text.contains('{'),
        PartKind::Parameter(_)
        | PartKind::Command(_)
        | PartKind::Process { .. }
        | PartKind::Arithmetic(_)
        | PartKind::ExtendedGlob(_) => false,
    })
}

/// The words this word stands for, in order.
pub fn expand(parts: &[Part]) -> Result<Vec<Vec<Piece<'_>>>, TooMany> {
    let mut pieces = Vec::new();
    for part in parts {
        match &part.kind {
            PartKind::Text(text) if !part.quoted => pieces.extend(text.chars().map(Piece::Char)),
            PartKind::Text(_)
            | PartKind::Parameter(_)
            | PartKind::Command(_)
            | PartKind::Process { .. }
            | PartKind::Arithmetic(_)
            | PartKind::ExtendedGlob(_) => pieces.push(Piece::Whole(part)),
        }
    }
    if pieces.iter().filter(|p| matches!(p, Piece::Char('{'))).count() > BRACE_WORDS_MAX / 2 {
        return Err(TooMany);
    }
    alternatives(&pieces)
}

fn alternatives<'a>(pieces: &[Piece<'a>]) -> Result<Vec<Vec<Piece<'a>>>, TooMany> {
    for (open, piece) in pieces.iter().enumerate() {
        if !matches!(piece, Piece::Char('{')) {
            continue;
        }
        let Some((close, commas)) = matching(pieces, open) else { continue };
        let inner = &pieces[open + 1..close];
        let choices = if commas.is_empty() {
            match sequence(inner)? {
                Some(choices) => choices,
                None => continue,
            }
        } else {
            let mut choices = Vec::new();
            let mut from = open + 1;
            for &at in commas.iter().chain([&close]) {
                choices.extend(alternatives(&pieces[from..at])?);
                from = at + 1;
            }
            choices
        };
        let tails = alternatives(&pieces[close + 1..])?;
        if choices.len().saturating_mul(tails.len()) > BRACE_WORDS_MAX {
            return Err(TooMany);
        }
        let mut words = Vec::with_capacity(choices.len() * tails.len());
        for choice in &choices {
            for tail in &tails {
                words.push([&pieces[..open], choice, tail].concat());
            }
        }
        return Ok(words);
    }
    Ok(vec![pieces.to_vec()])
}

/// The closing brace of the one at `open`, and the commas between them at its level.
fn matching(pieces: &[Piece<'_>], open: usize) -> Option<(usize, Vec<usize>)> {
    let mut depth = 0usize;
    let mut commas = Vec::new();
    for (at, piece) in pieces.iter().enumerate().skip(open) {
        match piece {
            Piece::Char('{') => depth += 1,
            Piece::Char('}') => {
                depth -= 1;
                if depth == 0 {
                    return Some((at, commas));
                }
            }
            Piece::Char(',') if depth == 1 => commas.push(at),
            Piece::Char(_) | Piece::Whole(_) => {}
        }
    }
    None
}

/// `x..y` and `x..y..step`.
fn sequence<'a>(inner: &[Piece<'a>]) -> Result<Option<Vec<Vec<Piece<'a>>>>, TooMany> {
    let mut text = String::new();
    for piece in inner {
        match piece {
            Piece::Char(c) => text.push(*c),
            Piece::Whole(_) => return Ok(None),
        }
    }
    let mut ends = text.split("..");
    let (Some(from), Some(to), step) = (ends.next(), ends.next(), ends.next()) else { return Ok(None) };
    if ends.next().is_some() {
        return Ok(None);
    }
    let Ok(step) = step.map_or(Ok(1), str::parse::<i64>) else { return Ok(None) };
    let stride = step.unsigned_abs().max(1);
    let spelled: Vec<String> = match (from.parse::<i64>(), to.parse::<i64>()) {
        (Ok(low), Ok(high)) => {
            let padded = [from, to].iter().any(|end| end.trim_start_matches('-').starts_with('0') && end.len() > 1);
            let width = if padded { from.len().max(to.len()) } else { 0 };
            steps(low, high, stride)?.into_iter().map(|n| format!("{n:0width$}")).collect()
        }
        (Ok(_) | Err(_), Ok(_) | Err(_)) => {
            let (mut a, mut b) = (from.chars(), to.chars());
            let (Some(low), None, Some(high), None) = (a.next(), a.next(), b.next(), b.next()) else { return Ok(None) };
            if !low.is_ascii_alphabetic() || !high.is_ascii_alphabetic() {
                return Ok(None);
            }
            let points = steps(low as i64, high as i64, stride)?;
            points.into_iter().map(|n| char::from(n as u8).to_string()).collect()
        }
    };
    Ok(Some(spelled.iter().map(|text| text.chars().map(Piece::Char).collect()).collect()))
}

fn steps(from: i64, to: i64, stride: u64) -> Result<Vec<i64>, TooMany> {
    if from.abs_diff(to) / stride >= BRACE_WORDS_MAX as u64 {
        return Err(TooMany);
    }
    let count = from.abs_diff(to) / stride;
    let stride = i64::try_from(stride).unwrap_or(i64::MAX);
    Ok((0..=count as i64).map(|n| if from <= to { from + n * stride } else { from - n * stride }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let part = Part { quoted: false, kind: PartKind::Text(text.to_owned()) };
        let spell = |pieces: Vec<Piece<'_>>| {
            pieces.iter().map(|piece| if let Piece::Char(c) = piece { *c } else { '\u{fffd}' }).collect()
        };
        expand(&[part]).unwrap().into_iter().map(spell).collect()
    }

    #[test]
    fn braces_expand_as_in_bash() {
        assert_eq!(words("{touch,x}"), ["touch", "x"]);
        assert_eq!(words("a{b,c{d,e}}f"), ["abf", "acdf", "acef"]);
        assert_eq!(words("{,-}x"), ["x", "-x"]);
        assert_eq!(words("{a{b,c}}"), ["{ab}", "{ac}"]);
        assert_eq!(words("{a,b"), ["{a,b"]);
        assert_eq!(words("{1..3}"), ["1", "2", "3"]);
        assert_eq!(words("{3..1..2}"), ["3", "1"]);
        assert_eq!(words("{08..10}"), ["08", "09", "10"]);
        assert_eq!(words("{a..c}"), ["a", "b", "c"]);
        assert_eq!(words("{}"), ["{}"]);
        assert_eq!(words("{x}"), ["{x}"]);
    }

    #[test]
    fn too_many_words_are_not_made() {
        let part = |text: &str| [Part { quoted: false, kind: PartKind::Text(text.to_owned()) }];
        assert_eq!(expand(&part("{1..999999999}")).unwrap_err(), TooMany);
        assert_eq!(expand(&part(&"{a,b}".repeat(40))).unwrap_err(), TooMany);
        assert_eq!(expand(&part("{-9223372036854775808..9223372036854775807}")).unwrap_err(), TooMany);
    }
}
