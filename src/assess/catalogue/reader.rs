//! Which options and operands do these words make? Every style of argument reading, and every doubt about a word.
//!
//! A word that may be an option and is not known is a doubt, never a guess. Positions behind a word that may be several
//! are loose: each later operand may stand in any place.

use super::Catalogue;
use super::schema::{Arity, Entry, Flag, Form, Place, Style};
use crate::assess::Span;
use crate::assess::reading::{Arg, Value};

/// An option that was recognised.
#[derive(Clone, Debug)]
pub struct Seen<'c> {
    pub flag: Flag<'c>,
    /// The spelling in the table that matched.
    pub name: &'c str,
    /// The entry whose list holds it.
    pub entry: &'c Entry,
    pub value: Option<Arg>,
    /// As written, for sentences (`--output=f`).
    pub written: String,
    pub span: Span,
}

/// A word that stands where an option or a subcommand is chosen, and is not in the tables or not known.
#[derive(Clone, Debug)]
pub struct Doubt {
    pub written: String,
    pub span: Span,
    pub kind: DoubtKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoubtKind {
    /// Known word, unknown option.
    Option,
    /// Known word, unknown subcommand.
    Subcommand,
    /// The word itself is not known and may be an option or subcommand.
    Word,
}

/// What the words were read as.
#[derive(Clone, Debug)]
pub struct Parsed<'c> {
    /// The program and the subcommands chosen, outermost first; never empty.
    pub levels: Vec<&'c Entry>,
    /// The same as the caller wrote them, for sentences (`apt list`, where `levels` are of `apt-get`).
    pub called: String,
    pub flags: Vec<Seen<'c>>,
    pub operands: Vec<Arg>,
    pub doubts: Vec<Doubt>,
    /// Operands before this index are operands for certain; a doubt before later ones may have taken them as values.
    pub firm: usize,
    /// The words after the last subcommand are one option that prints a text and ends.
    pub help: bool,
}

impl<'c> Parsed<'c> {
    pub fn leaf(&self) -> &'c Entry {
        self.levels[self.levels.len() - 1]
    }
}

/// Read `args` as the program of `entry`, which was called `program`, would.
pub fn parse<'c>(catalogue: &'c Catalogue, entry: &'c Entry, program: &str, args: &[Arg]) -> Parsed<'c> {
    let mut reader = Reader {
        catalogue,
        args,
        next: 0,
        plain: false,
        out: Parsed {
            levels: vec![entry],
            called: program.to_owned(),
            flags: Vec::new(),
            operands: Vec::new(),
            doubts: Vec::new(),
            firm: usize::MAX,
            help: false,
        },
    };
    reader.run();
    reader.out
}

/// What an option word turned out to be.
enum Found<'c> {
    One(Flag<'c>, &'c str, &'c Entry),
    No,
}

struct Reader<'c, 'a> {
    catalogue: &'c Catalogue,
    args: &'a [Arg],
    next: usize,
    /// No more options: after `--`, or after the first operand where that ends them.
    plain: bool,
    out: Parsed<'c>,
}

