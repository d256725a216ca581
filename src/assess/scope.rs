//! What does the shell know at this point of the text? Variables, functions, shadowed names, where it stands.
//!
//! A scope is cheap to copy (subshells, branches) and can be joined with another way of getting to the same point.
//! A variable that is not here was never set by the text: its value comes from the environment and is unknown.

use super::Dialect;
use super::assessment::{Place, Span};
use super::reading::{Arg, Value};
use super::syntax::Command;
use super::words::value;
use crate::facts::limits::VARIABLES_MAX;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Where text came from, most trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nothing but numbers: literal ones, counted or computed ones, or nothing at all. Arithmetic may evaluate it.
    Number,
    /// Written in the command itself, or set outside of it by whoever started the shell.
    Text,
    /// Read from files or commands.
    Data,
    Network,
    Decoded,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Unset,
    Scalar(Value),
    /// Every element is known to be there, in order from index 0.
    Array(Vec<Value>),
    /// A scalar or an array of anything.
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    pub content: Content,
    pub exported: bool,
    /// Later assignments may fail and leave the old value.
    pub readonly: bool,
    pub origin: Origin,
    /// Declared with `-A`: its subscripts are words, not arithmetic.
    pub table: bool,
}

impl Variable {
    pub fn unknown(origin: Origin) -> Variable {
        Variable { content: Content::Unknown, exported: false, readonly: false, origin, table: false }
    }
}

#[derive(Clone, Debug)]
pub struct Function {
    pub bodies: Vec<Body>,
    /// Not every way here defines it: the name may still be the program.
    pub doubtful: bool,
}

/// One definition, with what is needed to read it elsewhere.
#[derive(Clone, Debug)]
pub struct Body {
    pub command: Rc<Command>,
    /// Set where the definition came from nested text: the span it has in the whole.
    pub here: Option<Span>,
    pub dialect: Dialect,
}

impl PartialEq for Body {
    fn eq(&self, other: &Body) -> bool {
        Rc::ptr_eq(&self.command, &other.command)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Positional {
    Unknown,
    /// `origin` is where the most doubtful of `rest` comes from.
    Known {
        zero: Option<Value>,
        rest: Rc<Vec<Arg>>,
        origin: Origin,
    },
}

#[derive(Clone, Debug)]
pub struct Scope {
    variables: Rc<BTreeMap<Rc<str>, Variable>>,
    functions: Rc<BTreeMap<Rc<str>, Function>>,
    /// Names that an alias, a hash entry or `enable -n` makes something else.
    shadowed: Rc<BTreeSet<Rc<str>>>,
    /// Why no name can be trusted any more.
    pub untrusted: Option<&'static str>,
    pub place: Place,
    /// Where it stands instead, had a `cd` failed that nothing waited for.
    pub otherwise: Option<Place>,
    /// `set -e`: a command that fails ends the text.
    pub stops_on_failure: bool,
    pub positional: Positional,
    /// `IFS` is not what it was: nothing is known about how unquoted expansions split.
    pub splits_unknown: bool,
    /// `exec 3<>/dev/tcp/…`: a descriptor that leads to the network is open.
    pub network_descriptor: bool,
    /// More variables than are followed.
    pub overflowed: bool,
}

impl Scope {
    pub fn new(positional: Positional) -> Scope {
        Scope {
            variables: Rc::default(),
            functions: Rc::default(),
            shadowed: Rc::default(),
            untrusted: None,
            place: Place::Start,
            otherwise: None,
            stops_on_failure: false,
            positional,
            splits_unknown: false,
            network_descriptor: false,
            overflowed: false,
        }
    }

    /// `None`: never set by the text.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    pub fn variables(&self) -> impl Iterator<Item = (&str, &Variable)> {
        self.variables.iter().map(|(name, variable)| (&**name, variable))
    }

    /// Sets `name`; an export stays, and a read-only one may keep its old value.
    pub fn set(&mut self, name: &str, content: Content, origin: Origin) {
        let old = self.variables.get(name);
        let exported = old.is_some_and(|v| v.exported);
        let readonly = old.is_some_and(|v| v.readonly);
        let table = old.is_some_and(|v| v.table) && content != Content::Unset;
        let mut variable = Variable { content, exported, readonly, origin, table };
        if let Some(old) = old.filter(|v| v.readonly) {
            variable = join_variables(old, &variable);
        }
        self.put(name, variable);
    }

    pub fn put(&mut self, name: &str, variable: Variable) {
        if name == "IFS" {
            self.splits_unknown = true;
        }
        if let Some(old) = self.variables.get(name) {
            if *old != variable {
                Rc::make_mut(&mut self.variables).insert(Rc::from(name), variable);
            }
        } else if self.variables.len() >= VARIABLES_MAX {
            self.overflowed = true;
        } else {
            Rc::make_mut(&mut self.variables).insert(Rc::from(name), variable);
        }
    }

    /// Puts a variable back to what it was before (`None`: never set).
    pub fn restore(&mut self, name: &str, old: Option<Variable>) {
        match old {
            Some(variable) => self.put(name, variable),
            None => {
                if self.variables.contains_key(name) {
                    Rc::make_mut(&mut self.variables).remove(name);
                }
            }
        }
    }

    pub fn export(&mut self, name: &str) {
        let mut variable = self.variables.get(name).cloned().unwrap_or_else(|| Variable::unknown(Origin::Text));
        variable.exported = true;
        self.put(name, variable);
    }

    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.get(name)
    }

