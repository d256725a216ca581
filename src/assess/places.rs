//! What does it mean to read, write or delete this path, or to reach this host? One table of places; text only.
//!
//! Paths are normalised as text against what is known of the ground. Nothing looks at a file system, so a link may lead
//! elsewhere: the fence answers for that. Only what raises is said here; an ordinary path keeps its command's class.

use super::reading::{Cwd, Ground, Reading};
use super::{Attribute, Class, Code, Effect, Operand, Reason, Span};

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    Read,
    Write,
    /// `rm`, the source of `mv`; everything below it too if `recursive`.
    Delete {
        recursive: bool,
    },
    /// Rights or owner, of everything below it too (`chmod -R`).
    Below,
}

/// Why a path is not an ordinary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    pub class: Class,
    pub code: Code,
    pub attributes: &'static [Attribute],
    /// Completes "`x` is …".
    pub what: &'static str,
}

/// Where a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    System,
    Home,
    /// Inside the workspace, as far as known.
    Workspace,
    /// Above the workspace or the home: `..`.
    Outside,
    Unknown,
}

/// A path after normalisation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path {
    root: Root,
    parts: Vec<String>,
    /// More may follow the last part, which may itself be a beginning.
    open: bool,
    /// Parts may hold wildcards.
    glob: bool,
}

/// One row: where, and what it means to write or to read there.
struct Row {
    /// `/etc/**`, `~/.ssh/id_*`, `**/.git/hooks/**`: `*` inside one part, `**` any parts.
    at: &'static [&'static str],
    write: Option<Meaning>,
    read: Option<Meaning>,
}

const GATE: Meaning = Meaning {
    class: Class::Destructive,
    code: Code::GatePath,
    attributes: &[Attribute::Itself],
    what: "Tollgate's own program, state or approvals",
};
const GATE_READ: Meaning = Meaning {
    class: Class::Read,
    code: Code::GatePath,
    attributes: &[Attribute::SecretRead, Attribute::Itself],
    what: "Tollgate's own state",
};
const POLICY: Meaning = Meaning {
    class: Class::Write,
    code: Code::GatePath,
    attributes: &[Attribute::Itself],
    what: "this project's policy",
};
const SYSTEM: Meaning =
    Meaning { class: Class::Destructive, code: Code::SystemPath, attributes: &[], what: "part of the system" };
const DEVICE: Meaning =
    Meaning { class: Class::Destructive, code: Code::SystemPath, attributes: &[], what: "a device" };
const SYSTEM_START: Meaning = Meaning {
    class: Class::Destructive,
    code: Code::SystemPath,
    attributes: &[Attribute::Persistence],
    what: "run or trusted by the system",
};
const STARTUP: Meaning = Meaning {
    class: Class::Install,
    code: Code::Persistence,
    attributes: &[Attribute::Persistence],
    what: "run later by itself",
};
const AGENT: Meaning = Meaning {
    class: Class::Install,
    code: Code::Persistence,
    attributes: &[Attribute::Persistence],
    what: "the configuration of an agent",
};
const SECRET: Meaning = Meaning {
    class: Class::Read,
    code: Code::SecretPath,
    attributes: &[Attribute::SecretRead],
    what: "a place of credentials",
};

