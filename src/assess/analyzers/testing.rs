//! How do the tests of analyzers ask? One caller, so that a change of types touches one place.

use super::{language, whole};
use crate::assess::reading::{Arg, Ground, Inflow, Invocation, Nested, Reading, Value};
use crate::assess::{Class, Dialect, Span};

const GROUND: Ground = Ground::text_only();

/// The reading of one known expression.
#[track_caller]
pub fn language_reading(name: &str, text: &str) -> Reading {
    let arg = Arg::known(text, Span::new(0, text.len() as u32));
    language_arg(name, &arg)
}

/// The reading of one expression with doubt.
#[track_caller]
pub fn language_arg(name: &str, arg: &Arg) -> Reading {
    let at = Invocation {
        program: name,
        args: std::slice::from_ref(arg),
        span: arg.span,
        stdin: &Inflow::Inherited,
        dialect: Dialect::Bash,
        ground: &GROUND,
    };
    let mut out = Reading::observing();
    language(name).expect("a registered language")(arg, &at, &mut out);
    out
}

/// The class of one known expression, by itself (nested commands count `write`).
#[track_caller]
pub fn language_class(name: &str, text: &str) -> Class {
    class_of(&language_reading(name, text))
}

/// Words of a test line: split at blanks; `$x` is one unknown word, `@` an unquoted unknown, `_` inside a word a blank.
pub fn words(line: &str) -> Vec<Arg> {
    let word = |(at, text): (usize, &str)| {
        let span = Span::new(at as u32, at as u32 + 1);
        let (value, many) = match text {
            "$x" => (Value::Unknown { prefix: String::new() }, false),
            "@" => (Value::Unknown { prefix: String::new() }, true),
            _ => match text.split_once("$x") {
                Some((prefix, _)) => (Value::Unknown { prefix: prefix.to_owned() }, false),
                None => (Value::Known(text.replace('␠', " ")), false),
            },
        };
        Arg { value, many, span }
    };
    line.split_whitespace().enumerate().map(word).collect()
}

/// The reading of a whole program; the first word of `line` chooses the analyzer.
#[track_caller]
pub fn whole_reading(line: &str) -> Reading {
    let args = words(line);
    let program = args[0].text().expect("a known program").to_owned();
    let at = Invocation {
        program: &program,
        args: &args[1..],
        span: Span::new(0, line.len() as u32),
        stdin: &Inflow::Inherited,
        dialect: Dialect::Bash,
        ground: &GROUND,
    };
    whole(&program).expect("a registered program")(&at)
}

/// The class of a whole program by itself: nested commands are left to the walk.
#[track_caller]
pub fn whole_class(line: &str) -> Class {
    class_of(&whole_reading(line))
}

/// Highest of class, reasons and effect floors; nested commands are not looked into.
pub fn class_of(read: &Reading) -> Class {
    let reasons = read.reasons.iter().map(|reason| reason.class);
    let effects = read.effects.iter().map(|effect| effect.floor());
    reasons.chain(effects).fold(read.class, Ord::max)
}

/// As [`class_of`]; a nested command counts as write.
pub fn nested_class(read: &Reading) -> Class {
    let nested = if read.nested.is_empty() { Class::Read } else { Class::Write };
    class_of(read).max(nested)
}

/// The words of each nested argv, joined by blanks; unknown words as their prefix and `…`.
pub fn nested(read: &Reading) -> Vec<String> {
    let word = |arg: &Arg| match &arg.value {
        Value::Known(text) => text.clone(),
        Value::OneOf(texts) => texts.join("|"),
        Value::Glob(pattern) => format!("glob:{pattern}"),
        Value::Unknown { prefix } => format!("{prefix}…"),
    };
    let one = |nested: &Nested| match nested {
        Nested::Argv { args, .. } => args.iter().map(word).collect::<Vec<_>>().join(" "),
        Nested::Shell { text, .. } => format!("sh: {}", word(text)),
    };
    read.nested.iter().map(one).collect()
}

/// Each line's own class is `class`.
#[track_caller]
pub fn all(class: Class, lines: &[&str]) {
    for line in lines {
        let read = whole_reading(line);
        assert_eq!(class_of(&read), class, "{line}: {:?}", read.reasons);
    }
}

/// Each line's own class is at least `class`.
#[track_caller]
pub fn at_least(class: Class, lines: &[&str]) {
    for line in lines {
        assert!(whole_class(line) >= class, "{line}");
    }
}

/// Runs `with` on a call of `program`.
pub fn with_invocation<T>(program: &str, args: &[Arg], with: impl FnOnce(&Invocation<'_>) -> T) -> T {
    with(&Invocation {
        program,
        args,
        span: Span::new(0, 1),
        stdin: &Inflow::Inherited,
        dialect: Dialect::Bash,
        ground: &GROUND,
    })
}
