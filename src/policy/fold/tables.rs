//! The tables of one file, each folded into what the layers above said.

use super::Fold;
use crate::assess::Class;
use crate::assess::catalogue::Catalogue;
use crate::facts::key::PublicKey;
use crate::facts::{environment, limits};
use crate::policy::file::{Document, PolicyError, at};
use crate::policy::model::{self, Level, Opening, PerClass, Word};
use crate::policy::pattern::{Kind, Pattern};
use crate::policy::place::Place;
use std::path::PathBuf;

/// Seconds a denial may be repeated without asking, at least.
const DENIED_FOR_S_MIN: u64 = 60;
/// Denials before that, at most.
const DENIALS_MAX: u64 = 10;
/// Users who may be wanted for one yes.
const NEEDED_MAX: u64 = 10;
/// Of any kind; more is no limit, and would not fit the kernel's numbers in bytes.
const FENCE_LIMIT_MAX: u64 = 1 << 32;
/// A hundred years.
const RETENTION_DAYS_MAX: u64 = 36_500;

/// Folds one table of a document.
type Table = fn(&mut Fold, &Document) -> Result<(), PolicyError>;

pub(super) const TABLES: [Table; 13] = [
    Fold::paths,
    Fold::fence,
    Fold::fence_limits,
    Fold::wait,
    Fold::approvers,
    Fold::background,
    Fold::redact,
    Fold::limits,
    Fold::env,
    Fold::catalogue,
    Fold::notify,
    Fold::gate,
    Fold::record,
];

impl Fold {
    fn paths(&mut self, document: &Document) -> Result<(), PolicyError> {
        let paths = &document.file.paths;
        let rows = [
            ("read", &paths.read),
            ("write", &paths.write),
            ("forbidden", &paths.forbidden),
            ("secret", &paths.secret),
        ];
        for (key, texts) in rows {
            for (number, text) in texts.iter().enumerate() {
                let keys = at!["paths", key, number];
                if key == "read" || key == "write" {
                    self.may_loosen(document, Opening::Paths, &keys, &format!("[paths] {key} loosens"))?;
                }
                let plain = text.starts_with('/') || text.starts_with("~/");
                if key == "write"
                    && (!plain || text.contains(['*', '?', '[', '{']) || text.trim_matches('/').is_empty())
                {
                    let message = format!("`{text}` is no directory that can be opened");
                    return Err(document.wrong(&keys, message, "Write a whole path, `/srv/cache` or `~/cache`"));
                }
                if let Err(why) = Place::new(text) {
                    return Err(document.wrong(&keys, why, "Write it as `/…`, `~/…` or `dir/**`"));
                }
                self.came(&format!("paths.{key}"), document);
            }
        }
        let into = &mut self.values.paths;
        into.read.extend(paths.read.iter().cloned());
        into.write.extend(paths.write.iter().cloned());
        into.forbidden.extend(paths.forbidden.iter().cloned());
        into.secret.extend(paths.secret.iter().cloned());
        Ok(())
    }

    fn fence(&mut self, document: &Document) -> Result<(), PolicyError> {
        let fence = &document.file.fence;
        let model::Fence { require, read, write, network, install, destructive, limits: _ } = *fence;
        let own = [read, write, network, install, destructive];
        for (class, level) in Class::ALL.into_iter().zip(own) {
            let (key, Some(level)) = (if level.is_some() { class.name() } else { "require" }, level.or(require)) else {
                continue;
            };
            let now = self.values.fence.get(class.name()).copied();
            self.tightens(document, &at!["fence", key], self.top || now.is_none_or(|now| level >= now))?;
            let name = format!("fence.{class}");
            self.once(document, &name, &at!["fence", key])?;
            self.values.fence.insert(class.name(), now.map_or(level, |now: Level| now.max(level)));
        }
        Ok(())
    }

