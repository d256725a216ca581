//! What does the database look like, and what does it refuse? Checks and triggers come from the transition table.

use super::StoreError;
use super::place::Place;
use crate::authorize::states::{Execution, Lease, Machine, Proposal, Request, sql_check, sql_triggers};
use crate::facts::codes::Code;
use crate::record::audit::Chain;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use rusqlite_migration::{M, Migrations, SchemaVersion};

/// Up to this size the whole file is checked when it is opened.
const CHECKED_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Stands in `meta` while rows may be removed for their age, inside one transaction.
pub const PRUNING: &str = "pruning";

/// The five columns of a deadline.
const DEADLINE: &str = "from_wall INTEGER NOT NULL, until_wall INTEGER NOT NULL,
    from_boot INTEGER NOT NULL, until_boot INTEGER NOT NULL, boot_id TEXT NOT NULL";

fn first() -> String {
    let table = |name: &str, columns: &str| format!("CREATE TABLE {name} ({columns}) STRICT;\n");
    let state = |check: String| format!("state TEXT NOT NULL {check}, reason TEXT, code TEXT");
    let mut sql = String::new();
    sql += &table("meta", "key TEXT PRIMARY KEY, value TEXT NOT NULL");
    // What is long stands last: reading what is before it touches none of it.
    sql += &table(
        Request::TABLE,
        &format!(
            "id TEXT PRIMARY KEY CHECK (length(id) = 26), {}, uid INTEGER NOT NULL, session_key TEXT NOT NULL,
             subject TEXT NOT NULL, evidence TEXT NOT NULL, policy TEXT NOT NULL, assessment TEXT NOT NULL,
             tier TEXT NOT NULL, kind TEXT NOT NULL, class TEXT NOT NULL, fence TEXT NOT NULL, fence_digest TEXT NOT NULL,
             needed INTEGER NOT NULL CHECK (needed >= 1), kin TEXT NOT NULL,
             hides_code INTEGER NOT NULL CHECK (hides_code IN (0, 1)), created_wall INTEGER NOT NULL, {DEADLINE},
             session TEXT NOT NULL, agent TEXT NOT NULL, around TEXT NOT NULL, verdict TEXT NOT NULL, cwd TEXT NOT NULL, command TEXT NOT NULL,
             fence_spec TEXT NOT NULL, subject_manifest TEXT NOT NULL, evidence_manifest TEXT NOT NULL",
            state(sql_check::<Request>())
        ),
    );
    sql += &table(
        Lease::TABLE,
        &format!(
            "id TEXT PRIMARY KEY CHECK (length(id) = 26), request TEXT NOT NULL REFERENCES requests (id), {},
             session_key TEXT NOT NULL, uid INTEGER NOT NULL, subject TEXT NOT NULL, evidence TEXT NOT NULL,
             policy TEXT NOT NULL, assessment TEXT NOT NULL, kind TEXT NOT NULL, class TEXT NOT NULL,
             fence TEXT NOT NULL, fence_digest TEXT NOT NULL, approvers TEXT NOT NULL, rule TEXT, rule_digest TEXT,
             {DEADLINE}, fence_spec TEXT NOT NULL",
            state(sql_check::<Lease>())
        ),
    );
    sql += &table(
        Execution::TABLE,
        &format!(
            "id TEXT PRIMARY KEY CHECK (length(id) = 26), request TEXT NOT NULL REFERENCES requests (id),
             lease TEXT UNIQUE REFERENCES leases (id), {}, key TEXT NOT NULL, kind TEXT NOT NULL,
             class TEXT NOT NULL, fence TEXT NOT NULL, fence_digest TEXT NOT NULL, runner TEXT NOT NULL,
             claimed_wall INTEGER NOT NULL, started_wall INTEGER, ended_wall INTEGER",
            state(sql_check::<Execution>())
        ),
    );
    sql += &table(
        "outcomes",
        "execution TEXT PRIMARY KEY REFERENCES executions (id),
         ended TEXT NOT NULL CHECK (ended IN ('exit', 'signal', 'not-started', 'unknown')), exit INTEGER, signal INTEGER,
         duration_ms INTEGER NOT NULL, body TEXT NOT NULL,
         CHECK ((exit IS NOT NULL) = (ended = 'exit')), CHECK ((signal IS NOT NULL) = (ended = 'signal'))",
    );
    sql += &table(
        Proposal::TABLE,
        &format!(
            "id TEXT PRIMARY KEY CHECK (length(id) = 26), request TEXT NOT NULL REFERENCES requests (id), {},
             manifest TEXT NOT NULL, {DEADLINE}",
            state(sql_check::<Proposal>())
        ),
    );
    sql += &table(
        "decisions",
        "seq INTEGER PRIMARY KEY, request TEXT NOT NULL REFERENCES requests (id), decision TEXT NOT NULL,
         approver TEXT NOT NULL, uid INTEGER NOT NULL, comment TEXT, subject TEXT NOT NULL, evidence TEXT NOT NULL,
         fence TEXT, proof TEXT NOT NULL, wall INTEGER NOT NULL",
    );
    sql += &table(
        "notes",
        "seq INTEGER PRIMARY KEY, execution TEXT NOT NULL REFERENCES executions (id), found TEXT NOT NULL, note TEXT,
         approver TEXT NOT NULL, wall INTEGER NOT NULL",
    );
    sql += &table(
        "always_rules",
        "id TEXT PRIMARY KEY CHECK (length(id) = 26), rule TEXT NOT NULL, digest TEXT NOT NULL,
         ceiling TEXT NOT NULL CHECK (ceiling IN ('read', 'write', 'network', 'install')),
         request TEXT NOT NULL REFERENCES requests (id), approver TEXT NOT NULL, expires_wall INTEGER NOT NULL,
         removed INTEGER NOT NULL DEFAULT 0, uses INTEGER NOT NULL DEFAULT 0",
    );
    sql += &table(
        "grants",
        "id TEXT PRIMARY KEY CHECK (length(id) = 26), session_key TEXT NOT NULL, session TEXT NOT NULL,
         ceiling TEXT NOT NULL CHECK (ceiling IN ('read', 'write')), cwd_prefix TEXT NOT NULL, approver TEXT NOT NULL,
         expires_wall INTEGER NOT NULL, removed INTEGER NOT NULL DEFAULT 0, uses INTEGER NOT NULL DEFAULT 0",
    );
    // Programs that are trusted by their content.
    sql += &table(
        "trusts",
        "name TEXT NOT NULL CHECK (length(name) > 0), sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
         size INTEGER NOT NULL CHECK (size >= 0), path TEXT NOT NULL, approver TEXT NOT NULL, wall INTEGER NOT NULL,
         PRIMARY KEY (name, sha256)",
    );
    sql += &table(
        "keys",
        "public TEXT PRIMARY KEY CHECK (length(public) = 72), approver TEXT NOT NULL, wall INTEGER NOT NULL",
    );
    sql += &table(
        "policies",
        "version TEXT PRIMARY KEY CHECK (length(version) = 64), classifier TEXT NOT NULL, canonical TEXT NOT NULL,
         sources TEXT NOT NULL, first_wall INTEGER NOT NULL",
    );
    sql += &table(
        "denials",
        "seq INTEGER PRIMARY KEY, uid INTEGER NOT NULL, kin TEXT NOT NULL, until_wall INTEGER NOT NULL,
         request TEXT NOT NULL REFERENCES requests (id)",
    );
    sql += &table("audit", "seq INTEGER PRIMARY KEY, request TEXT, line TEXT NOT NULL CHECK (length(line) <= 16384)");
    sql += &(sql_triggers::<Request>() + &sql_triggers::<Lease>());
    sql += &(sql_triggers::<Execution>() + &sql_triggers::<Proposal>());
    for table in ["audit", "decisions", "notes", "outcomes", "policies", "denials", "keys"] {
        sql += &fixed(table);
    }
    sql += "CREATE TRIGGER audit_next BEFORE INSERT ON audit
            WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM audit)
            BEGIN SELECT RAISE(ABORT, 'audit: not the next line'); END;
            CREATE INDEX requests_pending ON requests (uid, session_key) WHERE state = 'PENDING';
            CREATE INDEX requests_waiting ON requests (created_wall, id) WHERE state = 'PENDING';
            CREATE INDEX requests_deadline ON requests (until_wall, from_wall, boot_id, until_boot, from_boot, id)
                WHERE state = 'PENDING';
            CREATE UNIQUE INDEX leases_live ON leases (request) WHERE state = 'ISSUED';
            CREATE INDEX leases_request ON leases (request);
            CREATE INDEX requests_kin ON requests (uid, kin, created_wall, id, state);
            CREATE INDEX denials_kin ON denials (uid, kin, until_wall);
            CREATE INDEX requests_subject ON requests (subject, session_key) WHERE state IN ('PENDING', 'APPROVED');
            CREATE INDEX requests_created ON requests (created_wall);
            CREATE INDEX leases_issued ON leases (until_wall) WHERE state = 'ISSUED';
            CREATE UNIQUE INDEX executions_request ON executions (request);
            CREATE UNIQUE INDEX executions_key ON executions (key) WHERE lease IS NOT NULL;
            CREATE INDEX executions_open ON executions (claimed_wall) WHERE state IN ('CLAIMED', 'STARTED');
            CREATE INDEX executions_unknown ON executions (claimed_wall) WHERE state = 'RESULT_UNKNOWN';
            CREATE INDEX decisions_request ON decisions (request);
            CREATE INDEX decisions_denied ON decisions (wall) WHERE decision = 'deny';
            CREATE INDEX decisions_yes ON decisions (wall) WHERE decision IN ('approve_once', 'approve_always');
            CREATE INDEX notes_execution ON notes (execution);
            CREATE INDEX audit_request ON audit (request) WHERE request IS NOT NULL;";
    sql
}

