//! Every way to change the record is found, and named: its kind, its exit status, the first record that is wrong.

use super::store_world::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate::assess::Class;
use tollgate::authorize::*;
use tollgate::facts::limits::{AUDIT_CHECKPOINT_LINES, AUDIT_EPOCH_S};
use tollgate::record::audit::{Chain, Checkpoint, Signer, Tree};
use tollgate::store::*;

/// More than two checkpoints' worth of records.
const RECORDS: u64 = 600;

/// A record that ended in order: what `TOLLGATE_DIR` names.
struct Record {
    temp: tempfile::TempDir,
}

fn run(store: &Store, times: u64) {
    let who = session(1000, 5);
    let calls: Vec<_> = (0..times)
        .map(|_| store.auto_allow(asks(store, "ls", Class::Read, &who), Authority::Policy, runner(1), at(0)))
        .collect();
    calls.into_iter().for_each(|call| drop(call.wait().unwrap()));
}

impl Record {
    fn new() -> Record {
        let record = Record { temp: tempfile::tempdir().unwrap() };
        // In more than one batch, so that checkpoints are made on the way.
        let store = Store::open(&record.state()).unwrap();
        (0..6).for_each(|_| run(&store, RECORDS / 6));
        drop(store);
        record
    }

    fn dir(&self) -> PathBuf {
        self.temp.path().join("gate")
    }

    fn state(&self) -> PathBuf {
        std::fs::create_dir_all(self.dir()).unwrap();
        self.dir().join("state")
    }

    /// The database, for somebody who minds no rules.
    fn db(&self) -> rusqlite::Connection {
        let db = rusqlite::Connection::open(self.state().join("tollgate.db")).unwrap();
        let kept = ["audit_kept", "audit_fixed", "audit_next", "checkpoints_fixed", "checkpoints_kept"];
        db.execute_batch("PRAGMA foreign_keys=OFF").unwrap();
        kept.iter().for_each(|trigger| db.execute_batch(&format!("DROP TRIGGER IF EXISTS {trigger}")).unwrap());
        db
    }

    fn lines(&self) -> Vec<String> {
        let db = self.db();
        let mut lines = db.prepare("SELECT line FROM audit ORDER BY seq").unwrap();
        lines.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// These lines instead of those that are there.
    fn write(&self, lines: &[String]) {
        let db = self.db();
        db.execute_batch("DELETE FROM audit").unwrap();
        for (n, line) in lines.iter().enumerate() {
            db.execute("INSERT INTO audit (seq, line) VALUES (?1, ?2)", (n as i64 + 1, line)).unwrap();
        }
    }

    fn tollgate(&self, args: &[&str]) -> (i32, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("TOLLGATE_DIR", self.dir())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), said)
    }

    /// Exit status and finding of `audit verify`, with the first bad record.
    #[track_caller]
    fn verify(&self, more: &[&str]) -> (i32, String, Option<u64>) {
        let (status, said) = self.tollgate(&[&["audit", "verify", "--json"], more].concat());
        let value: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{status}: {said}"));
        assert_eq!(value["status"], status);
        (status, value["finding"].as_str().unwrap().to_owned(), value["at"].as_u64())
    }

    #[track_caller]
    fn finds(&self, status: i32, word: &str, seq: u64) {
        assert_eq!(self.verify(&[]), (status, word.to_owned(), Some(seq)));
        // It is told from an exported file too, and no gate goes on with it.
        let file = self.temp.path().join("exported");
        let lines = self.lines();
        std::fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        assert_eq!(self.verify(&[file.to_str().unwrap()]).0, status);
    }

    fn origin(&self) -> String {
        let public = std::fs::read_to_string(self.state().join(PUBLIC)).unwrap();
        public.split('+').next().unwrap().to_owned()
    }

    fn signer(&self) -> Signer {
        Signer::parse(&self.origin(), &std::fs::read_to_string(self.state().join("audit.key")).unwrap()).unwrap()
    }
}

/// The same lines, linked anew from the first on.
fn linked_anew(lines: &[String]) -> Vec<String> {
    let mut chain = Chain::NEW;
    let append = |line: &String| {
        let record: tollgate::record::audit::Record = serde_json::from_str(line).unwrap();
        let at_ms = record.at.parse::<jiff::Timestamp>().unwrap().as_millisecond();
        chain.append(at_ms, &record.what, record.request, record.body).unwrap()
    };
    lines.iter().flat_map(append).map(|(_, line)| line).collect()
}

/// A checkpoint about these lines, by this key.
fn forged(lines: &[String], origin: &str, by: &Signer) -> String {
    let mut tree = Tree::EMPTY;
    lines.iter().for_each(|line| tree.push(line.as_bytes()));
    let chain = Chain::after(lines.last().unwrap()).unwrap();
    let at = "2026-01-01T00:00:00.000Z".to_owned();
    let size = tree.size();
    Checkpoint { origin: origin.into(), size, root: tree.root(), at, epoch: by.epoch, head: chain.head, next: None }
        .signed(by)
}

