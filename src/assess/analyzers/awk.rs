//! What does an `awk` program do? It filters text; it can also run commands (`system`, pipes, `getline` from a
//! command), write files (`>`, `>>`), load code (`@load`, `@include`) and open sockets (`/inet/…`).
//!
//! A small tokenizer, not a parser: strings, patterns and comments are told apart exactly, and every construct that
//! acts has a token of its own. Where a `/` could be read in two ways the program counts as not understood.

use super::say;
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::{Class, Code, Effect, Operand};

/// Reads one program text.
pub fn program(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    let Some(text) = expr.text() else {
        let why = "the awk program is not known before it runs: it could run commands";
        return out.opaque(Class::Write, expr.span, why);
    };
    match tokens(text) {
        Ok(tokens) => Reader { tokens: &tokens, expr, at, out }.read(),
        Err(why) => out.lost(Class::Write, expr.span, format!("the awk program was not understood: {why}")),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Number,
    Text(String),
    Pattern,
    Newline,
    /// Operators and brackets, longest first.
    Sign(&'static str),
}

const SIGNS: &[&str] = &[
    "**=", "|&", "||", "&&", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**", "==", "!=", "<=", ">=", ">>", "!~",
    "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|", "?", ":", "~", "$", "=",
    "@", "&",
];

/// Words after which a `/` begins a pattern.
const KEYWORDS: &[&str] = &["print", "printf", "return", "else", "do", "in", "case", "exit"];

fn tokens(text: &str) -> Result<Vec<Token>, &'static str> {
    let mut found: Vec<Token> = Vec::new();
    // For each open `(`: whether it is the head of `if`, `while`, `for`, `switch`.
    let mut heads: Vec<bool> = Vec::new();
    let mut after_head = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let here = std::mem::take(&mut after_head);
        let length = match c {
            ' ' | '\t' | '\r' => {
                after_head = here;
                1
            }
            '\n' => {
                found.push(Token::Newline);
                1
            }
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '\\' if rest.starts_with("\\\n") => 2,
            '\\' if rest.starts_with("\\\r\n") => 3,
            '"' => string(rest, &mut found)?,
            '0'..='9' | '.' => {
                found.push(Token::Number);
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len())
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                found.push(Token::Word(rest[..end].to_owned()));
                end
            }
            '/' if begins_pattern(found.last(), here)? => {
                found.push(Token::Pattern);
                pattern(rest)?
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign)).ok_or("an unknown character")?;
                match *sign {
                    "(" => heads.push(matches!(found.last(),
                        Some(Token::Word(word)) if matches!(word.as_str(), "if" | "while" | "for" | "switch"))),
                    ")" => after_head = heads.pop().ok_or("a `)` without `(`")?,
                    _ => {}
                }
                found.push(Token::Sign(sign));
                sign.len()
            }
        };
        rest = rest.get(length..).ok_or("text that ends early")?;
    }
    if heads.is_empty() { Ok(found) } else { Err("a `(` without `)`") }
}

/// Whether a `/` after `before` begins a pattern (true) or divides (false).
fn begins_pattern(before: Option<&Token>, after_head: bool) -> Result<bool, &'static str> {
    match before {
        None | Some(Token::Newline) => Ok(true),
        Some(Token::Word(word)) if word == "getline" => Err("a `/` after getline"),
        Some(Token::Word(word)) => Ok(KEYWORDS.contains(&word.as_str())),
        Some(Token::Number) => Ok(false),
        Some(Token::Text(_) | Token::Pattern) => Ok(false),
        Some(Token::Sign(")")) => Ok(after_head),
        Some(Token::Sign("]")) => Ok(false),
        Some(Token::Sign("++" | "--" | "$" | "@")) => Err("a `/` that may divide or begin a pattern"),
        Some(Token::Sign(_)) => Ok(true),
    }
}

