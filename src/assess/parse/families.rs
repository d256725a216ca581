//! The families of text in which a parser, or bash's own rules, hide a command. `hidden` is what must be seen: it is
//! shown at the stated places, or the whole text is refused.

use super::*;
use crate::assess::syntax::*;

/// The names of all simple commands and functions, at any depth.
fn commands(script: &Script, found: &mut Vec<String>) {
    for item in &script.items {
        for pipeline in std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline)) {
            pipeline.commands.iter().for_each(|each| command(each, found));
        }
    }
}

fn command(each: &Command, found: &mut Vec<String>) {
    match &each.kind {
        CommandKind::Simple { assignments, words } => {
            if let Some(Part { kind: PartKind::Text(text), .. }) = words.first().and_then(|word| word.parts.first()) {
                found.push(text.clone());
            }
            for assignment in assignments {
                assignment.subscript.iter().for_each(|word| parts(word, found));
                match &assignment.value {
                    AssignmentValue::Scalar(word) => parts(word, found),
                    AssignmentValue::Array(elements) => elements.iter().for_each(|(subscript, value)| {
                        subscript.iter().for_each(|word| parts(word, found));
                        parts(value, found);
                    }),
                }
            }
            words.iter().for_each(|word| parts(word, found));
        }
        CommandKind::Group(body) | CommandKind::Subshell(body) => commands(body, found),
        CommandKind::If { arms, otherwise } => {
            for (condition, body) in arms {
                commands(condition, found);
                commands(body, found);
            }
            otherwise.iter().for_each(|body| commands(body, found));
        }
        CommandKind::While { condition, body, .. } => {
            commands(condition, found);
            commands(body, found);
        }
        CommandKind::For { words, body, .. } | CommandKind::Select { words, body, .. } => {
            words.iter().flatten().for_each(|word| parts(word, found));
            commands(body, found);
        }
        CommandKind::ForArithmetic { header, body } => {
            header.iter().for_each(|word| parts(word, found));
            commands(body, found);
        }
        CommandKind::Case { subject, arms } => {
            parts(subject, found);
            for arm in arms {
                arm.patterns.iter().for_each(|word| parts(word, found));
                commands(&arm.body, found);
            }
        }
        CommandKind::Function { body, .. } | CommandKind::Coprocess { body, .. } => command(body, found),
        CommandKind::Arithmetic(word) => parts(word, found),
        CommandKind::Test(test) => tested(test, found),
    }
    for redirect in &each.redirects {
        match &redirect.target {
            RedirectTarget::Word(word) | RedirectTarget::HereDocument { body: word, .. } => parts(word, found),
        }
    }
}

fn tested(test: &Test, found: &mut Vec<String>) {
    match test {
        Test::And(left, right) | Test::Or(left, right) => {
            tested(left, found);
            tested(right, found);
        }
        Test::Not(inner) => tested(inner, found),
        Test::Unary { operand, .. } => parts(operand, found),
        Test::Binary { left, right, .. } => {
            parts(left, found);
            parts(right, found);
        }
    }
}

fn parts(word: &Word, found: &mut Vec<String>) {
    for part in &word.parts {
        match &part.kind {
            PartKind::Text(_) | PartKind::ExtendedGlob(_) => {}
            PartKind::Parameter(parameter) => {
                parameter.subscript.iter().for_each(|word| parts(word, found));
                parameter.operands.iter().for_each(|word| parts(word, found));
            }
            PartKind::Command(script) | PartKind::Process { script, .. } => commands(script, found),
            PartKind::Arithmetic(word) => parts(word, found),
        }
    }
}

/// All commands of a text, `None` if it is refused.
fn seen(text: &str) -> Option<Vec<String>> {
    let script = script(text, Dialect::Bash).ok()?;
    let mut found = Vec::new();
    commands(&script, &mut found);
    Some(found)
}