    fn wait(&mut self, document: &Document) -> Result<(), PolicyError> {
        let wait = &document.file.wait;
        let shorter = |keys: &[String], asked: u64, now: u64| {
            if asked == 0 {
                return Err(document.wrong(keys, "a wait of 0 seconds", "Give at least one second"));
            }
            if asked > now {
                let message = format!("{asked} s is longer than {now} s");
                return Err(document.wrong(keys, message, "Shorten it: waits can only be shortened"));
            }
            Ok(asked)
        };
        if let Some(asked) = wait.request_s {
            self.once(document, "wait.request_s", &at!["wait", "request_s"])?;
            self.values.request_s = shorter(&at!["wait", "request_s"], asked, self.values.request_s)?;
        }
        if let Some(asked) = wait.lease_s {
            self.once(document, "wait.lease_s", &at!["wait", "lease_s"])?;
            self.values.lease_s = shorter(&at!["wait", "lease_s"], asked, self.values.lease_s)?;
        }
        // Waiting is no permission: any time up to the longest request's is fine, in any layer.
        if let Some(asked) = wait.park_s {
            self.once(document, "wait.park_s", &at!["wait", "park_s"])?;
            self.values.park_s = shorter(&at!["wait", "park_s"], asked, limits::REQUEST_TTL_S)?;
        }
        if let Some(renews) = wait.renew_on_policy {
            let keys = at!["wait", "renew_on_policy"];
            self.once(document, "wait.renew_on_policy", &keys)?;
            self.tightens(document, &keys, self.top || !renews || self.values.renew_on_policy)?;
            self.values.renew_on_policy = renews;
        }
        for (agent, &asked) in &wait.park_agent_s {
            let keys = at!["wait", "park_agent_s", agent];
            self.once(document, &format!("wait.park_agent_s.{agent}"), &keys)?;
            if let Err(why) = Pattern::new(agent, Kind::Word) {
                return Err(document.wrong(&keys, why, "Write a pattern of the program's name"));
            }
            self.values.park_agent_s.insert(agent.clone(), shorter(&keys, asked, limits::REQUEST_TTL_S)?);
        }
        for class in Class::ALL {
            let rows = [
                ("request_class_s", &wait.request_class_s, self.values.request_s),
                ("lease_class_s", &wait.lease_class_s, self.values.lease_s),
            ];
            for (table, given, longest) in rows {
                let Some(asked) = given.of(class) else { continue };
                let keys = at!["wait", table, class];
                self.once(document, &format!("wait.{table}.{class}"), &keys)?;
                let into = if table == "request_class_s" {
                    &mut self.values.request_class_s
                } else {
                    &mut self.values.lease_class_s
                };
                let now = into.of(class).unwrap_or(longest);
                *slot(into, class) = Some(shorter(&keys, asked, now)?);
            }
        }
        Ok(())
    }

    fn approvers(&mut self, document: &Document) -> Result<(), PolicyError> {
        let approvers = &document.file.approvers;
        if let Some(same_user) = approvers.same_user {
            let keys = at!["approvers", "same_user"];
            self.once(document, "approvers.same_user", &keys)?;
            self.tightens(document, &keys, self.top || !same_user || self.values.same_user)?;
            self.values.same_user = same_user;
        }
        let free = self.values.uids.is_none() && self.values.groups.is_none();
        if approvers.uids.is_some() || approvers.groups.is_some() {
            let keys = at!["approvers", if approvers.uids.is_some() { "uids" } else { "groups" }];
            self.once(document, "approvers.who", &keys)?;
            let within = |now: &Option<Vec<u32>>| match (&approvers.uids, now) {
                (None, _) => true,
                (Some(asked), Some(now)) => asked.iter().all(|uid| now.contains(uid)),
                (Some(asked), None) => asked.is_empty(),
            };
            let grouped = match (&approvers.groups, &self.values.groups) {
                (None, _) => true,
                (Some(asked), Some(now)) => asked.iter().all(|group| now.contains(group)),
                (Some(asked), None) => asked.is_empty(),
            };
            let tighter = free || (within(&self.values.uids) && grouped);
            self.tightens(document, &keys, self.top || tighter)?;
            self.values.uids = Some(approvers.uids.clone().unwrap_or_default());
            self.values.groups = Some(approvers.groups.clone().unwrap_or_default());
            let nobody = |list: &Option<Vec<u32>>| list.as_ref().is_none_or(Vec::is_empty);
            if nobody(&self.values.uids) && self.values.groups.as_ref().is_none_or(Vec::is_empty) {
                return Err(document.wrong(&keys, "nobody is left to approve", "Name a user or a group"));
            }
        }
        for class in Class::ALL {
            let Some(asked) = approvers.needed.of(class) else { continue };
            let keys = at!["approvers", "needed", class];
            self.once(document, &format!("approvers.needed.{class}"), &keys)?;
            if asked == 0 || asked > NEEDED_MAX {
                let message = format!("{asked} approvals are wanted");
                return Err(document.wrong(&keys, message, format!("Write a number from 1 to {NEEDED_MAX}")));
            }
            let now = self.values.needed.of(class).unwrap_or(1);
            self.tightens(document, &keys, self.top || asked >= now)?;
            *slot(&mut self.values.needed, class) = Some(asked);
        }
        self.keys(document)
    }

