//! Which words of a command are secrets because of the program that gets them? Flags named like secrets, the short
//! flags of programs that take passwords, assignments, what is piped to a program that reads a password.

use super::names::{self, Name, Written, judge};
use super::words::{Command, DEPTH_MAX, Word, commands};
use super::{Kind, Spans};
use std::collections::HashMap;
use std::sync::LazyLock;

/// How a flag carries its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `-pVALUE` only: alone it asks.
    Glued,
    /// `-p VALUE` or `-pVALUE`.
    Either,
    /// `user:VALUE`, glued or next.
    UserColon,
    /// `user%VALUE`, glued or next.
    UserPercent,
    /// `user,VALUE` next.
    UserComma,
    /// `pass:VALUE` next.
    PassColon,
    /// The word itself begins so: `/p:VALUE`.
    Prefix,
    /// The word is a name, the next one the value.
    Then,
    /// As `Then`, and the word after it as well.
    ThenTwo,
    /// A word that is named like a secret is followed by its value.
    Named,
    /// A word that begins so is a name; the last operand is the value.
    Keyed,
    /// `user/VALUE` or `user/VALUE@place`, an operand.
    UserSlash,
    /// The last operand, when the flag is given.
    Last,
}

/// One way of giving a secret to programs (`a|b`), where needed after a subcommand.
struct Flag {
    programs: &'static str,
    after: &'static str,
    flag: &'static str,
    form: Form,
    #[cfg(test)]
    hidden: &'static str,
    #[cfg(test)]
    stays: &'static str,
}

macro_rules! flags {
    ($($programs:literal, $after:literal, $flag:literal, $form:ident, $hidden:literal, $stays:literal;)*) => {
        const FLAGS: &[Flag] = &[$(Flag {
            programs: $programs, after: $after, flag: $flag, form: Form::$form,
            #[cfg(test)]
            hidden: $hidden,
            #[cfg(test)]
            stays: $stays,
        },)*];
    };
}