/// Texts that must be understood, and how often `hidden` runs in them.
const SHOWN: &[(&str, usize)] = &[
    // Substitutions, wherever a word can be.
    ("probe $(hidden)", 1),
    ("probe \"$(probe \"$(hidden)\")\"", 1),
    ("$(hidden) one", 1),
    ("probe `hidden`", 1),
    ("probe \"`probe \\`hidden\\``\"", 1),
    ("probe `probe \"\\$(hidden)\"`", 1),
    ("probe \"`probe \\\"$(hidden)\\\"`\"", 1),
    ("probe <(hidden) >(hidden)", 2),
    ("probe \"<(notthis)\" '$(notthis)' \\$\\(notthis\\)", 0),
    ("probe $\"a $(hidden)\"", 1),
    ("probe $'a\\'b' ; hidden", 1),
    ("probe $(<$(hidden))", 1),
    ("probe $(\nhidden\n)", 1),
    ("probe $(probe # ) x\nhidden)", 1),
    ("probe $(case x in (a) hidden;; esac)", 1),
    ("probe $(case x in a) hidden;; esac)", 1),
    ("probe \"$(probe <<'E'\n(\nE\nhidden)\"", 1),
    // Parameters with operands.
    ("probe ${y:-$(hidden)}", 1),
    ("probe ${y:=`hidden`}", 1),
    ("probe ${y:-<(hidden)}", 1),
    ("probe \"${y:-<(notthis)}\"", 0),
    ("probe ${y/$(hidden)/x} ${y//a/$(hidden)}", 2),
    ("probe ${y:$(hidden):$(hidden)}", 2),
    ("probe ${y[$(hidden)]} ${y#\"$(hidden)\"}", 2),
    ("probe ${x%'}'} ; hidden", 1),
    ("probe \"${x:-\"$(hidden)\"}\"", 1),
    // Arithmetic.
    ("probe $((1+$(hidden))) $[1+`hidden`]", 2),
    ("((x=$(hidden)))", 1),
    ("for ((i=$(hidden);i<1;i++)); do :; done", 1),
    ("[[ $x -eq a[$(hidden)] && -n $(hidden) ]]", 2),
    ("[[ a =~ ( $(hidden) ) || a == @(b|$(hidden)) ]]", 2),
    // Assignments.
    ("A=$(hidden)", 1),
    ("A=1 B=`hidden` probe", 1),
    ("a[$(hidden)]=1", 1),
    ("a=([$(hidden)]=1 $(hidden) # comment\n)", 2),
    ("declare -a a=(one $(hidden))", 1),
    ("export A=$(hidden)", 1),
    // Redirects and here-documents.
    ("probe >$(hidden) 2>>\"$(hidden)\" <<<\"$(hidden)\"", 3),
    ("probe > >(hidden) 3<>$(hidden) &>$(hidden)", 3),
    ("{log}>f hidden", 1),
    ("probe <<E\n$(hidden) \\$(notthis)\nE\n", 1),
    ("probe <<-E\n\t`hidden`\n\tE\n", 1),
    ("probe <<E\n${x:-$(hidden)} $((1+$(hidden)))\nE\n", 2),
    ("probe <<'E'\n$(notthis)\nE\nhidden\n", 1),
    ("probe <<E <<F\n$(hidden)\nE\n$(hidden)\nF\n", 2),
    ("if probe <<E; then\n$(hidden)\nE\nother; fi\n", 1),
    ("probe <<E $(hidden)\nbody\nE\n", 1),
    ("probe <<E > \"$(hidden)\"\nbody\nE\n", 1),
    ("probe <<E | tee $(hidden)\nbody\nE\n", 1),
    ("probe <<E\nbody\nE", 0),
    // Operators and compound commands.
    ("a && hidden || b; hidden & hidden |& hidden", 4),
    ("a |\nhidden &&\nhidden", 2),
    ("! hidden", 1),
    ("time -p hidden", 1),
    ("!(hidden)", 1),
    ("( (hidden) )", 1),
    ("((hidden) )", 1),
    ("( (hidden one))", 1),
    ("( ( (hidden); hidden ) )", 2),
    ("probe !(a|b) x@(y).c *(z) # !(", 0),
    ("for x in +(a) *.?(b); do hidden; done; case a in @(b|c)) hidden;; esac", 2),
    ("( (hidden); (other) )", 1),
    ("{ hidden; } 2>&1; (hidden) >f &", 2),
    ("if hidden; then hidden; elif hidden; then hidden; else hidden; fi", 5),
    ("while hidden; do hidden; done; until hidden; do hidden; done", 4),
    ("for x in $(hidden); do hidden; done", 2),
    ("select x in $(hidden); do hidden; done", 2),
    ("case $(hidden) in $(hidden)) hidden;; (esac) hidden;& *) hidden; esac", 5),
    ("f() { hidden; }; function g (hidden)\ncoproc hidden\ncoproc N { hidden; }", 4),
    ("# comment\nhidden;# hidden\nprobe x# hidden", 1),
    ("probe \\\n  one\nhidden", 1),
];

