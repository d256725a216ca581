//! Which names announce a secret, and which values beside such a name are one?
//!
//! A name counts by how it *ends*: `db_password` does, `password_file`, `max_tokens` and `monkey` do not. A value is
//! judged by where it stands; references (`$TOKEN`), placeholders (`<token>`, `***`) and paths are not secrets.

use std::sync::LazyLock;

/// How surely a name announces a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// `password`, `api_key`, `token`: its value is a secret whatever it looks like.
    Secret(&'static str),
    /// `key`, `auth`, `sig`: only if the value looks generated.
    Perhaps(&'static str),
}

/// How a value was written; the looser, the more it must look like a secret itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Quoted,
    /// `NAME=value` without blanks, or a whole line `name: value`.
    Assigned,
    /// After a colon or a spaced `=`, in the middle of something else.
    Loose,
}

/// Endings of one or more words, and the kind they are shown as.
const SECRET_ENDINGS: &[(&str, &str)] = &[
    ("password", "password"),
    ("passwd", "password"),
    ("passwort", "password"),
    ("passphrase", "passphrase"),
    ("passcode", "password"),
    ("pwd", "password"),
    ("pass", "password"),
    ("pw", "password"),
    ("rediscli_auth", "password"),
    ("requirepass", "password"),
    ("masterauth", "password"),
    ("psk", "key"),
    ("secret", "secret"),
    ("secrets", "secret"),
    ("token", "token"),
    ("jwt", "token"),
    ("bearer", "token"),
    ("credential", "credential"),
    ("credentials", "credential"),
    ("creds", "credential"),
    ("mnemonic", "secret"),
    ("apikey", "key"),
    ("accesskey", "key"),
    ("secretkey", "key"),
    ("privatekey", "key"),
    ("api_key", "key"),
    ("app_key", "key"),
    ("application_key", "key"),
    ("access_key", "key"),
    ("account_key", "key"),
    ("auth_key", "key"),
    ("client_key", "key"),
    ("consumer_key", "key"),
    ("deploy_key", "key"),
    ("encryption_key", "key"),
    ("hmac_key", "key"),
    ("integration_key", "key"),
    ("license_key", "key"),
    ("master_key", "key"),
    ("preshared_key", "key"),
    ("pre_shared_key", "key"),
    ("private_key", "key"),
    ("routing_key", "key"),
    ("secret_key", "key"),
    ("server_key", "key"),
    ("service_key", "key"),
    ("session_key", "key"),
    ("shared_key", "key"),
    ("shared_access_key", "key"),
    ("signing_key", "key"),
    ("storage_key", "key"),
    ("subscription_key", "key"),
    ("write_key", "key"),
    ("key_base", "key"),
    ("recovery_code", "code"),
    ("backup_code", "code"),
    ("verification_code", "code"),
    ("otp", "code"),
    ("cvv", "code"),
];

/// Words that are often glued to something in front: `storepass`, `PGPASSWORD`, `authtoken`.
const GLUED: &[(&str, &str)] = &[
    ("password", "password"),
    ("passwd", "password"),
    ("passphrase", "passphrase"),
    ("apikey", "key"),
    ("secretkey", "key"),
    ("accesskey", "key"),
    ("authkey", "key"),
    ("authtoken", "token"),
    ("accesstoken", "token"),
    ("refreshtoken", "token"),
    ("bottoken", "token"),
    ("clientsecret", "secret"),
    ("storepass", "password"),
    ("keypass", "password"),
    ("sshpass", "password"),
    ("dbpass", "password"),
    ("userpass", "password"),
    ("ftppass", "password"),
    ("mailpass", "password"),
    ("smtppass", "password"),
    ("rootpass", "password"),
    ("adminpass", "password"),
    ("authpass", "password"),
    ("privpass", "password"),
    ("cliauth", "password"),
];