// The word HUSH stands for the secret in `hidden`.
flags! {
    "mysql|mysqldump|mysqladmin|mysqlimport|mysqlcheck|mysqlshow|mysqlsh|mycli|mariadb|mariadb-dump|mariadb-admin", "", "-p", Glued, "mysql -u root -pHUSH shop", "mysql -u root -p shop";
    "sshpass", "", "-p", Either, "sshpass -p HUSH ssh -p 2222 web", "ssh -p 2222 web";
    "docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|az|oc|cf|ibmcloud|regctl", "login", "-p", Either, "docker login -u me -p HUSH reg", "docker run -p 80:80 img";
    "oc|az|cf|glab|fly|flyctl|vercel|doctl|netlify|railway|influx|cloudsmith|argocd", "", "-t", Either, "vercel deploy -t HUSH9a8b7c6d5e4f", "vercel deploy -t";
    "curl", "", "-u", UserColon, "curl -sSu me:HUSH https://h/", "curl -u me https://h/";
    "curl", "", "--user", UserColon, "curl --user me:HUSH https://h/", "curl --user me https://h/";
    "curl", "", "-U", UserColon, "curl -U me:HUSH https://h/", "curl -U me https://h/";
    "curl", "", "--proxy-user", UserColon, "curl --proxy-user me:HUSH https://h/", "curl --proxy-user me https://h/";
    "curl", "", "--cert", UserColon, "curl --cert c.pem:HUSH https://h/", "curl --cert c.pem https://h/";
    "http|https|xh|xhs", "", "-a", UserColon, "http -a me:HUSH GET h", "http -b GET h";
    "http|https|xh|xhs", "", "--auth", UserColon, "http --auth me:HUSH GET h", "http --auth-type basic GET h";
    "java|jenkins-cli", "", "-auth", UserColon, "java -jar cli.jar -auth me:HUSH build", "java -jar cli.jar build";
    "redis-cli|valkey-cli|keydb-cli", "", "-a", Either, "redis-cli -h c -a HUSH ping", "redis-cli -h c ping";
    "mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport|mongostat|mongotop", "", "-p", Either, "mongosh -u me -p HUSH db", "mongosh --port 27017 db";
    "cypher-shell|altool|xcrun|evil-winrm-py", "", "-p", Either, "cypher-shell -u me -p HUSH x", "cypher-shell -u me x";
    "poetry", "publish", "-p", Either, "poetry publish -u me -p HUSH", "poetry run -p x";
    "conan", "", "-p", Either, "conan user -p HUSH -r r me", "conan search x";
    "dotnet|nuget", "nuget", "-p", Either, "dotnet nuget add source https://h -u me -p HUSH", "dotnet build -p x";
    "dotnet", "push", "-k", Either, "dotnet nuget push a.nupkg -k HUSH -s h", "dotnet test -k x";
    "nuget", "", "setapikey", Then, "nuget setapikey HUSH -source h", "nuget list";
    "nuget", "", "setApiKey", Then, "nuget setApiKey HUSH -source h", "nuget list";
    "poetry", "config", "pypi-token.", Keyed, "poetry config pypi-token.pypi HUSH", "poetry config cache-dir d";
    "poetry|composer", "config", "http-basic.", Keyed, "composer config http-basic.repo.h me HUSH", "composer config vendor-dir d";
    "composer", "config", "github-oauth.", Keyed, "composer config github-oauth.github.com HUSH", "composer config bin-dir d";
    "composer", "config", "gitlab-token.", Keyed, "composer config gitlab-token.h HUSH", "composer config bin-dir d";
    "bundle", "config", "", UserColon, "bundle config gems.internal me:HUSH", "bundle config path vendor";
    "etcdctl", "", "--user", UserColon, "etcdctl --user root:HUSH get x", "etcdctl --user root get x";
    "aws", "put-parameter", "--value", Either, "aws ssm put-parameter --name n --value HUSH --type SecureString", "aws ssm get-parameter --name n";
    "az", "keyvault", "--value", Either, "az keyvault secret set --vault-name v --name n --value HUSH", "az keyvault secret list --vault-name v";
    "ansible-vault", "", "encrypt_string", Then, "ansible-vault encrypt_string HUSH --name x", "ansible-vault view x.yml";
    "cargo", "", "login", Then, "cargo login HUSHa8b7c6d5", "cargo login --registry r";
    "neo4j-admin", "", "set-initial-password", Then, "neo4j-admin dbms set-initial-password HUSH", "neo4j-admin server status";
    "redis-cli|valkey-cli|keydb-cli", "", "AUTH", Then, "redis-cli AUTH HUSH", "redis-cli ping";
    "redis-cli|valkey-cli|keydb-cli", "", "auth", Then, "redis-cli auth HUSH", "redis-cli ping";
    "redis-cli|valkey-cli|keydb-cli", "", ">", Prefix, "redis-cli ACL SETUSER me on '>HUSH' allkeys", "redis-cli ACL SETUSER me on '~key*'";
    "sqlplus|sqlcl|expdp|impdp|exp|imp|sqlldr|rman", "", "", UserSlash, "sqlplus -s me/HUSH@//db:1521/x", "sqlplus / as sysdba";
    "nmcli|rclone|mysqladmin|mariadb-admin|pdftk|iwctl|wpa_cli|setenv|set|keyring", "", "", Named, "nmcli con modify x wifi-sec.psk HUSH", "nmcli con show x";
    "mc", "alias", "set", Last, "mc alias set m https://h AKEY1234 HUSH", "mc alias set m https://h";
    "qpdf", "", "--encrypt", ThenTwo, "qpdf --encrypt HUSH HUSH 256 -- a b", "qpdf --decrypt a b";
    "security", "unlock-keychain", "-p", Either, "security unlock-keychain -p HUSH login.keychain", "security find-certificate -p";
    "security", "create-keychain", "-p", Either, "security create-keychain -p HUSH k", "security find-certificate -p";
    "signtool", "", "/p", Then, "signtool sign /f a.pfx /p HUSH a.exe", "signtool verify /pa a.exe";
    "openssl", "passwd", "passwd", Last, "openssl passwd -6 HUSH", "openssl passwd -6 -stdin";
    "openssl", "", "-hmac", Either, "openssl dgst -sha256 -hmac HUSH f", "openssl dgst -sha256 f";
    "curl", "", "-E", UserColon, "curl -E c.pem:HUSH https://h/", "curl -E c.pem https://h/";
    "open", "", "-u", UserComma, "lftp -e 'open -u me,HUSH h; ls'", "open -u https://h/";
    "cqlsh|rabbitmqadmin|twine|impala-shell|rdesktop|ncftp|ncftpput|influx|smbmap|crackmapexec|nxc|evil-winrm|hydra|vsql|hdbsql|nessuscli", "", "-p", Either, "twine upload -u me -p HUSH dist/x", "twine upload dist/x";
    "useradd|usermod", "", "-p", Either, "usermod -p HUSH me", "usermod -aG wheel me";
    "7z|7za|7zr|7zz|rar|unrar", "", "-p", Glued, "7z x -pHUSH a.7z", "7z x a.7z";
    "rar|7z|7za", "", "-hp", Glued, "rar a -hpHUSH a.rar d", "rar a a.rar d";
    "zip|unzip|zipcloak", "", "-P", Either, "zip -r -P HUSH o.zip d", "zip -r o.zip d";
    "sqlcmd|bcp|isql|osql|mssql-cli|ipmitool|mosquitto_pub|mosquitto_sub|mosquitto_rr", "", "-P", Either, "sqlcmd -S db -U sa -P HUSH -Q x", "sqlcmd -S db -E -Q x";
    "openssl", "enc", "-k", Either, "openssl enc -aes-256-cbc -k HUSH -in x", "openssl enc -aes-256-cbc -in x";
    "openssl", "", "-K", Either, "openssl enc -aes-256-cbc -K HUSH -in x", "openssl enc -aes-256-cbc -in x";
    "openssl", "", "-passin", PassColon, "openssl rsa -passin pass:HUSH -in k", "openssl rsa -passin env:PW -in k";
    "openssl", "", "-passout", PassColon, "openssl rsa -passout pass:HUSH -in k", "openssl rsa -passout file:pw -in k";
    "openssl", "", "-pass", PassColon, "openssl enc -pass pass:HUSH -in k", "openssl enc -pass stdin -in k";
    "openssl", "", "-password", PassColon, "openssl pkcs12 -password pass:HUSH -in k", "openssl pkcs12 -password env:PW -in k";
    "ldapsearch|ldapmodify|ldapadd|ldapdelete|ldappasswd|ldapwhoami|ldapcompare|ldapmodrdn", "", "-w", Either, "ldapsearch -x -D cn=a -w HUSH -b dc=x", "ldapsearch -x -W -b dc=x";
    "ldappasswd", "", "-s", Either, "ldappasswd -s HUSH cn=a", "ldappasswd -S cn=a";
    "security", "", "-w", Either, "security add-generic-password -a me -w HUSH", "security list-keychains";
    "ssh-keygen", "", "-N", Either, "ssh-keygen -t rsa -f k -N HUSH", "ssh-keygen -t rsa -f k -N ''";
    "ssh-keygen", "", "-P", Either, "ssh-keygen -p -f k -P HUSH", "ssh-keygen -y -f k";
    "pscp|psftp|plink|putty", "", "-pw", Either, "plink -pw HUSH me@h", "plink -P 22 me@h";
    "smbclient|rpcclient|smbget|smbcacls|net|winexe|wmic|smbspool", "", "-U", UserPercent, "smbclient //n/s -U me%HUSH -c ls", "smbclient //n/s -U me -c ls";
    "smbclient|rpcclient|smbget|net|winexe", "", "--user", UserPercent, "smbclient //n/s --user me%HUSH", "smbclient //n/s --user me";
    "lftp", "", "-u", UserComma, "lftp -u me,HUSH h", "lftp -u me h";
    "snmpwalk|snmpget|snmpset|snmpbulkwalk|snmpgetnext|snmptrap", "", "-c", Either, "snmpwalk -v2c -c HUSH h", "snmpwalk -v2c h";
    "snmpwalk|snmpget|snmpset|snmpbulkwalk|snmpgetnext|snmptrap", "", "-A", Either, "snmpwalk -v3 -A HUSH h", "snmpwalk -v3 -a SHA h";
    "snmpwalk|snmpget|snmpset|snmpbulkwalk|snmpgetnext|snmptrap", "", "-X", Either, "snmpwalk -v3 -X HUSH h", "snmpwalk -v3 -x AES h";
    "xfreerdp|xfreerdp3|wlfreerdp", "", "/p:", Prefix, "xfreerdp /u:me /p:HUSH /v:h", "xfreerdp /u:me /port:3389 /v:h";
    "swaks", "", "-ap", Either, "swaks -a -au me -ap HUSH", "swaks -a -au me";
    "sendemail|sendEmail", "", "-xp", Either, "sendEmail -xu me -xp HUSH", "sendEmail -xu me";
    "htpasswd", "", "-b", Last, "htpasswd -bc f me HUSH", "htpasswd -c f me";
    "nmcli", "", "password", Then, "nmcli dev wifi connect net password HUSH", "nmcli dev wifi list";
    "ngrok", "", "authtoken", Then, "ngrok authtoken HUSH", "ngrok http 80";
    "ngrok", "", "add-authtoken", Then, "ngrok config add-authtoken HUSH", "ngrok config check";
    "rabbitmqctl", "add_user", "add_user", Last, "rabbitmqctl add_user me HUSH", "rabbitmqctl list_users";
    "rabbitmqctl", "change_password", "change_password", Last, "rabbitmqctl change_password me HUSH", "rabbitmqctl list_users";
    "wpa_passphrase", "", "", Last, "wpa_passphrase net HUSH", "wpa_cli status";
    "vault", "login", "login", Last, "vault login HUSHa8b7c6d5", "vault login -method=oidc";
    "pulumi|dotnet", "", "--secret", Last, "pulumi config set --secret name HUSH", "pulumi config get name";
    "dotnet", "user-secrets", "set", Last, "dotnet user-secrets set Name HUSH", "dotnet user-secrets list";
    "gh", "secret", "--body", Either, "gh secret set NAME --body HUSH", "gh issue create --body text";
    "gh", "secret", "-b", Either, "gh secret set NAME -b HUSH", "gh issue create -b text";
}

