//! What does a parameter operator leave of a known text? Patterns of `#`, `%`, `/` and case, for known patterns only.

/// One step of a shell pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Literal(char),
    /// `?`
    One,
    /// `*`
    Any,
}

/// An unquoted text as pattern steps; `None` where it holds brackets or a backslash, whose reading depends on the locale.
pub fn steps(text: &str, into: &mut Vec<Step>) -> Option<()> {
    for c in text.chars() {
        into.push(match c {
            '*' => Step::Any,
            '?' => Step::One,
            '[' | ']' | '\\' | '(' | ')' | '~' | '{' => return None,
            other => Step::Literal(other),
        });
    }
    Some(())
}

/// Whether the whole text matches. Linear in text × pattern.
pub fn matches(pattern: &[Step], text: &[char]) -> bool {
    let (mut at, mut step, mut star) = (0, 0, None);
    while at < text.len() {
        match pattern.get(step) {
            Some(Step::Any) => {
                star = Some((step, at));
                step += 1;
            }
            Some(Step::One) => (at, step) = (at + 1, step + 1),
            Some(Step::Literal(c)) if *c == text[at] => (at, step) = (at + 1, step + 1),
            Some(Step::Literal(_)) | None => match star {
                Some((from, taken)) => {
                    star = Some((from, taken + 1));
                    (step, at) = (from + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[step..].iter().all(|s| *s == Step::Any)
}

/// What a removal or replacement works on at most; longer texts are left unknown.
const CHARS_MAX: usize = 128;

/// `${x#p}` and its three kin.
pub fn trim(text: &str, operator: &str, pattern: &[Step]) -> Option<String> {
    let chars = bounded(text)?;
    let n = chars.len();
    let cut = |range: &[char]| range.iter().collect::<String>();
    let found = match operator {
        "#" => (0..=n).find(|&end| matches(pattern, &chars[..end])).map(|end| cut(&chars[end..])),
        "##" => (0..=n).rev().find(|&end| matches(pattern, &chars[..end])).map(|end| cut(&chars[end..])),
        "%" => (0..=n).rev().find(|&from| matches(pattern, &chars[from..])).map(|from| cut(&chars[..from])),
        "%%" => (0..=n).find(|&from| matches(pattern, &chars[from..])).map(|from| cut(&chars[..from])),
        _ => return None,
    };
    Some(found.unwrap_or_else(|| text.to_owned()))
}

/// `${x/p/r}` and its three kin, for a non-empty pattern and a replacement without `&`.
pub fn replace(text: &str, operator: &str, pattern: &[Step], replacement: &str) -> Option<String> {
    if pattern.is_empty() || replacement.contains(['&', '\\']) {
        return None;
    }
    let chars = bounded(text)?;
    let longest = |from: usize| (from..=chars.len()).rev().find(|&end| matches(pattern, &chars[from..end]));
    let spell = |range: &[char]| range.iter().collect::<String>();
    match operator {
        "/#" => Some(longest(0).map_or_else(|| text.to_owned(), |end| replacement.to_owned() + &spell(&chars[end..]))),
        "/%" => {
            let from = (0..=chars.len()).find(|&from| matches(pattern, &chars[from..]));
            Some(from.map_or_else(|| text.to_owned(), |from| spell(&chars[..from]) + replacement))
        }
        "/" | "//" => {
            let mut out = String::new();
            let mut at = 0;
            while at < chars.len() {
                match longest(at).filter(|&end| end > at) {
                    Some(end) => {
                        out.push_str(replacement);
                        at = end;
                        if operator == "/" {
                            break;
                        }
                    }
                    None => {
                        out.push(chars[at]);
                        at += 1;
                    }
                }
            }
            out.extend(&chars[at..]);
            Some(out)
        }
        _ => None,
    }
}

/// `${x^}` and its three kin without a pattern; only for ASCII, whose case no locale moves.
pub fn recase(text: &str, operator: &str) -> Option<String> {
    if !text.is_ascii() {
        return None;
    }
    let first = |change: fn(&mut str)| {
        let mut out = text.to_owned();
        if let Some(head) = out.get_mut(..1) {
            change(head);
        }
        out
    };
    match operator {
        "^^" => Some(text.to_ascii_uppercase()),
        ",," => Some(text.to_ascii_lowercase()),
        "^" => Some(first(str::make_ascii_uppercase)),
        "," => Some(first(str::make_ascii_lowercase)),
        _ => None,
    }
}

/// `${x:offset:length}`.
pub fn substring(text: &str, offset: i64, length: Option<i64>) -> Option<String> {
    let chars: Vec<char> = text.chars().collect();
    let n = i64::try_from(chars.len()).ok()?;
    let from = if offset < 0 { n.checked_add(offset)? } else { offset };
    if from < 0 || from > n {
        return Some(String::new());
    }
    let to = match length {
        None => n,
        Some(length) if length < 0 => n.checked_add(length)?,
        Some(length) => from.checked_add(length)?.min(n),
    };
    // A negative length that ends before it begins is an error in bash.
    (to >= from).then(|| chars[from as usize..to as usize].iter().collect())
}

fn bounded(text: &str) -> Option<Vec<char>> {
    (text.len() <= CHARS_MAX).then(|| text.chars().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Vec<Step> {
        let mut out = Vec::new();
        steps(text, &mut out).unwrap();
        out
    }

    #[test]
    fn operators_leave_what_bash_leaves() {
        assert_eq!(trim("a/b/c", "##", &pattern("*/")).unwrap(), "c");
        assert_eq!(trim("a/b/c", "#", &pattern("*/")).unwrap(), "b/c");
        assert_eq!(trim("x.tar.gz", "%", &pattern(".*")).unwrap(), "x.tar");
        assert_eq!(trim("x.tar.gz", "%%", &pattern(".*")).unwrap(), "x");
        assert_eq!(trim("abc", "#", &pattern("z")).unwrap(), "abc");
        assert_eq!(replace("a-b-c", "/", &pattern("-"), "+").unwrap(), "a+b-c");
        assert_eq!(replace("a-b-c", "//", &pattern("-"), "").unwrap(), "abc");
        assert_eq!(replace("a-b", "/#", &pattern("a"), "x").unwrap(), "x-b");
        assert_eq!(replace("a-b", "/%", &pattern("b"), "x").unwrap(), "a-x");
        assert_eq!(recase("touch", "^").unwrap(), "Touch");
        assert_eq!(recase("TOUCH", ",,").unwrap(), "touch");
        assert_eq!(substring("xtouchy", 1, Some(5)).unwrap(), "touch");
        assert_eq!(substring("abc", -1, None).unwrap(), "c");
        assert_eq!(substring("abc", 1, Some(-1)).unwrap(), "b");
        assert_eq!(substring("abc", 2, Some(-2)), None);
    }

    #[test]
    fn doubtful_patterns_are_refused() {
        assert_eq!(steps("[a-z]", &mut Vec::new()), None);
        assert_eq!(replace("a", "/", &pattern("a"), "&b"), None);
    }
}
