//! The adapter for `rable`: its tree as an outline.
//!
//! Only structure and the source text of words are taken from it; its own idea of what is inside a word is not asked.

use super::outline::{Event, Fd, Shape, joined, squeezed};
use super::simple::identifier_len;
use ::rable::{CasePattern, ListOperator, Node, NodeKind, PipeSep};
use std::borrow::Cow;

/// The outline of `text` as rable reads it, or why it has none.
pub(super) fn outline(text: &str, globs: bool) -> Result<Vec<Event<'_>>, String> {
    let nodes = ::rable::parse(text, globs).map_err(|error| error.to_string())?;
    let mut lower = Lower::default();
    for node in &nodes {
        lower.list(node)?;
    }
    lower.events.append(&mut lower.bodies);
    Ok(lower.events)
}

#[derive(Default)]
struct Lower {
    events: Vec<Event<'static>>,
    bodies: Vec<Event<'static>>,
}

type Lowered = Result<(), String>;

impl Lower {
    fn push(&mut self, event: Event<'static>) {
        self.events.push(event);
    }

    // -- lists ------------------------------------------------------------------------------------------------------

    /// A list is a tree that leans left: its spine is walked, not recursed into.
    fn list(&mut self, node: &Node) -> Lowered {
        let mut items = Vec::new();
        let mut background = false;
        let mut node = node;
        loop {
            match split(node) {
                Some((left, operator @ (ListOperator::Semi | ListOperator::Background), right)) => {
                    if let Some(right) = right {
                        items.push((right, background));
                    }
                    background = operator == ListOperator::Background;
                    node = left;
                }
                Some((_, ListOperator::And | ListOperator::Or, _)) | None => {
                    items.push((node, background));
                    break;
                }
            }
        }
        for (item, background) in items.into_iter().rev() {
            let nested = matches!(split(item), Some((_, ListOperator::Semi | ListOperator::Background, _)));
            if nested {
                self.nested_list(item, background)?;
            } else {
                self.and_or(item)?;
                self.push(Event::End { background });
            }
        }
        Ok(())
    }

    /// `a; b & c`: the right side of `;` is a list of its own, whose last item the outer separator ends.
    fn nested_list(&mut self, node: &Node, background: bool) -> Lowered {
        self.list(node)?;
        if background && let Some(Event::End { background: last }) = self.events.last_mut() {
            *last = true;
        }
        Ok(())
    }

    fn and_or(&mut self, node: &Node) -> Lowered {
        let mut rest = Vec::new();
        let mut node = node;
        while let Some((left, operator @ (ListOperator::And | ListOperator::Or), right)) = split(node) {
            rest.push((operator, right));
            node = left;
        }
        self.pipeline(node)?;
        for (operator, right) in rest.into_iter().rev() {
            self.push(if operator == ListOperator::And { Event::And } else { Event::Or });
            match right {
                Some(right) => self.pipeline(right)?,
                None => return Err("an operator without a command".to_owned()),
            }
        }
        Ok(())
    }

    fn pipeline(&mut self, node: &Node) -> Lowered {
        if let NodeKind::Negation { pipeline } = &node.kind {
            self.push(Event::Negated);
            self.pipeline(pipeline)
        } else if let NodeKind::Time { pipeline, posix: _ } = &node.kind {
            self.push(Event::Timed);
            self.pipeline(pipeline)
        } else if let NodeKind::Pipeline { commands, separators } = &node.kind {
            self.pipe(commands, separators)
        } else {
            self.command(node, false)
        }
    }

    /// `|&` shows as a separator and as an invented redirect of the command before it.
    fn pipe(&mut self, commands: &[Node], separators: &[PipeSep]) -> Lowered {
        let mut separators = separators.iter();
        let mut commands = commands.iter().filter(|node| !is_redirect(node)).peekable();
        while let Some(command) = commands.next() {
            let separator = if commands.peek().is_some() { separators.next() } else { None };
            let both = separator == Some(&PipeSep::PipeBoth);
            self.command(command, both)?;
            match separator {
                Some(PipeSep::Pipe) => self.push(Event::Pipe),
                Some(PipeSep::PipeBoth) => self.push(Event::PipeBoth),
                None => {}
            }
        }
        Ok(())
    }

    // -- commands ---------------------------------------------------------------------------------------------------

