//! Which bytes say who somebody is: e-mail addresses, telephone, card, account and social security numbers, home
//! directories? Each is checked by its own rule (Luhn, mod 97, where it stands), not by shape alone.

use super::{Kind, Spans, finder};
use memchr::{memchr_iter, memmem};

/// Unit files and picture names that look like an address.
const NO_DOMAIN_ENDS: &[&str] = &[
    "service",
    "socket",
    "timer",
    "target",
    "mount",
    "automount",
    "slice",
    "scope",
    "path",
    "device",
    "swap",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "svg",
    "webp",
    "ico",
    "js",
    "mjs",
    "cjs",
    "ts",
    "tsx",
    "jsx",
    "css",
    "scss",
    "json",
    "map",
    "md",
    "rs",
    "py",
    "go",
    "rb",
    "sh",
    "toml",
    "yaml",
    "yml",
    "lock",
    "html",
    "conf",
    "cfg",
    "txt",
    "tgz",
    "whl",
];

pub fn find(line: &[u8], out: &mut Spans) {
    emails(line, out);
    numbers(line, out);
}

fn emails(line: &[u8], out: &mut Spans) {
    for at in memchr_iter(b'@', line) {
        let local =
            line[..at].iter().rev().take(64).take_while(|b| b.is_ascii_alphanumeric() || b"._%+-".contains(b)).count();
        let domain =
            line[at + 1..].iter().take(253).take_while(|b| b.is_ascii_alphanumeric() || b".-".contains(b)).count();
        let (mut start, mut end) = (at - local, at + 1 + domain);
        while end > at + 1 && b".-".contains(&line[end - 1]) {
            end -= 1;
        }
        while start < at && b".-+%".contains(&line[start]) {
            start += 1;
        }
        let name = &line[start..at];
        let before = start.checked_sub(1).map(|at| line[at]);
        let after = line.get(end).copied();
        if name.is_empty() || name == b"git" || in_authority(line, start) {
            continue;
        }
        // `host:path` and a shell prompt; a port or path after it makes it a place, not a person.
        if matches!(after, Some(b'/' | b'@'))
            || (after == Some(b':') && line.get(end + 1).is_some_and(|b| !b.is_ascii_whitespace()))
        {
            continue;
        }
        if matches!(before, Some(b'/' | b'@')) || !is_domain(&line[at + 1..end]) {
            continue;
        }
        out.push(start, end, Kind("email"));
    }
}

/// Whether `at` stands between `scheme://` and the host.
fn in_authority(line: &[u8], at: usize) -> bool {
    let from = at.saturating_sub(512);
    let word = line[from..at].iter().rposition(|b| b" \t\"'`<>".contains(b)).map_or(from, |n| from + n + 1);
    memmem::rfind(&line[word..at], b"://").is_some_and(|scheme| !line[word + scheme + 3..at].contains(&b'/'))
}

fn is_domain(text: &[u8]) -> bool {
    let Some(dot) = text.iter().rposition(|&b| b == b'.') else { return false };
    let last = &text[dot + 1..];
    (2..=24).contains(&last.len())
        && last.iter().all(u8::is_ascii_alphabetic)
        && !NO_DOMAIN_ENDS.iter().any(|end| last.eq_ignore_ascii_case(end.as_bytes()))
        && text.split(|&b| b == b'.').all(|label| !label.is_empty() && label[0] != b'-')
}

/// Runs of digits with their separators, and what stands around them.
fn numbers(line: &[u8], out: &mut Spans) {
    let mut at = 0;
    while let Some(step) = line[at..].iter().position(u8::is_ascii_digit) {
        let first = at + step;
        let mut end = first;
        let mut digits = 0usize;
        while end < line.len() && end - first < 40 {
            match line[end] {
                b'0'..=b'9' => digits += 1,
                b' ' | b'-' | b'.' | b'(' | b')'
                    if line.get(end + 1).is_some_and(|b| b.is_ascii_digit() || b"( ".contains(b)) => {}
                _ => break,
            }
            end += 1;
        }
        if digits >= 7 {
            number(line, first, end, out);
        }
        if first >= 2 && digits >= 2 {
            iban(line, first - 2, out);
        }
        at = end.max(first + 1);
    }
}