/// Texts on which parsers, bash versions or modes differ: refused, or `hidden` is seen.
const NEVER_LOST: &[&str] = &[
    "probe \\!(hidden)",
    "probe $?(hidden)",
    "probe @($(hidden)|a)",
    "probe@(hidden)",
    "probe@() { hidden; }; probe@",
    "probe $(( $((1)) << 2 ))\nhidden\n2\n",
    "probe $(( $[1] << 2 ))\nhidden\n2\n",
    "(( x = ((1)) << 1 ))\nhidden\n1\n",
    "probe $(probe a  # ) 'x\nhidden ) #'",
    "probe <<EOF\nEO\\\nF\nhidden\nEOF\n",
    "probe <<$'EOF'\nEOF\nhidden\n$EOF\n",
    "probe <<\"E\\F\"\nE\\F\nhidden\nEF\n",
    "probe <<$\"E\"\nE\nhidden\n$E\n",
    "probe <<E\\\nF\nEF\nhidden\nE\n",
    "probe <<E\nE \nE\nhidden\nE\n",
    "x=$(probe <<E\nE; hidden\necho \"\nE\n)\"",
    "probe $(cat <<E)\nhidden\nE\n",
    "probe $$'a\\' ; hidden #'\\'",
    "probe \\$'a\\' ; hidden #'\\'",
    "probe \"${y:-'$(hidden)'}\"",
    "probe \"${y:-'}\" ; hidden \"'}\"",
    "a[5 # ]=1; hidden",
    "a[ $(hidden) ]=1",
    "probe ${ hidden; }",
    "probe ${| hidden; }",
    "time -- hidden",
    "time time hidden",
    "time ! hidden",
    "! ! hidden",
    "probe a<(hidden)b",
    "coproc\nhidden",
    "probe $\\\n(hidden)",
    "probe \"$\\\n(hidden)\"",
    "probe <\\\n(hidden)",
    "a &\\\n& hidden",
    "i\\\nf true; then hidden; fi",
    "probe 2\\\n>hidden",
    "probe >&-hidden",
    "shopt -s extglob\n!(hidden)",
    "probe\rhidden",
    "probe $(( 1 # ))\n)) ; hidden\n))",
    "[[ a == b ]]hidden",
    "probe `probe \\\\\\`hidden\\\\\\``",
];

#[test]
fn what_runs_is_shown() {
    for (text, times) in SHOWN {
        let seen = seen(text).unwrap_or_else(|| panic!("{text:?}: {:?}", script(text, Dialect::Bash)));
        assert_eq!(seen.iter().filter(|name| *name == "hidden").count(), *times, "{text:?}: {seen:?}");
        assert!(!seen.iter().any(|name| name == "notthis"), "{text:?}: {seen:?}");
    }
}

#[test]
fn what_is_doubtful_is_refused_or_shown() {
    for text in NEVER_LOST {
        if let Some(seen) = seen(text) {
            assert!(seen.iter().any(|name| name == "hidden"), "{text:?}: {seen:?}");
        }
    }
}

#[test]
fn a_cut_text_shows_nothing_new() {
    for (text, _) in SHOWN {
        let whole = seen(text).expect("understood");
        for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let cut = &text[..cut];
            // A prefix may be refused, or be another command; `hidden` as a whole word never appears out of nothing.
            if let Some(seen) = seen(cut) {
                let count = |names: &[String]| names.iter().filter(|name| *name == "hidden").count();
                assert!(count(&seen) <= count(&whole) || cut.contains("#"), "{cut:?}: {seen:?}");
            }
        }
    }
}

#[test]
fn a_duplication_keeps_its_word() {
    let script = script("probe >&hidden 2>&1 3>&-", Dialect::Bash).expect("understood");
    let redirects = &script.items[0].first.commands[0].redirects;
    let targets: Vec<(RedirectOperator, String)> = redirects
        .iter()
        .map(|redirect| match &redirect.target {
            RedirectTarget::Word(word) => (redirect.operator, word.span.of("probe >&hidden 2>&1 3>&-").to_owned()),
            RedirectTarget::HereDocument { .. } => panic!("{redirect:?}"),
        })
        .collect();
    let expected = ["hidden", "1", "-"].map(|target| (RedirectOperator::DuplicateOutput, target.to_owned()));
    assert_eq!(targets, expected);
}