    fn command(&mut self, node: &Node, invented: bool) -> Lowered {
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => {
                self.push(Event::Open(Shape::Simple));
                for assignment in assignments {
                    let text = word_text(assignment)?;
                    let event = array(text).unwrap_or_else(|| Event::Assignment(owned(text)));
                    self.push(event);
                }
                for word in words {
                    self.word(word)?;
                }
                let real = redirects.len() - usize::from(invented && !redirects.is_empty());
                self.close(&redirects[..real])
            }
            NodeKind::If { condition, then_body, else_body, redirects } => {
                self.push(Event::Open(Shape::If));
                self.list(condition)?;
                self.push(Event::Mark("then"));
                self.list(then_body)?;
                if let Some(body) = else_body {
                    self.push(Event::Mark("else"));
                    self.list(body)?;
                }
                self.close(redirects)
            }
            NodeKind::While { condition, body, redirects } => self.looped(Shape::While, condition, body, redirects),
            NodeKind::Until { condition, body, redirects } => self.looped(Shape::Until, condition, body, redirects),
            NodeKind::For { var, words, body, redirects } => self.each(Shape::For, var, words, body, redirects),
            NodeKind::Select { var, words, body, redirects } => self.each(Shape::Select, var, words, body, redirects),
            NodeKind::ForArith { init, cond, incr, body, redirects } => {
                self.push(Event::Open(Shape::ForArithmetic));
                for text in [init, cond, incr] {
                    self.push(Event::Squeezed(squeezed(text)));
                }
                self.push(Event::Mark("do"));
                self.list(body)?;
                self.close(redirects)
            }
            NodeKind::Case { word, patterns, redirects } => {
                self.push(Event::Open(Shape::Case));
                self.word(word)?;
                self.push(Event::Mark("in"));
                for pattern in patterns {
                    self.arm(pattern)?;
                }
                self.close(redirects)
            }
            NodeKind::Function { name, body } => {
                self.push(Event::Open(Shape::Function));
                self.push(Event::Name(owned(name)));
                self.command(body, false)?;
                self.push(Event::Close);
                Ok(())
            }
            NodeKind::Subshell { body, redirects } => {
                self.push(Event::Open(Shape::Subshell));
                self.list(body)?;
                self.close(redirects)
            }
            NodeKind::BraceGroup { body, redirects } => {
                self.push(Event::Open(Shape::Group));
                self.list(body)?;
                self.close(redirects)
            }
            NodeKind::Coproc { name, command } => {
                self.push(Event::Open(Shape::Coprocess));
                if let Some(name) = name {
                    self.push(Event::Name(owned(name)));
                }
                self.command(command, false)?;
                self.push(Event::Close);
                Ok(())
            }
            NodeKind::ArithmeticCommand { expression: _, redirects, raw_content } => {
                self.push(Event::Open(Shape::Arithmetic));
                self.push(Event::Squeezed(squeezed(raw_content)));
                self.close(redirects)
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.push(Event::Open(Shape::Test));
                self.test(body)?;
                self.close(redirects)
            }
            // Shapes of words, lists, redirects and arithmetic, none of which is a command.
            NodeKind::Word { .. }
            | NodeKind::WordLiteral { .. }
            | NodeKind::Pipeline { .. }
            | NodeKind::List { .. }
            | NodeKind::Redirect { .. }
            | NodeKind::HereDoc { .. }
            | NodeKind::ParamExpansion { .. }
            | NodeKind::ParamLength { .. }
            | NodeKind::ParamIndirect { .. }
            | NodeKind::CommandSubstitution { .. }
            | NodeKind::ProcessSubstitution { .. }
            | NodeKind::AnsiCQuote { .. }
            | NodeKind::LocaleString { .. }
            | NodeKind::BraceExpansion { .. }
            | NodeKind::ArithmeticExpansion { .. }
            | NodeKind::ArithNumber { .. }
            | NodeKind::ArithVar { .. }
            | NodeKind::ArithBinaryOp { .. }
            | NodeKind::ArithUnaryOp { .. }
            | NodeKind::ArithPreIncr { .. }
            | NodeKind::ArithPostIncr { .. }
            | NodeKind::ArithPreDecr { .. }
            | NodeKind::ArithPostDecr { .. }
            | NodeKind::ArithAssign { .. }
            | NodeKind::ArithTernary { .. }
            | NodeKind::ArithComma { .. }
            | NodeKind::ArithSubscript { .. }
            | NodeKind::ArithEmpty
            | NodeKind::ArithEscape { .. }
            | NodeKind::ArithDeprecated { .. }
            | NodeKind::ArithConcat { .. }
            | NodeKind::UnaryTest { .. }
            | NodeKind::BinaryTest { .. }
            | NodeKind::CondAnd { .. }
            | NodeKind::CondOr { .. }
            | NodeKind::CondNot { .. }
            | NodeKind::CondParen { .. }
            | NodeKind::CondTerm { .. }
            | NodeKind::Negation { .. }
            | NodeKind::Time { .. }
            | NodeKind::Array { .. }
            | NodeKind::Empty
            | NodeKind::Comment { .. } => Err("something that is not a command".to_owned()),
        }
    }

    fn looped(&mut self, shape: Shape, condition: &Node, body: &Node, redirects: &[Node]) -> Lowered {
        self.push(Event::Open(shape));
        self.list(condition)?;
        self.push(Event::Mark("do"));
        self.list(body)?;
        self.close(redirects)
    }

    fn each(
        &mut self,
        shape: Shape,
        name: &str,
        words: &Option<Vec<Node>>,
        body: &Node,
        redirects: &[Node],
    ) -> Lowered {
        self.push(Event::Open(shape));
        self.push(Event::Name(owned(name)));
        for word in words.iter().flatten() {
            self.word(word)?;
        }
        self.push(Event::Mark("do"));
        self.list(body)?;
        self.close(redirects)
    }

    fn arm(&mut self, arm: &CasePattern) -> Lowered {
        self.push(Event::Open(Shape::Arm));
        for pattern in &arm.patterns {
            self.word(pattern)?;
        }
        self.push(Event::Mark(")"));
        if let Some(body) = &arm.body {
            self.list(body)?;
        }
        self.push(Event::Mark(match arm.terminator.as_str() {
            ";&" => ";&",
            ";;&" => ";;&",
            _ => ";;",
        }));
        self.push(Event::Close);
        Ok(())
    }

    fn close(&mut self, redirects: &[Node]) -> Lowered {
        for redirect in redirects {
            self.redirect(redirect)?;
        }
        self.push(Event::Close);
        Ok(())
    }

    // -- words, redirects, tests ------------------------------------------------------------------------------------

    fn word(&mut self, node: &Node) -> Lowered {
        let text = word_text(node)?;
        let event = array(text).unwrap_or_else(|| Event::Word(owned(text)));
        self.push(event);
        Ok(())
    }

    fn redirect(&mut self, node: &Node) -> Lowered {
        if let NodeKind::HereDoc { delimiter, content, strip_tabs, quoted, fd, complete: _ } = &node.kind {
            let (strip, quoted) = (*strip_tabs, *quoted);
            self.push(Event::HereDocument { fd: number(*fd), delimiter: delimiter.clone(), strip, quoted });
            self.bodies.push(Event::Body(Cow::Owned(content.clone())));
            return Ok(());
        }
        let NodeKind::Redirect { op, target, fd, varfd } = &node.kind else {
            return Err("something that is not a redirect".to_owned());
        };
        let Some(operator) = spelled(op) else { return Err(format!("the redirect `{op}`")) };
        if operator == "&-" {
            self.push(Event::Redirect { fd: Fd::Implied, operator });
            return Ok(());
        }
        let fd = match varfd {
            Some(name) => Fd::Variable(name.clone()),
            None => number(*fd),
        };
        let text = word_text(target)?;
        self.push(Event::Redirect { fd, operator });
        self.push(Event::Word(owned(text)));
        Ok(())
    }

    fn test(&mut self, node: &Node) -> Lowered {
        if let NodeKind::CondAnd { left, right } = &node.kind {
            return self.joined_tests("&&", left, right);
        }
        if let NodeKind::CondOr { left, right } = &node.kind {
            return self.joined_tests("||", left, right);
        }
        if let NodeKind::CondNot { operand } = &node.kind {
            self.test(operand)?;
            self.push(Event::Operator("!".into()));
            return Ok(());
        }
        if let NodeKind::CondParen { inner } = &node.kind {
            return self.test(inner);
        }
        if let NodeKind::UnaryTest { op, operand } = &node.kind {
            let spelled = match op.as_str() {
                "-a" => "-e",
                "-L" => "-h",
                other => other,
            };
            self.push(Event::Operator(owned(spelled)));
            return self.word(operand);
        }
        let NodeKind::BinaryTest { op, left, right } = &node.kind else {
            return Err("something that is not a test".to_owned());
        };
        self.push(Event::Operator(owned(if op == "=" { "==" } else { op })));
        self.word(left)?;
        if op == "=~" {
            self.push(Event::Squeezed(squeezed(word_text(right)?)));
            return Ok(());
        }
        self.word(right)
    }

    fn joined_tests(&mut self, operator: &'static str, left: &Node, right: &Node) -> Lowered {
        self.test(left)?;
        self.test(right)?;
        self.push(Event::Operator(operator.into()));
        Ok(())
    }
}