    fn keys(&mut self, document: &Document) -> Result<(), PolicyError> {
        let approvers = &document.file.approvers;
        if let Some(texts) = &approvers.keys {
            let keys = at!["approvers", "keys"];
            self.once(document, "approvers.keys", &keys)?;
            let mut named = Vec::new();
            for (number, text) in texts.iter().enumerate() {
                let remedy = "Write one as `tollgate key show` says it: `ed25519:` and 64 hexadecimal digits";
                let key = PublicKey::parse(text).ok_or_else(|| {
                    document.wrong(&at!["approvers", "keys", number], format!("`{text}` is no key"), remedy)
                })?;
                named.push(key);
            }
            let within = self.values.keys.as_ref().is_none_or(|now| named.iter().all(|key| now.contains(key)));
            self.tightens(document, &keys, self.top || within)?;
            self.values.keys = Some(named);
        }
        for what in &approvers.key_for {
            self.came(&format!("approvers.key_for.{}", what.name()), document);
            self.values.key_for.insert(*what);
        }
        Ok(())
    }

    fn limits(&mut self, document: &Document) -> Result<(), PolicyError> {
        let given = &document.file.limits;
        let model::Limits { pending_per_session, pending_per_uid, denials, denied_for_s } = *given;
        let top = self.top;
        let now = self.values.limits;
        // (key, asked, least, most, whether a smaller number is the stricter one)
        let rows = [
            ("pending_per_session", pending_per_session, 1, limits::PENDING_PER_SESSION_MAX, now.pending_per_session),
            ("pending_per_uid", pending_per_uid, 1, limits::PENDING_PER_UID_MAX, now.pending_per_uid),
            ("denials", denials, 1, DENIALS_MAX, now.denials),
            ("denied_for_s", denied_for_s, DENIED_FOR_S_MIN, 24 * 3600, now.denied_for_s),
        ];
        for (key, asked, least, most, now) in rows {
            let Some(asked) = asked else { continue };
            let keys = at!["limits", key];
            self.once(document, &format!("limits.{key}"), &keys)?;
            if asked < least || asked > most {
                let message = format!("{key} = {asked} is out of range");
                return Err(document.wrong(&keys, message, format!("Write a number from {least} to {most}")));
            }
            let stricter = if key == "denied_for_s" { asked >= now } else { asked <= now };
            self.tightens(document, &keys, top || stricter)?;
            let into = &mut self.values.limits;
            match key {
                "pending_per_session" => into.pending_per_session = asked,
                "pending_per_uid" => into.pending_per_uid = asked,
                "denials" => into.denials = asked,
                _ => into.denied_for_s = asked,
            }
        }
        Ok(())
    }