/// Programs that start another one named in their operands.
const WRAPPERS: &[&str] = &[
    "sudo",
    "doas",
    "env",
    "time",
    "nohup",
    "nice",
    "ionice",
    "timeout",
    "xargs",
    "exec",
    "command",
    "builtin",
    "stdbuf",
    "setsid",
    "find",
    "fd",
    "watch",
    "strace",
    "ltrace",
    "chroot",
    "docker",
    "podman",
    "kubectl",
    "nerdctl",
    "ssh",
    "sshpass",
    "su",
    "runuser",
    "parallel",
    "flock",
    "systemd-run",
    "unshare",
    "nsenter",
    "bwrap",
    "firejail",
    "script",
    "proxychains",
    "torsocks",
    "if",
    "then",
    "else",
    "do",
    "while",
    "until",
    "!",
    "{",
    "lxc",
    "incus",
    "tmux",
    "eval",
];

/// Programs whose operand is a command line.
const SHELLS: &[&str] =
    &["bash", "sh", "zsh", "dash", "ksh", "ash", "fish", "mksh", "busybox", "su", "runuser", "script"];
const TAKE_TEXT: &[&str] =
    &["eval", "lftp", "ssh", "watch", "parallel", "tmux", "screen", "autossh", "trap", "sshpass"];
