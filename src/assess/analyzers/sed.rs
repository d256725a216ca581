//! What does a `sed` script do? It prints or edits text; it can also write files (`w`, `W`, `s///w`), read them
//! (`r`, `R`) and run commands (`e`, `s///e`).
//!
//! GNU and BSD agree on what is accepted here; where they would cut the text differently the script counts as not
//! understood. Options (`-i`, `-f`, `-s` …) belong to the catalogue.

use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::{Class, Span};

/// Reads one script; several `-e` are joined by newlines before.
pub fn script(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    let Some(text) = expr.text() else {
        return out.opaque(Class::Write, expr.span, "the sed script is not known before it runs: it could write files");
    };
    let aware = Script::new(text, true).run();
    let plain = Script::new(text, false).run();
    match (aware, plain) {
        (Ok(first), Ok(second)) => {
            let same = first == second;
            say(first, expr.span, at, out);
            if !same {
                say(second, expr.span, at, out);
            }
        }
        (Ok(only), Err(_)) | (Err(_), Ok(only)) => say(only, expr.span, at, out),
        (Err(why), Err(_)) => {
            out.lost(Class::Write, expr.span, format!("the sed script was not understood: {}", why.0));
        }
    }
}

/// What a script does beyond printing.
#[derive(Debug, PartialEq, Eq)]
enum Deed {
    Writes(String),
    Reads(String),
    Runs(String),
    RunsInput(&'static str),
}

#[derive(Debug)]
struct Lost(&'static str);

fn say(deeds: Vec<Deed>, span: Span, at: &Invocation<'_>, out: &mut Reading) {
    for deed in deeds {
        match deed {
            Deed::Writes(path) => out.writes(&Value::Known(path), span, "`w` in the sed script"),
            Deed::Reads(path) => out.reads(&Value::Known(path)),
            Deed::Runs(text) => {
                out.runs_shell("`e` in the sed script", Arg::known(text, span), at, Inflow::Inherited);
            }
            Deed::RunsInput(how) => {
                out.opaque(Class::Write, span, format!("{how} in the sed script runs its input as a command"));
            }
        }
    }
}

struct Script<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    /// Delimiters inside `[…]` are text (POSIX, GNU since 4.3, BSD).
    brackets: bool,
    /// A label may run to the end of the line (BSD) or to `;` (GNU): text continued past such a line is ambiguous.
    label_on_line: bool,
    deeds: Vec<Deed>,
}

impl<'a> Script<'a> {
    fn new(text: &'a str, brackets: bool) -> Script<'a> {
        Script { rest: text.chars().peekable(), brackets, label_on_line: false, deeds: Vec::new() }
    }

    fn run(mut self) -> Result<Vec<Deed>, Lost> {
        let mut depth = 0usize;
        loop {
            self.skip(|c| c.is_ascii_whitespace() || c == ';');
            let Some(&next) = self.rest.peek() else { break };
            match next {
                '#' => self.comment(),
                '}' => {
                    self.rest.next();
                    depth = depth.checked_sub(1).ok_or(Lost("a `}` without `{`"))?;
                    self.end_of_command()?;
                }
                _ => {
                    self.addresses()?;
                    if self.command()? {
                        depth += 1;
                    }
                }
            }
        }
        if depth == 0 { Ok(self.deeds) } else { Err(Lost("a `{` without `}`")) }
    }

    fn skip(&mut self, test: impl Fn(char) -> bool) {
        while let Some(c) = self.rest.next_if(|&c| test(c)) {
            if c == '\n' {
                self.label_on_line = false;
            }
        }
    }

    fn blanks(&mut self) {
        self.skip(|c| c == ' ' || c == '\t');
    }

    fn comment(&mut self) {
        self.skip(|c| c != '\n');
    }

    fn digits(&mut self) -> bool {
        let before = self.rest.peek().copied();
        self.skip(|c| c.is_ascii_digit());
        before.is_some_and(|c| c.is_ascii_digit())
    }

    /// `addr1[,addr2][!]`
    fn addresses(&mut self) -> Result<(), Lost> {
        if self.address(false)? {
            self.blanks();
            if self.rest.next_if_eq(&',').is_some() {
                self.blanks();
                if !self.address(true)? {
                    return Err(Lost("an address is missing after `,`"));
                }
            }
        }
        self.skip(|c| c == ' ' || c == '\t' || c == '!');
        Ok(())
    }

    fn address(&mut self, second: bool) -> Result<bool, Lost> {
        let Some(&next) = self.rest.peek() else { return Ok(false) };
        match next {
            '0'..='9' => {
                self.digits();
                self.blanks();
                if self.rest.next_if_eq(&'~').is_some() && !self.digits() {
                    return Err(Lost("a number is missing after `~`"));
                }
            }
            '+' | '~' if second => {
                self.rest.next();
                if !self.digits() {
                    return Err(Lost("a number is missing in an address"));
                }
            }
            '$' => {
                self.rest.next();
            }
            '/' => {
                self.rest.next();
                self.delimited('/', true)?;
                self.skip(|c| c == 'I' || c == 'M');
            }
            '\\' => {
                self.rest.next();
                let delimiter = self.delimiter()?;
                self.delimited(delimiter, true)?;
                self.skip(|c| c == 'I' || c == 'M');
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn delimiter(&mut self) -> Result<char, Lost> {
        match self.rest.next() {
            Some(c) if (c.is_ascii_graphic() && c != '\\') || c == ' ' => Ok(c),
            Some(_) | None => Err(Lost("an unusual delimiter")),
        }
    }

    /// Text up to the delimiter, which is consumed.
    fn delimited(&mut self, delimiter: char, regex: bool) -> Result<String, Lost> {
        let mut text = String::new();
        while let Some(c) = self.rest.next() {
            if c == delimiter {
                return Ok(text);
            }
            match c {
                '\\' => {
                    let escaped = self.rest.next().ok_or(Lost("text ends in a backslash"))?;
                    if escaped == '\n' && self.label_on_line {
                        return Err(Lost("a line continued after a label"));
                    }
                    text.push(c);
                    text.push(escaped);
                }
                '\n' => return Err(Lost("a pattern or replacement runs over the end of its line")),
                '[' if regex && self.brackets => {
                    text.push(c);
                    self.bracket(&mut text)?;
                }
                _ => text.push(c),
            }
        }
        Err(Lost("a pattern or replacement has no end"))
    }

    /// A bracket expression after its `[`.
    fn bracket(&mut self, text: &mut String) -> Result<(), Lost> {
        if let Some(c) = self.rest.next_if_eq(&'^') {
            text.push(c);
        }
        if let Some(c) = self.rest.next_if_eq(&']') {
            text.push(c);
        }
        while let Some(c) = self.rest.next() {
            text.push(c);
            match c {
                ']' => return Ok(()),
                '\n' => return Err(Lost("a bracket expression runs over the end of its line")),
                '[' => {
                    if let Some(kind) = self.rest.next_if(|&c| matches!(c, ':' | '.' | '=')) {
                        text.push(kind);
                        let mut last = ' ';
                        loop {
                            let inner = self.rest.next().ok_or(Lost("a character class has no end"))?;
                            text.push(inner);
                            if last == kind && inner == ']' {
                                break;
                            }
                            if inner == '\n' {
                                return Err(Lost("a character class runs over the end of its line"));
                            }
                            last = inner;
                        }
                    }
                }
                _ => {}
            }
        }
        Err(Lost("a bracket expression has no end"))
    }

    /// One command after its addresses; true if it opened a block.
    fn command(&mut self) -> Result<bool, Lost> {
        let name = self.rest.next().ok_or(Lost("an address without a command"))?;
        match name {
            '{' => return Ok(true),
            '=' | 'd' | 'D' | 'F' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' => {
                self.end_of_command()?;
            }
            'l' | 'L' | 'q' | 'Q' => {
                self.blanks();
                self.digits();
                self.end_of_command()?;
            }
            'a' | 'i' | 'c' => self.text()?,
            ':' | 'b' | 't' | 'T' | 'v' => self.label(name)?,
            'r' | 'R' => {
                let path = self.file_name()?;
                if path != "/dev/stdin" {
                    self.deeds.push(Deed::Reads(path));
                }
            }
            'w' | 'W' => {
                let path = self.file_name()?;
                self.deeds.push(Deed::Writes(path));
            }
            'e' => {
                let text = self.line_rest();
                self.deeds.push(if text.is_empty() { Deed::RunsInput("`e`") } else { Deed::Runs(text) });
            }
            's' => self.substitute()?,
            'y' => {
                let delimiter = self.delimiter()?;
                self.delimited(delimiter, false)?;
                self.delimited(delimiter, false)?;
                self.end_of_command()?;
            }
            _ => return Err(Lost("an unknown command")),
        }
        Ok(false)
    }

    fn substitute(&mut self) -> Result<(), Lost> {
        let delimiter = self.delimiter()?;
        self.delimited(delimiter, true)?;
        self.delimited(delimiter, false)?;
        loop {
            match self.rest.peek() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                    self.rest.next();
                }
                Some('e') => {
                    self.rest.next();
                    self.deeds.push(Deed::RunsInput("`s///e`"));
                }
                Some('w') => {
                    self.rest.next();
                    let path = self.file_name()?;
                    self.deeds.push(Deed::Writes(path));
                    return Ok(());
                }
                Some(_) | None => return self.end_of_command(),
            }
        }
    }

    /// Between commands: blanks, then `;`, newline, `}`, `#` or the end.
    fn end_of_command(&mut self) -> Result<(), Lost> {
        self.blanks();
        match self.rest.peek() {
            None | Some(';' | '\n' | '}' | '#') => Ok(()),
            Some('\r') => Err(Lost("a carriage return after a command")),
            Some(_) => Err(Lost("something follows a command that ends here")),
        }
    }

    fn label(&mut self, name: char) -> Result<(), Lost> {
        self.blanks();
        let mut label = String::new();
        while let Some(c) = self.rest.next_if(|&c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')) {
            label.push(c);
        }
        if name == ':' && label.is_empty() {
            return Err(Lost("a label without a name"));
        }
        self.label_on_line = true;
        self.end_of_command()
    }

    /// `a`, `i`, `c`: text to the end of the line, continued by backslashes.
    fn text(&mut self) -> Result<(), Lost> {
        self.blanks();
        let mut any = false;
        while let Some(c) = self.rest.next() {
            match c {
                '\n' => break,
                '\\' => {
                    if self.rest.next() == Some('\n') && self.label_on_line {
                        return Err(Lost("a line continued after a label"));
                    }
                    any = true;
                }
                _ => any = true,
            }
        }
        self.label_on_line = false;
        if any { Ok(()) } else { Err(Lost("`a`, `i` or `c` without text")) }
    }

    fn line_rest(&mut self) -> String {
        self.blanks();
        let mut text = String::new();
        while let Some(c) = self.rest.next_if(|&c| c != '\n') {
            text.push(c);
        }
        text
    }

    fn file_name(&mut self) -> Result<String, Lost> {
        let name = self.line_rest();
        if name.is_empty() { Err(Lost("a file name is missing")) } else { Ok(name) }
    }
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{language_class as class, language_reading as reading};
    use crate::assess::{Effect, Operand};

    #[test]
    fn printing_and_editing_text_only_observes() {
        for script in [
            "1,20p",
            "$p",
            "$!d",
            "2q",
            "$=",
            "/a/,/b/{//!d;}",
            "/x/I,+3p",
            "0~4d",
            "s/[/]/_/",
            "s|a|b|gp",
            "s,/w f,/e,",
            "\\,^/w f,d",
            "y/abc/xyz/",
            "/foo/{p;q}",
            ":a;N;$!ba;s/\\n/ /g",
            "a\\\nw f",
            "i text with ; w f",
            "1!G;h;$!d",
            "s/a/b/2;# w f",
            "p;p\n\n",
            "r other",
            "w /dev/stdout",
            "5q1;l 3",
            "s/x/\\\n/",
            "s/[[:space:]/]*$//",
        ] {
            assert_eq!(class("sed", script), Class::Read, "{script}");
        }
    }

    #[test]
    fn writing_running_and_what_is_not_understood_do_not() {
        for script in [
            "w f",
            "wf",
            "1,2w f",
            "s/a/b/w f",
            "s/a/b/gpw f",
            "s/a/b/e",
            "e",
            "1e touch x",
            "/a/{p;w f\n}",
            "s a b w f",
            "p\nW f",
            "p;}",
            "{p",
            "s/a/b",
            "s/a/b/k",
            "?",
            "1,p",
            "s/a\nb/c/",
            "/[/w f",
            "b x;a\\\nw f",
            "a",
            "w",
            "sxaxbxw f",
            "$!N;P;D;w f",
            "\\|a|w f",
        ] {
            assert!(class("sed", script) >= Class::Write, "{script}");
        }
    }

    #[test]
    fn a_file_name_runs_to_the_end_of_its_line() {
        let read = reading("sed", "/x/w out;p }");
        assert!(read.effects.contains(&Effect::WritePath(Operand::Known("out;p }".into()))));
        let read = reading("sed", "r in.txt\nw out");
        assert!(read.effects.contains(&Effect::ReadPath(Operand::Known("in.txt".into()))));
        assert!(read.effects.contains(&Effect::WritePath(Operand::Known("out".into()))));
        assert_eq!(reading("sed", "1e rm -rf /").nested.len(), 1);
    }
}
