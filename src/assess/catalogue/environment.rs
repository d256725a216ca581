//! What does setting this variable do to the commands that see it? Harmless names are listed; the rest influences.

/// What a variable can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Influence {
    /// Language, time zone, colours, widths, and names that are only placeholders.
    Harmless,
    /// In no table. Nothing while it stays in the shell; handed to a program, it may mean anything to it.
    Unlisted,
    /// Changes which files, hosts or settings a program uses: never read, but no code by itself.
    Settings,
    /// Chooses code that runs (`LD_PRELOAD`, `GIT_PAGER`), or how text is read as code (`IFS`).
    Code,
}

/// Names that only change how things look, or that programs merely test. A trailing `*` stands for any rest.
const HARMLESS: &str = "
    LANG LANGUAGE LC_* TZ NO_COLOR NOCOLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR FORCE_HYPERLINK COLORTERM
    COLORFGBG TERM TERM_PROGRAM COLUMNS LINES TMOUT POSIXLY_CORRECT BLOCK_SIZE BLOCKSIZE DF_BLOCK_SIZE DU_BLOCK_SIZE
    LS_BLOCK_SIZE TIME_STYLE TIMEFORMAT QUOTING_STYLE TABSIZE GREP_COLOR GREP_COLORS LS_COLORS LSCOLORS EZA_COLORS
    EXA_COLORS JQ_COLORS GCC_COLORS TREE_COLORS TREE_CHARSET MANWIDTH SYSTEMD_COLORS SYSTEMD_LESS SYSTEMD_URLIFY
    LESSCHARSET BAT_STYLE BAT_THEME BAT_TABS HISTTIMEFORMAT PS_FORMAT PS_PERSONALITY PROCPS_USERLEN OLDPWD

    CI CONTINUOUS_INTEGRATION BUILD_NUMBER BUILD_ID DO_NOT_TRACK DEBUG VERBOSE QUIET SILENT NOISY TRACE LOG_LEVEL
    LOGLEVEL LOG_FORMAT RETRIES TIMEOUT DRY_RUN DRYRUN FORCE YES NONINTERACTIVE INTERACTIVE PORT SEED RANDOM_SEED
    SOURCE_DATE_EPOCH JOBS NPROC THREADS WORKERS STAGE ENVIRONMENT VERSION TAG RELEASE BRANCH REVISION COMMIT

    RUST_LOG RUST_BACKTRACE RUST_LIB_BACKTRACE RUST_LOG_STYLE RUST_TEST_THREADS RUST_MIN_STACK CARGO_TERM_*
    CARGO_INCREMENTAL CARGO_NET_OFFLINE PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONUTF8
    PYTHONHASHSEED PYTHONFAULTHANDLER PYTHONOPTIMIZE PYTHONVERBOSE PYTHONDEBUG PYTHONASYNCIODEBUG PYTHONNOUSERSITE
    PYTHONSAFEPATH PYTHONTRACEMALLOC PYTHONPROFILEIMPORTTIME PYTHONINTMAXSTRDIGITS NODE_ENV NODE_DEBUG
    NODE_NO_WARNINGS NODE_DISABLE_COLORS NODE_PENDING_DEPRECATION BABEL_ENV
    APP_ENV FLASK_ENV FLASK_DEBUG RACK_ENV MIX_ENV RAILS_ENV GOMAXPROCS GOGC GOMEMLIMIT GOTRACEBACK GO111MODULE GOARCH
    GOOS GOARM GOAMD64 GODEBUG DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_NOLOGO DOTNET_CLI_UI_LANGUAGE BUNDLE_FROZEN
    HF_HUB_OFFLINE HF_DATASETS_OFFLINE TRANSFORMERS_OFFLINE TRANSFORMERS_VERBOSITY HF_HUB_DISABLE_PROGRESS_BARS
    TOKENIZERS_PARALLELISM CUDA_VISIBLE_DEVICES CUDA_LAUNCH_BLOCKING CUDA_DEVICE_ORDER TF_CPP_MIN_LOG_LEVEL
    TF_FORCE_GPU_ALLOW_GROWTH TF_ENABLE_ONEDNN_OPTS MALLOC_ARENA_MAX OMP_NUM_THREADS OMP_PROC_BIND MKL_NUM_THREADS
    OPENBLAS_NUM_THREADS NUMEXPR_NUM_THREADS VECLIB_MAXIMUM_THREADS PYTEST_DISABLE_PLUGIN_AUTOLOAD

    GIT_PAGER_IN_USE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
    GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS
    GIT_ICASE_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_MERGE_AUTOEDIT GIT_CONFIG_NOSYSTEM GIT_ADVICE DEBIAN_FRONTEND
    DEBIAN_PRIORITY DEBCONF_NONINTERACTIVE_SEEN NEEDRESTART_MODE NEEDRESTART_SUSPEND APT_LISTCHANGES_FRONTEND
    PIP_NO_INPUT PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_COLOR PIP_PROGRESS_BAR PIP_QUIET UV_NO_PROGRESS UV_OFFLINE
    POETRY_NO_INTERACTION HOMEBREW_NO_AUTO_UPDATE HOMEBREW_NO_ANALYTICS HOMEBREW_NO_EMOJI HOMEBREW_NO_COLOR
    HOMEBREW_NO_ENV_HINTS HOMEBREW_NO_INSTALL_CLEANUP HUSKY NEXT_TELEMETRY_DISABLED ASTRO_TELEMETRY_DISABLED
    GATSBY_TELEMETRY_DISABLED STORYBOOK_DISABLE_TELEMETRY CHECKPOINT_DISABLE TF_IN_AUTOMATION TF_INPUT
    GH_NO_UPDATE_NOTIFIER GH_PROMPT_DISABLED GH_FORCE_TTY GLAB_CHECK_UPDATE AWS_RETRY_MODE AWS_MAX_ATTEMPTS
    CLOUDSDK_CORE_DISABLE_PROMPTS DOCKER_CLI_HINTS BUILDKIT_PROGRESS COMPOSE_PROGRESS COMPOSE_ANSI ANSIBLE_NOCOLOR
    ANSIBLE_FORCE_COLOR ANSIBLE_NOCOWS PGCONNECT_TIMEOUT PGTZ PGDATESTYLE PGCLIENTENCODING

    FOO FOO_* BAR BAR_* BAZ QUX QUUX VAR VAR1 VAR2 NAME VALUE VAL KEY TEST TESTING MSG MESSAGE TEXT STR STRING NUM
    NUMBER COUNT ABC XYZ HELLO GREETING EXAMPLE MY_VAR MYVAR MY_NAME MY_VALUE SOME_VAR