const INTERPRETERS: &[&str] = &[
    "bash", "sh", "zsh", "dash", "ksh", "ash", "fish", "python", "python3", "perl", "ruby", "node", "php", "source",
    ".", "eval", "xargs", "psql", "mysql",
];
/// Programs whose operands `user@host` are places.
const PLACES: &[&str] = &[
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "mosh",
    "ssh-copy-id",
    "sshfs",
    "autossh",
    "ssh-keyscan",
    "plink",
    "pscp",
    "psftp",
];

/// Words in front of a secret word that make a long flag a switch.
const SWITCHES: &[&str] = &[
    "no", "ask", "prompt", "show", "with", "print", "use", "get", "list", "skip", "without", "disable", "enable",
    "allow", "generate", "random", "require", "reset", "change", "read", "hide", "force", "save", "store", "stdin",
    "input",
];

/// What a command's text holds beside the line-by-line findings.
#[derive(Debug, Default)]
pub struct Found {
    pub secrets: Spans,
    /// Operands that name places, not people.
    pub places: Vec<(usize, usize)>,
    /// What flows into something that runs it: never hidden from an approver.
    pub code: Vec<(usize, usize)>,
}

/// Reads `text` as a shell would.
pub fn find(text: &[u8], out: &mut Found) {
    let at: Vec<u32> = (0..text.len().min(u32::MAX as usize) as u32).collect();
    let mut reader = Reader { out, assigned: Vec::new(), run: Vec::new(), given: Vec::new() };
    reader.text(text, &at, 0);
    let Reader { assigned, run, given, out } = reader;
    for (_, (start, end)) in assigned.iter().filter(|(name, _)| given.contains(name)) {
        if names::is_secret(&text[*start..*end], Name::Secret("secret"), Written::Quoted) {
            out.secrets.push(*start, *end, Kind("secret"));
        }
    }
    out.code.extend(assigned.into_iter().filter(|(name, _)| run.contains(name)).map(|(_, span)| span));
}

struct Reader<'a> {
    out: &'a mut Found,
    /// Literal values given to variables.
    assigned: Vec<(Vec<u8>, (usize, usize))>,
    /// Variables whose value runs.
    run: Vec<Vec<u8>>,
    /// Variables whose value is given where a secret is: `T=x; tool --token "$T"`.
    given: Vec<Vec<u8>>,
}