#[test]
fn a_record_that_ended_in_order_is_vouched_for_to_its_last_line() {
    let record = Record::new();
    assert_eq!(record.verify(&[]), (0, "intact".into(), None));
    let notes = std::fs::read_to_string(record.state().join(OUTSIDE)).unwrap();
    assert!(notes.matches("\nepoch 1\n").count() as u64 >= RECORDS / AUDIT_CHECKPOINT_LINES, "{notes}");
    for name in ["audit.key", OUTSIDE, PUBLIC] {
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&record.state().join(name).metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn an_edited_line_is_found() {
    let record = Record::new();
    let mut lines = record.lines();
    lines[299] = lines[299].replace("request.auto_allowed", "request.auto-allowed");
    record.write(&lines);
    record.finds(10, "edited", 300);
    let mut last = record.lines();
    last[299] = lines[299].replace("request.auto-allowed", "request.auto_allowed");
    let end = last.len() - 1;
    last[end] = last[end].replace("request.auto_allowed", "request.auto-allowed");
    record.write(&last);
    assert_eq!(record.verify(&[]).1, "edited", "no next line tells, but a checkpoint");
}

#[test]
fn an_edit_that_links_everything_anew_is_found_by_the_checkpoints() {
    let record = Record::new();
    let mut lines = record.lines();
    lines[299] = lines[299].replace("request.auto_allowed", "request.auto-allowed");
    record.write(&linked_anew(&lines));
    let (status, word, seq) = record.verify(&[]);
    assert_eq!((status, word.as_str()), (10, "edited"));
    assert!(seq.is_some_and(|seq| seq <= 300), "the first after the last checkpoint that holds: {seq:?}");
    assert!(Store::open(&record.state()).is_ok(), "links hold: only reading all of it tells");
}

#[test]
fn a_deleted_line_is_found() {
    let record = Record::new();
    let db = record.db();
    db.execute_batch("DELETE FROM audit WHERE seq = 300").unwrap();
    drop(db);
    record.finds(11, "gap", 300);
}

#[test]
fn lines_taken_away_at_the_front_are_found_and_are_not_pruned_ones() {
    let record = Record::new();
    let db = record.db();
    let sql = "DELETE FROM audit WHERE seq <= (SELECT min(size) FROM checkpoints)";
    db.execute_batch(sql).unwrap();
    drop(db);
    record.finds(11, "gap", 1);
}

#[test]
fn an_inserted_line_is_found() {
    let record = Record::new();
    let mut lines = record.lines();
    lines.insert(300, lines[299].clone());
    record.write(&lines);
    record.finds(11, "gap", 301);
    let mut lines = record.lines();
    lines.remove(300);
    lines.insert(300, lines[10].replace(&"0".repeat(64), &"1".repeat(64)));
    record.write(&linked_anew(&lines));
    assert_eq!(record.verify(&[]).1, "edited", "linked anew, a checkpoint tells");
}

#[test]
fn lines_in_another_order_are_found() {
    let record = Record::new();
    let mut lines = record.lines();
    lines.swap(299, 300);
    record.write(&lines);
    record.finds(11, "gap", 300);
}

#[test]
fn a_cut_tail_is_found() {
    let record = Record::new();
    let mut lines = record.lines();
    let all = lines.len() as u64;
    lines.truncate(lines.len() - 1);
    record.write(&lines);
    record.finds(12, "truncated", all);
    assert_eq!(Store::open(&record.state()).unwrap_err().code().name(), "STORE_CORRUPT", "no gate goes on with it");
    // With its checkpoints cut too, those outside tell.
    let db = record.db();
    db.execute_batch("DELETE FROM audit WHERE seq > 256; DELETE FROM checkpoints WHERE size > 256").unwrap();
    drop(db);
    assert_eq!(record.verify(&[]).1, "truncated");
    assert_eq!(Store::open(&record.state()).unwrap_err().code().name(), "STORE_CORRUPT");
}

#[test]
fn a_database_that_is_gone_is_found() {
    let record = Record::new();
    std::fs::remove_file(record.state().join("tollgate.db")).unwrap();
    assert_eq!(record.verify(&[]), (12, "truncated".into(), Some(1)));
    let error = Store::open(&record.state()).unwrap_err();
    assert_eq!(error.code().name(), "STORE_CORRUPT", "never silently a fresh one: {error}");
}

#[test]
fn an_older_copy_of_the_database_is_found() {
    let record = Record::new();
    let (db, copy) = (record.state().join("tollgate.db"), record.temp.path().join("copy"));
    std::fs::copy(&db, &copy).unwrap();
    let store = Store::open(&record.state()).unwrap();
    run(&store, 300);
    drop(store);
    assert_eq!(record.verify(&[]), (0, "intact".into(), None));
    std::fs::copy(&copy, &db).unwrap();
    record.finds(12, "truncated", RECORDS + 1);
    let error = Store::open(&record.state()).unwrap_err();
    assert!(error.message().contains("older copy"), "{error}");
    // Lines that were invented after the copy do not make up for those that are gone.
    let mut lines = record.lines();
    lines.extend(record.lines().into_iter().skip(1).take(400));
    record.write(&linked_anew(&lines));
    assert_eq!(record.verify(&[]).1, "edited");
}

#[test]
fn a_checkpoint_by_any_other_key_is_found() {
    let record = Record::new();
    let mut lines = record.lines();
    lines[299] = lines[299].replace("request.auto_allowed", "request.auto-allowed");
    let lines = linked_anew(&lines);
    record.write(&lines);
    let other = Signer::new(&record.origin(), &[7; 32], 1, 0);
    let note = forged(&lines, &record.origin(), &other);
    let db = record.db();
    db.execute("UPDATE checkpoints SET note = ?1 WHERE size = ?2", (note, lines.len() as i64)).unwrap();
    drop(db);
    record.finds_signature(lines.len() as u64);
}

impl Record {
    #[track_caller]
    fn finds_signature(&self, size: u64) {
        assert_eq!(self.verify(&[]), (13, "bad-signature".into(), Some(size)));
    }

    /// As if its key had begun to sign long ago: the next checkpoint is its last.
    fn age_key(&self) {
        let signer = self.signer();
        let since = signer.since_ms - AUDIT_EPOCH_S as i64 * 1000 - 1;
        let text = signer.to_text().replace(&format!("since {}", signer.since_ms), &format!("since {since}"));
        std::fs::write(self.state().join("audit.key"), text).unwrap();
    }
}

#[test]
fn an_old_epochs_key_forges_nothing() {
    let record = Record::new();
    let old = record.signer();
    let before = record.lines();
    record.age_key();
    let store = Store::open(&record.state()).unwrap();
    run(&store, 10);
    drop(store);
    let store = Store::open(&record.state()).unwrap();
    run(&store, 10);
    drop(store);
    assert_eq!(record.verify(&[]), (0, "intact".into(), None));
    assert_eq!(record.signer().epoch, 2);
    assert_ne!(record.signer().public(), old.public());

    // After the new key's last checkpoint.
    let lines = record.lines();
    let size = lines.len() as i64;
    let sql = "SELECT note FROM checkpoints WHERE size = ?1";
    let genuine: String = record.db().query_row(sql, [size], |row| row.get(0)).unwrap();
    let put = |note: &str| {
        record.db().execute("UPDATE checkpoints SET note = ?1 WHERE size = ?2", (note, size)).unwrap();
    };
    put(&forged(&lines, &record.origin(), &old));
    record.finds_signature(size as u64);
    put(&genuine);
    assert_eq!(record.verify(&[]).0, 0);

    // In the place of everything since the old key's time, so that only old signatures are there.
    let sql = "DELETE FROM checkpoints WHERE size > ?1";
    record.db().execute(sql, [before.len() as i64]).unwrap();
    let mut lines = before.clone();
    lines.push(before[299].clone());
    let lines = linked_anew(&lines);
    record.write(&lines);
    let db = record.db();
    let sql = "INSERT INTO checkpoints (size, note, edge) VALUES (?1, ?2, '')";
    db.execute(sql, (lines.len() as i64, forged(&lines, &record.origin(), &old))).unwrap();
    drop(db);
    record.finds_signature(lines.len() as u64);
    // Even with everything outside gone: the key that signs now does not follow.
    std::fs::remove_file(record.state().join(OUTSIDE)).unwrap();
    record.finds_signature(lines.len() as u64);
}

#[test]
fn a_replayed_checkpoint_is_found() {
    let record = Record::new();
    let outside = record.state().join(OUTSIDE);
    let text = std::fs::read_to_string(&outside).unwrap();
    let first = tollgate::record::audit::notes(&text).0[0];
    let size = Checkpoint::read(first).unwrap().size;
    std::fs::write(&outside, format!("{text}{first}")).unwrap();
    record.finds_signature(size);
}

#[test]
fn what_nothing_vouches_for_is_told_apart() {
    let record = Record::new();
    let mut lines = record.lines();
    lines.push(lines[299].clone());
    record.write(&linked_anew(&lines));
    record.finds(14, "unanchored-tail", RECORDS + 1);
    let alone = record.temp.path().join("alone");
    std::fs::write(&alone, format!("{}\n", lines[0])).unwrap();
    std::fs::write(record.temp.path().join("alone.checkpoints"), "").unwrap();
    assert_eq!(record.verify(&[alone.to_str().unwrap()]), (14, "unanchored-tail".into(), Some(1)));
}

#[test]
fn the_second_place_tells_when_the_state_directory_was_written_anew() {
    let record = Record { temp: tempfile::tempdir().unwrap() };
    let place = record.temp.path().join("elsewhere");
    std::fs::create_dir(&place).unwrap();
    let store = Store::open(&record.state()).unwrap();
    store.anchor_also_in(Some(place.clone())).wait().unwrap();
    run(&store, 20);
    drop(store);
    let kept = std::fs::read_dir(&place).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read(&kept).unwrap(), std::fs::read(record.state().join(OUTSIDE)).unwrap());
    let mut lines = record.lines();
    lines[9] = lines[9].replace("request.auto_allowed", "request.auto-allowed");
    let lines = linked_anew(&lines);
    record.write(&lines);
    // With the key that signs now, everywhere but there.
    let note = forged(&lines, &record.origin(), &record.signer());
    let mut tree = Tree::EMPTY;
    lines.iter().for_each(|line| tree.push(line.as_bytes()));
    let db = record.db();
    db.execute("UPDATE checkpoints SET note = ?1, edge = ?2", (&note, tree.edge())).unwrap();
    drop(db);
    std::fs::write(record.state().join(OUTSIDE), &note).unwrap();
    assert_eq!(record.verify(&[]).0, 0, "who has the key and all places can write another record");
    let kept = kept.to_str().unwrap();
    assert_eq!(record.verify(&["--checkpoints", kept]), (10, "edited".into(), Some(1)));
    let store = Store::open(&record.state()).unwrap();
    assert_eq!(code(store.anchor_also_in(Some(place))), "STORE_CORRUPT");
}

#[test]
fn without_a_second_place_that_can_be_written_nothing_new_is_taken_in() {
    let world = World::new();
    let dir = world.dir.join("not-there");
    assert_eq!(code(world.store.anchor_also_in(Some(dir.clone()))), "AUDIT_UNAVAILABLE");
    let who = session(1000, 5);
    let new = || asks(&world.store, "ls", Class::Read, &who);
    assert_eq!(code(world.store.auto_allow(new(), Authority::Policy, runner(1), at(0))), "AUDIT_UNAVAILABLE");
    world.store.anchor_also_in(None).wait().unwrap();
    let execution = claimed(world.store.auto_allow(new(), Authority::Policy, runner(1), at(0)));
    world.store.finished(execution, outcome(0), at(1)).wait().unwrap();
}

#[test]
fn a_lost_key_beside_its_checkpoints_is_damage_and_a_torn_checkpoint_is_not() {
    let record = Record::new();
    let outside = record.state().join(OUTSIDE);
    let text = std::fs::read_to_string(&outside).unwrap();
    std::fs::write(&outside, &text[..text.len() - 40]).unwrap();
    drop(Store::open(&record.state()).unwrap());
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), text, "what the database has is written again");
    std::fs::remove_file(record.state().join("audit.key")).unwrap();
    assert_eq!(Store::open(&record.state()).unwrap_err().code().name(), "STORE_CORRUPT");
}