fn number(line: &[u8], first: usize, end: usize, out: &mut Spans) {
    let before = first.checked_sub(1).map(|at| line[at]);
    if before.is_some_and(|b| b.is_ascii_alphanumeric() || b"_.-/:,".contains(&b)) {
        return;
    }
    // Several numbers in a row are tried from each word start, longest first.
    let mut from = first;
    while from < end {
        let taken = candidates(line, from, end)
            .into_iter()
            .flatten()
            .find_map(|to| kind(line, from, to).map(|(start, kind)| (start, to, kind)));
        if let Some((start, to, kind)) = taken {
            out.push(start, to, kind);
            from = to;
        }
        match line[from..end].iter().position(|&b| b == b' ') {
            Some(step) => from += step + 1,
            None => break,
        }
    }
}

/// Where a number that begins at `from` may end: the whole run, or before each of its blanks; longest first.
fn candidates(line: &[u8], from: usize, end: usize) -> [Option<usize>; 8] {
    let mut out = [None; 8];
    out[0] = Some(end);
    let blanks = (from..end).rev().filter(|&at| line[at] == b' ');
    for (slot, at) in out[1..].iter_mut().zip(blanks) {
        *slot = Some(at);
    }
    out
}

fn kind(line: &[u8], from: usize, to: usize) -> Option<(usize, Kind)> {
    let text = &line[from..to];
    let after = line.get(to).copied();
    if after.is_some_and(|b| b.is_ascii_alphanumeric() || b"_/:".contains(&b))
        || (after.is_some_and(|b| b".-,".contains(&b)) && line.get(to + 1).is_some_and(u8::is_ascii_alphanumeric))
    {
        return None;
    }
    let mut digits = [0u8; 20];
    let mut count = 0;
    for &byte in text.iter().filter(|b| b.is_ascii_digit()) {
        *digits.get_mut(count)? = byte - b'0';
        count += 1;
    }
    let digits = &digits[..count];
    if is_card(digits, text) {
        return Some((from, Kind("card")));
    }
    if is_social_security(text) {
        return Some((from, Kind("ssn")));
    }
    telephone(line, from, text, digits)
}

fn is_card(digits: &[u8], text: &[u8]) -> bool {
    let head = |n: usize| digits.iter().take(n).fold(0u32, |sum, &d| sum * 10 + u32::from(d));
    let issued = match digits.len() {
        13 | 19 => digits[0] == 4,
        14 => head(2) == 36 || head(2) == 38 || (300..=305).contains(&head(3)),
        15 => [34, 37].contains(&head(2)),
        16 => {
            digits[0] == 4
                || (51..=55).contains(&head(2))
                || (2221..=2720).contains(&head(4))
                || head(4) == 6011
                || head(2) == 65
                || (644..=649).contains(&head(3))
                || (3528..=3589).contains(&head(4))
        }
        _ => false,
    };
    issued && luhn(digits) && (text.len() == digits.len() || is_grouped_as_cards_are(text))
}

/// Fours with what is left at the end, or 4-6-5 and 4-6-4: other columns of numbers are no card.
fn is_grouped_as_cards_are(text: &[u8]) -> bool {
    let groups: Vec<usize> = text.split(|b| !b.is_ascii_digit()).map(<[u8]>::len).collect();
    match groups.as_slice() {
        [4, 6, 4 | 5] => true,
        [fours @ .., last] => fours.iter().all(|&len| len == 4) && matches!(last, 1..=4),
        [] => false,
    }
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, &d)| u32::from(d) * if at % 2 == 1 { 2 } else { 1 })
        .map(|d| if d > 9 { d - 9 } else { d })
        .sum();
    sum.is_multiple_of(10)
}

fn is_social_security(text: &[u8]) -> bool {
    let shape = text.len() == 11 && text[3] == b'-' && text[6] == b'-';
    shape
        && text.iter().filter(|b| b.is_ascii_digit()).count() == 9
        && !text.starts_with(b"000")
        && !text.starts_with(b"666")
        && text[0] != b'9'
        && &text[4..6] != b"00"
        && &text[7..] != b"0000"
}

