//! Redaction holds for any text: what is planted never survives, a second pass changes nothing, and how the output was
//! cut into chunks does not matter.

use proptest::prelude::*;
use tollgate::record::redact::Stream;
use tollgate::record::{Context, Redactor};

fn redactor() -> Redactor {
    Redactor::new(Context { home: Some("/home/ann".into()), user: Some("ann".into()), ..Context::default() })
}

/// Pieces that stand around a secret, with `@` where it goes.
const PLACES: &[&str] = &[
    "DB_PASSWORD=@",
    "export API_TOKEN='@'",
    "{\"client_secret\": \"@\", \"n\": 1}",
    "tool --password @ --verbose",
    "curl -u me:@ https://h.example/",
    "https://me:@@h.example/x",
    "Authorization: Bearer @",
    "  password: @",
    "mysql -uroot -p@ shop",
    "redis-cli -a @ ping",
    "bash -c 'PGPASSWORD=@ psql'",
    "<password>@</password>",
    "Server=db;Password=@;Encrypt=true",
    "https://h.example/?access_token=@&page=2",
    "echo @ | sudo -S ls",
    "machine h.example login me password @",
    "config.password = \"@\"",
    "'secret' => '@',",
    "ALTER USER a PASSWORD '@'",
];

fn secret() -> impl Strategy<Value = String> {
    "[A-Z][a-z]{3}[0-9]{2}[a-zA-Z0-9_.!-]{6,20}[0-9a-z]"
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![
            3 => prop::sample::select(PLACES).prop_flat_map(|place| secret().prop_map(move |s| place.replacen('@', &s, 1))),
            2 => "[ -~]{0,60}",
            1 => any::<String>(),
            1 => Just("-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIuAbcdefghijklmnop0123456789qrs\n-----END EC PRIVATE KEY-----".to_owned()),
            1 => Just("/home/ann/x /home/bob/y a.b@mail.example +442079460123 \u{1b}[31mtoken=\u{1b}[0mabc123".to_owned()),
        ],
        0..8,
    )
    .prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_planted_secret_never_survives(place in prop::sample::select(PLACES), secret in secret(), noise in "[a-z ]{0,20}") {
        let text = format!("{}\n{noise}\n", place.replacen('@', &secret, 1));
        let shown = redactor().command(&text);
        prop_assert!(!shown.as_str().contains(&secret), "command: {}", shown);
        if !place.contains("| sudo") {
            let shown = redactor().output(text.as_bytes());
            prop_assert!(!shown.as_str().contains(&secret), "output: {}", shown);
        }
        prop_assert!(shown.as_str().contains(&noise));
    }

    #[test]
    fn a_second_pass_changes_nothing(text in text()) {
        let redactor = redactor();
        let once = redactor.output(text.as_bytes());
        prop_assert_eq!(redactor.output(once.as_str().as_bytes()), once);
        let once = redactor.command(&text);
        prop_assert_eq!(redactor.command(once.as_str()), once);
    }

    #[test]
    fn chunks_do_not_matter(text in text(), cuts in prop::collection::vec(0usize..600, 0..6)) {
        let redactor = redactor();
        let whole = redactor.output(text.as_bytes());
        let bytes = text.as_bytes();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut stream = Stream::new(&redactor);
        let (mut out, mut at) = (Vec::new(), 0);
        for cut in cuts.into_iter().chain([bytes.len()]) {
            stream.push(&bytes[at..cut], &mut out);
            at = cut;
        }
        stream.finish(&mut out);
        prop_assert_eq!(String::from_utf8_lossy(&out), whole.as_str());
    }

    #[test]
    fn plain_text_stays_as_it_is(words in prop::collection::vec("[a-z]{2,9}|[0-9]{1,5}|[a-f0-9]{40}|--[a-z]{3,8}|[a-z]{2,6}\\.[a-z]{2}", 0..30)) {
        prop_assume!(!words.iter().any(|w| w.ends_with("key") || w.contains("pass") || w.contains("token")));
        let text = words.join(" ");
        let shown = redactor().output(text.as_bytes());
        prop_assert_eq!(shown.as_str(), text);
    }
}

#[test]
fn a_value_known_from_the_environment_is_hidden_in_every_spelling() {
    let env =
        vec![("APP_SECRET".to_owned(), "tea&Coffee9!x".to_owned()), ("MODE_KEY".to_owned(), "production".to_owned())];
    let redactor = Redactor::new(Context { env, ..Context::default() });
    for text in ["say tea&Coffee9!x", "dGVhJkNvZmZlZTkheA==", "tea%26Coffee9%21x"] {
        assert!(redactor.output(text.as_bytes()).as_str().contains("[REDACTED:known]"), "{text}");
    }
    assert_eq!(redactor.output(b"production stays").as_str(), "production stays");
}

#[test]
fn the_output_of_a_command_does_not_repeat_its_secrets() {
    let knowing = redactor().knowing("tool --password 'blue Harbor 77'");
    assert_eq!(knowing.output(b"using blue Harbor 77 now").as_str(), "using [REDACTED:known] now");
}

#[test]
fn an_approver_sees_what_runs() {
    let redactor = redactor();
    let text = "TOKEN=cm0gLXJmIH4K; echo $TOKEN | base64 -d | sh";
    assert!(!redactor.command(text).as_str().contains("cm0gLXJmIH4K"));
    assert!(redactor.card(text, &[]).text.as_str().contains("cm0gLXJmIH4K"));
    let card = redactor.card("TOKEN=cm0gLXJmIH4K deploy", &[]);
    assert_eq!((card.text.as_str(), card.hidden.len()), ("TOKEN=[REDACTED:token] deploy", 1));
}

#[test]
fn cut_after_redaction_never_shows_half_a_marker() {
    let shown = redactor().output(b"a token=abc123def b");
    for max in 0..shown.as_str().len() {
        let cut = shown.clone().truncated(max);
        assert!(cut.as_str().len() <= max && cut.as_str().matches('[').count() == cut.as_str().matches(']').count());
    }
}

/// Nothing but openers, marks or separators, 64 KiB on one line: bounded time in every layer.
#[test]
fn hostile_lines_are_linear() {
    let redactor = redactor();
    for piece in [
        "eyJ-",
        "://",
        "a:b@",
        "password=",
        "\"token\":",
        "-----BEGIN ",
        "$(",
        "${",
        "`",
        "'",
        "\"",
        "((",
        "+1",
        "4111 ",
        "GB82 ",
        "/home/",
        "\u{1b}[",
        "\u{1b}]",
        "--password ",
        "x=y;",
        "mysql -p",
        "<<<",
        "<<E\n",
        "a@b.c",
        "Bearer ",
        "\\\"",
        "[REDACTED:",
        "00a",
        "12-",
    ] {
        let text = piece.repeat(64 * 1024 / piece.len());
        let time = std::time::Instant::now();
        let output = redactor.output(text.as_bytes());
        let command = redactor.command(&text);
        // Far above what it takes optimised (under 50 ms each), far below anything that is not linear.
        assert!(time.elapsed().as_secs() < 10, "{piece:?}: {:?}", time.elapsed());
        assert!(output.as_str().len() + command.as_str().len() < 4 * 1024 * 1024);
    }
}