/// Endings that need a value which looks generated.
const PERHAPS: &[(&str, &str)] = &[
    ("key", "key"),
    ("auth", "credential"),
    ("sig", "signature"),
    ("signature", "signature"),
    ("sas", "signature"),
    ("code", "code"),
    ("session", "session"),
    ("sessionid", "session"),
    ("session_id", "session"),
    ("sid", "session"),
    ("cookie", "session"),
    ("salt", "secret"),
    ("seed", "secret"),
    ("csrf", "token"),
    ("xsrf", "token"),
    ("nonce", "token"),
    ("webhook", "webhook"),
    ("webhook_url", "webhook"),
    ("license", "key"),
    ("pat", "token"),
    ("unseal_key", "key"),
];

/// Endings that say how or when, not what; looked through.
const TRANSPARENT: &[&str] = &[
    "value",
    "base64",
    "b64",
    "plaintext",
    "plain",
    "old",
    "new",
    "prev",
    "previous",
    "current",
    "live",
    "test",
    "prod",
    "production",
    "dev",
    "staging",
    "primary",
    "secondary",
    "main",
    "ci",
    "raw",
    "hex",
    "default",
    "string",
    "confirmation",
    "confirm",
    "again",
    "repeat",
];

/// Names that end in a secret word and yet name something public.
const PUBLIC: &[&str] = &[
    "public_key",
    "primary_key",
    "foreign_key",
    "partition_key",
    "sort_key",
    "cache_key",
    "host_key",
    "hash_key",
    "next_token",
    "page_token",
    "next_page_token",
    "continuation_token",
    "continue_token",
    "cancellation_token",
    "cancel_token",
    "pad_token",
    "eos_token",
    "bos_token",
    "unk_token",
    "sep_token",
    "cls_token",
    "mask_token",
    "special_token",
    "stop_token",
    "per_token",
    "prev_token",
    "peek_token",
    "lookahead_token",
    "language_code",
    "country_code",
    "status_code",
    "exit_code",
    "error_code",
    "zip_code",
    "postal_code",
    "currency_code",
    "response_code",
    "reason_code",
    "return_code",
    "source_code",
    "key_code",
    "sort_code",
    "invalid_token",
    "unexpected_token",
    "bypass",
    "no_password",
    "min_pass",
];

const NAME_BYTES_MAX: usize = 64;

/// Whether any ending of the tables ends in the last two letters of `name`: most names are done with here.
fn may_announce(name: &[u8]) -> bool {
    fn last_two(name: &[u8]) -> Option<usize> {
        let end = name.iter().rposition(u8::is_ascii_alphabetic)?;
        let before = *name.get(end.checked_sub(1)?)?;
        let place = |byte: u8| usize::from(byte.to_ascii_lowercase() - b'a');
        before.is_ascii_alphabetic().then(|| place(before) * 26 + place(name[end]))
    }
    static LAST: LazyLock<[bool; 26 * 26]> = LazyLock::new(|| {
        let mut known = [false; 26 * 26];
        let named = SECRET_ENDINGS.iter().chain(GLUED).chain(PERHAPS).map(|(word, _)| *word);
        for at in named.chain(TRANSPARENT.iter().copied()).filter_map(|word| last_two(word.as_bytes())) {
            known[at] = true;
        }
        known
    });
    // A single letter before digits: `b64`, and what comes before it.
    last_two(name).is_none_or(|at| LAST[at])
}

/// What `name` announces, if anything.
pub fn judge(name: &[u8]) -> Option<Name> {
    // The shell's directories are no passwords.
    if !may_announce(name) || matches!(name, b"PWD" | b"OLDPWD") {
        return None;
    }
    let mut buffer = [0u8; 2 * NAME_BYTES_MAX];
    let mut words = normalised(name, &mut buffer);
    if words.len() < 2 {
        return None;
    }
    if PUBLIC.iter().any(|public| ends(words, public)) {
        return None;
    }
    for _ in 0..3 {
        if let Some(&(_, kind)) = SECRET_ENDINGS.iter().find(|(word, _)| ends(words, word)) {
            return Some(Name::Secret(kind));
        }
        if let Some(&(_, kind)) = GLUED.iter().find(|(word, _)| words.ends_with(word)) {
            return Some(Name::Secret(kind));
        }
        if let Some(&(_, kind)) = PERHAPS.iter().find(|(word, _)| ends(words, word)) {
            return Some(Name::Perhaps(kind));
        }
        let cut = TRANSPARENT.iter().find(|word| words.len() > word.len() && ends(words, word))?;
        words = words[..words.len() - cut.len()].trim_end_matches('_');
    }
    None
}