/// The page's own script, with the real tools.
#[test]
fn the_format_page_lets_jq_and_sha256sum_verify() {
    let record = Record { temp: tempfile::tempdir().unwrap() };
    let store = Store::open(&record.state()).unwrap();
    run(&store, 40);
    drop(store);
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/audit-format.md")).unwrap();
    let script = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let check = |lines: &str, notes: &str| {
        let (a, b) = (record.temp.path().join("lines.jsonl"), record.temp.path().join("notes"));
        std::fs::write(&a, lines).unwrap();
        std::fs::write(&b, notes).unwrap();
        let output = Command::new("sh").args(["-c", script, "sh"]).args([a, b]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("not found"), "jq and sha256sum must be installed: {said}");
        (output.status.code().unwrap(), said.trim().to_owned())
    };
    let (status, lines) = record.tollgate(&["audit", "export"]);
    assert_eq!(status, 0, "{lines}");
    let (_, notes) = record.tollgate(&["audit", "export", "--format", "checkpoints"]);
    let count = lines.lines().count();
    assert_eq!(check(&lines, &notes), (0, format!("intact: {count} records")));
    assert_eq!(check(&lines.replacen("auto_allowed", "auto-allowed", 7), &notes).0, 10);
    let without: String = lines.lines().enumerate().filter(|(n, _)| *n != 9).map(|(_, l)| format!("{l}\n")).collect();
    assert_eq!(check(&without, &notes), (11, "record 10 is missing".into()));
    let cut: String = lines.lines().take(count - 1).map(|l| format!("{l}\n")).collect();
    assert_eq!(check(&cut, &notes).0, 12);
    assert_eq!(check(&lines, ""), (14, "nothing vouches for what follows record 0".into()));
}