/// First match wins, so the narrower rows come first.
const ROWS: &[Row] = &[
    Row {
        at: &[
            "/etc/tollgate/**",
            "/var/lib/tollgate/**",
            "/run/tollgate/**",
            "/run/user/*/tollgate/**",
            "~/.local/state/tollgate/**",
            "~/.config/tollgate/**",
        ],
        write: Some(GATE),
        read: Some(GATE_READ),
    },
    Row {
        at: &[
            "/usr/**/tollgate",
            "/usr/**/tollsh",
            "~/**/bin/tollgate",
            "~/**/bin/tollsh",
            "/bin/tollgate",
            "/bin/tollsh",
        ],
        write: Some(GATE),
        read: None,
    },
    Row { at: &["**/.tollgate.toml"], write: Some(POLICY), read: None },
    // Nothing, streams, and scratch space that looks like a device.
    Row {
        at: &[
            "/dev/null",
            "/dev/stdin",
            "/dev/stdout",
            "/dev/stderr",
            "/dev/tty",
            "/dev/fd/*",
            "/dev/shm/**",
            "/dev/zero",
            "/dev/full",
            "/proc/self/fd/*",
        ],
        write: None,
        read: None,
    },
    Row { at: &["/dev/**"], write: Some(DEVICE), read: None },
    Row {
        at: &["/proc/*/environ", "/proc/*/mem", "/proc/kcore", "/dev/mem", "/dev/kmem"],
        write: Some(SYSTEM),
        read: Some(SECRET),
    },
    Row {
        at: &[
            "/etc/shadow*",
            "/etc/gshadow*",
            "/etc/sudoers*",
            "/etc/sudoers.d/**",
            "/etc/ssh/ssh_host_*_key",
            "/etc/ssl/private/**",
            "/etc/krb5.keytab",
            "/etc/security/opasswd",
            "/var/lib/secrets/**",
            "/var/run/secrets/**",
            "/run/secrets/**",
            "/etc/kubernetes/**/*.conf",
            "/etc/kubernetes/pki/**/*.key",
            "/etc/rancher/**/*.yaml",
            "/etc/wireguard/**",
            "/etc/NetworkManager/system-connections/**",
        ],
        write: Some(SYSTEM_START),
        read: Some(SECRET),
    },
    Row {
        at: &[
            "/etc/cron*",
            "/etc/cron*/**",
            "/var/spool/cron/**",
            "/var/spool/at/**",
            "/etc/anacrontab",
            "/etc/systemd/**",
            "/etc/init.d/**",
            "/etc/init/**",
            "/etc/rc*",
            "/etc/rc*/**",
            "/etc/profile",
            "/etc/profile.d/**",
            "/etc/bash*",
            "/etc/zsh*",
            "/etc/zsh/**",
            "/etc/environment",
            "/etc/ld.so.*",
            "/etc/ld.so.conf.d/**",
            "/etc/pam.d/**",
            "/etc/passwd*",
            "/etc/group*",
            "/etc/udev/**",
            "/etc/xdg/autostart/**",
            "/etc/apt/**",
            "/etc/modules*",
            "/etc/modprobe.d/**",
            "/lib/systemd/**",
            "/usr/lib/systemd/**",
            "/Library/LaunchDaemons/**",
            "/Library/LaunchAgents/**",
            "/etc/inittab",
            "/etc/update-motd.d/**",
            "/etc/hosts",
        ],
        write: Some(SYSTEM_START),
        read: None,
    },
    Row {
        at: &[
            "/",
            "/bin/**",
            "/sbin/**",
            "/lib/**",
            "/lib32/**",
            "/lib64/**",
            "/libx32/**",
            "/usr",
            "/usr/**",
            "/boot/**",
            "/etc/**",
            "/sys/**",
            "/proc/**",
            "/var",
            "/var/lib/**",
            "/var/spool/**",
            "/var/cache/**",
            "/var/run/*",
            "/run",
            "/run/*",
            "/run/systemd/**",
            "/vmlinuz*",
            "/initrd*",
            "/swapfile",
            "/var/db/**",
            "/snap/**",
            "/efi/**",
            "/System/**",
            "/Library/**",
            "/nix/**",
            "/gnu/**",
            "/private/etc/**",
            "/root/../**",
            "/dev",
            "/Windows/**",
            "/mnt/c/Windows/**",
        ],
        write: Some(SYSTEM),
        read: None,
    },
    // Credentials in a home.
    Row {
        at: &["~/.ssh/*.pub", "~/.ssh/known_hosts*", "**/.ssh/*.pub", "**/.ssh/known_hosts*"],
        write: None,
        read: None,
    },
    Row {
        at: &[
            "~/.ssh/authorized_keys*",
            "~/.ssh/rc",
            "~/.ssh/environment",
            "~/.ssh/config",
            "~/.ssh/config.d/**",
            "**/.ssh/authorized_keys*",
            "**/.ssh/config",
        ],
        write: Some(STARTUP),
        read: None,
    },
    Row {
        at: &[
            "~/.ssh",
            "~/.ssh/**",
            "**/.ssh/**",
            "**/id_rsa*",
            "**/id_dsa*",
            "**/id_ecdsa*",
            "**/id_ed25519*",
            "~/.aws/**",
            "**/.aws/credentials",
            "~/.azure/**",
            "~/.config/gcloud/**",
            "~/.oci/**",
            "~/.kube/**",
            "**/kubeconfig",
            "~/.docker/config.json",
            "~/.config/containers/auth.json",
            "~/.netrc",
            "**/.netrc",
            "~/_netrc",
            "~/.pgpass",
            "**/.pgpass",
            "~/.my.cnf",
            "~/.mylogin.cnf",
            "~/.pypirc",
            "**/.pypirc",
            "~/.git-credentials",
            "**/.git-credentials",
            "~/.config/git/credentials",
            "~/.config/gh/hosts.yml",
            "~/.config/hub",
            "~/.config/glab-cli/**",
            "~/.gnupg/**",
            "**/.gnupg/**",
            "~/.password-store/**",
            "~/.local/share/keyrings/**",
            "~/Library/Keychains/**",
            "~/.vault-token",
            "~/.terraform.d/credentials*",
            "~/.terraformrc",
            "~/.cargo/credentials*",
            "~/.gem/credentials",
            "~/.m2/settings*.xml",
            "~/.gradle/gradle.properties",
            "~/.composer/auth.json",
            "~/.config/composer/auth.json",
            "~/.nuget/**",
            "~/.config/rclone/**",
            "~/.s3cfg",
            "~/.boto",
            "~/.huggingface/**",
            "~/.cache/huggingface/token",
            "~/.kaggle/**",
            "~/.config/op/**",
            "~/.config/doctl/**",
            "~/.config/heroku/**",
            "~/.fly/**",
            "~/.wrangler/**",
            "~/.config/configstore/**",
            "~/.mozilla/**",
            "~/.config/google-chrome/**",
            "~/.config/chromium/**",
            "~/.config/BraveSoftware/**",
            "~/.config/microsoft-edge/**",
            "~/Library/Application*Support/Google/Chrome/**",
            "~/Library/Application*Support/Firefox/**",
            "~/Library/Cookies/**",
            "~/.thunderbird/**",
            "~/.bash_history",
            "~/.zsh_history",
            "~/.psql_history",
            "~/.mysql_history",
            "~/.python_history",
            "~/.node_repl_history",
            "~/.electrum/**",
            "~/.bitcoin/**",
            "~/.ethereum/keystore/**",
            "**/wallet.dat",
            "**/*.kdbx",
            "**/*.pem",
            "**/*.p12",
            "**/*.pfx",
            "**/*.jks",
            "**/*.keystore",
            "**/*.ppk",
            "**/secrets.yml",
            "**/secrets.yaml",
            "**/secrets.json",
            "**/secrets.toml",
            "**/credentials.json",
            "**/service-account*.json",
            "**/service_account*.json",
            "**/.vault_pass*",
            "**/terraform.tfstate*",
            "**/*.tfvars",
            "**/.htpasswd",
            "**/master.key",
            "~/.config/sops/**",
            "~/.age/**",
            "~/.claude/.credentials.json",
            "~/.codex/auth.json",
            "~/.gemini/oauth_creds.json",
        ],
        write: None,
        read: Some(SECRET),
    },
    Row {
        at: &["**/.env.example", "**/.env.sample", "**/.env.template", "**/.env.dist", "**/.env.defaults"],
        write: None,
        read: None,
    },
    Row { at: &["**/.env", "**/.env.*", "**/*.env"], write: None, read: Some(SECRET) },
    Row {
        at: &["~/.npmrc", "**/.npmrc", "~/.yarnrc*", "~/.config/pip/**", "~/.pip/**"],
        write: Some(STARTUP),
        read: Some(SECRET),
    },
    // What runs later by itself.
    Row {
        at: &[
            "**/.claude",
            "**/.claude/**",
            "**/.codex",
            "**/.codex/**",
            "**/.gemini",
            "**/.gemini/**",
            "**/.cursor",
            "**/.cursor/**",
            "**/.aider*",
            "**/.continue/**",
            "**/.copilot/**",
            "**/.windsurf/**",
            "**/.opencode/**",
            "**/.cline/**",
            "**/.roo/**",
            "**/.amazonq/**",
            "**/.goose/**",
            "**/.junie/**",
            "**/.qwen/**",
            "**/.kiro/**",
            "**/.trae/**",
            "**/.augment/**",
            "**/.mcp.json",
            "~/.claude.json",
            "~/.config/claude/**",
            "~/.config/opencode/**",
            "~/.config/goose/**",
            "~/.config/github-copilot/**",
            "~/.config/amp/**",
            "**/opencode.json",
            "**/.cursorrules",
        ],
        write: Some(AGENT),
        read: None,
    },
    Row {
        at: &[
            "**/.git/hooks",
            "**/.git/hooks/**",
            "**/.git/config",
            "**/.git/config.worktree",
            "**/.git/info/attributes",
            "**/.husky/**",
            "**/.githooks/**",
            "**/.envrc",
            "**/.vscode/tasks.json",
            "**/.vscode/settings.json",
            "**/.bashrc",
            "**/.bash_profile",
            "**/.bash_login",
            "**/.bash_logout",
            "**/.bash_aliases",
            "**/.profile",
            "**/.zshrc",
            "**/.zshenv",
            "**/.zprofile",
            "**/.zlogin",
            "**/.zlogout",
            "**/.kshrc",
            "**/.cshrc",
            "**/.tcshrc",
            "**/.inputrc",
            "~/.config/fish/**",
            "~/.config/bash/**",
            "~/.config/zsh/**",
            "~/.login",
            "~/.xinitrc",
            "~/.xprofile",
            "~/.xsession*",
            "~/.xsessionrc",
            "~/.pam_environment",
            "~/.config/autostart/**",
            "~/.config/systemd/**",
            "~/.local/share/systemd/**",
            "~/.config/environment.d/**",
            "~/.gitconfig",
            "~/.config/git/**",
            "~/.vimrc",
            "~/.vim/**",
            "~/.config/nvim/**",
            "~/.emacs*",
            "~/.emacs.d/**",
            "~/.tmux.conf",
            "~/.config/tmux/**",
            "~/.screenrc",
            "~/.cargo/config*",
            "~/.cargo/bin/**",
            "~/.local/bin/**",
            "~/bin/**",
            "~/.local/share/applications/**",
            "~/Library/LaunchAgents/**",
            "~/Library/LaunchDaemons/**",
            "~/.lesskey",
            "~/.lessfilter",
            "~/.gdbinit",
            "~/.config/gdb/**",
            "~/.lldbinit",
            "~/.pythonrc*",
            "~/.pdbrc",
            "~/.irbrc",
            "~/.psqlrc",
            "~/.sqliterc",
            "~/.Rprofile",
            "~/.octaverc",
            "~/.curlrc",
            "~/.wgetrc",
            "~/.config/direnv/**",
            "**/usercustomize.py",
            "**/sitecustomize.py",
            "~/.docker/cli-plugins/**",
            "~/.kube/plugins/**",
            "~/.oh-my-zsh/**",
            "~/.config/starship.toml",
            "~/.mailcap",
            "~/.forward",
            "~/.procmailrc",
        ],
        write: Some(STARTUP),
        read: None,
    },
];

