//! Reason codes: one row per thing a person can be told about a segment. The generated page comes from this table.

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $what:literal;)*) => {
        /// The lint-like name of a reason.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum Code { $($(#[$doc])* #[serde(rename = $name)] $variant,)* }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];
            /// The name people and policies see.
            pub const fn name(self) -> &'static str { match self { $(Code::$variant => $name,)* } }
            /// What it means, one line.
            pub const fn what(self) -> &'static str { match self { $(Code::$variant => $what,)* } }
        }
    };
}

reasons! {
    Unanalysed = "unanalysed", "the text was not understood to its end";
    KnownRead = "known-read", "a known program that only observes with these arguments";
    UnknownProgram = "unknown-program", "no entry in the catalogue: it could do anything";
    UnknownFlag = "unknown-flag", "the program is known, this option is not";
    UnknownSubcommand = "unknown-subcommand", "the program is known, this subcommand is not";
    UnknownWord = "unknown-word", "a word that is not known before it runs chooses an option, a target or code";
    SurplusOperand = "surplus-operand", "an operand more than the program is known to take";
    WritesPath = "writes-path", "writes a file";
    DeletesPath = "deletes-path", "deletes a path";
    SystemPath = "system-path", "changes a device, `/etc` or another part of the system";
    BroadDelete = "broad-delete", "deletes more than named files inside the workspace";
    Persistence = "persistence", "writes what runs later by itself";
    SecretPath = "secret-path", "reads a credential";
    GatePath = "gate-path", "touches Tollgate's own program, state or approvals";
    RunsCode = "runs-code", "runs code that is not analysed any further";
    ChangesState = "changes-state", "changes files, processes or state that outlives the command";
    ReachesNetwork = "reaches-network", "reaches the network";
    Loopback = "loopback", "reaches this machine through the network";
    Installs = "installs", "installs packages, or code that later runs by itself";
    Destroys = "destroys", "catastrophic or irreversible";
    Privilege = "privilege", "runs with more rights";
    FedCode = "fed-code", "runs what arrives on its standard input";
    OpaqueCode = "opaque-code", "code that is not known before it runs";
    NotUnderstood = "not-understood", "an expression or argument was not understood to its end";
    RunsCommand = "runs-command", "a command hidden in an argument runs";
    Listens = "listens", "other machines can connect";
    Uploads = "uploads", "data leaves this machine";
    Signals = "signals", "processes are signalled";
    SecretVariable = "secret-variable", "prints variables that may hold credentials";
    ShellBuiltin = "shell-builtin", "the shell itself does it; nothing outlives this command";
    Function = "function", "calls a function that the text defines";
    Redirect = "redirect", "a redirect of the shell";
    UnknownProgramName = "unknown-program-name", "which program runs is not known before it runs";
    OutsidePath = "outside-path", "a program that is not one of the system";
    AnotherProgram = "another-program", "a file of this name that somebody else than root could have put there";
    Shadowed = "shadowed", "a name that was made to mean something else";
    Influence = "influence", "a variable that influences what programs run";
    ShellOption = "shell-option", "an option that changes how text is read";
    HiddenCode = "hidden-code", "text that the shell evaluates again could run commands";
    SourcedFile = "sourced-file", "a file whose commands are not analysed here runs";
    ForkBomb = "fork-bomb", "starts itself again and again";
    Exfiltration = "exfiltration", "a secret or workspace data flows to another machine";
    AsAsked = "as-asked", "the class that the command itself asks for";
    Background = "background", "goes on by itself after the command that starts it, for a limited time";
}
