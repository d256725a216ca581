//! What does setting this variable do to the commands that see it? Harmless names are listed; the rest influences.

/// What a variable can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Influence {
    /// Language, time zone, colours, widths, and names that no program is known to read.
    Harmless,
    /// Changes which files, hosts or settings a program uses: never read, but no code by itself.
    Settings,
    /// Chooses code that runs (`LD_PRELOAD`, `GIT_PAGER`), or how text is read as code (`IFS`).
    Code,
}

/// Names that only change how things look, or that programs merely test. A trailing `*` stands for any rest.
const HARMLESS: &str = "
    LANG LANGUAGE LC_* TZ NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR COLORTERM TERM COLUMNS LINES CI FOO BAR BAZ
    DEBUG VERBOSE QUIET LOG_LEVEL RUST_LOG RUST_BACKTRACE RUST_LIB_BACKTRACE CARGO_TERM_* CARGO_INCREMENTAL
    PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONUTF8 PYTHONHASHSEED NODE_ENV GIT_PAGER_IN_USE
    GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS DEBIAN_FRONTEND TMOUT GREP_COLORS
    LS_COLORS BLOCK_SIZE BLOCKSIZE DF_BLOCK_SIZE DU_BLOCK_SIZE TIME_STYLE TIMEFORMAT QUOTING_STYLE POSIXLY_CORRECT
    MANWIDTH SYSTEMD_COLORS SYSTEMD_LESS LESSCHARSET GCC_COLORS MALLOC_ARENA_MAX OMP_NUM_THREADS MKL_NUM_THREADS
    OPENBLAS_NUM_THREADS TOKENIZERS_PARALLELISM CUDA_VISIBLE_DEVICES HF_HUB_OFFLINE TRANSFORMERS_OFFLINE
    PIP_NO_INPUT PIP_DISABLE_PIP_VERSION_CHECK HOMEBREW_NO_AUTO_UPDATE HOMEBREW_NO_ANALYTICS NEXT_TELEMETRY_DISABLED
    DO_NOT_TRACK TF_IN_AUTOMATION TF_INPUT TF_CPP_MIN_LOG_LEVEL GOFLAGS_UNUSED SOURCE_DATE_EPOCH RETRIES OLDPWD
";

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
    POSH_* DIRENV_* ASDF_* NVM_* PYENV_* RBENV_* MISE_* HG* JJ_* SVN_* FC_* EXECIGNORE BASH_XTRACEFD
";

/// Names that move data, hosts or credentials without running code.
const SETTINGS: &str = "
    http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY ftp_proxy no_proxy NO_PROXY SSL_CERT_FILE
    SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE AWS_* AZURE_* GOOGLE_* CLOUDSDK_* PGHOST PGPORT PGUSER PGDATABASE
    PGPASSWORD PGSERVICE* PGOPTIONS PG* MYSQL_* REDIS_* DATABASE_URL TMPDIR TMP TEMP TEMPDIR SSH_AUTH_SOCK DISPLAY
    GH_* GITHUB_* GITLAB_* OPENAI_* ANTHROPIC_* LOGNAME USER USERNAME HOSTNAME PWD GNUPGHOME
";

/// What setting `name` does to the commands that see it.
///
/// A name in no table is harmless: a program reads only the names it knows, and those that matter are listed.
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
    } else {
        Influence::Harmless
    }
}

/// Endings that programs give to variables holding a command or its options.
const BY_ENDING: &[&str] = &["_PAGER", "_EDITOR", "_OPTS", "_OPTIONS", "_PRELOAD", "_STARTUP", "_ASKPASS"];

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
        for name in
            ["LANG", "LC_ALL", "TZ", "NO_COLOR", "TERM", "COLUMNS", "CI", "FOO", "CARGO_TERM_COLOR", "x", "count"]
        {
            assert_eq!(influence(name), Influence::Harmless, "{name}");
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