/// No kernel opens a longer path.
const PATH_BYTES_MAX: usize = 4096;

/// What is special about touching `operand`, standing on `ground`; `None` for an ordinary path.
pub fn judge(touch: Touch, operand: &Operand, ground: &Ground) -> Option<Meaning> {
    let long = match operand {
        Operand::Known(text) | Operand::Glob(text) | Operand::Unknown { prefix: text } => text.len() > PATH_BYTES_MAX,
        Operand::Any => false,
    };
    if long {
        return None;
    }
    let path = match operand {
        Operand::Known(text) => normalise(text, ground, false),
        Operand::Glob(text) => Path { glob: true, ..normalise(text, ground, false) },
        Operand::Unknown { prefix } => normalise(prefix, ground, true),
        Operand::Any => Path { root: Root::Unknown, parts: Vec::new(), open: true, glob: false },
    };
    match touch {
        Touch::Read => ROWS.iter().find(|row| row.holds(&path)).and_then(|row| row.read),
        Touch::Write => written(&path),
        Touch::Delete { recursive } => broad(&path, operand, recursive).or_else(|| written(&path)),
        Touch::Below => broad(&path, operand, true).or_else(|| written(&path)),
    }
}

/// Whether writing there is no write at all: a stream, `/dev/null`.
pub fn is_nothing(text: &str) -> bool {
    matches!(text, "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/fd/1" | "/dev/fd/2")
        || matches!(text, "/proc/self/fd/1" | "/proc/self/fd/2")
}