impl<'c> Reader<'c, '_> {
    fn leaf(&self) -> &'c Entry {
        self.out.leaf()
    }

    fn run(&mut self) {
        while let Some(arg) = self.args.get(self.next) {
            self.next += 1;
            match (&arg.value, arg.many) {
                (Value::Known(text), false) => self.known(arg, text),
                (Value::Known(prefix), true) | (Value::Unknown { prefix }, _) => self.unknown(arg, prefix),
                (Value::Glob(pattern), _) => self.glob(arg, pattern),
                // The caller tries each; what is left are too many to try.
                (Value::OneOf(_), _) => self.unknown(arg, ""),
            }
        }
    }

    fn known(&mut self, arg: &Arg, text: &str) {
        let leaf = self.leaf();
        if leaf.style == Style::None && !leaf.subs.is_empty() && self.out.operands.is_empty() {
            match self.catalogue.sub(leaf, text) {
                Some(sub) => return self.descend(sub, text),
                None => self.doubt(arg, text, DoubtKind::Subcommand),
            }
        }
        if self.plain || leaf.style == Style::None {
            return self.operand(arg);
        }
        if text == "--" && leaf.style != Style::Dd {
            self.plain = true;
            return;
        }
        let dashed = text.len() > 1 && text.starts_with('-');
        // `cargo +nightly build`: chosen before the subcommand.
        if !leaf.subs.is_empty() && self.out.operands.is_empty() && text.starts_with('+') && self.signed(arg, text) {
            return;
        }
        if self.out.operands.is_empty() && !dashed {
            if let Some(sub) = self.catalogue.sub(leaf, text) {
                self.descend(sub, text);
                return;
            }
            if !leaf.subs.is_empty() && leaf.args.is_empty() {
                self.doubt(arg, text, DoubtKind::Subcommand);
                return self.operand(arg);
            }
        }
        match leaf.style {
            Style::Dd => self.pair(arg, text),
            Style::Bsd if self.next == 1 && !dashed && self.bundle(arg, text) => {}
            _ if text.starts_with(['+', '@']) && text.len() > 1 && self.signed(arg, text) => {}
            _ if dashed => self.option(arg, text),
            _ => self.operand(arg),
        }
    }

    fn descend(&mut self, sub: &'c Entry, text: &str) {
        self.out.levels.push(sub);
        self.out.called.push(' ');
        self.out.called.push_str(text);
        let rest = &self.args[self.next..];
        if let ([only], true) = (rest, self.out.flags.is_empty() && self.out.doubts.is_empty()) {
            self.out.help = only.text().is_some_and(|t| sub.help.split(' ').any(|h| h == t));
        }
    }

    fn operand(&mut self, arg: &Arg) {
        if self.leaf().first {
            self.plain = true;
        }
        self.out.operands.push(arg.clone());
    }

    fn loosen(&mut self) {
        self.out.firm = self.out.firm.min(self.out.operands.len());
    }

    fn doubt(&mut self, arg: &Arg, written: &str, kind: DoubtKind) {
        self.out.doubts.push(Doubt { written: written.to_owned(), span: arg.span, kind });
        if !matches!(arg.value, Value::Glob(_)) {
            self.loosen();
        }
    }

    /// A word of which only the beginning is known.
    fn unknown(&mut self, arg: &Arg, prefix: &str) {
        let leaf = self.leaf();
        let style_reads = !self.plain && leaf.style != Style::None;
        if style_reads && self.out.operands.is_empty() && !leaf.subs.is_empty() && !prefix.starts_with('-') {
            self.doubt(arg, &shown(arg), DoubtKind::Word);
            return self.operand(arg);
        }
        if style_reads && prefix.len() > 1 && prefix.starts_with('-') {
            return self.half_known(arg, prefix);
        }
        // One quoted word in an operand's place is an operand; one that splits can become any options.
        let optionlike =
            prefix == "-" || arg.many || leaf.style == Style::Dd || (prefix.is_empty() && self.can_do_more());
        if style_reads && optionlike && !leaf.complete && leaf.open.is_empty() {
            self.doubt(arg, &shown(arg), DoubtKind::Word);
        }
        self.operand(arg);
    }

    /// Whether an option could make the leaf do more than it does without any, by itself or as another form of use.
    fn can_do_more(&self) -> bool {
        let leaf = self.leaf();
        let raises = |form: &Form| {
            let places = Place::list(&form.args).any(|place| place.class.max(place.kind.floor()) > leaf.class);
            !form.any.is_empty() && (form.class > leaf.class || places)
        };
        if leaf.forms.iter().any(raises) {
            return true;
        }
        let lists = std::iter::once(self.leaf().flags.as_deref().unwrap_or(""))
            .chain(self.out.levels.iter().map(|level| level.globals.as_ref()));
        lists.flat_map(Flag::list).any(|flag| !flag.observes())
    }

    /// `--color=$x`, `-n$x`: the option is known, its value is not.
    fn half_known(&mut self, arg: &Arg, prefix: &str) {
        let value = |rest: &str| Arg { value: Value::Unknown { prefix: rest.to_owned() }, many: false, span: arg.span };
        if arg.many && !self.leaf().complete {
            self.doubt(arg, &shown(arg), DoubtKind::Word);
        }
        if let Some((name, rest)) = prefix.split_once('=')
            && let Found::One(flag, name, entry) = self.lookup(name)
            && flag.arity != Arity::None
        {
            return self.saw(flag, name, entry, Some(value(rest)), &shown(arg), arg.span);
        }
        if !prefix.starts_with("--") && self.clustered() {
            let chars = prefix[1..].char_indices();
            for (at, c) in chars {
                let Found::One(flag, name, entry) = self.lookup(&format!("-{c}")) else { break };
                if flag.arity != Arity::None {
                    let rest = &prefix[1 + at + c.len_utf8()..];
                    return self.saw(flag, name, entry, Some(value(rest)), &shown(arg), arg.span);
                }
                self.saw(flag, name, entry, None, &shown(arg), arg.span);
            }
        }
        self.doubt(arg, &shown(arg), DoubtKind::Word);
    }

    fn glob(&mut self, arg: &Arg, pattern: &str) {
        let leaf = self.leaf();
        let reads = !self.plain && leaf.style != Style::None && leaf.open.is_empty() && !leaf.complete;
        // A match of `*/x` holds a slash, which no option does.
        let hidden =
            pattern.starts_with('-') || pattern.starts_with(['*', '?', '[', '@', '!', '+']) && !pattern.contains('/');
        if reads && (hidden || leaf.style == Style::Dd) {
            self.doubt(arg, pattern, DoubtKind::Word);
        }
        self.operand(arg);
    }

    fn clustered(&self) -> bool {
        match self.leaf().style {
            Style::Gnu | Style::Posix | Style::Clap | Style::Git | Style::Bsd => true,
            Style::Go | Style::Word | Style::Dd | Style::None => false,
        }
    }

    fn option(&mut self, arg: &Arg, text: &str) {
        let leaf = self.leaf();
        if self.takes_anything() {
            // Every option is granted, so a following word may be a value or an operand.
            self.out.help |= self.lonely_help(leaf, text);
            self.loosen();
            return;
        }
        self.out.help |= self.lonely_help(leaf, text);
        // The whole word, as it stands: long options, and single-dash words (`-xdev`).
        if let Found::One(flag, name, entry) = self.lookup(text)
            && (text.len() > 2 || !self.clustered() || flag.arity == Arity::None)
        {
            return self.take(arg, flag, name, entry, text);
        }
        if let Some((name, value)) = text.split_once('=')
            && let Found::One(flag, name, entry) = self.lookup(name)
        {
            let go_bool = leaf.style == Style::Go && flag.arity == Arity::None;
            if name.len() > 2 || !self.clustered() {
                if flag.arity == Arity::None && !go_bool || flag.mark == "pair" {
                    return self.doubt(arg, text, DoubtKind::Option);
                }
                let value = Arg::known(value, arg.span);
                return self.saw(flag, name, entry, Some(value), text, arg.span);
            }
        }
        if !text.starts_with("--") {
            if text[1..].bytes().all(|b| b.is_ascii_digit())
                && let Found::One(flag, name, entry) = self.lookup("-#")
            {
                return self.saw(flag, name, entry, None, text, arg.span);
            }
            if self.clustered() {
                return self.cluster(arg, text);
            }
        }
        self.doubt(arg, text, DoubtKind::Option);
    }

    /// Whether the leaf takes every option for granted: a written reason, or a class that unknown ones cannot raise.
    fn takes_anything(&self) -> bool {
        self.leaf().flags.is_none() && (self.leaf().class > crate::assess::Class::Read || !self.leaf().open.is_empty())
    }

    fn lonely_help(&self, leaf: &Entry, text: &str) -> bool {
        self.args.len() == self.out.levels.len()
            && self.next == self.args.len()
            && leaf.help.split(' ').any(|h| h == text)
    }

    /// `-uof`: letters until one takes the rest or the next word.
    fn cluster(&mut self, arg: &Arg, text: &str) {
        for (at, c) in text.char_indices().skip(1) {
            let found = match self.lookup(&format!("-{c}")) {
                Found::No if c.is_ascii_digit() => self.lookup("-#"),
                found => found,
            };
            let Found::One(flag, name, entry) = found else {
                return self.doubt(arg, text, DoubtKind::Option);
            };
            let rest = &text[at + c.len_utf8()..];
            match flag.arity {
                Arity::None => self.saw(flag, name, entry, None, text, arg.span),
                Arity::Optional => {
                    let value = (!rest.is_empty()).then(|| Arg::known(rest, arg.span));
                    return self.saw(flag, name, entry, value, text, arg.span);
                }
                Arity::Required if rest.is_empty() => return self.take(arg, flag, name, entry, text),
                Arity::Required => {
                    let rest =
                        if self.leaf().style == Style::Clap { rest.strip_prefix('=').unwrap_or(rest) } else { rest };
                    return self.saw(flag, name, entry, Some(Arg::known(rest, arg.span)), text, arg.span);
                }
            }
        }
    }

    /// A first word without a dash that bundles options (`ps aux`, `tar xzf f`); values follow in order.
    fn bundle(&mut self, arg: &Arg, text: &str) -> bool {
        let all = text.chars().all(|c| matches!(self.lookup(c.encode_utf8(&mut [0; 4])), Found::One(..)));
        if all && !text.is_empty() {
            for c in text.chars() {
                if let Found::One(flag, name, entry) = self.lookup(c.encode_utf8(&mut [0; 4])) {
                    self.take(arg, flag, name, entry, text);
                }
            }
        }
        all && !text.is_empty()
    }

    /// `+5`, `+word`, `@file` (more options stand in that file).
    fn signed(&mut self, arg: &Arg, text: &str) -> bool {
        let plus = text.starts_with('+');
        let digits = plus && text[1..].bytes().all(|b| b.is_ascii_digit());
        let found = if digits { self.lookup("+#") } else { Found::No };
        match found {
            Found::One(flag, name, entry) => {
                self.saw(flag, name, entry, None, text, arg.span);
                true
            }
            Found::No => match self.lookup(if plus { "+*" } else { "@*" }) {
                Found::One(flag, name, entry) => {
                    let value = (flag.arity != Arity::None).then(|| Arg::known(&text[1..], arg.span));
                    self.saw(flag, name, entry, value, text, arg.span);
                    true
                }
                Found::No => false,
            },
        }
    }

    /// `if=FILE`.
    fn pair(&mut self, arg: &Arg, text: &str) {
        self.out.help |= self.lonely_help(self.leaf(), text);
        match text.split_once('=') {
            Some((key, value)) => match self.lookup(key) {
                Found::One(flag, name, entry) if flag.arity != Arity::None => {
                    self.saw(flag, name, entry, Some(Arg::known(value, arg.span)), text, arg.span);
                }
                Found::One(..) | Found::No => self.doubt(arg, text, DoubtKind::Option),
            },
            None => match self.lookup(text) {
                Found::One(flag, name, entry) => self.saw(flag, name, entry, None, text, arg.span),
                Found::No => self.doubt(arg, text, DoubtKind::Option),
            },
        }
    }

    /// An option without an attached value: take the next word if it needs one.
    fn take(&mut self, arg: &Arg, flag: Flag<'c>, name: &'c str, entry: &'c Entry, text: &str) {
        // `-Dname=value`: what a `*` stood for is the value, or simply part of the option.
        if let Some(prefix) = name.strip_suffix('*') {
            let value = (flag.arity != Arity::None).then(|| Arg::known(&text[prefix.len()..], arg.span));
            return self.saw(flag, name, entry, value, text, arg.span);
        }
        if flag.arity != Arity::Required {
            return self.saw(flag, name, entry, None, text, arg.span);
        }
        // `jq --arg NAME VALUE`: the name first.
        let skipped = usize::from(flag.mark == "pair");
        let words = self.args.get(self.next..=self.next + skipped).unwrap_or(&[]);
        let Some(value) = words.last() else {
            return self.doubt(arg, text, DoubtKind::Option);
        };
        if let Some(name) = words[..skipped].iter().find(|name| name.many) {
            self.doubt(name, &shown(name), DoubtKind::Word);
        }
        self.next += 1 + skipped;
        let loose = value.many || (matches!(value.value, Value::Glob(_)));
        if loose {
            if !self.leaf().complete {
                self.doubt(value, &shown(value), DoubtKind::Word);
            }
            self.loosen();
        }
        let span = arg.span.to(value.span);
        self.saw(flag, name, entry, Some(value.clone()), text, span);
    }

    fn saw(&mut self, flag: Flag<'c>, name: &'c str, entry: &'c Entry, value: Option<Arg>, text: &str, span: Span) {
        self.out.flags.push(Seen { flag, name, entry, value, written: text.to_owned(), span });
    }

    /// The option spelled `name`, in the leaf's own list or in a list that reaches down to it.
    fn lookup(&self, name: &str) -> Found<'c> {
        let leaf = self.leaf();
        let own = std::iter::once((leaf.flags.as_deref().unwrap_or(""), leaf));
        let lists = own.chain(self.out.levels.iter().rev().map(|level| (level.globals.as_ref(), *level)));
        let mut prefixed: Vec<(Flag<'c>, &'c str, &'c Entry)> = Vec::new();
        let mut starred = None;
        let long = name.starts_with("--") && name.len() > 2;
        let positive = name.strip_prefix("--no-").filter(|_| leaf.style == Style::Git);
        let mut negated = None;
        for (list, entry) in lists {
            for flag in Flag::list(list) {
                for spelling in flag.spellings() {
                    if spelling == name || (leaf.style == Style::Go && go_equal(spelling, name)) {
                        return Found::One(flag, spelling, entry);
                    }
                    if let Some(stem) = spelling.strip_suffix('*') {
                        if starred.is_none() && name.len() > stem.len() && name.starts_with(stem) {
                            starred = Some((flag, spelling, entry));
                        }
                    } else if long && leaf.style.abbreviates() && spelling.starts_with(name) {
                        prefixed.push((flag, spelling, entry));
                    }
                    if positive.is_some_and(|p| spelling.strip_prefix("--") == Some(p)) && !decides(leaf, &flag) {
                        negated = Some((flag, spelling, entry));
                    }
                }
            }
        }
        if let Some((flag, spelling, entry)) = starred {
            return Found::One(flag, spelling, entry);
        }
        if let Some((flag, spelling, entry)) = negated {
            let off = Flag { arity: Arity::None, class: crate::assess::Class::Read, mark: "", ..flag };
            return Found::One(off, spelling, entry);
        }
        // An abbreviation of one option only; spellings of the same option count once.
        match prefixed.split_first() {
            Some((first, rest)) if rest.iter().all(|other| other.0.names == first.0.names) => {
                Found::One(first.0, first.1, first.2)
            }
            Some(_) | None => Found::No,
        }
    }
}

/// Go's flag package takes one dash or two.
fn go_equal(spelling: &str, name: &str) -> bool {
    spelling.trim_start_matches('-') == name.trim_start_matches('-') && name.starts_with('-')
}

/// A word with doubt as people can read it.
pub fn shown(arg: &Arg) -> String {
    match &arg.value {
        Value::Known(text) => text.clone(),
        Value::Glob(pattern) => pattern.clone(),
        Value::Unknown { prefix } => format!("{prefix}…"),
        Value::OneOf(all) => all.join("|"),
    }
}
/// Whether giving the option makes a form fit: turned off again (`git clean -fn --no-dry-run`) it must not count as given.
fn decides(leaf: &Entry, flag: &Flag<'_>) -> bool {
    leaf.forms.iter().any(|form| form.any.split(' ').any(|name| flag.spellings().any(|s| s == name)))
}