fn string(rest: &str, found: &mut Vec<Token>) -> Result<usize, &'static str> {
    let mut text = String::new();
    let mut escaped = false;
    let mut doubt = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => {
                escaped = false;
                match c {
                    '"' | '\\' | '/' => text.push(c),
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    // A line continued inside a string, or a character by number: the text is not worth decoding.
                    '\n' | 'r' | 'a' | 'b' | 'f' | 'v' => text.push(' '),
                    _ => doubt = true,
                }
            }
            '\\' => escaped = true,
            '"' => {
                let token = if doubt { Token::Word("\"".to_owned()) } else { Token::Text(text) };
                found.push(token);
                return Ok(at + 1);
            }
            '\n' => return Err("a string runs over the end of its line"),
            _ => text.push(c),
        }
    }
    Err("a string has no end")
}

/// The length of a pattern that begins at `/`.
fn pattern(rest: &str) -> Result<usize, &'static str> {
    let mut chars = rest.char_indices().skip(1).peekable();
    let mut bracket = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '\n' => return Err("a pattern runs over the end of its line"),
            '[' if !bracket => {
                bracket = true;
                chars.next_if(|(_, c)| *c == '^');
                if chars.peek().is_some_and(|(_, c)| *c == ']') {
                    return Err("a bracket expression that begins with `]`");
                }
            }
            '[' if chars.peek().is_some_and(|(_, c)| matches!(c, ':' | '.' | '=')) => {
                let Some((_, kind)) = chars.next() else { break };
                let mut last = ' ';
                for (_, inner) in chars.by_ref() {
                    if last == kind && inner == ']' {
                        break;
                    }
                    if !inner.is_ascii_alphanumeric() && inner != kind {
                        return Err("an unusual character class");
                    }
                    last = inner;
                }
            }
            ']' => bracket = false,
            '/' if !bracket => return Ok(at + 1),
            _ => {}
        }
    }
    Err("a pattern has no end")
}

struct Reader<'a, 'b> {
    tokens: &'a [Token],
    expr: &'a Arg,
    at: &'a Invocation<'b>,
    out: &'a mut Reading,
}

impl Reader<'_, '_> {
    fn read(mut self) {
        // Depth of brackets since the `print` we are in, where we are in one.
        let mut printing: Option<usize> = None;
        for i in 0..self.tokens.len() {
            match &self.tokens[i] {
                Token::Word(word) => match word.as_str() {
                    "print" | "printf" => printing = Some(0),
                    "system" => self.system(i),
                    "ENVIRON" => self.environment(i),
                    "getline" => self.getline(i),
                    "\"" => self.lost("a string with an unusual escape"),
                    _ => {}
                },
                Token::Text(text) if text.starts_with("/inet") => {
                    let host = text.split('/').nth(4).unwrap_or("").to_owned();
                    self.out.reaches(&Value::Known(host), self.expr.span, "`/inet` in the awk program");
                }
                Token::Newline if printing == Some(0) && !self.continues(i) => printing = None,
                Token::Sign(sign) => match *sign {
                    "(" | "[" => printing = printing.map(|depth| depth + 1),
                    ")" | "]" => printing = printing.and_then(|depth| depth.checked_sub(1)),
                    ";" | "}" if printing == Some(0) => printing = None,
                    "|" | "|&" => self.pipe(i, sign),
                    ">" if printing == Some(0) => self.redirect(i),
                    ">>" => self.redirect(i),
                    "@" => self.lost("`@` loads code or calls a function by a computed name"),
                    "&" => self.lost("a single `&`"),
                    _ => {}
                },
                Token::Text(_) | Token::Number | Token::Pattern | Token::Newline => {}
            }
        }
    }

    fn lost(&mut self, why: &str) {
        self.out.lost(Class::Write, self.expr.span, format!("in the awk program: {why}"));
    }

    fn sign(&self, i: usize, sign: &str) -> bool {
        matches!(self.tokens.get(i), Some(Token::Sign(found)) if *found == sign)
    }