fn written(path: &Path) -> Option<Meaning> {
    ROWS.iter().find(|row| row.holds(path)).and_then(|row| row.write)
}

const BROAD_HERE: Meaning = broadly("everything here");

const fn broadly(what: &'static str) -> Meaning {
    Meaning { class: Class::Destructive, code: Code::BroadDelete, attributes: &[Attribute::BroadDelete], what }
}

/// `*`, `.*`, `*.*`, `{*,.*}`: every name there is.
fn is_every(part: &str) -> bool {
    part.contains('*') && part.chars().all(|c| "*.?[]!^{},".contains(c))
}

/// Deleting more than a named thing inside the workspace or scratch space.
fn broad(path: &Path, operand: &Operand, recursive: bool) -> Option<Meaning> {
    let every = path.parts.last().is_some_and(|part| is_every(part));
    let depth = path.parts.len() - usize::from(every);
    let first = path.parts.first().map(String::as_str);
    if path.parts.iter().take(2).any(|part| part == ".git") && recursive && depth <= 2 {
        return Some(broadly("the history of the repository"));
    }
    match path.root {
        Root::Unknown if recursive => Some(broadly("not known before it runs")),
        Root::Unknown => None,
        Root::Workspace if depth == 0 && (recursive || every) => Some(BROAD_HERE),
        Root::Workspace if recursive && path.open => Some(broadly("not known before it runs")),
        Root::Workspace if recursive && depth == 0 => Some(BROAD_HERE),
        Root::Workspace if recursive && path.parts.len() == 1 && first.is_some_and(|f| f.starts_with(['*', '?'])) => {
            Some(broadly("whatever matches here"))
        }
        Root::Workspace => None,
        Root::Outside if recursive || every => Some(broadly("outside the workspace")),
        Root::Outside => None,
        Root::Home if depth == 0 => Some(broadly("the home directory")),
        Root::Home if recursive && (path.open || depth == 1) => Some(broadly("a whole directory of the home")),
        Root::Home => None,
        Root::System if recursive || every => {
            let scratch = matches!(first, Some("tmp" | "var" | "private")) && depth >= scratch_depth(path);
            // A place three levels deep is somebody's project; the fence knows whether it is ours.
            let deep =
                depth >= 3 || (depth >= 2 && matches!(first, Some("app" | "workspace" | "work" | "src" | "repo")));
            if matches!(operand, Operand::Unknown { .. }) && path.open && !scratch {
                return Some(broadly("not known before it runs"));
            }
            (!scratch && !deep).then(|| broadly("a top-level directory"))
        }
        Root::System => None,
    }
}

