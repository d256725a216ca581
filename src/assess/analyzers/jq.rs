//! What does a `jq` filter do? It computes; it can neither write nor run anything. It can print the environment
//! (`env`, `$ENV`) and read modules (`import`, `include`).

use super::say;
use crate::assess::reading::{Arg, Invocation, Reading};
use crate::assess::{Class, Code, Reason};

/// Reads one filter.
pub fn filter(expr: &Arg, _at: &Invocation<'_>, out: &mut Reading) {
    let Some(text) = expr.text() else {
        return out.because(Reason {
            code: Code::OpaqueCode,
            class: Class::Write,
            text: "the jq filter is not known before it runs".to_owned(),
            hint: Some("pass values with --arg NAME VALUE and keep the filter in single quotes".to_owned()),
            span: expr.span,
        });
    };
    match words(text) {
        Ok(found) => {
            for (i, (end, word)) in found.iter().enumerate() {
                match *word {
                    "env" | "$ENV" => {
                        let next = found.get(i + 1).filter(|(to, next)| to - next.len() == *end);
                        let name = next.and_then(|(_, next)| next.strip_prefix('.')).filter(|n| !n.is_empty());
                        say::variable(out, name, expr.span);
                    }
                    "import" | "include" | "modulemeta" => {
                        out.lost(Class::Write, expr.span, "the jq filter loads a module whose text is not known");
                    }
                    _ => {}
                }
            }
        }
        Err(why) => out.lost(Class::Write, expr.span, format!("the jq filter was not understood: {why}")),
    }
}

/// Names of the filter (`.foo` and `$x` with their sign) and where they end, also those inside `\( … )` of strings.
fn words(text: &str) -> Result<Vec<(usize, &str)>, &'static str> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    // One entry per open `\(` inside a string: the parentheses open inside it.
    let mut inside: Vec<usize> = Vec::new();
    let mut in_string = false;
    let mut i = 0;
    while let Some(&byte) = bytes.get(i) {
        if in_string {
            match byte {
                b'\\' if bytes.get(i + 1) == Some(&b'(') => {
                    inside.push(0);
                    in_string = false;
                    i += 1;
                }
                b'\\' => i += 1,
                b'"' => in_string = false,
                _ => {}
            }
            i += 1;
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'#' => {
                // A backslash may continue a comment (jq 1.7): both readings must find the same, so none is taken.
                let end = text[i..].find('\n').map_or(text.len(), |at| i + at);
                if text[i..end].ends_with('\\') {
                    return Err("a comment that may go on on the next line");
                }
                i = end;
                continue;
            }
            b'(' => {
                if let Some(open) = inside.last_mut() {
                    *open += 1;
                }
            }
            b')' => match inside.last_mut() {
                Some(0) => {
                    inside.pop();
                    in_string = true;
                }
                Some(open) => *open -= 1,
                None => {}
            },
            b'$' | b'.' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let end = text[i + 1..]
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .map_or(text.len(), |at| i + 1 + at);
                found.push((end, &text[i..end]));
                i = end;
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    if in_string || !inside.is_empty() { Err("a string has no end") } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use crate::assess::analyzers::testing::{language_class as class, language_reading as reading};
    use crate::assess::{Attribute, Class};

    #[test]
    fn filters_compute_and_only_the_environment_is_secret() {
        for filter in [
            ".",
            ".a.b[0] | keys",
            "map(select(.x > 1)) | length",
            "\"env: \\(.env)\"",
            ".env",
            "{env: 1} | .x # env",
            "env.HOME",
        ] {
            let read = reading("jq", filter);
            assert_eq!(class("jq", filter), Class::Read, "{filter}");
            let secret = read.attributes.contains(&Attribute::SecretRead);
            assert_eq!(secret, filter.starts_with("{env"), "{filter}");
        }
        for filter in ["env", "$ENV.API_TOKEN", "\"\\(env)\"", "[env | .A]", "$ENV[\"x\"]"] {
            assert!(reading("jq", filter).attributes.contains(&Attribute::SecretRead), "{filter}");
        }
        for filter in ["import \"a\" as a; .", "include \"a\"; .", "\"abc", "\"\\(1\""] {
            assert!(class("jq", filter) >= Class::Write, "{filter}");
        }
    }
}