impl Reader<'_> {
    fn text(&mut self, text: &[u8], at: &[u32], depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        let mut inner: Vec<(Vec<u8>, Vec<u32>)> = Vec::new();
        let all = commands(text, at, &mut |text, at| inner.push((text.to_vec(), at.to_vec())));
        let mut from = 0;
        while from < all.len() {
            let length = 1 + all[from + 1..].iter().take_while(|command| command.piped).count();
            self.pipeline(&all[from..from + length], depth);
            from += length;
        }
        for (text, at) in inner {
            self.text(&text, &at, depth + 1);
        }
    }

    fn pipeline(&mut self, commands: &[Command], depth: usize) {
        for (at, command) in commands.iter().enumerate() {
            self.command(command, depth);
            let later = &commands[at + 1..];
            if later.iter().any(reads_password) {
                self.printed(command, later.iter().any(|c| program(c) == Some(b"chpasswd")));
            }
            if later.iter().any(|c| program(c).is_some_and(|name| is_in(name, INTERPRETERS))) {
                for word in command.words.iter().skip(1) {
                    self.runs(word);
                }
            }
        }
    }

    /// This word's value, and that of the variables in it, is run by something.
    fn runs(&mut self, word: &Word) {
        self.out.code.push((word.start, word.end));
        self.run.extend(word.names().filter(|name| !name.is_empty()).map(<[u8]>::to_vec));
    }

    /// What `echo` or `printf` writes for a program that reads a password.
    fn printed(&mut self, command: &Command, after_colon: bool) {
        let words = match program(command) {
            Some(b"echo") => &command.words[1..],
            Some(b"printf") if command.words.len() > 2 => &command.words[2..],
            Some(b"printf") => &command.words[1..],
            _ => return,
        };
        for word in words.iter().filter(|word| !(word.text.starts_with(b"-") && word.text.len() < 4)) {
            let from = if after_colon { word.text.iter().position(|&b| b == b':').map_or(0, |at| at + 1) } else { 0 };
            self.hide(word, from, "password");
        }
    }

    fn hide(&mut self, word: &Word, from: usize, kind: &'static str) {
        let from = from.min(word.text.len());
        let value = &word.text[from..];
        if word.is_reference(from) {
            self.given.extend(word.names().filter(|name| !name.is_empty()).map(<[u8]>::to_vec));
            return;
        }
        if !names::is_secret(value, Name::Secret(kind), Written::Quoted) {
            return;
        }
        let (start, end) = word.span(from);
        self.out.secrets.push(start, end, Kind(kind));
    }

    fn hide_part(&mut self, word: &Word, from: usize, to: usize, kind: &'static str) {
        if !word.is_reference(from) && names::is_secret(&word.text[from..to], Name::Secret(kind), Written::Quoted) {
            let (start, end) = word.part(from, to);
            self.out.secrets.push(start, end, Kind(kind));
        }
    }

    /// The value of a pair; in `'a=1 b=2'` it ends before the next pair.
    fn hide_pair(&mut self, word: &Word, from: usize, kind: &'static str) {
        let value = &word.text[from..];
        let next_pair = (0..value.len()).find(|&at| {
            value[at] == b' ' && {
                let name =
                    value[at + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || b"_.-".contains(b)).count();
                name > 0 && value.get(at + 1 + name) == Some(&b'=')
            }
        });
        let Some(length) = next_pair else { return self.hide(word, from, kind) };
        self.hide_part(word, from, from + length, kind);
    }

    fn command(&mut self, command: &Command, depth: usize) {
        let words = &command.words;
        let mut program: &[u8] = b"";
        let mut shell = false;
        let mut skip = false;
        if let Some(first) = words.first().filter(|word| word.expanded.iter().any(|&e| e) && !word.text.contains(&b'='))
        {
            self.runs(first);
        }
        for (at, word) in words.iter().enumerate() {
            let text_of_shell = (shell && at > 0 && is_command_flag(&words[at - 1].text))
                || (is_in(program, TAKE_TEXT) && word.quoted && word.text.contains(&b' '));
            if !text_of_shell {
                self.assignment(word, program.is_empty());
            }
            if std::mem::take(&mut skip) {
                continue;
            }
            let name = basename(&word.text);
            let names_program = !word.text.starts_with(b"-") && !word.text.contains(&b'=');
            if names_program
                && (program.is_empty() || is_in(program, WRAPPERS))
                && (program.is_empty() || is_program(name))
            {
                program = name;
                shell = is_in(name, SHELLS);
                if !is_in(name, TAKE_TEXT) || at == 0 {
                    continue;
                }
            }
            let next = words.get(at + 1);
            if program == b"eval" {
                self.runs(word);
            }
            if text_of_shell {
                if word.expanded.iter().any(|&e| e) {
                    self.runs(word);
                }
                self.text(&word.text, &word.at, depth + 1);
                continue;
            }
            if is_in(program, PLACES) && !word.text.contains(&b' ') && word.text.contains(&b'@') {
                self.out.places.push((word.start, word.end));
            }
            skip = self.long_flag(program, word, next) || self.setting(words, at);
            self.short_flags(program, words, at);
        }
        let secret_read = program == b"read" && words.iter().skip(1).any(|word| names::is_secret_name(&word.text));
        if secret_read || reads_password(command) {
            for word in command.here_strings.iter() {
                self.hide(word, 0, "password");
            }
        }
        for word in command.here_documents.iter().chain(&command.here_strings) {
            if is_in(program, SHELLS) {
                self.text(&word.text, &word.at, depth + 1);
            } else if is_in(program, INTERPRETERS) {
                self.runs(word);
            }
        }
    }

    /// `NAME=value` anywhere among the words, also as `-DNAME=value`, `--name=value`.
    fn assignment(&mut self, word: &Word, leading: bool) {
        let Some(equals) = word.text.iter().position(|&b| b == b'=') else { return };
        let name = word.text[..equals].trim_ascii();
        if leading && !word.is_reference(equals + 1) {
            self.assigned.push((name.to_vec(), word.span(equals + 1)));
        }
        let dashes = name.iter().take_while(|&&b| b == b'-').count();
        let name = &name[dashes..];
        let name = name.rsplit(|b| b"/:@".contains(b)).next().unwrap_or(name);
        if name.is_empty() || !name.iter().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(b)) {
            return;
        }
        match judge(name) {
            Some(Name::Secret(kind)) if !is_switch(name) => self.hide_pair(word, equals + 1, kind),
            Some(Name::Perhaps(kind)) if names::looks_generated(&word.text[equals + 1..], 12) => {
                self.hide(word, equals + 1, kind)
            }
            Some(_) | None => {}
        }
    }

    /// `--password VALUE`, `-storepass VALUE`. True if the next word is the value.
    fn long_flag(&mut self, program: &[u8], word: &Word, next: Option<&Word>) -> bool {
        let dashes = word.text.iter().take_while(|&&b| b == b'-').count();
        let name = &word.text[dashes..];
        // A word with blanks inside is text, whatever it begins and ends with.
        let text = name.iter().any(|&b| b == b'=' || b.is_ascii_whitespace());
        if !(1..=2).contains(&dashes) || name.len() < 3 || text || is_switch(name) {
            return false;
        }
        // There it marks the value as secret, or names where it comes from.
        if name == b"secret" && is_in(program, &["pulumi", "dotnet", "docker", "podman", "buildah", "nerdctl"]) {
            return false;
        }
        let Some(next) = next.filter(|next| !next.text.starts_with(b"--")) else { return false };
        let judged = match (judge(name), dashes) {
            (Some(Name::Secret(kind)), _) => kind,
            (Some(Name::Perhaps(kind)), 2) if names::looks_generated(&next.text, 16) => kind,
            (Some(Name::Perhaps(_)) | None, _) => return false,
        };
        // `pass:` and kin name a source; the table knows them.
        let sourced =
            ["pass:", "env:", "file:", "fd:", "stdin"].iter().any(|head| next.text.starts_with(head.as_bytes()));
        if dashes == 1 && next.text.starts_with(b"-") || sourced {
            return false;
        }
        self.hide(next, 0, judged);
        true
    }

    /// `config set NAME VALUE`
    fn setting(&mut self, words: &[Word], at: usize) -> bool {
        let after_set = at > 0
            && (words[at - 1].text.ends_with(b":set")
                || ["set", "config", "add", "put", "requirepass", "--global", "--local"]
                    .iter()
                    .any(|verb| words[at - 1].text == verb.as_bytes()));
        let word = &words[at];
        let verb =
            [&b"set-"[..], b"get-", b"add-", b"delete-", b"create-", b"unset-", b"rename-", b"rotate-", b"remove-"];
        let named = word.text.starts_with(b"-")
            || word.text.iter().any(|b| b"= ".contains(b))
            || verb.iter().any(|verb| word.text.starts_with(verb));
        let (true, Some(next)) = (after_set && !named, words.get(at + 1)) else { return false };
        let kind = match judge(&word.text) {
            Some(Name::Secret(kind)) => kind,
            Some(Name::Perhaps(kind)) if names::looks_generated(&next.text, 12) => kind,
            Some(Name::Perhaps(_)) | None => return false,
        };
        self.hide(next, 0, kind);
        true
    }

    fn short_flags(&mut self, program: &[u8], words: &[Word], at: usize) {
        let word = &words[at];
        for row in rows(program) {
            if !row.after.is_empty() && !words[..=at].iter().take(64).any(|word| word.text == row.after.as_bytes()) {
                continue;
            }
            let flag = row.flag.as_bytes();
            let next = words.get(at + 1);
            match row.form {
                Form::Prefix => {
                    if word.text.starts_with(flag) {
                        self.hide(word, flag.len(), "password");
                    }
                }
                Form::Then | Form::ThenTwo => {
                    let count = if row.form == Form::Then { 1 } else { 2 };
                    for value in words.iter().skip(at + 1).take(count).filter(|_| word.text == flag) {
                        if !value.text.starts_with(b"-") {
                            self.hide(value, 0, "password");
                        }
                    }
                }
                Form::Named => {
                    if let (Some(Name::Secret(kind)), Some(next)) = (judge(&word.text), next)
                        && !word.text.starts_with(b"-")
                        && !word.text.contains(&b'=')
                    {
                        self.hide(next, 0, kind);
                    }
                }
                Form::Keyed => {
                    if word.text.starts_with(flag)
                        && let Some(last) = words.last().filter(|_| at + 1 < words.len())
                    {
                        self.hide(last, 0, "password");
                    }
                }
                Form::UserSlash => {
                    let user = word.text.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_$#".contains(b)).count();
                    if at > 0 && user > 0 && word.text.get(user) == Some(&b'/') {
                        let end =
                            memchr::memrchr(b'@', &word.text).filter(|&end| end > user).unwrap_or(word.text.len());
                        if !word.text[user + 1..end].contains(&b'/') {
                            self.hide_part(word, user + 1, end, "password");
                        }
                    }
                }
                Form::UserColon if flag.is_empty() => {
                    let colon = word.text.iter().position(|&b| b == b':').filter(|_| at + 1 == words.len());
                    if let Some(colon) = colon.filter(|&colon| !word.text[colon..].starts_with(b"://")) {
                        self.hide(word, colon + 1, "password");
                    }
                }
                Form::Last => self.last(row, words, at),
                Form::Glued
                | Form::Either
                | Form::UserColon
                | Form::UserPercent
                | Form::UserComma
                | Form::PassColon => {
                    let Some((word, from)) = carried(word, next, flag, row.form) else { continue };
                    let separator = match row.form {
                        Form::UserColon | Form::PassColon => Some(b':'),
                        Form::UserPercent => Some(b'%'),
                        Form::UserComma => Some(b','),
                        Form::Glued
                        | Form::Either
                        | Form::Prefix
                        | Form::Then
                        | Form::ThenTwo
                        | Form::Named
                        | Form::Keyed
                        | Form::UserSlash
                        | Form::Last => None,
                    };
                    let Some(separator) = separator else {
                        self.hide(word, from, "password");
                        continue;
                    };
                    let split = word.text[from..].iter().position(|&b| b == separator);
                    let sourced = row.form == Form::PassColon && !word.text[from..].starts_with(b"pass:");
                    if let Some(split) = split.filter(|_| !sourced) {
                        self.hide(word, from + split + 1, "password");
                    }
                }
            }
        }
    }

    /// The last operand of a command that has the flag; looked at once, at the last word.
    fn last(&mut self, row: &Flag, words: &[Word], at: usize) {
        let text = &words[at].text;
        let place = memchr::memmem::find(text, b"://").is_some();
        if at + 1 != words.len() || text.starts_with(b"-") || text.contains(&b'=') || place {
            return;
        }
        let flag = row.flag.as_bytes();
        let letter = row.flag.strip_prefix('-').filter(|rest| rest.len() == 1).map(|rest| rest.as_bytes()[0]);
        let given = flag.is_empty()
            || words[1..at].iter().any(|word| {
                word.text == flag
                    || letter.is_some_and(|letter| {
                        word.text.starts_with(b"-") && !word.text.starts_with(b"--") && word.text.contains(&letter)
                    })
            });
        if given && at >= 2 {
            self.hide(&words[at], 0, "password");
        }
    }
}