fn scratch_depth(path: &Path) -> usize {
    match path.parts.first().map(String::as_str) {
        Some("tmp") => 2,
        Some(_) if path.parts.get(1).is_some_and(|p| p == "tmp") => 3,
        Some(_) | None => 4,
    }
}

fn normalise(text: &str, ground: &Ground, open: bool) -> Path {
    let (mut root, mut parts): (Root, Vec<String>) = (Root::Workspace, Vec::new());
    let rest;
    if let Some(after) = text.strip_prefix('~').filter(|after| after.is_empty() || after.starts_with('/')) {
        root = Root::Home;
        rest = after;
    } else if text.starts_with('/') {
        root = Root::System;
        rest = text;
    } else {
        rest = text;
        match &ground.cwd {
            Cwd::Workspace => {}
            Cwd::Unknown => root = Root::Unknown,
            Cwd::Known(cwd) => {
                root = if cwd.starts_with('~') { Root::Home } else { Root::System };
                parts = split(cwd.trim_start_matches('~'));
            }
        }
        if text.is_empty() && open {
            root = Root::Unknown;
        }
    }
    for part in rest.split('/').filter(|p| !p.is_empty() && *p != ".") {
        if part != ".." {
            parts.push(part.to_owned());
        } else if parts.pop().is_none() {
            root = match root {
                Root::System => Root::System,
                Root::Unknown => Root::Unknown,
                Root::Home | Root::Workspace | Root::Outside => Root::Outside,
            };
        }
    }
    let path = Path { root, parts, open, glob: false };
    if path.root == Root::System { settle_root(path, ground) } else { path }
}