";

/// Endings that programs give to variables which only change how much they say, how long they wait or how it looks.
const HARMLESS_ENDINGS: &[&str] = &[
    "_ANALYTICS_DISABLED",
    "_COLOR",
    "_COLORS",
    "_DISABLE_TELEMETRY",
    "_LANG",
    "_LOCALE",
    "_LOGLEVEL",
    "_LOG_LEVEL",
    "_MAX_ATTEMPTS",
    "_NO_ANALYTICS",
    "_NO_COLOR",
    "_NO_PROGRESS",
    "_NO_TELEMETRY",
    "_NUM_THREADS",
    "_OFFLINE",
    "_QUIET",
    "_RETRIES",
    "_SEED",
    "_TELEMETRY",
    "_TELEMETRY_DISABLED",
    "_TELEMETRY_OPTOUT",
    "_TIMEOUT",
    "_TIMEZONE",
    "_VERBOSE",
    "_VERBOSITY",
    "_WIDTH",
];

/// Names that choose code.
const CODE: &str = "
    LD_* DYLD_* BASH_ENV ENV BASH_FUNC_* SHELLOPTS BASHOPTS BASH_ALIASES BASH_CMDS PS0 PS1 PS2 PS4 PROMPT_COMMAND
    IFS PATH CDPATH SHELL PAGER EDITOR VISUAL BROWSER GLOBIGNORE FPATH ZDOTDIR INPUTRC BASH_LOADABLES_PATH HOME
    GIT_* SSH_ASKPASS SUDO_ASKPASS SVN_EDITOR HGEDITOR LESS LESSOPEN LESSCLOSE LESSKEY* LESS_* MANPAGER MANOPT
    MANROFFOPT SYSTEMD_PAGER SYSTEMD_EDITOR BAT_PAGER DELTA_PAGER GH_PAGER GH_EDITOR GH_BROWSER AWS_PAGER
    KUBE_EDITOR PSQL_* RIPGREP_CONFIG_PATH FZF_* GREP_OPTIONS TAR_OPTIONS RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH GZIP
    XZ_OPT XZ_DEFAULTS ZSTD_* UNZIP ZIPOPT NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NPM_CONFIG_* npm_config_*
    YARN_* PNPM_* BUN_* DENO_* PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT PYTHONEXECUTABLE
    PYTHONUSERBASE PYTHONWARNINGS PYTHONPLATLIBDIR PYTEST_* PIP_* UV_* POETRY_* CONDA_* VIRTUAL_ENV PERL5LIB
    PERL5OPT PERL5DB PERLLIB PERL_* RUBYOPT RUBYLIB GEM_* BUNDLE_* RAILS_* LUA_* PHP_* PHPRC R_* JULIA_* GUILE_*
    TCLLIBPATH CLASSPATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_HOME MAVEN_* GRADLE_* ANT_* SBT_*
    GOFLAGS GOPROXY GOPATH GOROOT GOTOOLCHAIN GOENV GOBIN GOPRIVATE GONOSUMDB GOSUMDB CGO_* CC CXX CPP LD AR AS
    CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBS MAKE MAKEFLAGS MAKEFILES MFLAGS GNUMAKEFLAGS NINJA_* CMAKE_* MESON_*
    PKG_CONFIG* RUSTC* RUSTDOC* RUSTFLAGS RUSTUP_* CARGO* DOTNET_* NUGET_* MSBUILD* COREHOST_* DOCKER_* BUILDKIT_*
    COMPOSE_* CONTAINER_HOST KUBECONFIG KUBE_* HELM_* TF_* VAULT_* ANSIBLE_* PROXYCHAINS_* TERMINFO TERMINFO_DIRS
    TERMCAP NLSPATH LOCPATH GCONV_PATH MALLOC_CHECK_ GLIBC_TUNABLES HOSTALIASES RES_OPTIONS LOCALDOMAIN
    RESOLV_HOST_CONF XDG_* OPENSSL_* SSLKEYLOGFILE MAGIC FILE_MAGIC AWKPATH AWKLIBPATH AWKREADFILE TOLLGATE_* EXINIT
    VIMINIT MYVIMRC VIM VIMRUNTIME EMACS* DIFF_* MERGE_* DBUS_* ELECTRON_* QT_PLUGIN_PATH GTK_MODULES GIO_MODULE_DIR
    GDK_PIXBUF_MODULE_FILE SQLITE_* WGETRC CURL_HOME NETRC SYSTEMRC LYNX_* SCREENRC TMUX* HISTFILE HISTCONTROL HISTSIZE HISTFILESIZE HISTIGNORE MAILPATH MAIL
    POSH_* DIRENV_* ASDF_* NVM_* PYENV_* RBENV_* MISE_* HG* JJ_* SVN_* rvm_* FC_* EXECIGNORE BASH_XTRACEFD