/// The word that carries a short flag's value, and where the value begins in it.
fn carried<'a>(word: &'a Word, next: Option<&'a Word>, flag: &[u8], form: Form) -> Option<(&'a Word, usize)> {
    if word.text == flag {
        return (form != Form::Glued)
            .then_some(next?)
            .filter(|next| !next.text.starts_with(b"-"))
            .map(|next| (next, 0));
    }
    if flag.starts_with(b"--") || flag.len() > 3 {
        let equals = word.text.strip_prefix(flag)?.starts_with(b"=");
        return equals.then_some((word, flag.len() + 1));
    }
    if word.text.starts_with(b"--") || !word.text.starts_with(b"-") {
        return None;
    }
    if word.text.starts_with(flag) && form != Form::PassColon {
        return Some((word, flag.len()));
    }
    // `-sSu user:pass`: letters in front that take no value.
    let letters = &word.text[1..];
    let bundled = flag.len() == 2
        && form != Form::Glued
        && letters.len() > 1
        && letters.iter().all(u8::is_ascii_alphabetic)
        && letters.last() == flag.last();
    bundled.then_some((next?, 0))
}

fn program(command: &Command) -> Option<&[u8]> {
    let mut name = None;
    for word in &command.words {
        if word.text.starts_with(b"-") || word.text.contains(&b'=') {
            continue;
        }
        let base = basename(&word.text);
        match name {
            None => name = Some(base),
            Some(before) if is_in(before, WRAPPERS) && is_program(base) => name = Some(base),
            Some(_) => break,
        }
        if !is_in(base, WRAPPERS) {
            break;
        }
    }
    name
}