/// An absolute path inside the workspace or a home is seen as such.
fn settle_root(path: Path, ground: &Ground) -> Path {
    let below = |base: &str| {
        let base = split(base);
        (!base.is_empty() && path.parts.starts_with(&base)).then(|| path.parts[base.len()..].to_vec())
    };
    if let Some(parts) = ground.workspace.as_deref().and_then(below) {
        return Path { root: Root::Workspace, parts, ..path };
    }
    if let Some(parts) = ground.home.as_deref().and_then(below) {
        return Path { root: Root::Home, parts, ..path };
    }
    let home = match path.parts.first().map(String::as_str) {
        Some("root") => 1,
        Some("home" | "Users") if path.parts.len() >= 2 => 2,
        Some(_) | None => return path,
    };
    Path { root: Root::Home, parts: path.parts[home..].to_vec(), ..path }
}

fn split(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in text.split('/').filter(|p| !p.is_empty() && *p != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part.to_owned());
        }
    }
    parts
}

impl Row {
    fn holds(&self, path: &Path) -> bool {
        self.at.iter().any(|pattern| place_holds(pattern, path))
    }
}

fn place_holds(pattern: &str, path: &Path) -> bool {
    let (needs, rest) = match pattern.as_bytes().first() {
        Some(b'/') => (Some(Root::System), &pattern[1..]),
        Some(b'~') => (Some(Root::Home), pattern[1..].trim_start_matches('/')),
        Some(_) | None => (None, pattern),
    };
    if needs.is_some_and(|root| root != path.root) {
        return false;
    }
    // A wildcard reaches what a row with a fixed root names; elsewhere it would reach everything.
    parts_hold(rest, &path.parts, path.glob && needs.is_some())
}

/// Whether `pattern` (parts joined by `/`) matches all of `parts`.
fn parts_hold(pattern: &str, parts: &[String], glob: bool) -> bool {
    if pattern.is_empty() {
        return parts.is_empty();
    }
    let (head, tail) = pattern.split_once('/').unwrap_or((pattern, ""));
    if head == "**" {
        if tail.is_empty() {
            return true;
        }
        if !tail.contains('/') {
            return parts.last().is_some_and(|part| part_holds(tail.as_bytes(), part.as_bytes(), glob));
        }
        return (0..=parts.len()).any(|skip| parts_hold(tail, &parts[skip..], glob));
    }
    match parts.split_first() {
        Some((part, rest)) if part_holds(head.as_bytes(), part.as_bytes(), glob) => {
            if tail.is_empty() {
                rest.is_empty()
            } else {
                parts_hold(tail, rest, glob)
            }
        }
        Some(_) | None => false,
    }
}