";

/// Names that move data, hosts or credentials without running code.
const SETTINGS: &str = "
    http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY ftp_proxy no_proxy NO_PROXY SSL_CERT_FILE
    SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE AWS_* AZURE_* GOOGLE_* CLOUDSDK_* PGHOST PGPORT PGUSER PGDATABASE
    PGPASSWORD PGSERVICE* PGOPTIONS PG* MYSQL_* REDIS_* DATABASE_URL TMPDIR TMP TEMP TEMPDIR SSH_AUTH_SOCK DISPLAY
    GH_* GITHUB_* GITLAB_* OPENAI_* ANTHROPIC_* LOGNAME USER USERNAME HOSTNAME PWD GNUPGHOME TZDIR rsync_proxy
    RSYNC_PROXY
";

/// What setting `name` does to the commands that see it.
pub fn influence(name: &str) -> Influence {
    let listed = |table: &str| table.split_ascii_whitespace().any(|row| holds(row, name));
    // Exact harmless names stand inside families that are not (`GIT_TERMINAL_PROMPT`, `CARGO_TERM_COLOR`).
    if listed(HARMLESS) {
        Influence::Harmless
    } else if listed(CODE) {
        Influence::Code
    } else if listed(SETTINGS) {
        Influence::Settings
    } else if BY_ENDING.iter().any(|ending| name.ends_with(ending)) {
        Influence::Code
    } else if is_placeholder(name) || HARMLESS_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        Influence::Harmless
    } else {
        Influence::Unlisted
    }
}

