//! What has a known effect in each little language, wherever other text stands behind it? One table for the laws and
//! for the fuzzer: a reading of such a text that comes out as if it only observed is a hole.

use crate::assess::Class;

/// Text that does something above read, and the least it does.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// The analyzer it is for, by its registered name.
    pub analyzer: &'static str,
    /// Stands first; other text follows after a line end (or as further words).
    pub text: &'static str,
    pub class: Class,
}

const fn planted(analyzer: &'static str, text: &'static str, class: Class) -> Planted {
    Planted { analyzer, text, class }
}

/// For languages: commands at the beginning of a text.
pub const IN_TEXT: &[Planted] = &[
    planted("awk", "BEGIN { system(\"x\") }", Class::Write),
    planted("awk", "{ print > \"f\" }", Class::Write),
    planted("awk", "{ print | \"x\" }", Class::Write),
    planted("awk", "BEGIN { \"x\" | getline }", Class::Write),
    planted("awk", "@load \"x\"", Class::Write),
    planted("dscl", ".\n-create\n/Users/x", Class::Destructive),
    planted("duckdb", "copy t to 'f';", Class::Write),
    planted("gh-setting", "pager=./x", Class::Install),
    planted("git-config", "core.pager=x", Class::Write),
    planted("git-config", "alias.x=!y", Class::Write),
    planted("git-setting", "core.pager\n./x", Class::Install),
    planted("go-setting", "CC=./x", Class::Install),
    planted("less", "!x", Class::Write),
    planted("mysql", "drop table x;", Class::Destructive),
    planted("mysql", "select 1 into outfile 'f';", Class::Write),
    planted("mysql", "\\! x", Class::Write),
    planted("node", "1", Class::Write),
    planted("npm-setting", "shell=./x", Class::Install),
    planted("perl", "unlink 'x';", Class::Write),
    planted("php", "1;", Class::Write),
    planted("postgres", "drop table x;", Class::Destructive),
    planted("postgres", "copy t from program 'x';", Class::Write),
    planted("postgres", "update t set a = 1;", Class::Write),
    planted("python", "1", Class::Write),
    planted("ruby", "1", Class::Write),
    planted("sed", "w f", Class::Write),
    planted("sed", "e x", Class::Write),
    planted("sed", "s/a/b/e", Class::Write),
    planted("sed", "s/a/b/w f", Class::Write),
    planted("sqlite", "drop table x;", Class::Destructive),
    planted("sqlite", "attach 'f' as g;", Class::Write),
    planted("sqlite", ".shell x", Class::Write),
    planted("sqlite", ".output f", Class::Write),
    planted("ssh-option", "ProxyCommand=x", Class::Write),
    planted("sysctl", "a=b", Class::Destructive),
    planted("vim", "!x", Class::Write),
];

/// For programs: words at the beginning of a call, with blanks between them.
pub const IN_WORDS: &[Planted] = &[
    planted("crontab", "-r", Class::Write),
    planted("curl", "-o f http://h/", Class::Network),
    planted("curl", "-X DELETE http://h/", Class::Network),
    planted("date", "-s 0", Class::Write),
    planted("dd", "if=f of=g", Class::Write),
    planted("docker", "run x", Class::Write),
    planted("fd", "-x rm", Class::Write),
    planted("find", ". -delete", Class::Write),
    planted("find", ". -fprint f", Class::Write),
    planted("find", ". -exec rm {} ;", Class::Write),
    planted("kubectl", "delete pod x", Class::Network),
    planted("make", "x", Class::Write),
    planted("psql", "-c drop␠table␠x", Class::Write),
    planted("redis-cli", "flushall", Class::Write),
    planted("rsync", "-a f h:g", Class::Network),
    planted("sqlite3", "f drop␠table␠x", Class::Write),
    planted("ssh", "h x", Class::Network),
    planted("tar", "-xf f", Class::Write),
    planted("tar", "-cf f g", Class::Write),
    planted("tmux", "kill-server", Class::Write),
    planted("wget", "http://h/", Class::Network),
    planted("xargs", "rm", Class::Write),
];