/// Checkpoints; and rows that may go, but only while the store prunes.
fn second() -> String {
    let mut sql = "CREATE TABLE checkpoints (size INTEGER PRIMARY KEY CHECK (size > 0), note TEXT NOT NULL,
                   edge TEXT NOT NULL) STRICT;\n"
        .to_owned();
    sql += &fixed("checkpoints");
    let states = [Request::TABLE, Lease::TABLE, Execution::TABLE, Proposal::TABLE];
    for table in states.into_iter().chain(["audit", "decisions", "notes", "outcomes", "denials"]) {
        sql += &format!(
            "DROP TRIGGER {table}_kept; CREATE TRIGGER {table}_kept BEFORE DELETE ON {table}
             WHEN NOT EXISTS (SELECT 1 FROM meta WHERE key = '{PRUNING}')
             BEGIN SELECT RAISE(ABORT, '{table}: rows are kept'); END;\n"
        );
    }
    sql
}

/// Rows of this table never change and never go.
fn fixed(table: &str) -> String {
    format!(
        "CREATE TRIGGER {table}_fixed BEFORE UPDATE ON {table} BEGIN SELECT RAISE(ABORT, '{table}: rows are fixed'); END;
         CREATE TRIGGER {table}_kept BEFORE DELETE ON {table} BEGIN SELECT RAISE(ABORT, '{table}: rows are kept'); END;\n"
    )
}

