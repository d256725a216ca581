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

/// Output of every form, also over several lines.
const OUTPUTS: &[&str] = &[
    "token: glpat-k5jB7DM1mY9lNJxwwRQ1\nnext line stays\n",
    "x-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIuAbcdefghijklmnop0123456789qrs\n-----END EC PRIVATE KEY-----\nafter\n",
    "-----BEGIN PRIVATE KEY-----\nMHcCAQEEIIuAbcdefghijklmnop0123456789qrs\n",
    "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\nCSBsZ2Xf7BBJjNTBLzxvyM\n8tNonnGiCe4agOSwVVa2YR\nPrivate-MAC: x\n",
    "machine h\n  login me\n  password blue-Harbor7\nmachine i\n",
    "  secret: |\n    line one\n    line two\nafter: x\n",
    "- name: DB_PASSWORD\n  value: blue-Harbor7\n- name: HOST\n  value: h\n",
    "\u{1b}[31mpassword=\u{1b}[0mblue-Harbor7 \u{1b}]0;title\u{7}rest\r\nnext\r\n",
    "/home/ann/x /home/bob/y C:\\Users\\bo\\z file:///home/ann\n",
    "Ann <ann@mail.example> +442079460123 4111 1111 1111 1111 GB82 WEST 1234 5698 7654 32\n",
    "+ mysql -uroot -pblue-Harbor7 shop\n$ curl -u me:blue-Harbor7 https://h\n",
    "postgres://app:p@ss/w@db:5432/x https://x.example/?access_token=zz9Qx7rrKp&b=2\n",
    "Authorization: Bearer abcdef0123456789abcdef\r\nCookie: sid=1a2b3c4d; lang=en\r\n",
    "New password for root: blue#Harbor7\nrequirepass blue#Harbor7\n",
    "ghp_aaaaBBBBccccDDDD1111222233334444eeee,ghp_aaaaBBBBccccDDDD1111222233334444eeee no line end",
    "caf\u{e9} \u{1f511} pass=\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c}9 na\u{ef}ve\n",
];

#[test]
fn wherever_output_is_cut_in_two_the_result_is_the_same() {
    let redactor = redactor();
    for text in OUTPUTS {
        let whole = redactor.output(text.as_bytes());
        for cut in 0..=text.len() {
            let mut stream = Stream::new(&redactor);
            let mut out = Vec::new();
            stream.push(&text.as_bytes()[..cut], &mut out);
            stream.push(&text.as_bytes()[cut..], &mut out);
            stream.finish(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), whole.as_str(), "{text:?} cut at {cut}");
        }
        let mut stream = Stream::new(&redactor);
        let mut out = Vec::new();
        text.as_bytes().iter().for_each(|byte| stream.push(&[*byte], &mut out));
        stream.finish(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), whole.as_str(), "{text:?} byte by byte");
        assert_eq!(redactor.output(whole.as_str().as_bytes()), whole, "{text:?} twice");
    }
}

#[test]
fn a_long_line_keeps_its_secrets_wherever_they_stand() {
    let redactor = redactor();
    for before in [100, 60_000, 61_430, 61_440, 65_530, 65_536, 131_000] {
        let text =
            format!("{} password=blue-Harbor7x and more {}\n", "word ".repeat(before / 5), "tail ".repeat(20_000));
        let shown = redactor.output(text.as_bytes());
        assert!(!shown.as_str().contains("blue-Harbor7x"), "{before}");
        assert!(shown.as_str().ends_with("tail \n"), "{before}");
        for chunk in [7, 4096, 65_536] {
            let mut stream = Stream::new(&redactor);
            let mut out = Vec::new();
            text.as_bytes().chunks(chunk).for_each(|chunk| stream.push(chunk, &mut out));
            stream.finish(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), shown.as_str(), "{before} in pieces of {chunk}");
        }
    }
}

/// Program text, listings and prose in which nothing is secret, though much looks like it.
const BENIGN: &[&str] = &[
    "out.effects.push(Effect::UsesCredential(\"ssh\".to_owned()));",
    "pending_per_session: limits::PENDING_PER_SESSION_MAX,",
    "fn string(rest: &str, found: &mut Vec<Token>) -> Result<usize, Error> {",
    "pub fn parse(token: &'a str) -> Result<Flag<'a>, String> {",
    "Number = \"number\", Secret = \"secret\", Container = \"container\",",
    "let secrets = &self.question.secret_names;",
    "let secret = !first_is_reference",
    "[\"pass:\", \"env:\", \"file:\"].iter().any(|head| text.starts_with(head));",
    "text.starts_with(b\"pass:\")",
    "checksum = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"",
    "\"integrity\": \"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\"",
    "commit 75787e080eadc38249608a17d855a742df7aca7f (HEAD -> main, tag: v1.4.0)",
    "-rw------- 1 root root 464 Dec  1 00:21 id_ed25519",
    "root      1234  0.0  0.1  12345  6789 ?  Ss  Dec01  0:00 /usr/sbin/sshd -D",
    "password authentication failed for user \"app\"",
    "error: missing required option --token <TOKEN>",
    "the token type is bearer and the key is sorted",
    "max_tokens: 4096, tokenizer: cl100k_base, primary_key: id",
    "if password == other.password { return Err(AuthError::Mismatch) }",
];

#[test]
fn what_is_no_secret_stays() {
    let redactor = redactor();
    for text in BENIGN {
        assert_eq!(redactor.output(text.as_bytes()).as_str(), *text);
    }
}

#[test]
fn tags_say_which_secrets_are_the_same_and_nothing_else() {
    let tagged = |key: u8| Redactor::new(Context::default()).tagged(tollgate::facts::InstallKey::new([key; 32]));
    let text = "password=blue-Harbor7 token=blue-Harbor7 password=other-Harbor8";
    let shown = tagged(1).output(text.as_bytes());
    let tags: Vec<&str> = shown.as_str().split(']').filter_map(|part| part.rsplit(':').next()).take(3).collect();
    assert!(tags[0] == tags[1] && tags[1] != tags[2] && tags[0].len() == 8, "{shown}");
    assert_ne!(tagged(2).output(text.as_bytes()), shown, "under another key it is another one");
    assert_eq!(tagged(1).output(shown.as_str().as_bytes()), shown, "a second pass changes nothing");
}