/// Whether the command takes a password from its standard input.
fn reads_password(command: &Command) -> bool {
    let has = |text: &str| command.words.iter().any(|word| word.text == text.as_bytes());
    let Some(name) = program(command) else { return false };
    let sudo = command.words.first().is_some_and(|word| word.text == b"sudo")
        && (has("-S") || has("--stdin") || has("-kS") || has("-Sk"));
    sudo || has("--password-stdin")
        || has("password_stdin")
        || has("--with-token")
        || has("--passphrase-fd")
        || has("--token-stdin")
        || is_in(
            name,
            &[
                "passwd",
                "chpasswd",
                "cryptsetup",
                "kinit",
                "smbpasswd",
                "secret-tool",
                "su",
                "systemd-ask-password",
                "gnome-keyring-daemon",
                "htpasswd",
                "mkpasswd",
                "openssl-passwd",
            ],
        )
        || (name == b"gh" && has("secret"))
        || (name == b"vault" && has("login"))
        || (name == b"pass" && has("insert"))
        || (matches!(name, b"docker" | b"podman" | b"wrangler" | b"fly" | b"flyctl")
            && (has("secret") || has("secrets")))
        || (name == b"gcloud" && has("secrets"))
        || (name == b"openssl" && (has("stdin") || has("passwd")))
}

/// `-c`, `-lc`, `-ec`, `--command`
fn is_command_flag(text: &[u8]) -> bool {
    text == b"--command"
        || (text.starts_with(b"-") && !text.starts_with(b"--") && text.len() < 8 && text.ends_with(b"c"))
}