/// A list node's left side, its operator, its right side.
fn split(node: &Node) -> Option<(&Node, ListOperator, Option<&Node>)> {
    let NodeKind::List { items } = &node.kind else { return None };
    let first = items.first()?;
    Some((&first.command, first.operator?, items.get(1).map(|item| &item.command)))
}

fn is_redirect(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Redirect { .. })
}

fn word_text(node: &Node) -> Result<&str, String> {
    if let NodeKind::Word { value, .. } | NodeKind::CondTerm { value, .. } = &node.kind {
        Ok(value)
    } else {
        Err("something that is not a word".to_owned())
    }
}

fn owned(text: &str) -> Cow<'static, str> {
    Cow::Owned(joined(text).into_owned())
}

/// `name=( … )`, which rable spells with one blank between elements.
fn array(text: &str) -> Option<Event<'static>> {
    let mut rest = &text[identifier_len(text.as_bytes())..];
    if rest.len() == text.len() {
        return None;
    }
    if rest.starts_with('[') {
        rest = rest.find("]=(").or(rest.find("]+=(")).map(|at| &rest[at + 1..])?;
    }
    let is = rest.starts_with("=(") || rest.starts_with("+=(");
    is.then(|| Event::Squeezed(squeezed(text)))
}

fn number(fd: i32) -> Fd {
    u32::try_from(fd).map_or(Fd::Implied, Fd::Number)
}

fn spelled(operator: &str) -> Option<&'static str> {
    ["<", ">", ">>", ">|", "<>", "<&", ">&", "&>", "&>>", "<<<"]
        .into_iter()
        .find(|known| *known == operator)
        .or((operator == ">&-").then_some("&-"))
}
