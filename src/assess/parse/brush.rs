//! The adapter for `brush-parser`: its tree as an outline.
//!
//! Words are sliced from the text by their spans (which count characters), because their values are reconstructed.
//! Only the tokenizer and the grammar are used: the word parser keeps what it has seen in a cache.

use super::outline::{Event, Fd, Shape, joined, squeezed};
use brush_parser::ast::{
    AndOr, AssignmentValue, CaseItem, CaseItemPostAction, Command, CommandPrefixOrSuffixItem, CompoundCommand,
    CompoundList, CoprocessCommand, ExtendedTestExpr, FunctionDefinition, IfClauseCommand, IoFileRedirectKind,
    IoFileRedirectTarget, IoRedirect, Pipeline, ProcessSubstitutionKind, RedirectList, SeparatorOperator,
    SimpleCommand, SubshellCommand, UnexpandedArithmeticExpr, WhileOrUntilClauseCommand, Word,
};
use brush_parser::{Parser, ParserOptions, SourceSpan};
use std::borrow::Cow;

/// The outline of `text` as brush reads it, or why it has none.
pub(super) fn outline(text: &str, globs: bool) -> Result<Vec<Event<'_>>, String> {
    // `sh` to us is bash in POSIX mode, which keeps bash's grammar.
    let options = ParserOptions { enable_extended_globbing: globs, ..ParserOptions::default() };
    let program = Parser::new(text.as_bytes(), &options).parse_program().map_err(|error| error.to_string())?;
    let offsets = if text.is_ascii() { None } else { Some(text.char_indices().map(|(at, _)| at).collect()) };
    let mut lower = Lower { text, offsets, events: Vec::new(), bodies: Vec::new() };
    for list in &program.complete_commands {
        lower.list(list)?;
    }
    lower.events.append(&mut lower.bodies);
    Ok(lower.events)
}

struct Lower<'a> {
    text: &'a str,
    /// Byte offsets of characters, where they differ.
    offsets: Option<Vec<usize>>,
    events: Vec<Event<'a>>,
    bodies: Vec<Event<'a>>,
}

type Lowered = Result<(), String>;

impl<'a> Lower<'a> {
    fn push(&mut self, event: Event<'a>) {
        self.events.push(event);
    }

    fn byte(&self, index: usize) -> usize {
        match &self.offsets {
            None => index.min(self.text.len()),
            Some(offsets) => offsets.get(index).copied().unwrap_or(self.text.len()),
        }
    }

