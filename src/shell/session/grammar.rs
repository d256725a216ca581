//! What may a command say about the state it leaves? Exactly what bash prints about itself: a closed grammar of literal
//! values. Any child can write to that descriptor, so what does not fit is not taken, and what fits is only ever a value.

use super::state::{Attributes, Value, Variable};

/// Why text is not in the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotInGrammar;

/// The cursor over one list that bash printed.
struct Printed<'t> {
    text: &'t [u8],
    at: usize,
}

type Read<T> = Result<T, NotInGrammar>;

impl Printed<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Read<u8> {
        let byte = self.peek().ok_or(NotInGrammar)?;
        self.at += 1;
        Ok(byte)
    }

    fn expect(&mut self, text: &[u8]) -> Read<()> {
        let fits = self.text[self.at..].starts_with(text);
        self.at += if fits { text.len() } else { 0 };
        if fits { Ok(()) } else { Err(NotInGrammar) }
    }

    fn take_while(&mut self, takes: impl Fn(u8) -> bool) -> Vec<u8> {
        let start = self.at;
        while self.peek().is_some_and(&takes) {
            self.at += 1;
        }
        self.text[start..self.at].to_vec()
    }

    fn name(&mut self) -> Read<String> {
        let name = self.take_while(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
        if !is_name(&name) {
            return Err(NotInGrammar);
        }
        String::from_utf8(name).map_err(|_| NotInGrammar)
    }

    /// `"…"`, `'…'` or `$'…'`.
    fn quoted(&mut self) -> Read<Vec<u8>> {
        match self.next()? {
            b'"' => {
                let mut out = Vec::new();
                loop {
                    match self.next()? {
                        b'"' => return Ok(out),
                        b'\\' => match self.next()? {
                            byte @ (b'"' | b'\\' | b'$' | b'`') => out.push(byte),
                            _ => return Err(NotInGrammar),
                        },
                        // Bash escapes both: one that is not would be code.
                        b'$' | b'`' => return Err(NotInGrammar),
                        byte => out.push(byte),
                    }
                }
            }
            b'\'' => {
                let mut out = Vec::new();
                loop {
                    match self.next()? {
                        b'\'' if self.text[self.at..].starts_with(b"\\''") => {
                            out.push(b'\'');
                            self.at += 3;
                        }
                        b'\'' => return Ok(out),
                        byte => out.push(byte),
                    }
                }
            }
            b'$' => {
                self.expect(b"'")?;
                let mut out = Vec::new();
                loop {
                    match self.next()? {
                        b'\'' => return Ok(out),
                        b'\\' => out.push(self.escape()?),
                        byte => out.push(byte),
                    }
                }
            }
            _ => Err(NotInGrammar),
        }
    }

    fn escape(&mut self) -> Read<u8> {
        Ok(match self.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            b'e' | b'E' => 27,
            byte @ (b'\\' | b'\'' | b'"') => byte,
            first @ b'0'..=b'3' => {
                let mut value = first - b'0';
                for _ in 0..2 {
                    match self.next()? {
                        digit @ b'0'..=b'7' => value = value * 8 + (digit - b'0'),
                        _ => return Err(NotInGrammar),
                    }
                }
                if value == 0 {
                    return Err(NotInGrammar);
                }
                value
            }
            _ => return Err(NotInGrammar),
        })
    }

    /// A value that may stand without quotes (`declare -p` never, subscripts and `trap` do).
    fn word(&mut self) -> Read<Vec<u8>> {
        match self.peek() {
            Some(b'"' | b'\'' | b'$') => self.quoted(),
            _ => {
                let word = self.take_while(|byte| {
                    byte.is_ascii_alphanumeric() || b"_-+./:,@%^~*?!".contains(&byte) || byte >= 0x80
                });
                if word.is_empty() { Err(NotInGrammar) } else { Ok(word) }
            }
        }
    }

    fn value(&mut self) -> Read<Value> {
        if self.peek() != Some(b'(') {
            return Ok(Value::Scalar(self.quoted()?));
        }
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.take_while(|byte| byte == b' ');
            if self.peek() == Some(b')') {
                self.at += 1;
                return Ok(Value::Array(elements));
            }
            self.expect(b"[")?;
            let subscript = self.word()?;
            self.expect(b"]=")?;
            elements.push((subscript, self.quoted()?));
        }
    }
}