/// Whether a variable or field of this name holds a secret, whatever its value looks like.
pub fn is_secret_name(name: &[u8]) -> bool {
    match judge(name) {
        Some(Name::Secret(_)) => true,
        Some(Name::Perhaps(kind)) => kind == "key" && name.iter().any(u8::is_ascii_uppercase),
        None => false,
    }
}

fn ends(words: &str, ending: &str) -> bool {
    words.strip_suffix(ending).is_some_and(|front| front.is_empty() || front.ends_with('_'))
}

/// `dbPassword2` and `DB-PASSWORD` both as `db_password`.
fn normalised<'a>(name: &[u8], buffer: &'a mut [u8; 2 * NAME_BYTES_MAX]) -> &'a str {
    let tail = &name[name.len().saturating_sub(NAME_BYTES_MAX)..];
    let mut length = 0;
    let mut before = b'_';
    for (at, &byte) in tail.iter().enumerate() {
        let next_is_lower = tail.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        let camel = byte.is_ascii_uppercase()
            && (before.is_ascii_lowercase() || (before.is_ascii_uppercase() && next_is_lower));
        if camel {
            buffer[length] = b'_';
            length += 1;
        }
        buffer[length] = if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() } else { b'_' };
        length += 1;
        before = byte;
    }
    let words = std::str::from_utf8(&buffer[..length]).unwrap_or("");
    let words = words.trim_end_matches('_');
    let bare = words.trim_end_matches(|c: char| c.is_ascii_digit());
    // `token2` and `token_2` are tokens; `base64` and `b64` are words of their own.
    if bare.ends_with("base") || bare.ends_with("_b") { words } else { bare.trim_end_matches('_') }
}

/// Whether `value`, written so beside a name of this kind, is a secret.
pub fn is_secret(value: &[u8], name: Name, written: Written) -> bool {
    let value = value.trim_ascii();
    if value.is_empty() || is_reference(value) || is_placeholder(value) || is_path(value) {
        return false;
    }
    match (name, written) {
        (Name::Perhaps("key" | "credential"), Written::Quoted | Written::Assigned) => looks_generated(value, 12),
        (Name::Perhaps(_), _) => looks_generated(value, 16),
        (Name::Secret(_), Written::Quoted | Written::Assigned) => true,
        (Name::Secret(_), Written::Loose) => looks_like_password(value),
    }
}

/// `$NAME`, `${…}`, `$(…)`, `%NAME%`, `{{…}}`, `@file`, a marker of ours: it says where, not what.
pub fn is_reference(value: &[u8]) -> bool {
    let pairs: [(&[u8], &[u8]); 8] = [
        (b"${", b"}"),
        (b"$(", b")"),
        (b"`", b"`"),
        (b"{{", b"}}"),
        (b"<%", b"%>"),
        (b"%(", b")s"),
        (b"#{", b"}"),
        (b"$[", b"]"),
    ];
    if pairs.iter().any(|(open, close)| value.starts_with(open) && value.ends_with(close)) {
        return true;
    }
    let is_name = |text: &[u8]| {
        !text.is_empty() && text.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_') && !text[0].is_ascii_digit()
    };
    if let Some(name) = value.strip_prefix(b"$") {
        return is_name(name)
            || name.first().is_some_and(|b| name.len() == 1 && (b.is_ascii_digit() || b"@*#?".contains(b)));
    }
    if value.len() > 2 && value.starts_with(b"%") && value.ends_with(b"%") && is_name(&value[1..value.len() - 1]) {
        return true;
    }
    const HEADS: [&[u8]; 9] = [
        b"[REDACTED",
        b"[redacted",
        b"[FILTERED",
        b"env.",
        b"process.env",
        b"os.environ",
        b"secrets.",
        b"op://",
        b"vault:",
    ];
    HEADS.iter().any(|head| value.starts_with(head)) || (value.starts_with(b"@") && is_path(&value[1..]))
}

