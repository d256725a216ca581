//! Which host does an operand name, and is it this machine?

/// Whether this names the machine it runs on.
pub fn is_loopback(host: &str) -> bool {
    let host = host.rsplit_once('@').map_or(host, |(_, h)| h);
    let host = host.trim_start_matches('[');
    let host = host.split(']').next().unwrap_or(host);
    let bare = if host.matches(':').count() == 1 { host.split(':').next().unwrap_or(host) } else { host };
    let bare = bare.trim_end_matches('.').to_ascii_lowercase();
    bare == "localhost"
        || bare.ends_with(".localhost")
        || bare == "ip6-localhost"
        || bare == "0"
        || bare == "0.0.0.0"
        || bare == "::"
        || bare == "::1"
        || bare.starts_with("::ffff:127.")
        || (bare.starts_with("127.") && bare.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
        || matches!(bare.as_str(), "2130706433" | "0x7f000001" | "0x7f.1" | "host.docker.internal")
}

/// The host of a URL, of `user@host:path`, or of `host:port`.
pub fn host_of(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.starts_with('[') {
        return host.trim_start_matches('[').split(']').next().unwrap_or(host);
    }
    host.split(':').next().unwrap_or(host)
}

/// The host of a URL that a program was given where it reads a file; also gawk's `/inet/tcp/0/HOST/PORT`.
pub(super) fn host_in_path(text: &str) -> Option<&str> {
    if text.starts_with("/inet") {
        let mut parts = text.split('/').skip(1);
        return matches!(parts.next(), Some("inet" | "inet4" | "inet6")).then(|| parts.nth(2).unwrap_or(""));
    }
    let (scheme, _) = text.split_once("://")?;
    let named = !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    (named && !scheme.eq_ignore_ascii_case("file")).then(|| host_of(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_many_names() {
        for host in
            ["localhost", "127.0.0.1", "u@127.1:22", "[::1]:80", "::1", "LOCALHOST.", "0.0.0.0:80", "a.localhost"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["example.com", "10.0.0.1", "localhost.evil.com", "127.0.0.1.evil.com"] {
            assert!(!is_loopback(host), "{host}");
        }
        assert_eq!(host_of("http://u:p@localhost:80/x?y"), "localhost");
    }

    #[test]
    fn a_url_is_no_file() {
        assert_eq!(host_in_path("https://h:8/x"), Some("h"));
        assert_eq!(host_in_path("S3://bucket/x"), Some("bucket"));
        assert_eq!(host_in_path("/inet/tcp/0/h/80"), Some("h"));
        for text in ["a/b://c", "file:///etc/x", "C:/x", "src//x", "/inet.txt", "x"] {
            assert_eq!(host_in_path(text), None, "{text}");
        }
    }
}