/// Open the database, bring it to this version's schema, and read where its audit chain ends.
pub fn open(place: &Place) -> Result<(Connection, Chain), StoreError> {
    if rusqlite::version_number() != rusqlite::ffi::SQLITE_VERSION_NUMBER {
        let found = rusqlite::version();
        return Err(StoreError::new(
            Code::StoreUnavailable,
            format!("linked with another SQLite ({found}) than built with"),
        ));
    }
    let path = place.database()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut db = Connection::open_with_flags(&path, flags)?;
    db.set_prepared_statement_cache_capacity(128);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    db.execute_batch("PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;")?;
    let mode: String = db.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(StoreError::new(Code::StoreUnavailable, format!("the journal mode is {mode}, not WAL")));
    }
    db.execute_batch(&format!(
        "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16384; PRAGMA wal_autocheckpoint={};",
        super::writer::LOG_PAGES_MAX
    ))?;
    check(&db, &path)?;
    migrate(&mut db)?;
    // Proves that it can be written at all, before anybody relies on it.
    db.execute_batch("BEGIN IMMEDIATE; INSERT OR REPLACE INTO meta VALUES ('opened', '1'); COMMIT;")?;
    let last: Option<String> =
        db.query_row("SELECT line FROM audit ORDER BY seq DESC LIMIT 1", [], |row| row.get(0)).optional()?;
    let chain = match last {
        Some(line) => Chain::after(&line).map_err(|e| StoreError::corrupt(e.to_string()))?,
        None => Chain::NEW,
    };
    Ok((db, chain))
}

fn check(db: &Connection, path: &std::path::Path) -> Result<(), StoreError> {
    if std::fs::metadata(path).is_ok_and(|meta| meta.len() <= CHECKED_BYTES_MAX) {
        let found: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if found != "ok" {
            return Err(StoreError::corrupt(found));
        }
    }
    Ok(())
}

fn migrate(db: &mut Connection) -> Result<(), StoreError> {
    let (first, second) = (first(), second());
    let steps = vec![M::up(&first), M::up(&second)];
    let newest = steps.len();
    let migrations = Migrations::new(steps);
    let refused = |e: rusqlite_migration::Error| match e {
        rusqlite_migration::Error::RusqliteError { err, .. } => StoreError::from(err),
        other => StoreError::new(Code::StoreUnavailable, other.to_string()),
    };
    match migrations.current_version(db).map_err(refused)? {
        SchemaVersion::Outside(version) => {
            let text = format!("the schema has version {version}, this tollgate knows {newest}");
            Err(StoreError::new(Code::StoreTooNew, text))
        }
        SchemaVersion::Inside(_) | SchemaVersion::NoneSet => migrations.to_latest(db).map_err(refused),
    }
}