    pub fn define(&mut self, name: &str, body: Body) {
        Rc::make_mut(&mut self.functions).insert(Rc::from(name), Function { bodies: vec![body], doubtful: false });
    }

    /// The name may or may not be a function from here on.
    pub fn undefine(&mut self, name: &str) {
        if let Some(function) = Rc::make_mut(&mut self.functions).get_mut(name) {
            function.doubtful = true;
        }
    }

    pub fn shadow(&mut self, name: &str) {
        Rc::make_mut(&mut self.shadowed).insert(Rc::from(name));
    }

    pub fn is_shadowed(&self, name: &str) -> bool {
        self.shadowed.contains(name)
    }

    /// Forget every value: unknown code of this shell may have set anything.
    pub fn forget_values(&mut self) {
        let variables = Rc::make_mut(&mut self.variables);
        for variable in variables.values_mut() {
            variable.content = Content::Unknown;
            variable.origin = Origin::Data;
        }
        self.place = Place::Unknown;
        self.positional = Positional::Unknown;
        self.splits_unknown = true;
    }

    /// Forget everything, names included: code that is not known ran in this shell.
    pub fn forget(&mut self, why: &'static str) {
        self.forget_values();
        self.untrusted = self.untrusted.or(Some(why));
    }

    /// Whether both would answer every question alike.
    pub fn same(&self, other: &Scope) -> bool {
        (Rc::ptr_eq(&self.variables, &other.variables) || self.variables == other.variables)
            && (Rc::ptr_eq(&self.functions, &other.functions) || self.same_functions(other))
            && self.shadowed == other.shadowed
            && self.untrusted == other.untrusted
            && self.place == other.place
            && self.positional == other.positional
            && self.splits_unknown == other.splits_unknown
            && self.network_descriptor == other.network_descriptor
    }

    fn same_functions(&self, other: &Scope) -> bool {
        self.functions.len() == other.functions.len()
            && self
                .functions
                .iter()
                .zip(other.functions.iter())
                .all(|((a, f), (b, g))| a == b && f.doubtful == g.doubtful && f.bodies == g.bodies)
    }

    /// What holds after either of two ways.
    pub fn join(&mut self, other: &Scope) {
        if !Rc::ptr_eq(&self.variables, &other.variables) && self.variables != other.variables {
            let variables = Rc::make_mut(&mut self.variables);
            for (name, theirs) in other.variables.iter() {
                match variables.get_mut(name) {
                    Some(ours) if ours == theirs => {}
                    Some(ours) => *ours = join_variables(ours, theirs),
                    None => {
                        variables.insert(name.clone(), from_outside_or(theirs));
                    }
                }
            }
            for (name, ours) in variables.iter_mut() {
                if !other.variables.contains_key(name) {
                    *ours = from_outside_or(ours);
                }
            }
            if variables.len() > VARIABLES_MAX {
                self.overflowed = true;
            }
        }
        if !Rc::ptr_eq(&self.functions, &other.functions) && !self.same_functions(other) {
            self.join_functions(other);
        }
        if !Rc::ptr_eq(&self.shadowed, &other.shadowed) {
            Rc::make_mut(&mut self.shadowed).extend(other.shadowed.iter().cloned());
        }
        self.untrusted = self.untrusted.or(other.untrusted);
        if self.place != other.place {
            self.place = Place::Unknown;
        }
        self.otherwise = self.otherwise.take().or_else(|| other.otherwise.clone());
        self.stops_on_failure &= other.stops_on_failure;
        if self.positional != other.positional {
            self.positional = Positional::Unknown;
        }
        self.splits_unknown |= other.splits_unknown;
        self.network_descriptor |= other.network_descriptor;
        self.overflowed |= other.overflowed;
    }