/// `*` in the pattern is any run of bytes. A part with wildcards of its own holds if what stands before its first
/// wildcard agrees with the pattern; a leading wildcard does not reach hidden names.
fn part_holds(pattern: &[u8], part: &[u8], glob: bool) -> bool {
    if glob {
        let fixed = part.iter().position(|b| b"*?[{".contains(b));
        if let Some(fixed) = fixed {
            let star = pattern.iter().position(|b| *b == b'*').unwrap_or(pattern.len());
            let shared = fixed.min(star);
            return part[..shared] == pattern[..shared] && (fixed > 0 || pattern.first() != Some(&b'.'));
        }
    }
    match pattern.split_first() {
        None => part.is_empty(),
        Some((b'*', rest)) => (0..=part.len()).any(|skip| part_holds(rest, &part[skip..], false)),
        Some((c, rest)) => part.first() == Some(c) && part_holds(rest, &part[1..], false),
    }
}

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

/// The places of credentials that have a fixed name: below the home (`~/…`) and in the system. A directory stands for all
/// that is in it.
pub fn secret_places() -> impl Iterator<Item = &'static str> {
    let secret = |row: &&Row| row.read.is_some_and(|meaning| meaning == SECRET);
    let places = ROWS.iter().filter(secret).flat_map(|row| row.at);
    places
        .map(|place| place.strip_suffix("/**").unwrap_or(place))
        .filter(|place| !place.contains('*') && !place.starts_with("/proc/") && !place.starts_with("/dev/"))
}

/// Whether reading this path reads a secret.
pub fn is_secret(path: &str, ground: &Ground) -> bool {
    judge(Touch::Read, &Operand::Known(path.to_owned()), ground)
        .is_some_and(|meaning| meaning.attributes.contains(&Attribute::SecretRead))
}

/// Judge every operand of the effects in `reading` by its place; only ever raises.
pub fn settle(reading: &mut Reading, ground: &Ground, span: Span) {
    // A login here is a way around the fence; a page of a server here is not.
    let login = reading.effects.iter().any(|effect| matches!(effect, Effect::UsesCredential(name) if name == "ssh"));
    let mut here = false;
    let mut found = Vec::new();
    for effect in &reading.effects {
        let (operand, touch) = match effect {
            Effect::ReadPath(operand) => (operand, Touch::Read),
            Effect::WritePath(operand) => (operand, Touch::Write),
            Effect::DeletePath(operand) => (operand, Touch::Delete { recursive: false }),
            Effect::NetOut(Operand::Known(host)) if is_loopback(host_of(host)) => {
                here = true;
                continue;
            }
            Effect::NetOut(_) | Effect::Exec(_) | Effect::NetListen(_) | Effect::UnixSocket(_) => continue,
            Effect::UsesCredential(_) | Effect::Install(_) | Effect::Signal(_) | Effect::ProcInspect => continue,
            Effect::NetInspect | Effect::Device(_) | Effect::Privilege(_) | Effect::EnvInfluence(_) => continue,
            Effect::SecretRead(_) | Effect::ShellState(_) => continue,
        };
        if let Some(meaning) = judge(touch, operand, ground) {
            found.push((operand.clone(), meaning));
        }
    }
    if here {
        reading.attributes.insert(Attribute::Itself);
        if login {
            reading.raise(Code::Loopback, Class::Destructive, span, "logs in to this machine, outside the fence");
        }
    }
    for (operand, meaning) in found {
        apply(reading, &operand, meaning, span);
    }
}

