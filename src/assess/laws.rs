//! Which laws hold of every answer, whatever the command? Small programs are generated and their answers compared.
//!
//! A failure prints the seed, with which `PROPTEST_RNG_SEED` replays it, and the shrunk command.

use super::{Assessment, Attribute, Class, Question, assess};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Cases of each law. CI runs them optimised.
const CASES: u32 = if cfg!(debug_assertions) { 150 } else { 10_000 };

/// The seed is chosen here to be printed: what a test prints is shown if it fails.
fn config() -> ProptestConfig {
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => rand_seed(),
    };
    println!("PROPTEST_RNG_SEED={seed} repeats these cases");
    ProptestConfig { rng_seed: RngSeed::Fixed(seed), ..config }
}

fn rand_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.subsec_nanos().into())
}

fn ask(text: &str) -> Assessment {
    assess(&Question::text_only(text))
}

fn understood(text: &str) -> bool {
    super::parse::script(text, super::Dialect::Bash).is_ok()
}

fn class(text: &str) -> Class {
    ask(text).class
}

/// Words of one simple command: at least a program.
fn argv() -> impl Strategy<Value = Vec<String>> {
    let program = prop::sample::select(vec![
        "ls",
        "cat",
        "echo",
        "touch",
        "rm",
        "head",
        "sort",
        "sed",
        "find",
        "cp",
        "mv",
        "tee",
        "true",
        "frobnicate",
        "./x",
        "sudo",
        "xargs",
        "env",
        "kill",
        "mkdir",
        "grep",
        "wc",
        "uniq",
        "printf",
        "test",
        "cd",
        "chmod",
        "nohup",
        "timeout",
        "eval",
        "bash",
    ]);
    let word = prop::sample::select(vec![
        "a",
        "b.txt",
        "src/c",
        "-l",
        "-n",
        "-i",
        "-e",
        "-rf",
        "-o",
        "--output=f",
        "-exec",
        "{}",
        ";",
        "-delete",
        "p",
        "1p",
        "w f",
        "s/a/b/",
        "/etc/passwd",
        "/tmp/x",
        "~/.ssh/id_rsa",
        "--",
        "-",
        "touch",
        "rm",
        "-c",
        "touch x",
        "sudo ls",
        "5",
        "..",
        ".",
        "x=1",
        "-v",
    ]);
    (program, prop::collection::vec(word, 0..5))
        .prop_map(|(program, words)| std::iter::once(program).chain(words).map(str::to_owned).collect())
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn plain(argv: &[String]) -> String {
    argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// A command of one or a few simple ones.
fn command() -> impl Strategy<Value = String> {
    let redirect =
        prop::sample::select(vec!["", "", "", " > f", " 2>/dev/null", " < g", " >&2", " >> h", " >&f", " <<< x"]);
    let simple = (argv(), redirect).prop_map(|(argv, redirect)| plain(&argv) + redirect);
    simple.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone(), prop::sample::select(vec!["; ", " && ", " || ", " | ", " & "]))
                .prop_map(|(a, b, joint)| format!("{a}{joint}{b}")),
            inner.clone().prop_map(|a| format!("( {a} )")),
            inner.clone().prop_map(|a| format!("{{ {a}; }}")),
            inner.clone().prop_map(|a| format!("echo \"$( {a})\"")),
            inner.clone().prop_map(|a| format!("if {a}; then echo y; fi")),
            inner.clone().prop_map(|a| format!("for i in 1 2; do {a}; done")),
            inner.clone().prop_map(|a| format!("while false; do {a}; done")),
            inner.clone().prop_map(|a| format!("f() {{ {a}; }}; f")),
            inner.prop_map(|a| format!("case x in x) {a} ;; esac")),
        ]
    })
}

fn decoded(bytes: &str) -> String {
    let escaped: String = bytes.bytes().map(|b| format!("\\x{b:02x}")).collect();
    format!("$'{escaped}'")
}