    fn join_functions(&mut self, other: &Scope) {
        let functions = Rc::make_mut(&mut self.functions);
        for (name, function) in functions.iter_mut() {
            function.doubtful |= !other.functions.contains_key(name);
        }
        for (name, theirs) in other.functions.iter() {
            match functions.get_mut(name) {
                Some(ours) => {
                    ours.doubtful |= theirs.doubtful;
                    for body in &theirs.bodies {
                        if !ours.bodies.contains(body) {
                            ours.bodies.push(body.clone());
                        }
                    }
                }
                None => {
                    functions.insert(name.clone(), Function { bodies: theirs.bodies.clone(), doubtful: true });
                }
            }
        }
    }

    /// Everything that `after` changed becomes unknown here: what a loop does once more and once more.
    pub fn widen(&mut self, after: &Scope) {
        let before = self.clone();
        self.join(after);
        let variables = Rc::make_mut(&mut self.variables);
        for (name, variable) in variables.iter_mut() {
            if before.variables.get(name) != Some(variable) {
                variable.content = Content::Unknown;
            }
        }
    }
}

fn join_variables(a: &Variable, b: &Variable) -> Variable {
    let content = match (&a.content, &b.content) {
        (Content::Scalar(left), Content::Scalar(right)) => Content::Scalar(value::join(left, right)),
        (left, right) if left == right => left.clone(),
        (
            Content::Unset | Content::Scalar(_) | Content::Array(_) | Content::Unknown,
            Content::Unset | Content::Scalar(_) | Content::Array(_) | Content::Unknown,
        ) => Content::Unknown,
    };
    Variable {
        content,
        exported: a.exported || b.exported,
        readonly: a.readonly || b.readonly,
        origin: a.origin.max(b.origin),
        table: a.table && b.table,
    }
}

/// Set on one way only: on the other it is whatever the environment holds.
fn from_outside_or(set: &Variable) -> Variable {
    Variable { content: Content::Unknown, origin: set.origin.max(Origin::Text), table: false, ..set.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(text: &str) -> Content {
        Content::Scalar(value::known(text))
    }

    #[test]
    fn two_ways_join_into_both_values() {
        let mut a = Scope::new(Positional::Unknown);
        let mut b = a.clone();
        a.set("x", scalar("ls"), Origin::Text);
        b.set("x", scalar("touch"), Origin::Text);
        b.set("y", scalar("1"), Origin::Text);
        a.join(&b);
        let both = Content::Scalar(Value::OneOf(vec!["ls".into(), "touch".into()]));
        assert_eq!(a.variable("x").unwrap().content, both);
        assert_eq!(a.variable("y").unwrap().content, Content::Unknown);
    }

    #[test]
    fn a_read_only_variable_may_keep_its_value() {
        let mut scope = Scope::new(Positional::Unknown);
        let variable = Variable { content: scalar("touch"), readonly: true, ..Variable::unknown(Origin::Text) };
        scope.put("x", variable);
        scope.set("x", scalar("ls"), Origin::Text);
        let both = Content::Scalar(Value::OneOf(vec!["touch".into(), "ls".into()]));
        assert_eq!(scope.variable("x").unwrap().content, both);
    }

    #[test]
    fn more_variables_than_are_followed_is_said() {
        let mut scope = Scope::new(Positional::Unknown);
        for n in 0..=VARIABLES_MAX {
            scope.set(&format!("v{n}"), scalar(""), Origin::Text);
        }
        assert!(scope.overflowed);
    }
}
