//! Which operand stands in which place, and which words are a command of their own?

use super::super::reader::{DoubtKind, shown};
use super::super::schema::{Entry, Place, Role, Times};
use super::{Judge, code_of, verb};
use crate::assess::analyzers::say::Who;
use crate::assess::reading::{Arg, Inflow, Nested, Value};
use crate::assess::{Attribute, Class, Code};

impl<'c> Judge<'_, 'c> {
    pub(super) fn operands(&mut self) {
        let parsed = self.parsed;
        let leaf = parsed.leaf();
        let args = self.form().map_or(leaf.args.as_ref(), |form| form.args.as_ref());
        let places: Vec<Place<'c>> = Place::list(args).collect();
        let count = parsed.operands.len();
        let firm = self.firm(&places);
        let mut taken = vec![false; places.len()];
        let mut index = 0;
        while index < count {
            let arg = &parsed.operands[index];
            if index >= firm {
                // It may stand in any place: each of them is allowed for.
                let command = places.iter().position(|p| p.kind.role == Role::Command || p.kind.role == Role::Shell);
                for place in places.iter().filter(|p| p.kind.role != Role::Command && p.kind.role != Role::Shell) {
                    self.place(*place, arg);
                }
                if command.is_some() {
                    self.command(index, true);
                    return;
                }
                if places.is_empty() && !leaf_takes_words(leaf) {
                    self.surplus(arg);
                }
                index += 1;
                continue;
            }
            match assign(&places, &taken, index, count, arg) {
                None if leaf_takes_words(leaf) => {}
                None => self.surplus(arg),
                Some(which) => {
                    let place = places[which];
                    taken[which] = true;
                    match place.kind.role {
                        Role::Command => return self.command(index, false),
                        Role::Shell if place.times == Times::Many => return self.joined(index),
                        _ => self.place(place, arg),
                    }
                }
            }
            index += 1;
        }
    }

    /// Operands before this index stand in the place that their position says.
    fn firm(&self, places: &[Place<'_>]) -> usize {
        let operands = &self.parsed.operands;
        let several = |arg: &Arg| arg.many || matches!(arg.value, Value::Glob(_));
        let Some(first) = operands.iter().position(several) else { return self.parsed.firm };
        let last = operands.iter().rposition(several).unwrap_or(first);
        let many = places.iter().position(|p| p.times == Times::Many);
        // Words that may be several are of no matter inside the place that takes many.
        let steady = many.is_some_and(|many| many <= first && places.len() - many - 1 < operands.len() - last);
        if steady { self.parsed.firm } else { self.parsed.firm.min(first) }
    }

    fn surplus(&mut self, arg: &Arg) {
        let leaf = self.parsed.leaf();
        // An unknown subcommand has been said already.
        if self.parsed.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Subcommand) {
            return;
        }
        let text = format!("`{}` is an operand more than `{}` is known to take", shown(arg), self.parsed.called);
        self.out.raise(Code::SurplusOperand, leaf.unknown_flag, arg.span, text);
    }

    fn place(&mut self, place: Place<'c>, arg: &Arg) {
        let called = &self.parsed.called;
        if place.class > Class::Read {
            let text = format!("`{}` makes `{called}` {}", shown(arg), verb(place.class));
            self.out.raise(code_of(place.class), place.class, arg.span, text);
        }
        let how = format!("`{called}`");
        self.role(place.kind, arg, arg.span, Who::Does(&how));
    }

    /// The words from `index` on are a command of their own.
    fn command(&mut self, index: usize, loose: bool) {
        let leaf = self.parsed.leaf();
        let args = self.parsed.operands[index..].to_vec();
        let appended = leaf.effects.split(' ').any(|word| word == "appends");
        if loose {
            let text = format!("`{}` may be the program that `{}` runs", shown(&args[0]), self.parsed.called);
            self.out.attributes.insert(Attribute::Opaque);
            self.out.raise(Code::UnknownWord, Class::Write, args[0].span, text);
        }
        let stdin = if appended { Inflow::Nothing } else { self.at.stdin.clone() };
        let assignments = self.assignments();
        self.out.nested.push(Nested::Argv { via: leaf.path.to_string(), args, appended, stdin, assignments });
    }

    /// `NAME=value` words in front of the command.
    fn assignments(&self) -> Vec<(String, Value)> {
        let words = self.parsed.operands.iter().filter_map(Arg::text);
        words
            .map_while(|text| text.split_once('='))
            .map(|(name, value)| (name.to_owned(), Value::Known(value.to_owned())))
            .collect()
    }

    /// The words from `index` on are joined by spaces and read by a shell.
    fn joined(&mut self, index: usize) {
        let words = &self.parsed.operands[index..];
        let span = words.iter().fold(words[0].span, |span, word| span.to(word.span));
        let mut text = String::new();
        let mut known = true;
        for (n, word) in words.iter().enumerate() {
            if n > 0 {
                text.push(' ');
            }
            match word.text() {
                Some(word) => text.push_str(word),
                None => {
                    known = false;
                    break;
                }
            }
        }
        let value = if known { Value::Known(text) } else { Value::Unknown { prefix: text } };
        self.shell(Arg { value, many: false, span }, Vec::new(), self.at.stdin.clone());
    }
}

/// An entry above read without an allow-list takes words as they come.
fn leaf_takes_words(leaf: &Entry) -> bool {
    leaf.flags.is_none() && leaf.class > Class::Read && leaf.args.is_empty()
}

/// Which place the operand at `index` of `count` stands in: leading places first, then the one that takes many, and
/// the trailing ones from the end.
fn assign(places: &[Place<'_>], taken: &[bool], index: usize, count: usize, arg: &Arg) -> Option<usize> {
    let assigns = |n: usize| places[n].kind.role == Role::Assign;
    let is_assignment = arg.text().is_none_or(|text| text.contains('='));
    let many = (0..places.len()).find(|&n| places[n].times == Times::Many && !assigns(n));
    // `NAME=value` places hold as many as come, and nothing else.
    if let Some(first) = (0..places.len()).find(|&n| assigns(n)) {
        let later = (first + 1..places.len()).any(|n| taken[n]);
        if is_assignment && !later {
            return Some(first);
        }
    }
    let open = |n: &usize| !assigns(*n) && (!taken[*n] || Some(*n) == many);
    match many {
        None => (0..places.len()).find(|n| open(n)),
        Some(many) => {
            if let Some(lead) = (0..many).find(|n| open(n)) {
                return Some(lead);
            }
            let trailing = places.len() - many - 1;
            let left = count - index;
            // The last words belong to the trailing places, as far as there are enough words.
            if left <= trailing && (taken[many] || left < trailing || count > trailing) {
                return (many + 1..places.len()).nth(trailing - left);
            }
            Some(many)
        }
    }
}
