//! Is this text a complete command, or does its end lie on a line that was not read yet? Answered by the shape alone:
//! quotes, brackets, reserved words and here-documents. Nothing is judged by it: a wrong answer cuts a command in two
//! pieces, and each piece is judged as it is.

/// What is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    Nothing,
    /// No line that follows makes it a command.
    Sense,
    /// At least one more line.
    Lines,
    /// The lines up to this one; tabs in front of it do not count where `strip`.
    HereDocument {
        delimiter: Vec<u8>,
        strip: bool,
    },
}

/// Deeper nesting is taken for complete: whoever judges it says what is wrong.
const DEPTH_MAX: usize = 200;

/// What is missing of `text`, which ends with a newline.
pub fn missing(text: &[u8]) -> Missing {
    let mut scan = Scan { text, at: 0, pending: Vec::new(), depth: 0 };
    match scan.list(Stop::End) {
        Ok(_) => Missing::Nothing,
        Err(Short::Text) => Missing::Lines,
        Err(Short::Body(delimiter, strip)) => Missing::HereDocument { delimiter, strip },
        Err(Short::Wrong) => Missing::Sense,
    }
}

/// Why the scan stopped early.
enum Short {
    Text,
    Body(Vec<u8>, bool),
    /// No text that follows makes it right.
    Wrong,
}

type Scanned<T> = Result<T, Short>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    End,
    Paren,
    /// `;;`, `;&`, `;;&`, or the `esac` behind the last arm, which is left.
    Arm,
    Words(&'static [&'static [u8]]),
}