/// Names as people give to values of their own: programs read names in capitals (those that are not stand in a table),
/// and none of one or two letters (those that do stand there too).
fn is_placeholder(name: &str) -> bool {
    let own = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.len() <= 2 || name.chars().all(own)
}

/// Endings that programs give to variables holding a command or its options.
const BY_ENDING: &[&str] =
    &["_PAGER", "_EDITOR", "_OPTS", "_OPTIONS", "_PRELOAD", "_STARTUP", "_ASKPASS", "_COMMAND", "_CMD", "_SHELL"];

/// What setting `name` to exactly `value` does: a pager that only prints and an editor that does nothing are harmless.
pub fn influence_of(name: &str, value: &str) -> Influence {
    let prints = matches!(value, "" | "cat" | "/bin/cat" | "/usr/bin/cat");
    let nothing = matches!(value, ":" | "true" | "/bin/true");
    let pager = name == "PAGER" || name.ends_with("PAGER");
    let editor = matches!(name, "EDITOR" | "VISUAL") || name.ends_with("EDITOR");
    if (pager && prints) || (editor && nothing) { Influence::Harmless } else { influence(name) }
}

fn holds(row: &str, name: &str) -> bool {
    match row.strip_suffix('*') {
        Some(stem) => name.starts_with(stem),
        None => row == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_code_is_code_and_what_only_looks_is_not() {
        for name in ["LD_PRELOAD", "PATH", "GIT_PAGER", "GIT_CONFIG_COUNT", "LESSOPEN", "NODE_OPTIONS", "IFS", "PS4"] {
            assert_eq!(influence(name), Influence::Code, "{name}");
        }
        for name in [
            "PYTHONSTARTUP",
            "RIPGREP_CONFIG_PATH",
            "PROMPT_COMMAND",
            "BASH_ENV",
            "CARGO_HOME",
            "npm_config_script_shell",
        ] {
            assert_eq!(influence(name), Influence::Code, "{name}");
        }
        for name in [
            "LANG",
            "LC_ALL",
            "TZ",
            "NO_COLOR",
            "TERM",
            "COLUMNS",
            "CI",
            "FOO",
            "CARGO_TERM_COLOR",
            "GIT_AUTHOR_DATE",
            "MYAPP_LOG_LEVEL",
            "x",
            "count",
            "my_name",
            "X1",
        ] {
            assert_eq!(influence(name), Influence::Harmless, "{name}");
        }
        // What a program makes of these only the program knows.
        for name in ["AUTOM4TE", "GROFF_BIN_PATH", "CRASHPAGER", "FACTERLIB", "MYAPP_HOME", "Path", "ABCD"] {
            assert_eq!(influence(name), Influence::Unlisted, "{name}");
        }
        assert_eq!(influence("HTTPS_PROXY"), Influence::Settings);
    }

    #[test]
    fn no_name_stands_twice() {
        let mut all: Vec<&str> = [HARMLESS, CODE, SETTINGS].iter().flat_map(|t| t.split_ascii_whitespace()).collect();
        all.sort_unstable();
        let before = all.len();
        all.dedup();
        assert_eq!(all.len(), before);
    }
}