    /// Whether a statement goes on after the newline at `i`.
    fn continues(&self, i: usize) -> bool {
        i > 0 && matches!(self.tokens[i - 1], Token::Sign("," | "&&" | "||" | "?" | ":"))
    }

    /// Whether the statement ends at `i`.
    fn ends(&self, i: usize) -> bool {
        matches!(self.tokens.get(i), None | Some(Token::Newline | Token::Sign(";" | "}")))
    }

    /// A command given as the only thing between `from` and an end.
    fn runs(&mut self, how: &str, text: Option<String>, stdin: Inflow) {
        let span = self.expr.span;
        match text {
            Some(text) if text.is_empty() => {}
            Some(text) => self.out.shell(how, Arg::known(text, span), self.at, stdin),
            None => self.out.opaque(Class::Write, span, format!("{how} runs a command that is computed")),
        }
    }

    fn system(&mut self, i: usize) {
        let literal = match (self.tokens.get(i + 1), self.tokens.get(i + 2), self.tokens.get(i + 3)) {
            (Some(Token::Sign("(")), Some(Token::Text(text)), Some(Token::Sign(")"))) => Some(text.clone()),
            _ => None,
        };
        self.runs("`system` in the awk program", literal, Inflow::Inherited);
    }

    /// `"cmd" | getline` and `print … | "cmd"`
    fn pipe(&mut self, i: usize, sign: &str) {
        if sign == "|&" {
            let why = "`|&` in the awk program talks to a command or a host that is computed";
            return self.out.opaque(Class::Network, self.expr.span, why);
        }
        if matches!(self.tokens.get(i + 1), Some(Token::Word(word)) if word == "getline") {
            let alone =
                i < 2 || matches!(self.tokens[i - 2], Token::Newline | Token::Sign("{" | "}" | ";" | "(" | "!"));
            let literal = match self.tokens.get(i.wrapping_sub(1)) {
                Some(Token::Text(text)) if alone => Some(text.clone()),
                _ => None,
            };
            return self.runs("`| getline` in the awk program", literal, Inflow::Inherited);
        }
        let literal = match self.tokens.get(i + 1) {
            Some(Token::Text(text)) if self.ends(i + 2) => Some(text.clone()),
            _ => None,
        };
        self.runs("`print |` in the awk program", literal, Inflow::Data);
    }

    fn redirect(&mut self, i: usize) {
        let value = match self.tokens.get(i + 1) {
            Some(Token::Text(text)) if self.ends(i + 2) => Value::Known(text.clone()),
            Some(Token::Text(text)) => Value::Unknown { prefix: text.clone() },
            _ => Value::Unknown { prefix: String::new() },
        };
        self.out.writes(&value, self.expr.span, "`print >` in the awk program");
    }

    /// `getline [var] < file`
    fn getline(&mut self, i: usize) {
        let Some(from) = (i + 1..self.tokens.len().min(i + 6)).find(|&k| self.sign(k, "<")) else { return };
        match self.tokens.get(from + 1) {
            Some(Token::Text(text)) => self.out.reads(&Value::Known(text.clone())),
            // awk itself opened it.
            Some(Token::Word(name)) if name == "FILENAME" && (self.ends(from + 2) || self.sign(from + 2, ")")) => {
                self.out.effects.push(Effect::ReadPath(Operand::Unknown { prefix: String::new() }));
            }
            _ => {
                self.out.effects.push(Effect::ReadPath(Operand::Unknown { prefix: String::new() }));
                let why = "`getline` in the awk program reads a computed name: `/inet/…` would be another machine";
                self.out.raise(Code::UnknownWord, Class::Write, self.expr.span, why);
            }
        }
    }

    fn environment(&mut self, i: usize) {
        let name = match (self.tokens.get(i + 1), self.tokens.get(i + 2), self.tokens.get(i + 3)) {
            (Some(Token::Sign("[")), Some(Token::Text(name)), Some(Token::Sign("]"))) => Some(name.as_str()),
            _ => None,
        };
        say::variable(self.out, name, self.expr.span);
    }
}