fn backslashed(word: &str) -> String {
    word.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_string() } else { format!("\\{c}") }).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_sequence_is_as_high_as_its_highest_part(a in argv(), b in argv()) {
        // What the first does to the shell may raise the second, never lower it.
        let (first, second) = (plain(&a), plain(&b));
        let parts = class(&first).max(class(&second));
        for joint in ["; ", " && ", " || ", "\n", " & "] {
            let whole = [first.as_str(), joint, second.as_str()].concat();
            prop_assert!(class(&whole) >= parts.min(without_place(&a, &second)), "{}", whole);
        }
        if a[0] != "cd" && a[0] != "eval" && a[0] != "sudo" {
            let piped = first.clone() + " | " + &second;
            prop_assert!(class(&piped) >= class(&first), "{}", piped);
        }
    }

    #[test]
    fn every_place_keeps_what_is_in_it(a in command()) {
        prop_assume!(understood(&a));
        let inner = class(&a);
        for outer in [
            format!("( {a} )"), format!("{{ {a}\n}}"), format!("if true; then {a}\nfi"), format!("if {a}\nthen :; fi"),
            format!("while {a}\ndo :; done"), format!("until false; do {a}\ndone"), format!("for x in 1; do {a}\ndone"),
            format!("case a in a) {a}\n;; esac"), format!("echo \"$( {a}\n)\""), format!("cat <({a}\n)"), format!("x=$( {a}\n)"),
            format!("echo \"${{y:-$( {a}\n)}}\""), format!("echo $(( $( {a}\n) ))"), format!("g() {{ {a}\n}}; g"), format!("g() {{ {a}\n}}"),
            format!("! {{ {a}\n}}"), format!("[[ -n $( {a}\n) ]]"), format!("cat <<E\n$( {a}\n)\nE"), format!("coproc {{ {a}\n}}"),
            format!("echo x > /dev/null$( {a}\n)"), format!("true; {a}"), format!("{a}\ntouch x"), format!("touch x\n{a}"),
        ] {
            if understood(&outer) {
                prop_assert!(class(&outer) >= inner, "{}", outer);
            } else {
                prop_assert!(ask(&outer).attributes.contains(&Attribute::Unanalysed), "{}", outer);
                prop_assert!(class(&outer) > Class::Read, "{}", outer);
            }
        }
    }

    #[test]
    fn text_for_a_shell_is_as_high_as_the_text(a in command()) {
        prop_assume!(understood(&a));
        let (inner, text) = (class(&a), quote(&a));
        for outer in [format!("eval {text}"), format!("bash -c {text}"), format!("bash -lc {text}"), format!("trap {text} EXIT"),
            format!("echo {text} | bash"), format!("bash <<< {text}"), format!("x={text}; eval \"$x\""), format!("bash -c 'eval \"$1\"' _ {text}"),
            format!("command eval {text}")] {
            prop_assert!(class(&outer) >= inner, "{}", outer);
        }
    }

    #[test]
    fn how_a_word_is_written_does_not_matter(a in argv(), at in 0usize..5) {
        let at = at % a.len();
        let word = &a[at];
        let (before, after) = (plain(&a[..at]), plain(&a[at + 1..]));
        let whole = class(&plain(&a));
        let middle = word.char_indices().nth(word.chars().count() / 2).map_or(0, |(i, _)| i);
        let (left, right) = word.split_at(middle);
        for spelled in [
            format!("\"{word}\""), decoded(word), backslashed(word), format!("{}''{}", quote(left), quote(right)),
            format!("{}\\\n{}", backslashed(left), backslashed(right)),
        ] {
            let text = format!("{before} {spelled} {after}");
            prop_assert!(class(&text) >= whole, "{}", text);
            if understood(&text) {
                prop_assert_eq!(class(&text), whole, "{}", text);
            }
        }
        let hidden = format!("w={}; {before} \"$w\" {after}", quote(word));
        prop_assert_eq!(class(&hidden), whole, "{}", hidden);
        let given = format!("set -- {}; {before} \"$1\" {after}", quote(word));
        prop_assert_eq!(class(&given), whole, "{}", given);
        let default = format!("unset w; {before} \"${{w:-{word}}}\" {after}");
        prop_assert!(class(&default) >= whole, "{}", default);
        if a.len() > 1 {
            let braces = format!("{{{}}}", a.iter().map(|w| quote(w)).collect::<Vec<_>>().join(","));
            prop_assert_eq!(class(&braces), whole, "{}", braces);
        }
        if a.iter().all(|w| w.bytes().all(|b| b.is_ascii_alphanumeric() || b"./-_=".contains(&b))) {
            let split = a.join("${IFS}");
            prop_assert_eq!(class(&split), whole, "{}", split);
            let variable = format!("w={}; $w", quote(&a.join(" ")));
            prop_assert_eq!(class(&variable), whole, "{}", variable);
        }
    }

    #[test]
    fn unknown_in_front_of_a_command_is_never_read(a in argv()) {
        for text in [format!("$x {}", plain(&a)), format!("\"$x\" {}", plain(&a)), format!("$(cat f) {}", plain(&a)), format!("./{}", a.join("/"))] {
            prop_assert!(class(&text) > Class::Read, "{}", text);
        }
    }

    #[test]
    fn a_redirect_never_lowers(a in argv(), redirect in prop::sample::select(vec![
        "> f", ">> f", "2>&1", "< f", ">&2", "&> f", "<<< x", "2> /dev/null", ">| f", "<> f", "> \"$x\"", "< /dev/null", "3>&-",
    ])) {
        let text = plain(&a);
        // A shell that is given its input may be given nothing.
        if !matches!(a[0].as_str(), "bash" | "xargs") {
            let redirected = text.clone() + " " + redirect;
            prop_assert!(class(&redirected) >= class(&text), "{}", redirected);
        }
        if redirect.contains("> f") || redirect.contains(">| f") || redirect.contains("$x") {
            let written = text.clone() + " " + redirect;
            prop_assert!(class(&written) > Class::Read, "{}", written);
        }
    }

    #[test]
    fn appending_a_write_is_never_read(a in command()) {
        for text in [format!("{a}; touch x"), format!("{a}\ntouch x"), format!("{a} && touch x"), format!("touch x; {a}")] {
            prop_assert!(class(&text) >= Class::Write, "{}", text);
        }
    }

    #[test]
    fn cut_text_is_refused_or_as_its_own_words_say(a in command(), at in 0usize..200) {
        let cut = (0..=at.min(a.len())).rev().find(|&i| a.is_char_boundary(i)).unwrap_or(0);
        let answer = ask(&a[..cut]);
        prop_assert!(!answer.segments.is_empty());
        if !understood(&a[..cut]) {
            prop_assert!(answer.class > Class::Read && answer.attributes.contains(&Attribute::Unanalysed));
        }
    }

    #[test]
    fn the_same_text_twice_has_the_same_answer(a in command()) {
        prop_assert_eq!(ask(&a), ask(&a));
    }

    #[test]
    fn answers_are_whole(a in command()) {
        let answer = ask(&a);
        prop_assert_eq!(answer.class, answer.segments.iter().map(|s| s.class).max().unwrap());
        for segment in &answer.segments {
            prop_assert_eq!(segment.reasons.iter().map(|r| r.class).max().unwrap(), segment.class, "{} {:?}", a, segment);
        }
        prop_assert!(answer.is_sound(&a), "{}", a);
    }

    #[test]
    fn any_text_at_all_has_an_answer(text in "[ -~\\n]{0,60}") {
        prop_assert!(ask(&text).is_sound(&text));
    }
}

/// `cd` moves what relative paths mean, so what follows it is judged where it stands.
fn without_place(first: &[String], second: &str) -> Class {
    if first[0] == "cd" { Class::Read } else { class(second) }
}