/// Whether the value only says the name again, as in `Secret = "secret"`.
pub fn says_again(value: &[u8], name: &[u8]) -> bool {
    let letters = |text: &[u8]| -> Vec<u8> {
        text.iter().filter(|b| b.is_ascii_alphabetic()).map(u8::to_ascii_lowercase).collect()
    };
    value.len() <= 64 && !value.iter().any(u8::is_ascii_digit) && letters(value) == letters(name)
}

/// What stands where a secret would be.
fn is_placeholder(value: &[u8]) -> bool {
    if value.iter().all(|b| b"*.xX-_#?".contains(b)) || value.iter().all(|b| !b.is_ascii()) {
        return true;
    }
    if (value.starts_with(b"<") && value.ends_with(b">")) || (value.starts_with(b"[") && value.ends_with(b"]")) {
        return true;
    }
    let mut buffer = [0u8; 40];
    let Some(lower) = buffer.get_mut(..value.len()) else { return false };
    lower.copy_from_slice(value);
    lower.make_ascii_lowercase();
    const WORDS: [&str; 34] = [
        "true",
        "false",
        "null",
        "none",
        "nil",
        "yes",
        "no",
        "on",
        "off",
        "undefined",
        "string",
        "str",
        "string;",
        "&str",
        "bytes",
        "bool",
        "int",
        "number",
        "any",
        "optional",
        "required",
        "redacted",
        "hidden",
        "masked",
        "empty",
        "unset",
        "default",
        "option<string>",
        "stdin",
        "prompt",
        "ask",
        "placeholder",
        "todo",
        "value",
    ];
    let Ok(text) = std::str::from_utf8(lower) else { return false };
    WORDS.contains(&text)
        || (["your_", "your-", "your ", "my_", "insert", "replace", "<your", "enter "]
            .iter()
            .any(|head| text.starts_with(head))
            && !text.bytes().any(|b| b.is_ascii_digit()))
}

/// A path names a secret's place, which people need to see.
fn is_path(value: &[u8]) -> bool {
    let head: [&[u8]; 5] = [b"/", b"./", b"../", b"~/", b"file:"];
    head.iter().any(|head| value.starts_with(head))
        && value.iter().all(|b| b.is_ascii_alphanumeric() || b"/._-~:".contains(b))
        && (value.iter().filter(|&&b| b == b'/' || b == b'.').count() >= 2 || value.starts_with(b"~"))
        && value.split(|&b| b == b'/').all(|part| part.len() < 40 && !(part.len() > 20 && looks_generated(part, 20)))
}

/// Unquoted and in the middle of text: letters alone may be prose or a program's identifier.
pub fn looks_like_password(value: &[u8]) -> bool {
    if value.iter().any(|b| b"(){}<>[]`\\".contains(b)) || value.windows(2).any(|pair| pair == b"::" || pair == b"->") {
        return false;
    }
    let digit = value.iter().any(u8::is_ascii_digit);
    let letter = value.iter().any(u8::is_ascii_alphabetic);
    let special = value.iter().any(|b| b"!#%^&*@+~$".contains(b));
    // `bqvjHYMx-…`: a run of capitals inside, which no type and no constant has beside a dash.
    let joined = value.iter().any(|b| b"-_".contains(b));
    let capitals = value
        .windows(3)
        .any(|run| run[0].is_ascii_lowercase() && run[1].is_ascii_uppercase() && !run[2].is_ascii_punctuation());
    let upper_inside = value.iter().skip(1).any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    value.len() >= 5
        && ((digit && letter && !is_version(value))
            || (special && letter)
            || (digit && value.len() >= 12)
            || (joined && capitals && value.len() >= 12)
            || (value.len() >= 20 && upper_inside))
}

fn is_version(value: &[u8]) -> bool {
    value.iter().all(|b| b.is_ascii_digit() || b".vVrc-".contains(b))
}