    fn env(&mut self, document: &Document) -> Result<(), PolicyError> {
        let env = &document.file.env;
        for (key, names) in [("secret", &env.secret), ("volatile", &env.volatile)] {
            for (number, name) in names.iter().enumerate() {
                let keys = at!["env", key, number];
                let pattern = Pattern::new(name, Kind::Word)
                    .map_err(|why| document.wrong(&keys, why, "Write a pattern of a variable's name"))?;
                if key == "volatile" {
                    self.may_loosen(document, Opening::Volatile, &keys, "[env] volatile loosens")?;
                    if pattern.literal().is_none_or(|name| environment::is_influence(name.as_bytes())) {
                        let message = format!("`{name}` may change what a command does");
                        return Err(document.wrong(&keys, message, "Name single variables that change nothing"));
                    }
                }
                self.came(&format!("env.{key}"), document);
            }
        }
        self.values.env.secret.extend(env.secret.iter().cloned());
        self.values.env.volatile.extend(env.volatile.iter().cloned());
        Ok(())
    }

    fn catalogue(&mut self, document: &Document) -> Result<(), PolicyError> {
        let lower = document.file.catalogue.lower;
        self.tightens(document, &at!["catalogue", "lower"], self.top || !lower)?;
        if document.catalogue.is_empty() {
            return Ok(());
        }
        // By itself first: what the layer above may lower, this one may not.
        Catalogue::with(&document.catalogue, self.top && lower).map_err(|faults| {
            let fault = faults.into_iter().next();
            let (path, line, text) = fault.map_or_else(
                || (document.path.clone(), None, String::new()),
                |fault| (PathBuf::from(fault.file), Some(fault.line), fault.text),
            );
            let remedy = "Correct the entry; saying less of a known program needs `lower = true` in the topmost layer";
            PolicyError { line, ..PolicyError::new(&path, text, remedy) }
        })?;
        self.came("catalogue.files", document);
        self.sources.extend(document.catalogue.iter().map(|(name, _)| PathBuf::from(name)));
        let into = &mut self.values.catalogue;
        into.files.extend(document.catalogue.iter().cloned());
        into.may_lower |= lower;
        Ok(())
    }

    fn notify(&mut self, document: &Document) -> Result<(), PolicyError> {
        let Some(notify) = &document.file.notify else { return Ok(()) };
        let keys = at!["notify", "command"];
        self.once(document, "notify", &keys)?;
        if !notify.command.first().is_some_and(|program| program.starts_with('/')) {
            let message = "the command does not begin with a whole path";
            return Err(document.wrong(&keys, message, "Write `command = [\"/usr/bin/notify-send\", …]`"));
        }
        self.values.notify.push(notify.clone());
        Ok(())
    }

    fn fence_limits(&mut self, document: &Document) -> Result<(), PolicyError> {
        let asked = document.file.fence.limits;
        let into = &mut self.values.fence_limits;
        // (key, asked, in force, without any file)
        let rows = [
            ("processes", asked.processes, &mut into.processes, limits::FENCE_PROCESSES),
            ("memory_mib", asked.memory_mib, &mut into.memory_mib, limits::FENCE_MEMORY_MIB),
            ("file_mib", asked.file_mib, &mut into.file_mib, limits::FENCE_FILE_MIB),
            ("cpu_s", asked.cpu_s, &mut into.cpu_s, u64::MAX),
            ("wall_s", asked.wall_s, &mut into.wall_s, u64::MAX),
        ];
        let mut set = Vec::new();
        for (key, asked, now, built_in) in rows {
            let Some(asked) = asked else { continue };
            let keys = at!["fence", "limits", key];
            if asked == 0 || asked > FENCE_LIMIT_MAX {
                let message = format!("{key} = {asked} is out of range");
                return Err(document.wrong(&keys, message, format!("Write a number from 1 to {FENCE_LIMIT_MAX}")));
            }
            set.push((keys, self.top || asked <= now.unwrap_or(built_in)));
            *now = Some(asked);
        }
        for (keys, holds) in set {
            self.tightens(document, &keys, holds)?;
            self.once(document, &keys.join("."), &keys)?;
        }
        Ok(())
    }