pub fn is_name(name: &[u8]) -> bool {
    name.first().is_some_and(|first| *first == b'_' || first.is_ascii_alphabetic())
        && name.iter().all(|byte| *byte == b'_' || byte.is_ascii_alphanumeric())
}

/// `declare -p`: `declare -x name="value"`, one after the other.
pub fn variables(text: &[u8]) -> Read<Vec<Variable>> {
    let mut printed = Printed { text, at: 0 };
    let mut found = Vec::new();
    while printed.peek().is_some() {
        printed.expect(b"declare -")?;
        let attributes = Attributes::of(&printed.take_while(|byte| byte != b' ' && byte != b'\n'))?;
        printed.expect(b" ")?;
        let name = printed.name()?;
        let value = match printed.next()? {
            b'\n' => None,
            b'=' => {
                let value = printed.value()?;
                printed.expect(b"\n")?;
                Some(value)
            }
            _ => return Err(NotInGrammar),
        };
        let is_array = matches!(value, Some(Value::Array(_)));
        if is_array && !attributes.is_array() {
            return Err(NotInGrammar);
        }
        found.push(Variable { name, attributes, value });
    }
    Ok(found)
}

/// `alias -p`: `alias name='text'`, without the first word in POSIX mode.
pub fn aliases(text: &[u8]) -> Read<Vec<(String, Vec<u8>)>> {
    let mut printed = Printed { text, at: 0 };
    let mut found = Vec::new();
    while printed.peek().is_some() {
        _ = printed.expect(b"alias ");
        _ = printed.expect(b"-- ");
        let name = printed.take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.+,:@%!".contains(&byte));
        if name.is_empty() {
            return Err(NotInGrammar);
        }
        printed.expect(b"=")?;
        let value = printed.quoted()?;
        printed.expect(b"\n")?;
        found.push((String::from_utf8(name).map_err(|_| NotInGrammar)?, value));
    }
    Ok(found)
}

/// `trap -p`: `trap -- 'text' SIGNAL`.
pub fn traps(text: &[u8]) -> Read<Vec<(String, Vec<u8>)>> {
    let mut printed = Printed { text, at: 0 };
    let mut found = Vec::new();
    while printed.peek().is_some() {
        printed.expect(b"trap -- ")?;
        let code = printed.quoted()?;
        printed.expect(b" ")?;
        let signal = printed.name()?;
        printed.expect(b"\n")?;
        found.push((signal, code));
    }
    Ok(found)
}

/// `set +o` and `shopt -p`: `COMMAND ON|OFF name`, what is on first in `switches`.
pub fn switches(text: &[u8], command: &str, switches: [&str; 2]) -> Read<Vec<(String, bool)>> {
    let mut found = Vec::new();
    let text = std::str::from_utf8(text).map_err(|_| NotInGrammar)?;
    for line in text.lines() {
        let mut words = line.split(' ');
        let (Some(first), Some(switch), Some(name), None) = (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(NotInGrammar);
        };
        let plain =
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte == b'-' || byte.is_ascii_digit());
        if first != command || !switches.contains(&switch) || !plain || name.is_empty() {
            return Err(NotInGrammar);
        }
        found.push((name.to_owned(), switch == switches[0]));
    }
    Ok(found)
}