/// Random enough to have been generated: not a word, a digest, an identifier or a path.
pub fn looks_generated(value: &[u8], least: usize) -> bool {
    if value.len() < least || !value.iter().all(|b| b.is_ascii_alphanumeric() || b"+/=_-.~%:".contains(b)) {
        return false;
    }
    if is_digest(value) || value.windows(2).any(|pair| pair == b"::") {
        return false;
    }
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let uppers = value.iter().filter(|b| b.is_ascii_uppercase()).count();
    let lowers = value.iter().filter(|b| b.is_ascii_lowercase()).count();
    let marks = value.len() - digits - uppers - lowers;
    let kinds = [digits, uppers, lowers].iter().filter(|&&n| n > 0).count();
    kinds >= 2
        && (digits > 0 || (value.len() >= 20 && uppers * 3 >= value.len()))
        && marks * 5 <= value.len()
        && bits_per_byte(value) > 3.2
}

/// Git object names, checksums and UUIDs.
fn is_digest(value: &[u8]) -> bool {
    let hex = value.iter().all(u8::is_ascii_hexdigit);
    let uuid = value.len() == 36
        && value
            .iter()
            .enumerate()
            .all(|(at, &b)| if [8, 13, 18, 23].contains(&at) { b == b'-' } else { b.is_ascii_hexdigit() });
    uuid || (hex && [32, 40, 56, 64, 96, 128].contains(&value.len()))
}

/// Shannon entropy, at most of the first 128 bytes.
fn bits_per_byte(value: &[u8]) -> f64 {
    let value = &value[..value.len().min(128)];
    let mut counts = [0u8; 256];
    for &byte in value {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len() as f64;
    counts.iter().filter(|&&n| n > 0).map(|&n| f64::from(n) / total).map(|p| -p * p.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_by_its_end() {
        for name in [
            "password",
            "DB_PASSWORD",
            "dbPassword",
            "PGPASSWORD",
            "api-key",
            "X-Api-Key",
            "apiKey2",
            "SECRET_KEY_BASE",
            "client_secret",
            "TOKEN_2",
            "_authToken",
            "aws_secret_access_key",
            "SecretAccessKey",
            "AccountKey",
            "PASSWORD_OLD",
            "javax.net.ssl.keyStorePassword",
            "sshpass",
            "userPassword",
            "REDISCLI_AUTH",
        ] {
            assert!(matches!(judge(name.as_bytes()), Some(Name::Secret(_))), "{name}");
        }
        for name in [
            "PWD",
            "OLDPWD",
            "password_file",
            "max_tokens",
            "tokenizer",
            "monkey",
            "keyboard",
            "primary_key",
            "token_type",
            "bypass",
            "compass",
            "secretary",
            "passwords_file",
            "next_token",
            "PublicKey",
            "exit_code",
            "a",
        ] {
            assert_eq!(judge(name.as_bytes()), None, "{name}");
        }
        for name in ["key", "sig", "auth", "cacheKeyed_key"] {
            assert!(matches!(judge(name.as_bytes()), Some(Name::Perhaps(_))), "{name}");
        }
    }

    #[test]
    fn references_placeholders_and_paths_are_no_secrets() {
        for value in [
            "$TOKEN",
            "${TOKEN:-x}",
            "$(cat f)",
            "%PASS%",
            "<token>",
            "***",
            "[REDACTED:token]",
            "/run/secrets/db",
            "~/.ssh/id",
            "null",
            "{{ pw }}",
            "@/run/a.txt",
        ] {
            assert!(!is_secret(value.as_bytes(), Name::Secret("x"), Written::Assigned), "{value}");
        }
        for value in ["hunter2", "S3cr$t", "correct horse", "/Zk2+q8f==", "p"] {
            assert!(is_secret(value.as_bytes(), Name::Secret("x"), Written::Assigned), "{value}");
        }
    }

    #[test]
    fn a_loose_value_must_look_like_one() {
        for value in ["user_id", "lexer.next()", "other", "v1.2.3", "Option<String>"] {
            assert!(!is_secret(value.as_bytes(), Name::Secret("x"), Written::Loose), "{value}");
        }
        for value in ["Winter!2024", "aB3dE5gH"] {
            assert!(is_secret(value.as_bytes(), Name::Secret("x"), Written::Loose), "{value}");
        }
    }
}