    fn background(&mut self, document: &Document) -> Result<(), PolicyError> {
        let Some(model::Background { then }) = document.file.origin.background else { return Ok(()) };
        let keys = at!["origin", "background", "then"];
        self.once(document, "origin.background", &keys)?;
        self.tightens(document, &keys, then >= self.values.background || self.top)?;
        self.values.background = then;
        Ok(())
    }

    fn redact(&mut self, document: &Document) -> Result<(), PolicyError> {
        if let Some(tags) = document.file.redact.tags {
            let keys = at!["redact", "tags"];
            self.once(document, "redact.tags", &keys)?;
            self.tightens(document, &keys, !tags || self.top)?;
            self.values.redact_tags = tags;
        }
        for (number, pattern) in document.file.redact.patterns.iter().enumerate() {
            let keys = at!["redact", "patterns", number];
            match regex::bytes::Regex::new(pattern) {
                Ok(regex) if regex.is_match(b"") => {
                    return Err(document.wrong(
                        &keys,
                        "the pattern matches nothing at all",
                        "Name what is to be hidden",
                    ));
                }
                Ok(_) => {}
                Err(e) => {
                    let message = format!("`{pattern}` is no regular expression: {}", last_line(&e.to_string()));
                    return Err(document.wrong(&keys, message, "Correct it"));
                }
            }
            self.came("redact.patterns", document);
            self.values.redact.push(pattern.clone());
        }
        Ok(())
    }

    fn gate(&mut self, document: &Document) -> Result<(), PolicyError> {
        let Some(enabled) = document.file.gate.enabled else { return Ok(()) };
        let keys = at!["gate", "enabled"];
        self.once(document, "gate.enabled", &keys)?;
        self.tightens(document, &keys, enabled || self.top)?;
        self.values.enabled &= enabled;
        Ok(())
    }

    /// `[audit]` and `[hook]`: neither can be called stricter or laxer by comparing values, so the topmost layer alone
    /// says them.
    fn record(&mut self, document: &Document) -> Result<(), PolicyError> {
        let (audit, hook) = (&document.file.audit, &document.file.hook);
        for (table, given) in [("audit", *audit != model::Audit::default()), ("hook", *hook != model::Hook::default())]
        {
            if given && !self.top {
                let message = format!("[{table}] stands in a lower layer");
                return Err(document.wrong(&at![table], message, "Move it to the topmost layer"));
            }
            if given {
                self.once(document, table, &at![table])?;
            }
        }
        if audit.retention_days.is_some_and(|days| days == 0 || days > RETENTION_DAYS_MAX) {
            let remedy =
                format!("Write a number of days from 1 to {RETENTION_DAYS_MAX}, or leave it out to keep everything");
            return Err(document.wrong(
                &at!["audit", "retention_days"],
                "what is recorded is kept for no time",
                remedy,
            ));
        }
        if audit.checkpoint_dir.as_ref().is_some_and(|dir| !dir.starts_with('/')) {
            let remedy = "Write the whole path of a directory, `/var/backups/tollgate`";
            return Err(document.wrong(&at!["audit", "checkpoint_dir"], "it is no whole path", remedy));
        }
        if *audit != model::Audit::default() {
            self.values.audit = audit.clone();
        }
        if *hook != model::Hook::default() {
            self.values.hook = hook.clone();
        }
        Ok(())
    }
}

fn slot(table: &mut PerClass, class: Class) -> &mut Option<u64> {
    match class {
        Class::Read => &mut table.read,
        Class::Write => &mut table.write,
        Class::Network => &mut table.network,
        Class::Install => &mut table.install,
        Class::Destructive => &mut table.destructive,
    }
}

fn last_line(text: &str) -> &str {
    text.trim_end().rsplit('\n').next().unwrap_or(text).trim()
}