/// `+49 30 1234567`, `(415) 555-0199`, `415-555-0100`.
fn telephone(line: &[u8], from: usize, text: &[u8], digits: &[u8]) -> Option<(usize, Kind)> {
    let before = from.checked_sub(1).map(|at| line[at]);
    if before == Some(b'+') {
        let plus = from - 1;
        let alone =
            plus.checked_sub(1).is_none_or(|at| !line[at].is_ascii_alphanumeric() && !b"+-@/".contains(&line[at]));
        // A line that begins with `+` may be one that a patch adds.
        let likely = plus > 0 || text.len() > digits.len() || (11..=13).contains(&digits.len());
        return ((8..=15).contains(&digits.len()) && digits[0] != 0 && alone && likely)
            .then_some((plus, Kind("phone")));
    }
    if digits.len() != 10 || digits[0] < 2 || digits[3] < 2 {
        return None;
    }
    if before == Some(b'(') {
        let shape = text.len() >= 13 && &text[3..4] == b")" && text[text.len() - 5] == b'-';
        return shape.then_some((from - 1, Kind("phone")));
    }
    let shape = text.len() == 12 && text[3] == text[7] && b"-.".contains(&text[3]);
    (shape && before != Some(b'+')).then_some((from, Kind("phone")))
}

fn iban(line: &[u8], start: usize, out: &mut Spans) {
    let head = &line[start..];
    let country = head[..2].iter().all(u8::is_ascii_uppercase);
    let checked = head.len() >= 15 && head[2].is_ascii_digit() && head[3].is_ascii_digit();
    if !country || !checked || start.checked_sub(1).is_some_and(|at| line[at].is_ascii_alphanumeric()) {
        return;
    }
    // Group by group; the longest prefix that checks is the number.
    let mut end = 0;
    let mut remainder_text = [0u8; 34];
    let mut count = 0;
    for (at, &byte) in head.iter().enumerate().take(42) {
        if byte == b' ' && at > 0 && head[at - 1] != b' ' {
            continue;
        }
        if !(byte.is_ascii_uppercase() || byte.is_ascii_digit()) || count == remainder_text.len() {
            break;
        }
        remainder_text[count] = byte;
        count += 1;
        let boundary = !head.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
        if count >= 15 && boundary && mod_97(&remainder_text[..count]) {
            end = at + 1;
        }
    }
    if end > 0 {
        out.push(start, start + end, Kind("iban"));
    }
}

fn mod_97(text: &[u8]) -> bool {
    let moved = text[4..].iter().chain(&text[..4]);
    let rest = moved.fold(0u32, |rest, &byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
    });
    rest == 1
}

/// Home directories: the requester's becomes `~`, anybody else's `[home:user]`.
#[derive(Clone, Debug, Default)]
pub struct Homes {
    own: Option<memmem::Finder<'static>>,
}

impl Homes {
    pub fn new(home: Option<&str>) -> Homes {
        let own = home.map(|home| home.trim_end_matches('/')).filter(|home| home.len() > 1 && home.starts_with('/'));
        Homes { own: own.map(|home| memmem::Finder::new(home).into_owned()) }
    }

    pub fn find(&self, line: &[u8], out: &mut Spans) {
        if let Some(own) = &self.own {
            let length = own.needle().len();
            for at in own.find_iter(line).filter(|&at| begins(line, at) && ends_home(line, at + length)) {
                out.push(at, at + length, Kind("~"));
            }
        }
        finder!(HOME, b"/home/");
        finder!(USERS, b"/Users/");
        finder!(PROFILES, b"\\Users\\");
        for finder in [&HOME, &USERS, &PROFILES] {
            let head = finder.needle();
            for at in finder.find_iter(line) {
                let from = at + head.len();
                let length = line[from..]
                    .iter()
                    .take(64)
                    .take_while(|b| b.is_ascii_alphanumeric() || b"._-".contains(b))
                    .count();
                let drive = head[0] == b'\\' && at >= 2 && line[at - 1] == b':' && line[at - 2].is_ascii_alphabetic();
                let start = if drive { at - 2 } else { at };
                if length > 0 && (drive || (head[0] == b'/' && begins(line, at))) {
                    out.push(start, from + length, Kind("home"));
                }
            }
        }
    }
}