/// Raise `reading` by what is special about `operand`.
pub fn apply(reading: &mut Reading, operand: &Operand, meaning: Meaning, span: Span) {
    reading.attributes.extend(meaning.attributes.iter().copied());
    if meaning.attributes.contains(&Attribute::SecretRead) {
        let effect = Effect::SecretRead(operand.clone());
        if !reading.effects.contains(&effect) {
            reading.effects.push(effect);
        }
    }
    let shown = match operand {
        Operand::Known(text) | Operand::Glob(text) => format!("`{text}`"),
        Operand::Unknown { prefix } => format!("`{prefix}…`"),
        Operand::Any => "the target".to_owned(),
    };
    let text = format!("{shown} is {}", meaning.what);
    if !reading.reasons.iter().any(|r| r.text == text) {
        reading.because(Reason { code: meaning.code, class: meaning.class, text, hint: None, span });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(touch: Touch, text: &str) -> Option<Class> {
        judge(touch, &Operand::Known(text.to_owned()), &Ground::text_only()).map(|meaning| meaning.class)
    }

    #[test]
    fn writing_is_judged_by_where() {
        for text in
            ["a", "src/x.rs", "/tmp/x", "/tmp", "/app", "/data/", "~/notes.txt", "/home/u/p/x", "/app/x", "/dev/shm/x"]
        {
            assert_eq!(class(Touch::Write, text), None, "{text}");
        }
        for text in [
            "/etc/hosts",
            "/etc/../etc/passwd",
            "//usr/bin/ls",
            "/dev/sda",
            "/boot/x",
            "/tmp/../etc/x",
            "/bin",
            "/",
            "/var",
        ] {
            assert_eq!(class(Touch::Write, text), Some(Class::Destructive), "{text}");
        }
        for text in [
            ".git/hooks/pre-commit",
            "a/.git/hooks/x",
            "~/.bashrc",
            "/root/.zshrc",
            "/home/u/.profile",
            ".claude/settings.json",
            "~/.codex/config.toml",
            "~/.ssh/authorized_keys",
            "~/.config/systemd/user/x.service",
            ".git/config",
            ".envrc",
        ] {
            assert_eq!(class(Touch::Write, text), Some(Class::Install), "{text}");
        }
        assert_eq!(class(Touch::Write, "~/.local/state/tollgate/x"), Some(Class::Destructive));
    }

    #[test]
    fn deleting_is_judged_by_how_much() {
        let all = Touch::Delete { recursive: true };
        for text in [
            "/",
            "/*",
            "~",
            "~/",
            "~/Documents",
            ".",
            "..",
            "./",
            "../x",
            "/home",
            "/home/u",
            "/usr",
            "/var",
            ".git",
            "/proc",
        ] {
            assert_eq!(class(all, text), Some(Class::Destructive), "{text}");
        }
        for text in ["build", "./build/", "a/b", "/tmp/x", "/var/tmp/x", "/app/build", "~/p/build", "/home/u/p/target"]
        {
            assert_eq!(class(all, text), None, "{text}");
        }
        let glob = |text: &str| judge(all, &Operand::Glob(text.to_owned()), &Ground::text_only()).is_some();
        assert!(glob("*") && glob("./*") && glob("/home/*") && glob("/*/x") && !glob("build/*"));
        let unknown =
            |prefix: &str| judge(all, &Operand::Unknown { prefix: prefix.to_owned() }, &Ground::text_only()).is_some();
        assert!(unknown("") && unknown("/") && unknown("build/"));
    }

    #[test]
    fn credentials_are_seen_under_any_spelling_of_their_home() {
        for text in [
            "~/.ssh/id_rsa",
            "/root/.ssh/id_ed25519",
            "/home/u/.aws/credentials",
            ".env",
            "app/.env.local",
            "/etc/shadow",
        ] {
            let meaning = judge(Touch::Read, &Operand::Known(text.to_owned()), &Ground::text_only()).expect(text);
            assert!(meaning.attributes.contains(&Attribute::SecretRead), "{text}");
            assert_eq!(meaning.class, Class::Read);
        }
        for text in ["~/.ssh/id_rsa.pub", ".env.example", "src/env.rs", "README.md", "/etc/hosts"] {
            assert_eq!(class(Touch::Read, text), None, "{text}");
        }
    }

    #[test]
    fn the_ground_moves_relative_paths() {
        let ground =
            Ground { cwd: Cwd::Known("/etc".into()), workspace: Some("/w/p".into()), home: Some("/h/u".into()) };
        let at =
            |text: &str| judge(Touch::Write, &Operand::Known(text.to_owned()), &ground).map(|meaning| meaning.class);
        assert_eq!(at("passwd"), Some(Class::Destructive));
        assert_eq!(at("../w/p/x"), None);
        assert_eq!(at("/h/u/.bashrc"), Some(Class::Install));
    }

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
}