#[cfg(test)]
mod tests {
    use crate::assess::analyzers::testing::{language_class as class, language_reading as reading, nested};
    use crate::assess::{Attribute, Class, Effect, Operand};

    #[test]
    fn filtering_text_only_observes() {
        for program in [
            "{print $1}",
            "$3 > 5 {print $1, $2}",
            "NR>=10 && NR<=20",
            "{s+=$1} END {print s/NR}",
            "/a > b|c/ {print}",
            "{print \"a > b | system(x)\"}",
            "BEGIN{FS=\",\"} {sub(/[^/]+$/, \"\"); print}",
            "{print ($1 > $2)}",
            "{print($1 > 2 ? \"x\" : \"y\")} # print > \"f\"",
            "{printf \"%s\\n\", $0 > \"/dev/stderr\"}",
            "{print > \"/dev/stdout\"}",
            "!seen[$0]++",
            "length > 72",
            "{if ($1 ~ /x/) print; else if ($2 > 3) next}",
            "{for (i=1;i<=NF;i++) if ($i > m) m = $i} END {print m}",
            "{if (x > y) { print x\n y = x > z }}",
            "BEGIN { while ((getline line < \"f\") > 0) n++; print n }",
            "function f(a) { return a / 2 / 3 } {print f($1)}",
            "{a = $1 / $2; b = c / d}",
            "{ system(\"\") ; fflush() }",
            "BEGIN{print ENVIRON[\"HOME\"]}",
            "{x = y || z}",
        ] {
            assert_eq!(class("awk", program), Class::Read, "{program}");
        }
    }

    #[test]
    fn writing_running_and_loading_do_not() {
        for program in [
            "{print > \"f\"}",
            "{print $1 >> \"f\"}",
            "{print $1, $2 > $3}",
            "{print (1)(2) > \"f\"}",
            "{printf(\"%s\", $1) > \"f\"}",
            "{print a,\n b > \"f\"}",
            "{print x[1] > \"f\" i}",
            "BEGIN{system(x)}",
            "BEGIN{system (\"a\" b)}",
            "{c = \"ls\"; c | getline y}",
            "{print | x}",
            "{print | \"cat >\" f}",
            "BEGIN{s=\"/inet/tcp/0/h/80\"; s |& getline}",
            "@load \"x\"",
            "@include \"x\"",
            "BEGIN{f=\"system\"; @f(\"x\")}",
            "{print \"a",
            "{print /a}",
            "{x++ /a/ b}",
            "BEGIN{if (1) /\"/; system(x) /\"/}",
            "{print `x`}",
            "BEGIN{print \"x\" > \"\\57etc\"}",
        ] {
            assert!(class("awk", program) >= Class::Write, "{program}");
        }
        assert_eq!(class("awk", "BEGIN{\"/inet/tcp/0/h/80\" |& getline}"), Class::Network);
    }

    #[test]
    fn literal_commands_are_handed_on_with_their_own_class() {
        let found = |program| nested(&reading("awk", program));
        assert_eq!(found("BEGIN{system(\"date\")}"), ["sh: date"]);
        assert_eq!(found("{print | \"sort -u\"}"), ["sh: sort -u"]);
        assert_eq!(found("BEGIN{\"date\" | getline d; print d}"), ["sh: date"]);
        assert_eq!(found("BEGIN{while ((\"ls\" | getline f) > 0) print f}"), ["sh: ls"]);
    }

    #[test]
    fn paths_and_variables_are_named() {
        let read = reading("awk", "{print > \"out.txt\"}");
        assert!(read.effects.contains(&Effect::WritePath(Operand::Known("out.txt".into()))));
        assert!(reading("awk", "BEGIN{for (k in ENVIRON) print k}").attributes.contains(&Attribute::SecretRead));
        assert!(reading("awk", "BEGIN{print ENVIRON[\"API_KEY\"]}").attributes.contains(&Attribute::SecretRead));
    }
}
