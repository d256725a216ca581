//! What does `test EXPR` (or `[ EXPR ]`) do? It compares and looks at files. Only a subscript after `-v` or `-R` is
//! evaluated again by the shell, and that can run code.

use super::{may_begin_with, unknown_word};
use crate::assess::Class;
use crate::assess::reading::{Arg, Invocation, Reading};

const BINARY: &[&str] =
    &["=", "==", "!=", "<", ">", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// Reads all arguments of `test` or `[`.
pub fn test(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let args = match at.args.split_last() {
        Some((last, rest)) if at.program == "[" && last.text() == Some("]") => rest,
        Some(_) if at.program == "[" => {
            out.lost(Class::Write, at.span, "`[` without `]`");
            at.args
        }
        Some(_) | None => at.args,
    };
    for arg in args.iter().filter(|arg| arg.many && may_begin_with(arg, |_| true)) {
        unknown_word(&mut out, arg, "several words, a test of `-v` included");
    }
    let mut i = 0;
    while i < args.len() {
        if args.get(i + 1).and_then(Arg::text).is_some_and(|next| BINARY.contains(&next)) {
            i += 3;
        } else {
            i += unary(args, i, &mut out);
        }
    }
    out
}

fn unary(args: &[Arg], i: usize, out: &mut Reading) -> usize {
    let arg = &args[i];
    let next = args.get(i + 1);
    match arg.text() {
        Some("-v" | "-R") => {
            match next {
                Some(name) if name.text().is_some_and(|text| !text.contains('[')) => {}
                Some(name) => {
                    out.opaque(Class::Write, name.span, "a subscript after `-v` is evaluated again and can run code");
                }
                None => {}
            }
            2
        }
        Some(text) if text.len() == 2 && text.starts_with('-') && text != "-a" && text != "-o" => 2,
        Some(_) => 1,
        None => {
            let alone = args.len() == 1;
            let stands_last = next.is_none();
            if !alone && !stands_last && may_begin_with(arg, |text| text.starts_with('-')) {
                unknown_word(out, arg, "`-v`, which evaluates what follows");
            }
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{all, at_least};

    #[test]
    fn comparing_only_observes_and_evaluated_subscripts_do_not() {
        all(
            Class::Read,
            &[
                "[ -f a ]",
                "test -d $x",
                "[ $x = b ]",
                "[ ! -e a -o -n $x ]",
                "[ $x -gt 5 -a $x != y ]",
                "[ $x ]",
                "test",
                "[ -v name ]",
                "[ ( a = b ) ]",
                "test -z",
            ],
        );
        at_least(
            Class::Write,
            &[
                "[ -v a[$(x)] ]",
                "test -v $x",
                "[ @ = b ]",
                "[ -n @ ]",
                "[ $x b ]",
                "[ -f a",
                "[ a = @ ]",
                "test -R a[0]",
            ],
        );
    }
}