/// An absolute path begins here: not inside a longer one, unless after `://`.
fn begins(line: &[u8], at: usize) -> bool {
    match at.checked_sub(1).map(|before| line[before]) {
        None => true,
        Some(b'/') => line[..at].ends_with(b"://"),
        Some(before) => !(before.is_ascii_alphanumeric() || b"._-~]".contains(&before)),
    }
}

fn ends_home(line: &[u8], at: usize) -> bool {
    !line.get(at).is_some_and(|b| {
        b.is_ascii_alphanumeric()
            || b"_-".contains(b)
            || (*b == b'.' && line.get(at + 1).is_some_and(u8::is_ascii_alphanumeric))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> Vec<&str> {
        let mut out = Spans::default();
        find(text.as_bytes(), &mut out);
        out.merged().into_iter().map(|(start, end, _)| &text[start..end]).collect()
    }

    #[test]
    fn people_are_hidden() {
        assert_eq!(hidden("by Ann <ann.b+x@mail.example.org>, ok"), ["ann.b+x@mail.example.org"]);
        assert_eq!(
            hidden("ring +442079460123 or (212) 555-0147 or 212-555-0147."),
            ["+442079460123", "(212) 555-0147", "212-555-0147"]
        );
        assert_eq!(hidden("card 4111 1111 1111 1111 exp"), ["4111 1111 1111 1111"]);
        assert_eq!(hidden("5500005555555559"), ["5500005555555559"]);
        assert_eq!(hidden("amex 3782 822463 10005 ok"), ["3782 822463 10005"]);
        assert_eq!(hidden("ssn 219-09-9999"), ["219-09-9999"]);
        assert_eq!(hidden("to GB82 WEST 1234 5698 7654 32 now"), ["GB82 WEST 1234 5698 7654 32"]);
        assert_eq!(hidden("FR1420041010050500013M02606"), ["FR1420041010050500013M02606"]);
    }

    #[test]
    fn places_versions_and_counters_are_not_people() {
        for text in [
            "git@github.com:acme/app.git",
            "ssh://me@host.example.org/x",
            "scp a deploy@web.example.org:/srv",
            "uses: actions/checkout@v4",
            "getty@tty1.service",
            "icon@2x.png",
            "left-pad@1.3.0",
            "4111111111111112",
            "46725 5396 9728",
            "2026-12-01 10:11:12.123456789",
            "@@ -1,2 +1,2 @@",
            "+1234567",
            "1.2.3.4",
            "10.0.0.1:8080",
            "00000000  7f 45 4c 46 02 01 01 00",
            "078-05-112",
            "0.4111111111111111",
            "id_4111111111111111",
            "size 1234567890",
            "Mon Dec 1 00:21:07 2026 +0000",
            "GB83WEST12345698765432",
        ] {
            assert!(hidden(text).is_empty(), "{text}: {:?}", hidden(text));
        }
    }

    #[test]
    fn homes_end_at_a_path_boundary() {
        let homes = Homes::new(Some("/home/ann/"));
        let text =
            b"/home/ann/x \"/home/ann\" /home/annie/y /srv/home/ann file:///home/ann/z C:\\Users\\Bo\\q /homework";
        let mut out = Spans::default();
        homes.find(text, &mut out);
        let found: Vec<_> = out.merged().into_iter().map(|(a, b, kind)| (&text[a..b], kind.0)).collect();
        let want: [(&[u8], &str); 5] = [
            (b"/home/ann", "~"),
            (b"/home/ann", "~"),
            (b"/home/annie", "home"),
            (b"/home/ann", "~"),
            (b"C:\\Users\\Bo", "home"),
        ];
        assert_eq!(found, want);
    }
}