struct Scan<'t> {
    text: &'t [u8],
    at: usize,
    /// Here-documents whose bodies begin after the next newline.
    pending: Vec<(Vec<u8>, bool)>,
    depth: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn tail(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn starts(&self, with: &[u8]) -> bool {
        self.tail().starts_with(with)
    }

    fn need(&self) -> Scanned<u8> {
        self.peek().ok_or(Short::Text)
    }

    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Scanned<T>) -> Scanned<T> {
        if self.depth >= DEPTH_MAX {
            return Err(Short::Wrong);
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// Blanks, line continuations and comments.
    fn blanks(&mut self) -> Scanned<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.text.get(self.at + 1) == Some(&b'\n') => {
                    self.at += 2;
                    self.need()?;
                }
                Some(b'#') => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// The end of a line, and the bodies that come after it.
    fn newline(&mut self) -> Scanned<()> {
        self.at += 1;
        for (delimiter, strip) in std::mem::take(&mut self.pending) {
            loop {
                let rest = self.tail();
                let Some(end) = memchr::memchr(b'\n', rest) else { return Err(Short::Body(delimiter, strip)) };
                let ends = ends_body(&rest[..end], &delimiter, strip);
                self.at += end + 1;
                if ends {
                    break;
                }
            }
        }
        Ok(())
    }

    fn linebreaks(&mut self) -> Scanned<()> {
        loop {
            self.blanks()?;
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// As [`Scan::linebreaks`], where something must follow.
    fn onward(&mut self) -> Scanned<()> {
        self.linebreaks()?;
        self.need().map(drop)
    }

    /// The plain word here, without moving; empty where there is none.
    fn plain(&self) -> &[u8] {
        let rest = self.tail();
        let end = rest.iter().position(|byte| b" \t\n;&|()<>\"'\\$`".contains(byte)).unwrap_or(rest.len());
        &rest[..end]
    }

    /// A list up to `stop`; whether there is a command in it.
    fn list(&mut self, stop: Stop) -> Scanned<bool> {
        let mut any = false;
        self.deeper(|scan| {
            loop {
                scan.linebreaks()?;
                let Some(byte) = scan.peek() else {
                    return if stop == Stop::End { Ok(any) } else { Err(Short::Text) };
                };
                match (byte, stop) {
                    (b')', Stop::Paren) => {
                        scan.at += 1;
                        return Ok(any);
                    }
                    (b')', _) => return Err(Short::Wrong),
                    (b';', Stop::Arm) if scan.starts(b";;") || scan.starts(b";&") => return Ok(any),
                    (b';' | b'&', _) => {
                        scan.at += 1;
                        continue;
                    }
                    _ => {}
                }
                match stop {
                    Stop::Arm if scan.plain() == b"esac" => return Ok(any),
                    Stop::Words(words) if words.contains(&scan.plain()) => return Ok(any),
                    _ => {
                        scan.pipeline()?;
                        any = true;
                    }
                }
            }
        })
    }

    /// Commands joined by `|`, `&&` and `||`.
    fn pipeline(&mut self) -> Scanned<()> {
        loop {
            self.command()?;
            self.blanks()?;
            let joined = [&b"&&"[..], b"||", b"|&", b"|"].into_iter().find(|operator| self.starts(operator));
            let Some(operator) = joined else { return Ok(()) };
            self.at += operator.len();
            self.onward()?;
        }
    }

    fn command(&mut self) -> Scanned<()> {
        self.blanks()?;
        let word = self.plain().to_vec();
        match &word[..] {
            b"!" | b"time" | b"coproc" => {
                self.at += word.len();
                self.blanks()?;
                if self.peek().is_some_and(|byte| !b"\n;&|)".contains(&byte)) { self.command() } else { Ok(()) }
            }
            b"then" | b"elif" | b"else" | b"fi" | b"do" | b"done" | b"esac" | b"}" => Err(Short::Wrong),
            b"if" => {
                self.at += 2;
                self.until(&[b"then"])?;
                loop {
                    match &self.until(&[b"elif", b"else", b"fi"])?[..] {
                        b"elif" => drop(self.until(&[b"then"])?),
                        b"fi" => return self.rest(),
                        _ => {}
                    }
                }
            }
            b"while" | b"until" => {
                self.at += 5;
                self.until(&[b"do"])?;
                self.until(&[b"done"])?;
                self.rest()
            }
            b"for" | b"select" => {
                self.at += word.len();
                self.loop_over()
            }
            b"case" => {
                self.at += 4;
                self.case()
            }
            b"{" => {
                self.at += 1;
                self.until(&[b"}"])?;
                self.rest()
            }
            b"[[" => {
                self.at += 2;
                loop {
                    self.onward()?;
                    if self.plain() == b"]]" {
                        self.at += 2;
                        return self.rest();
                    }
                    if b";&|()<>".contains(&self.need()?) { self.at += 1 } else { self.word()? }
                }
            }
            b"function" => {
                self.at += 8;
                self.blanks()?;
                self.word()?;
                self.blanks()?;
                if self.peek() == Some(b'(') {
                    self.at += 1;
                    self.list(Stop::Paren)?;
                }
                self.onward()?;
                self.command()
            }
            _ if self.starts(b"((") => {
                self.at += 2;
                self.arithmetic()?;
                self.rest()
            }
            _ if self.peek() == Some(b'(') => {
                self.at += 1;
                self.list(Stop::Paren)?;
                self.rest()
            }
            _ => self.simple(),
        }
    }

    /// A list up to one of these words, which is consumed and returned.
    fn until(&mut self, words: &'static [&'static [u8]]) -> Scanned<Vec<u8>> {
        if !self.list(Stop::Words(words))? {
            return Err(Short::Wrong);
        }
        let word = self.plain().to_vec();
        self.at += word.len();
        Ok(word)
    }

    fn loop_over(&mut self) -> Scanned<()> {
        self.blanks()?;
        if self.starts(b"((") {
            self.at += 2;
            self.arithmetic()?;
        } else {
            self.word()?;
        }
        loop {
            self.blanks()?;
            match self.need()? {
                b'\n' => self.newline()?,
                b';' => self.at += 1,
                _ => {
                    let word = self.plain();
                    match word {
                        b"do" => {
                            self.at += 2;
                            self.until(&[b"done"])?;
                            return self.rest();
                        }
                        b"{" => {
                            self.at += 1;
                            self.until(&[b"}"])?;
                            return self.rest();
                        }
                        _ if b"&|()<>".contains(&self.need()?) => return Err(Short::Wrong),
                        _ => self.word()?,
                    }
                }
            }
        }
    }

    fn case(&mut self) -> Scanned<()> {
        self.blanks()?;
        self.word()?;
        self.onward()?;
        if self.plain() != b"in" {
            return Err(Short::Wrong);
        }
        self.at += 2;
        loop {
            self.onward()?;
            if self.plain() == b"esac" {
                self.at += 4;
                return self.rest();
            }
            if self.peek() == Some(b'(') {
                self.at += 1;
            }
            loop {
                self.onward()?;
                match self.need()? {
                    b')' => break,
                    b'|' => self.at += 1,
                    b';' | b'&' | b'(' | b'<' | b'>' => return Err(Short::Wrong),
                    _ => self.word()?,
                }
            }
            self.at += 1;
            self.list(Stop::Arm)?;
            while matches!(self.peek(), Some(b';' | b'&')) {
                self.at += 1;
            }
        }
    }

    /// Redirects behind a compound command.
    fn rest(&mut self) -> Scanned<()> {
        loop {
            self.blanks()?;
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => {
                    if self.starts(b"&>") {
                        self.redirect()?;
                        continue;
                    }
                    return Ok(());
                }
                Some(b'<' | b'>') => self.redirect()?,
                Some(byte) if byte.is_ascii_digit() || byte == b'{' => self.word()?,
                // A reserved word, or something that is no command: the list says.
                Some(_) => return Ok(()),
            }
        }
    }

    fn simple(&mut self) -> Scanned<()> {
        let mut words = 0;
        loop {
            self.blanks()?;
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b')') => return Ok(()),
                Some(b'&') if self.starts(b"&>") => self.redirect()?,
                Some(b'&') => return Ok(()),
                Some(b'<' | b'>') if !self.starts(b"<(") && !self.starts(b">(") => self.redirect()?,
                Some(b'(') if words == 1 => {
                    // `name ()`: a function.
                    self.at += 1;
                    self.blanks()?;
                    if self.need()? != b')' {
                        return Err(Short::Wrong);
                    }
                    self.at += 1;
                    self.onward()?;
                    return self.deeper(Self::command);
                }
                Some(b'(') => return Err(Short::Wrong),
                Some(_) => {
                    self.word()?;
                    words += 1;
                }
            }
        }
    }

    fn redirect(&mut self) -> Scanned<()> {
        if self.starts(b"<<<") {
            self.at += 3;
        } else if self.starts(b"<<") {
            self.at += 2;
            let strip = self.peek() == Some(b'-');
            self.at += usize::from(strip);
            self.blanks()?;
            let start = self.at;
            self.word()?;
            let end = self.at.min(self.text.len());
            self.pending.push((unquoted(self.text.get(start..end).unwrap_or_default()), strip));
            return Ok(());
        } else {
            while matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'|')) {
                self.at += 1;
            }
        }
        self.blanks()?;
        match self.peek() {
            None | Some(b'\n' | b';' | b'|' | b')') => Ok(()),
            Some(_) => self.word(),
        }
    }

    /// One word, with everything in it.
    fn word(&mut self) -> Scanned<()> {
        let start = self.at;
        loop {
            let Some(byte) = self.peek() else { return Ok(()) };
            let before = (self.at > start).then(|| self.text[self.at - 1]);
            match byte {
                b'\\' => {
                    let continues = self.text.get(self.at + 1) == Some(&b'\n');
                    self.at += 2;
                    if continues || self.at > self.text.len() {
                        self.need()?;
                    }
                }
                b'\'' | b'"' | b'`' | b'$' => self.quoted()?,
                b'(' if before == Some(b'=') => {
                    self.at += 1;
                    self.elements()?;
                }
                b'(' if before.is_some_and(|byte| b"?*+@!".contains(&byte)) => {
                    self.at += 1;
                    self.pattern()?;
                }
                b'<' | b'>' if self.text.get(self.at + 1) == Some(&b'(') => {
                    self.at += 2;
                    self.list(Stop::Paren)?;
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => {
                    // Never nothing: whoever asks for a word moves on.
                    self.at += usize::from(self.at == start);
                    return Ok(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// `(a [b]=c …)` up to the `)`.
    fn elements(&mut self) -> Scanned<()> {
        self.deeper(|scan| {
            loop {
                scan.onward()?;
                match scan.need()? {
                    b')' => {
                        scan.at += 1;
                        return Ok(());
                    }
                    b';' | b'&' | b'|' | b'(' => scan.at += 1,
                    _ => scan.word()?,
                }
            }
        })
    }

    /// An extended pattern up to the `)`.
    fn pattern(&mut self) -> Scanned<()> {
        self.deeper(|scan| {
            loop {
                match scan.need()? {
                    b')' => {
                        scan.at += 1;
                        return Ok(());
                    }
                    b'(' => {
                        scan.at += 1;
                        scan.pattern()?;
                    }
                    b'\\' => scan.at += 2,
                    b'\'' | b'"' | b'`' | b'$' => scan.quoted()?,
                    _ => scan.at += 1,
                }
            }
        })
    }

    /// Up to the `))`.
    fn arithmetic(&mut self) -> Scanned<()> {
        self.deeper(|scan| {
            let mut open = 0;
            loop {
                match scan.need()? {
                    b'(' => open += 1,
                    b')' if open > 0 => open -= 1,
                    b')' => {
                        scan.at += 1;
                        if scan.peek() == Some(b')') {
                            scan.at += 1;
                        }
                        return Ok(());
                    }
                    b'\\' => scan.at += 1,
                    b'\'' | b'"' | b'`' | b'$' => {
                        scan.quoted()?;
                        continue;
                    }
                    _ => {}
                }
                scan.at += 1;
            }
        })
    }

    /// What begins with a quote, a backquote or a dollar.
    fn quoted(&mut self) -> Scanned<()> {
        let byte = self.need()?;
        self.at += 1;
        match byte {
            b'\'' => {
                let end = memchr::memchr(b'\'', self.tail()).ok_or(Short::Text)?;
                self.at += end + 1;
                Ok(())
            }
            b'"' => self.deeper(Self::double),
            b'`' => loop {
                match self.need()? {
                    b'`' => {
                        self.at += 1;
                        return Ok(());
                    }
                    b'\\' => self.at += 2,
                    _ => self.at += 1,
                }
            },
            _ if self.starts(b"'") => {
                self.at += 1;
                loop {
                    match self.need()? {
                        b'\'' => {
                            self.at += 1;
                            return Ok(());
                        }
                        b'\\' => self.at += 2,
                        _ => self.at += 1,
                    }
                }
            }
            _ if self.starts(b"((") => {
                self.at += 2;
                self.arithmetic()
            }
            _ if self.starts(b"(") => {
                self.at += 1;
                // Its here-documents are its own.
                let outer = std::mem::take(&mut self.pending);
                self.list(Stop::Paren)?;
                self.pending = outer;
                Ok(())
            }
            _ if self.starts(b"{") => {
                self.at += 1;
                self.deeper(Self::braces)
            }
            _ => Ok(()),
        }
    }

    fn double(&mut self) -> Scanned<()> {
        loop {
            match self.need()? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.at += 2,
                b'`' => self.quoted()?,
                b'$' if matches!(self.text.get(self.at + 1), Some(b'(' | b'{')) => self.quoted()?,
                _ => self.at += 1,
            }
        }
    }

    /// `${ … }` up to the `}`.
    fn braces(&mut self) -> Scanned<()> {
        loop {
            match self.need()? {
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.at += 2,
                b'\'' | b'"' | b'`' | b'$' => self.quoted()?,
                _ => self.at += 1,
            }
        }
    }
}

/// Whether this line ends a here-document.
pub fn ends_body(line: &[u8], delimiter: &[u8], strip: bool) -> bool {
    let tabs = if strip { line.iter().take_while(|byte| **byte == b'\t').count() } else { 0 };
    &line[tabs..] == delimiter
}

/// The delimiter of a here-document, as bash takes the quotes off.
fn unquoted(word: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(word.len());
    let (mut at, mut quote) = (0, None);
    while let Some(&byte) = word.get(at) {
        at += 1;
        match (byte, quote) {
            (b'\\', None) => {
                out.extend(word.get(at));
                at += 1;
            }
            (b'\'' | b'"', None) => quote = Some(byte),
            _ if quote == Some(byte) => quote = None,
            _ => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_commands_are_complete() {
        for text in [
            "ls",
            "",
            "   # only a comment ' \"",
            "echo 'a' \"b $(ls \"$x\") c\" $'d\\'e' `ls` ${x:-}}",
            "if true; then echo; elif false; then :; else ls; fi",
            "for i in 1 2 3; do echo $i; done | sort",
            "for ((i = 0; i < (3); i++)); do :; done",
            "for i; do :; done; for x in a b c\ndo\n:\ndone",
            "while read -r x; do case $x in a|b) ls;; (c) :;& d) ;; esac; done < f",
            "f() { ls; }; function g { ls; } >f; h () (ls)",
            "a=(1 2\n3) b=${x#*)} c=$((1 + (2)))",
            "[[ a == b && ( c < d ) ]] && ls",
            "(( x = (1+2) )) || echo done fi esac }",
            "cat <<EOF\n$(\nEOF",
            "cat <<-'E O' <<B | wc\n\t'\n\tE O\nif\nB",
            "cat <<< 'x'; echo a#b 1>&2 2>/dev/null &> f",
            "cat <(ls) >(wc) !(a|b)",
            "echo a \\\nb",
            "x=$(cat <<E\n)\nE\n)",
            "! ls | time wc & coproc cat; { ls; }",
            "select x in a b; do break; done",
            "case x in esac; echo in do done",
            "echo if then; echo {",
            "if (ls) then ls; fi; { (ls) }",
            "case $x in a) echo ;; *) echo; esac",
            "function f() { :; }\n",
            "time\n",
            "a=\"${x:-\"y}\"}\"",
        ] {
            assert_eq!(missing(format!("{text}\n").as_bytes()), Missing::Nothing, "{text}");
        }
    }

    #[test]
    fn commands_that_go_on_are_not() {
        for text in [
            "echo 'a",
            "echo \"a",
            "echo \"a $(ls",
            "echo `ls",
            "echo $'a\\'",
            "if true",
            "if true; then",
            "if true; then ls; else",
            "for i in a b",
            "for i in a b; do ls",
            "while :; do",
            "case x in",
            "case x in a) ls ;;",
            "case x in a)",
            "case x",
            "{ ls",
            "( ls",
            "f()",
            "f() {",
            "function f",
            "ls |",
            "ls &&",
            "ls || # why",
            "a=(1 2",
            "echo $((1 +",
            "(( 1 +",
            "[[ a ==",
            "echo a \\",
            "echo ${x:-",
            "if cat <<E\nx\nE\nthen",
            "cat <(ls",
        ] {
            assert_eq!(missing(format!("{text}\n").as_bytes()), Missing::Lines, "{text}");
        }
        for text in [
            "ls )",
            "fi",
            "if then",
            "true && done",
            "{ }",
            "while do",
            "case x y",
            "f( x",
            "a (b)",
            "for i in a; do done",
        ] {
            assert_eq!(missing(format!("{text}\n").as_bytes()), Missing::Sense, "{text}");
        }
        for (text, delimiter, strip) in [
            ("cat <<EOF", "EOF", false),
            ("cat <<-\"a b\" > f\n\t", "a b", true),
            ("cat <<\\X <<Y\nX", "Y", false),
            ("if cat <<E", "E", false),
        ] {
            let expected = Missing::HereDocument { delimiter: delimiter.into(), strip };
            assert_eq!(missing(format!("{text}\n").as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn no_text_is_too_deep_or_too_odd() {
        for text in ["(", "$(", "{ ", "\"$(", "${", "a=(", "[[ ", "if ", "`", "case x in a) "] {
            missing(text.repeat(5000).as_bytes());
        }
        for byte in 0..=255u8 {
            missing(&[byte, b'\n']);
            missing(&[b'$', byte, b'x', b'\n']);
            missing(&[b'\\', byte]);
        }
    }
}