fn is_switch(name: &[u8]) -> bool {
    let mut parts = name.split(|b| b"-_".contains(b));
    let first = parts.next().unwrap_or(b"");
    name.len() > first.len() && SWITCHES.iter().any(|word| word.as_bytes() == first)
}

fn is_program(name: &[u8]) -> bool {
    is_in(name, WRAPPERS)
        || is_in(name, SHELLS)
        || is_in(name, PLACES)
        || is_flagged(name)
        || is_in(name, &["curl", "passwd", "chpasswd", "cryptsetup", "gh", "vault", "pass", "read", "echo", "printf"])
}

/// The rows for this program.
fn rows(name: &[u8]) -> &'static [&'static Flag] {
    static ROWS: LazyLock<HashMap<&[u8], Vec<&Flag>>> = LazyLock::new(|| {
        let mut rows: HashMap<&[u8], Vec<&Flag>> = HashMap::new();
        for row in FLAGS {
            row.programs.split('|').for_each(|program| rows.entry(program.as_bytes()).or_default().push(row));
        }
        rows
    });
    ROWS.get(name).map_or(&[], Vec::as_slice)
}

/// Whether the table has a row for this program.
pub fn is_flagged(name: &[u8]) -> bool {
    !rows(name).is_empty()
}

fn is_in(name: &[u8], list: &[&str]) -> bool {
    list.iter().any(|entry| entry.as_bytes() == name)
}

fn basename(text: &[u8]) -> &[u8] {
    text.rsplit(|&b| b == b'/').next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> Vec<&str> {
        let mut out = Found::default();
        find(text.as_bytes(), &mut out);
        out.secrets.merged().into_iter().map(|(start, end, _)| &text[start..end]).collect()
    }

    #[test]
    fn each_row_hides_its_secret_and_leaves_its_neighbour() {
        for row in FLAGS {
            let text = row.hidden.replace("HUSH", "blue-Harbor7");
            let found = hidden(&text);
            let all = row.hidden.matches("HUSH").count();
            assert!(
                found.len() == all && found.iter().all(|text| text.starts_with("blue-Harbor7")),
                "{text}: {found:?}"
            );
            assert!(hidden(row.stays).is_empty(), "{}: {:?}", row.stays, hidden(row.stays));
        }
    }

    #[test]
    fn secrets_are_found_through_quoting_nesting_and_wrappers() {
        for (text, want) in [
            ("tool --password 'two words' go", &["two words"][..]),
            ("tool --pass\\word=hush go", &["hush"]),
            ("sudo -u me env PGPASSWORD=hush pg_dump x", &["hush"]),
            ("bash -lc 'PGPASSWORD=hush psql'", &["hush"]),
            ("ssh me@h 'mysql -phush shop'", &["hush"]),
            ("find . -exec mysql -phush {} \\;", &["hush"]),
            ("x=$(curl -u me:hush h)", &["hush"]),
            ("echo hush | sudo -S ls", &["hush"]),
            ("echo me:hush | chpasswd", &["hush"]),
            ("passwd --stdin me <<< hush", &["hush"]),
            ("read -r TOKEN <<< hush", &["hush"]),
            ("aws configure set aws_secret_access_key hush", &["hush"]),
            ("keytool -list -storepass hush", &["hush"]),
            ("docker run -e API_TOKEN=hush img", &["hush"]),
            ("helm upgrade --set db.password=hush r c", &["hush"]),
            ("T=hush; tool --token \"$T\"", &["hush"]),
            ("T='hush x' && curl -u me:${T} h", &["hush x"]),
        ] {
            assert_eq!(hidden(text), want, "{text}");
        }
    }

    #[test]
    fn references_switches_and_other_meanings_stay() {
        for text in [
            "redis-cli -a \"$PASS\" ping",
            "docker login --password-stdin < f",
            "ssh -p 2222 h",
            "psql -p 5432 -U app",
            "pytest -k 'token and not slow'",
            "ansible-playbook --ask-become-pass x",
            "tool --password",
            "tool --no-password x",
            "gpg --passphrase-file pw -d f",
            "curl -u \"$USER:$PASS\" h",
            "make -k test",
            "git commit -m token",
        ] {
            assert!(hidden(text).is_empty(), "{text}: {:?}", hidden(text));
        }
    }

    #[test]
    fn what_runs_is_known_as_code() {
        for (text, runs) in [
            ("T=cm0gLXJmIH4K; echo $T | base64 -d | sh", "cm0gLXJmIH4K"),
            ("PASS='rm x'; eval $PASS", "rm x"),
            ("TOKEN=ls; $TOKEN", "ls"),
            ("echo cm0gLXJmIH4K | base64 -d | bash", "cm0gLXJmIH4K"),
        ] {
            let mut out = Found::default();
            find(text.as_bytes(), &mut out);
            let at = text.find(runs).unwrap();
            assert!(out.code.iter().any(|&(a, b)| a <= at && at + runs.len() <= b), "{text}: {:?}", out.code);
        }
    }
}