/// `declare -F`: `declare -f name`, with one letter more for each attribute. Only the ones with more, as lines.
pub fn function_attributes(text: &[u8]) -> Read<(Vec<String>, Vec<String>)> {
    let text = std::str::from_utf8(text).map_err(|_| NotInGrammar)?;
    let (mut names, mut marked) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let (flags, name) =
            line.strip_prefix("declare -f").and_then(|rest| rest.split_once(' ')).ok_or(NotInGrammar)?;
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.+,:@%".contains(&byte));
        if !plain || name.is_empty() || !flags.bytes().all(|flag| b"rtx".contains(&flag)) {
            return Err(NotInGrammar);
        }
        names.push(name.to_owned());
        if flags.contains(['x', 'r']) {
            let flags: String = flags.chars().filter(|flag| *flag != 't').collect();
            marked.push(format!("declare -f{flags} {name}"));
        }
    }
    Ok((names, marked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bash_prints_is_read() {
        let text =
            b"declare -- u=\"a\\\"b\\$c\\`d\\\\e\"\ndeclare -x E=$'\\001z\\n'\ndeclare -ai a=([0]=\"1\" [7]=\"2 3\")\n\
            declare -A h=([\"b c\"]=$'x\\ny' [a]=\"1\" )\ndeclare -x unset\ndeclare -n ref=\"n\"\n";
        let found = variables(text).unwrap();
        let scalar = |value: &[u8]| Some(Value::Scalar(value.to_vec()));
        assert_eq!(found[0].value, scalar(b"a\"b$c`d\\e"));
        assert_eq!((found[1].value.clone(), found[1].attributes.exported()), (scalar(b"\x01z\n"), true));
        let array = |list: &[(&str, &str)]| {
            Some(Value::Array(list.iter().map(|(k, v)| (k.as_bytes().to_vec(), v.as_bytes().to_vec())).collect()))
        };
        assert_eq!(found[2].value, array(&[("0", "1"), ("7", "2 3")]));
        assert_eq!(found[3].value, array(&[("b c", "x\ny"), ("a", "1")]));
        assert_eq!((found[4].value.clone(), found.len()), (None, 6));
        assert_eq!(aliases(b"alias ll='ls -l'\nq='it'\\''s'\n").unwrap()[1], ("q".into(), b"it's".to_vec()));
        assert_eq!(traps(b"trap -- 'echo x' EXIT\n").unwrap(), [("EXIT".into(), b"echo x".to_vec())]);
        let set = switches(b"set -o errexit\nset +o interactive-comments\n", "set", ["-o", "+o"]).unwrap();
        assert_eq!(set, [("errexit".into(), true), ("interactive-comments".into(), false)]);
        let (names, marked) = function_attributes(b"declare -f f\ndeclare -ftx g-h\n").unwrap();
        assert_eq!((names, marked), (vec!["f".into(), "g-h".into()], vec!["declare -fx g-h".to_owned()]));
    }

    #[test]
    fn nothing_that_runs_is_in_the_grammar() {
        for text in [
            "declare -- x=\"$(id)\"\n",
            "declare -- x=\"`id`\"\n",
            "declare -- x=$(id)\n",
            "declare -- x=\"a\";id\n",
            "declare -- x=\"a\" y=\"b\"\n",
            "declare -- x[$(id)]=\"a\"\n",
            "declare -a x=([$(id)]=\"a\")\n",
            "declare -a x=([0]=\"a\" $(id))\n",
            "declare -- x=([0]=\"a\")\n",
            "declare -f x\n",
            "declare -p\n",
            "declare -- x=\"a\n",
            "declare -- x=\"a\"",
            "declare -- \n",
            "declare -- x=$'\\0'\n",
            "declare -- x=$'\\x41'\n",
            "id\n",
            "declare -- x=\"a\"\nid\n",
            "export x=\"a\"\n",
        ] {
            assert_eq!(variables(text.as_bytes()), Err(NotInGrammar), "{text}");
        }
        for text in ["alias a=b\n", "alias 'a'='b'\n", "alias a='b' c='d'\n", "alias a;id='b'\n", "alias a='b\n"] {
            assert!(aliases(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["trap -- x EXIT\n", "trap 'x' EXIT\n", "trap -- 'x' EXIT;id\n", "trap -- 'x' EXIT INT\n"] {
            assert!(traps(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["set -o a;id\n", "set -e errexit\n", "set -o\n", "set -o a b\n", "shopt -o a\n"] {
            assert!(switches(text.as_bytes(), "set", ["-o", "+o"]).is_err(), "{text}");
        }
        for text in ["declare -f f;id\n", "declare -fq f\n", "declare -x f\n", "f () {\n"] {
            assert!(function_attributes(text.as_bytes()).is_err(), "{text}");
        }
    }
}