    /// The source a span names. Spans may begin with the blanks and line continuations before a token.
    fn source(&self, span: &SourceSpan) -> Cow<'a, str> {
        let (start, end) = (self.byte(span.start.index), self.byte(span.end.index));
        let text = joined(self.text.get(start..end).unwrap_or(""));
        match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim_start_matches([' ', '\t', '\n'])),
            Cow::Owned(text) => Cow::Owned(text.trim_start_matches([' ', '\t', '\n']).to_owned()),
        }
    }

    fn word_text(&self, word: &Word) -> Cow<'a, str> {
        match &word.loc {
            Some(span) => self.source(span),
            None => Cow::Owned(joined(&word.value).into_owned()),
        }
    }

    fn word(&mut self, word: &Word) {
        let text = self.word_text(word);
        self.push(Event::Word(text));
    }

    // -- lists ------------------------------------------------------------------------------------------------------

    fn list(&mut self, list: &CompoundList) -> Lowered {
        for item in &list.0 {
            self.pipeline(&item.0.first)?;
            for next in &item.0.additional {
                let (event, pipeline) = match next {
                    AndOr::And(pipeline) => (Event::And, pipeline),
                    AndOr::Or(pipeline) => (Event::Or, pipeline),
                };
                self.push(event);
                self.pipeline(pipeline)?;
            }
            let background = match item.1 {
                SeparatorOperator::Async => true,
                SeparatorOperator::Sequence => false,
            };
            self.push(Event::End { background });
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Lowered {
        if pipeline.bang {
            self.push(Event::Negated);
        }
        if pipeline.timed.is_some() {
            self.push(Event::Timed);
        }
        let mut commands = pipeline.seq.iter().peekable();
        while let Some(command) = commands.next() {
            let both = self.command(command)?;
            if commands.peek().is_some() {
                self.push(if both { Event::PipeBoth } else { Event::Pipe });
            }
        }
        Ok(())
    }

    /// Whether `|&` follows, which brush writes as an invented redirect.
    fn command(&mut self, command: &Command) -> Result<bool, String> {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.compound(compound)?;
                self.close(redirects.as_ref())
            }
            Command::Function(function) => self.function(function),
            Command::ExtendedTest(test, redirects) => {
                self.push(Event::Open(Shape::Test));
                self.test(&test.expr)?;
                self.close(redirects.as_ref())
            }
        }
    }

    fn close(&mut self, redirects: Option<&RedirectList>) -> Result<bool, String> {
        let mut both = false;
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            both |= self.redirect(redirect)?;
        }
        self.push(Event::Close);
        Ok(both)
    }

    fn simple(&mut self, simple: &SimpleCommand) -> Result<bool, String> {
        self.push(Event::Open(Shape::Simple));
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        for item in prefix.clone() {
            if let CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) = item {
                let event = match &assignment.value {
                    AssignmentValue::Scalar(_) => Event::Assignment(self.word_text(word)),
                    AssignmentValue::Array(_) => Event::Squeezed(squeezed(&word.value)),
                };
                self.push(event);
            }
        }
        if let Some(word) = &simple.word_or_name {
            self.word(word);
        }
        for item in suffix.clone() {
            match item {
                CommandPrefixOrSuffixItem::IoRedirect(_) => {}
                CommandPrefixOrSuffixItem::Word(word) => self.word(word),
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => match &assignment.value {
                    AssignmentValue::Scalar(_) => self.word(word),
                    AssignmentValue::Array(_) => self.push(Event::Squeezed(squeezed(&word.value))),
                },
                CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => self.process(kind, subshell),
            }
        }
        let mut both = false;
        for item in prefix.chain(suffix) {
            if let CommandPrefixOrSuffixItem::IoRedirect(redirect) = item {
                both |= self.redirect(redirect)?;
            }
        }
        self.push(Event::Close);
        Ok(both)
    }

    /// A process substitution that is a whole word; its commands are confirmed on their own.
    fn process(&mut self, kind: &ProcessSubstitutionKind, subshell: &SubshellCommand) {
        let direction = match kind {
            ProcessSubstitutionKind::Read => "<",
            ProcessSubstitutionKind::Write => ">",
        };
        let text = format!("{direction}{}", self.source(&subshell.loc));
        self.push(Event::Word(text.into()));
    }

    // -- compound commands ------------------------------------------------------------------------------------------

    /// Everything but the redirects and the end.
    fn compound(&mut self, compound: &CompoundCommand) -> Lowered {
        match compound {
            CompoundCommand::Arithmetic(command) => {
                self.push(Event::Open(Shape::Arithmetic));
                self.push(Event::Squeezed(squeezed(&command.expr.value)));
            }
            CompoundCommand::ArithmeticForClause(command) => {
                self.push(Event::Open(Shape::ForArithmetic));
                for part in [&command.initializer, &command.condition, &command.updater] {
                    self.push(header(part.as_ref()));
                }
                self.push(Event::Mark("do"));
                self.list(&command.body.list)?;
            }
            CompoundCommand::BraceGroup(group) => {
                self.push(Event::Open(Shape::Group));
                self.list(&group.list)?;
            }
            CompoundCommand::Subshell(subshell) => {
                self.push(Event::Open(Shape::Subshell));
                self.list(&subshell.list)?;
            }
            CompoundCommand::ForClause(command) => {
                self.push(Event::Open(Shape::For));
                self.push(Event::Name(Cow::Owned(command.variable_name.clone())));
                match &command.values {
                    Some(words) => words.iter().for_each(|word| self.word(word)),
                    None => self.push(Event::Word("\"$@\"".into())),
                }
                self.push(Event::Mark("do"));
                self.list(&command.body.list)?;
            }
            CompoundCommand::CaseClause(command) => {
                self.push(Event::Open(Shape::Case));
                self.word(&command.value);
                self.push(Event::Mark("in"));
                for item in &command.cases {
                    self.arm(item)?;
                }
            }
            CompoundCommand::IfClause(command) => self.conditional(command)?,
            CompoundCommand::WhileClause(command) => self.looped(Shape::While, command)?,
            CompoundCommand::UntilClause(command) => self.looped(Shape::Until, command)?,
            CompoundCommand::Coprocess(command) => self.coprocess(command)?,
        }
        Ok(())
    }

    fn conditional(&mut self, command: &IfClauseCommand) -> Lowered {
        self.push(Event::Open(Shape::If));
        self.list(&command.condition)?;
        self.push(Event::Mark("then"));
        self.list(&command.then)?;
        let mut open = 0;
        for clause in command.elses.iter().flatten() {
            self.push(Event::Mark("else"));
            if let Some(condition) = &clause.condition {
                self.push(Event::Open(Shape::If));
                open += 1;
                self.list(condition)?;
                self.push(Event::Mark("then"));
            }
            self.list(&clause.body)?;
        }
        for _ in 0..open {
            self.push(Event::Close);
            self.push(Event::End { background: false });
        }
        Ok(())
    }

    fn looped(&mut self, shape: Shape, command: &WhileOrUntilClauseCommand) -> Lowered {
        self.push(Event::Open(shape));
        self.list(&command.0)?;
        self.push(Event::Mark("do"));
        self.list(&command.1.list)
    }

    fn coprocess(&mut self, command: &CoprocessCommand) -> Lowered {
        self.push(Event::Open(Shape::Coprocess));
        if let Some(name) = &command.name {
            let name = self.word_text(name);
            self.push(Event::Name(name));
        }
        self.command(&command.body).map(|_both| ())
    }

    fn arm(&mut self, item: &CaseItem) -> Lowered {
        self.push(Event::Open(Shape::Arm));
        item.patterns.iter().for_each(|word| self.word(word));
        self.push(Event::Mark(")"));
        if let Some(body) = &item.cmd {
            self.list(body)?;
        }
        self.push(Event::Mark(match item.post_action {
            CaseItemPostAction::ExitCase => ";;",
            CaseItemPostAction::UnconditionallyExecuteNextCaseItem => ";&",
            CaseItemPostAction::ContinueEvaluatingCases => ";;&",
        }));
        self.push(Event::Close);
        Ok(())
    }

    fn function(&mut self, function: &FunctionDefinition) -> Result<bool, String> {
        self.push(Event::Open(Shape::Function));
        let name = self.word_text(&function.fname);
        self.push(Event::Name(name));
        self.compound(&function.body.0)?;
        let both = self.close(function.body.1.as_ref())?;
        self.push(Event::Close);
        Ok(both)
    }

    // -- redirects and tests ----------------------------------------------------------------------------------------

    /// Whether it is the redirect brush invents for `|&`.
    fn redirect(&mut self, redirect: &IoRedirect) -> Result<bool, String> {
        match redirect {
            IoRedirect::File(fd, kind, target) => return self.file(number(*fd), kind, target),
            IoRedirect::HereDocument(fd, document) => {
                let spelled = self.word_text(&document.here_end);
                let delimiter: String = spelled.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
                let (strip, quoted) = (document.remove_tabs, !document.requires_expansion);
                self.push(Event::HereDocument { fd: number(*fd), delimiter, strip, quoted });
                self.bodies.push(Event::Body(Cow::Owned(document.doc.value.clone())));
            }
            IoRedirect::HereString(fd, word) => {
                self.push(Event::Redirect { fd: number(*fd), operator: "<<<" });
                self.word(word);
            }
            IoRedirect::OutputAndError(word, append) => {
                self.push(Event::Redirect { fd: Fd::Implied, operator: if *append { "&>>" } else { "&>" } });
                self.word(word);
            }
        }
        Ok(false)
    }

    fn file(&mut self, fd: Fd, kind: &IoFileRedirectKind, target: &IoFileRedirectTarget) -> Result<bool, String> {
        let operator = match kind {
            IoFileRedirectKind::Read => "<",
            IoFileRedirectKind::Write => ">",
            IoFileRedirectKind::Append => ">>",
            IoFileRedirectKind::ReadAndWrite => "<>",
            IoFileRedirectKind::Clobber => ">|",
            IoFileRedirectKind::DuplicateInput => "<&",
            IoFileRedirectKind::DuplicateOutput => ">&",
        };
        match target {
            IoFileRedirectTarget::Filename(word) => {
                self.push(Event::Redirect { fd, operator });
                self.word(word);
            }
            IoFileRedirectTarget::ProcessSubstitution(kind, subshell) => {
                self.push(Event::Redirect { fd, operator });
                self.process(kind, subshell);
            }
            IoFileRedirectTarget::Duplicate(word) => {
                let text = self.word_text(word);
                if text == "-" {
                    self.push(Event::Redirect { fd: Fd::Implied, operator: "&-" });
                } else if let Some(moved) = text.strip_suffix('-') {
                    self.push(Event::Redirect { fd: Fd::Implied, operator });
                    self.push(Event::Word(Cow::Owned(moved.to_owned())));
                } else {
                    self.push(Event::Redirect { fd, operator });
                    self.push(Event::Word(text));
                }
            }
            IoFileRedirectTarget::Fd(_) => return Ok(true),
        }
        Ok(false)
    }

    fn test(&mut self, test: &ExtendedTestExpr) -> Lowered {
        match test {
            ExtendedTestExpr::And(left, right) => self.joined_tests("&&", left, right),
            ExtendedTestExpr::Or(left, right) => self.joined_tests("||", left, right),
            ExtendedTestExpr::Not(inner) => {
                self.test(inner)?;
                self.push(Event::Operator("!".into()));
                Ok(())
            }
            ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(predicate, word) => {
                self.push(Event::Operator(predicate.to_string().into()));
                self.word(word);
                Ok(())
            }
            ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                let operator = predicate.to_string();
                let regex = operator == "=~";
                self.push(Event::Operator(operator.into()));
                self.word(left);
                if regex {
                    self.push(Event::Squeezed(squeezed(&right.value)));
                } else {
                    self.word(right);
                }
                Ok(())
            }
        }
    }

    fn joined_tests(&mut self, operator: &'static str, left: &ExtendedTestExpr, right: &ExtendedTestExpr) -> Lowered {
        self.test(left)?;
        self.test(right)?;
        self.push(Event::Operator(operator.into()));
        Ok(())
    }
}

/// A part of a C-like `for`; an empty one is true.
fn header<'a>(part: Option<&UnexpandedArithmeticExpr>) -> Event<'a> {
    let text = part.map(|part| squeezed(&part.value)).filter(|text| !text.is_empty());
    Event::Squeezed(text.unwrap_or_else(|| "1".to_owned()))
}

fn number(fd: Option<i32>) -> Fd {
    fd.and_then(|fd| u32::try_from(fd).ok()).map_or(Fd::Implied, Fd::Number)
}
