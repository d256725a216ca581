//! The audit chain alone is enough: the state tables are deleted, rebuilt from its lines, and are what they were.

use super::store_world::*;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params_from_iter};
use serde_json::Value;
use tollgate::assess::Class;
use tollgate::authorize::*;
use tollgate::facts::codes::Code;
use tollgate::record::audit::Record;
use tollgate::record::signing::SecretKey;
use tollgate::store::*;

/// What is rebuilt, children last.
const TABLES: [&str; 13] = [
    "requests",
    "leases",
    "executions",
    "outcomes",
    "decisions",
    "notes",
    "always_rules",
    "grants",
    "trusts",
    "keys",
    "policies",
    "denials",
    "meta",
];

/// One of everything that can happen.
fn eventful(store: &Store) -> RequestId {
    let who = session(1000, 5);
    let ask = |command: &str, class| asks(store, command, class, &who);
    let park = |command: &str| store.park(ask(command, Class::Write), at(1)).wait().unwrap().request;
    let subject = |id| story(store, id).request.subject;

    let (whole, claim) = approved(store, "touch a", Class::Write, &who, &at(2));
    let claim = Claim { revalidated: vec![red("script.sh")], ..claim };
    let execution = claimed(store.claim(claim, at(3)));
    store.started(execution, runner(99), at(4)).wait().unwrap();
    let refused = Refused { what: "connect".into(), rule: "seccomp".into(), class: Some(Class::Network) };
    let after = AfterState { path: "/w/a".into(), sha256: Some(Digest::of(b"a")), exists: true };
    let full = Outcome { refused: vec![refused], after: vec![after], level: Some("landlock".into()), ..outcome(3) };
    store.finished(execution, full, at(5)).wait().unwrap();

    store.released(whole, execution, vec!["/w/.envrc".into()], ana(), at(5)).wait().unwrap();

    let text = PolicyText {
        version: policy(),
        classifier: "c".into(),
        canonical: "version = 1".into(),
        sources: vec!["/etc/tollgate/policy.toml".into()],
    };
    for _ in 0..2 {
        store.know_policy(text.clone(), at(5)).wait().unwrap();
    }
    let denied = park("make");
    let _ = store.decide(denied, deny(subject(denied)), at(6)).wait().unwrap();
    let for_long = park("make all");
    let for_long_said = Decide { decision: Verb::DenyFor { s: 60 }, ..deny(subject(for_long)) };
    let _ = store.decide(for_long, for_long_said, at(6)).wait().unwrap();
    assert_eq!(code(store.park(ask("make all", Class::Write), at(7))), "APPROVAL_DENIED");
    store.cancel(park("cancelled"), at(7)).wait().unwrap();
    store.stale(park("stale"), Code::AccountChanged, red("origin moved"), at(8)).wait().unwrap();
    store.refuse(park("refused"), red("rule no-make"), at(9)).wait().unwrap();
    store.extend(park("extended"), 900_000, ana(), at(10)).wait().unwrap();
    store.block(ask("rm -rf /", Class::Destructive), at(11)).wait().unwrap();

    let voted = NewRequest { needed: 2, ..ask("deploy", Class::Destructive) };
    let voted = store.park(voted, at(12)).wait().unwrap().request;
    let narrow = Verb::ApproveOnce { fence: Some(Class::Network), ttl_ms: Some(50_000) };
    let first = Decide { decision: narrow, proof: Proof::Code, ..approve(subject(voted)) };
    assert_eq!(store.decide(voted, first, at(13)).wait().unwrap(), Decided::Voted { have: 1, needed: 2 });
    let second = Decide { approver: Approver { uid: 1001, ..ana() }, ..approve(subject(voted)) };
    assert!(matches!(store.decide(voted, second, at(14)).wait().unwrap(), Decided::Approved { .. }));
    store.revoke(voted, ana(), at(15)).wait().unwrap();

    let rule = NewRule {
        kind: RuleKind::Exact { command: store.key().tag("command", [&b"make"[..]]) },
        shown: "make".into(),
        ceiling: Class::Write,
        cwd_prefix: "/home/ana/project".into(),
        ttl_s: 600,
        files: vec![BoundFile { path: "/w/Makefile".into(), sha256: Digest::of(b"all:") }],
    };
    let always = park("always");
    let decision = Verb::ApproveAlways { rule, fence: None, ttl_ms: None };
    let _ = store.decide(always, Decide { decision, ..approve(subject(always)) }, at(16)).wait().unwrap();
    store.disowned(always, red("user 1000 may not approve any more"), at(17)).wait().unwrap();
    let saved = store.rules(at(18)).wait().unwrap().remove(0).id;
    let by_rule =
        store.auto_allow(ask("make", Class::Write), Authority::Rule(saved), runner(1), at(19)).wait().unwrap();
    store.not_started(by_rule.execution(), red("the child could not be released"), at(20)).wait().unwrap();
    store.remove_rule(saved, ana(), at(21)).wait().unwrap();

    let grant = store.grant(who.clone(), Class::Write, "/home/ana".into(), 3600, ana(), at(22)).wait().unwrap();
    claimed(store.auto_allow(ask("make", Class::Write), Authority::Grant(grant), runner(2), at(23)));
    store.revoke_grant(grant, ana(), at(24)).wait().unwrap();

    for name in ["rg", "fd"] {
        let (path, sha256) = (format!("/home/ana/bin/{name}"), Digest::of(name.as_bytes()));
        let row = TrustRow { name: name.into(), sha256, size: 7, path, by: ana(), wall_ms: at(24).wall_ms };
        store.trust(row, at(24)).wait().unwrap();
    }
    store.untrust("/home/ana/bin/fd".into(), ana(), at(24)).wait().unwrap();

    let keys = [(); 2].map(|()| SecretKey::generate().unwrap().public());
    for (key, vouched) in [(keys[0], None), (keys[1], Some(keys[0]))] {
        let row = KeyRow { key, by: ana(), wall_ms: at(24).wall_ms };
        store.register_key(row, vouched, at(24)).wait().unwrap();
    }
    let signed = park("signed");
    let _ =
        store.decide(signed, Decide { proof: Proof::Key(keys[1]), ..approve(subject(signed)) }, at(24)).wait().unwrap();

    let read = store.auto_allow(ask("ls", Class::Read), Authority::Policy, runner(3), at(25)).wait().unwrap();
    store.finished(read.execution(), Outcome::only(End::Signal(9), None), at(26)).wait().unwrap();
    let unknown = store.auto_allow(ask("ls -l", Class::Read), Authority::Policy, runner(4), at(27)).wait().unwrap();
    store.result_unknown(unknown.execution(), red("connection lost"), at(28)).wait().unwrap();
    store.annotate(unknown.execution(), Reconciled::Failed, Some(red("looked")), ana(), at(29)).wait().unwrap();

    let (_, late) = approved(store, "late", Class::Destructive, &who, &at(30));
    assert_eq!(code(store.claim(late, at(300_000))), "APPROVAL_EXPIRED");
    let (_, exceeded) = approved(store, "wide", Class::Destructive, &who, &at(300_001));
    let wide = Claim { fence: Digest::of(b"wider"), ..exceeded };
    assert_eq!(code(store.claim(wide, at(300_002))), "APPROVAL_SCOPE_MISMATCH");
    store.expire(at(700_000)).wait().unwrap();
    store.park(ask("waits", Class::Write), at(700_001)).wait().unwrap();
    store.lockdown(ana(), at(700_002)).wait().unwrap();
    whole
}

type Dump = Vec<(String, Vec<Vec<(String, Sql)>>)>;

/// Every row of every table, in an order that depends on nothing else.
fn dump(db: &Connection) -> Dump {
    let rows = |table: &str| {
        let mut statement = db.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).unwrap();
        let names: Vec<String> = statement.column_names().iter().map(|name| (*name).to_owned()).collect();
        let rows = statement
            .query_map([], |row| names.iter().enumerate().map(|(at, name)| Ok((name.clone(), row.get(at)?))).collect());
        rows.unwrap().collect::<rusqlite::Result<Vec<Vec<(String, Sql)>>>>().unwrap()
    };
    TABLES.iter().map(|table| ((*table).to_owned(), rows(table))).collect()
}

/// A value of a record as the column holds it.
fn column(value: &Value) -> Sql {
    match value {
        Value::Null => Sql::Null,
        Value::Bool(yes) => Sql::Integer(i64::from(*yes)),
        Value::Number(number) => Sql::Integer(number.as_i64().unwrap()),
        Value::String(text) => Sql::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => Sql::Text(value.to_string()),
    }
}

fn put(db: &Connection, table: &str, columns: &[(&str, Value)]) {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let marks = vec!["?"; names.len()].join(", ");
    let sql = format!("INSERT INTO {table} ({}) VALUES ({marks})", names.join(", "));
    db.execute(&sql, params_from_iter(columns.iter().map(|(_, value)| column(value)))).unwrap();
}

fn set(db: &Connection, table: &str, columns: &[(&str, Value)], only: &str, of: &str) {
    let names: Vec<String> = columns.iter().map(|(name, _)| format!("{name} = ?")).collect();
    let sql = format!("UPDATE {table} SET {} WHERE {only} = ?", names.join(", "));
    let values = columns.iter().map(|(_, value)| column(value)).chain([Sql::Text(of.to_owned())]);
    assert_eq!(db.execute(&sql, params_from_iter(values)).unwrap(), 1, "{sql} {of}");
}

fn deadline(body: &Value) -> Vec<(&'static str, Value)> {
    let of = |name: &str, at: usize| body[name][at].clone();
    vec![
        ("from_wall", of("wall_ms", 0)),
        ("until_wall", of("wall_ms", 1)),
        ("from_boot", of("boot_ms", 0)),
        ("until_boot", of("boot_ms", 1)),
        ("boot_id", body["boot_id"].clone()),
    ]
}

fn action(body: &Value) -> Vec<(&'static str, Value)> {
    ["kind", "class", "fence"].map(|name| (name, body[name].clone())).into()
}

fn session_key(session: &Value) -> Value {
    serde_json::from_value::<Session>(session.clone()).unwrap().key().into()
}

fn lease(db: &Connection, lease: &Value, fence: &Value, session: &Value) {
    let mut columns =
        vec![("state", "ISSUED".into()), ("session_key", session_key(session)), ("uid", session["uid"].clone())];
    for name in ["id", "request", "subject", "evidence", "policy", "assessment", "approvers"] {
        columns.push((name, lease[name].clone()));
    }
    columns.extend([
        ("fence_digest", lease["fence"].clone()),
        ("fence_spec", fence.clone()),
        ("rule", lease["rule"][0].clone()),
        ("rule_digest", lease["rule"][1].clone()),
    ]);
    columns.extend(action(&lease["action"]));
    columns.extend(deadline(&lease["deadline"]));
    put(db, "leases", &columns);
}

/// One record's part of the tables.
fn replay(db: &Connection, record: &Record) {
    let (body, request) = (&record.body, record.request.map(|id| id.to_string()).unwrap_or_default());
    let wall: Value = record.at.parse::<jiff::Timestamp>().unwrap().as_millisecond().into();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of_request = |column: &str| -> Value {
        let sql = format!("SELECT {column} FROM requests WHERE id = ?1");
        db.query_row(&sql, [&request], |row| row.get::<_, String>(0)).unwrap().into()
    };
    let execution = |lease: Value| {
        let run = &body["execution"];
        let mut columns = vec![
            ("id", run["id"].clone()),
            ("request", request.clone().into()),
            ("lease", lease),
            ("state", "CLAIMED".into()),
            ("key", run["key"].clone()),
            ("fence_digest", body["fence"].clone()),
            ("runner", run["runner"].clone()),
            ("claimed_wall", wall.clone()),
        ];
        columns.extend(action(&body["action"]));
        put(db, "executions", &columns);
    };
    if let Some(said) = body.get("decision").filter(|said| said.is_object()) {
        let mut columns =
            vec![("request", request.clone().into()), ("uid", said["approver"]["uid"].clone()), ("wall", wall.clone())];
        for name in ["decision", "approver", "comment", "subject", "evidence", "fence", "proof"] {
            columns.push((name, said[name].clone()));
        }
        put(db, "decisions", &columns);
    }
    match record.what.as_str() {
        "request.parked" | "request.blocked" | "request.auto_allowed" => {
            let mut columns = vec![("id", request.clone().into()), ("created_wall", wall.clone())];
            for name in [
                "state",
                "session",
                "agent",
                "command",
                "cwd",
                "tier",
                "verdict",
                "policy",
                "assessment",
                "subject",
                "subject_manifest",
                "evidence",
                "evidence_manifest",
                "fence_spec",
                "needed",
                "kin",
                "around",
                "hides_code",
            ] {
                columns.push((name, body[name].clone()));
            }
            columns.extend([
                ("uid", body["session"]["uid"].clone()),
                ("session_key", session_key(&body["session"])),
                ("fence_digest", body["fence"].clone()),
            ]);
            columns.extend(action(&body["action"]));
            columns.extend(deadline(&body["deadline"]));
            put(db, "requests", &columns);
            if record.what == "request.auto_allowed" {
                if body["lease"].is_object() {
                    lease(db, &body["lease"], &body["fence_spec"], &body["session"]);
                    set(db, "leases", &[("state", "CONSUMED".into())], "id", &text(&body["lease"]["id"]));
                }
                execution(body["lease"]["id"].clone());
                for (kind, table) in [("rule", "always_rules"), ("grant", "grants")] {
                    if let Some(id) = body["authority"].get(kind) {
                        let sql = format!("UPDATE {table} SET uses = uses + 1 WHERE id = ?1");
                        assert_eq!(db.execute(&sql, [text(id)]).unwrap(), 1);
                    }
                }
            }
        }
        "request.approved" => {
            set(
                db,
                "requests",
                &[("state", body["state"].clone()), ("reason", body["reason"].clone())],
                "id",
                &request,
            );
            let session: Value = serde_json::from_str(of_request("session").as_str().unwrap()).unwrap();
            lease(db, &body["lease"], &body["fence_spec"], &session);
        }
        "request.denied" | "request.expired" | "request.stale" | "request.cancelled" | "request.refused" => {
            let columns = ["state", "code", "reason"].map(|name| (name, body[name].clone()));
            set(db, "requests", &columns, "id", &request);
        }
        "request.extended" => set(db, "requests", &deadline(&body["deadline"]), "id", &request),
        "request.vote" | "lease.exceeded" | "quarantine.released" => {}
        "request.denied_for" => put(
            db,
            "denials",
            &[
                ("uid", body["uid"].clone()),
                ("kin", body["kin"].clone()),
                ("until_wall", body["until_ms"].clone()),
                ("request", request.into()),
            ],
        ),
        "policy.effective" if body["canonical"].is_null() => {}
        "policy.effective" => {
            let mut columns = vec![("version", body["policy"].clone()), ("first_wall", wall)];
            columns.extend(["classifier", "canonical", "sources"].map(|name| (name, body[name].clone())));
            put(db, "policies", &columns);
        }
        "lease.consumed" => {
            set(db, "leases", &[("state", "CONSUMED".into())], "id", &text(&body["lease"]));
            execution(body["lease"].clone());
        }
        "lease.expired" | "lease.stale" | "lease.revoked" => {
            let columns = ["state", "code", "reason"].map(|name| (name, body[name].clone()));
            set(db, "leases", &columns, "state = 'ISSUED' AND request", &request);
        }
        "execution.started" => {
            let columns = [("state", "STARTED".into()), ("runner", body["runner"].clone()), ("started_wall", wall)];
            set(db, "executions", &columns, "id", &text(&body["execution"]));
        }
        "execution.finished" | "execution.not_started" | "execution.result_unknown" => {
            let (id, outcome) = (text(&body["execution"]), &body["outcome"]);
            if record.what == "execution.finished" && body["was"] == "CLAIMED" {
                let sql = "UPDATE executions SET state = 'STARTED', started_wall = claimed_wall WHERE id = ?1";
                db.execute(sql, [&id]).unwrap();
            }
            let why = outcome.get("why").cloned().unwrap_or_default();
            let columns = [("state", body["state"].clone()), ("reason", why), ("ended_wall", wall)];
            set(db, "executions", &columns, "id", &id);
            let end: End = serde_json::from_value(outcome["end"].clone()).unwrap();
            let of = |kind: &str| outcome["end"].get(kind).cloned().unwrap_or_default();
            put(
                db,
                "outcomes",
                &[
                    ("execution", id.into()),
                    ("ended", end.name().into()),
                    ("exit", of("exit")),
                    ("signal", of("signal")),
                    ("duration_ms", outcome["duration_ms"].clone()),
                    ("body", outcome.clone()),
                ],
            );
        }
        "execution.annotated" => {
            let mut columns = vec![("wall", wall)];
            columns.extend(["execution", "found", "note", "approver"].map(|name| (name, body[name].clone())));
            put(db, "notes", &columns);
        }
        "rule.saved" => {
            let rule = &body["rule"];
            put(
                db,
                "always_rules",
                &[
                    ("id", rule["id"].clone()),
                    ("rule", rule["rule"].clone()),
                    ("digest", rule["digest"].clone()),
                    ("ceiling", rule["rule"]["ceiling"].clone()),
                    ("request", rule["from_request"].clone()),
                    ("approver", rule["by"].clone()),
                    ("expires_wall", rule["expires_wall_ms"].clone()),
                ],
            );
        }
        "rule.removed" => set(db, "always_rules", &[("removed", 1.into())], "id", &text(&body["rule"])),
        "grant.given" => put(
            db,
            "grants",
            &[
                ("id", body["grant"].clone()),
                ("session_key", session_key(&body["session"])),
                ("session", body["session"].clone()),
                ("ceiling", body["ceiling"].clone()),
                ("cwd_prefix", body["cwd_prefix"].clone()),
                ("approver", body["approver"].clone()),
                ("expires_wall", body["until_ms"].clone()),
            ],
        ),
        "grant.revoked" => set(db, "grants", &[("removed", 1.into())], "id", &text(&body["grant"])),
        "trust.given" => {
            let mut columns = vec![("wall", wall)];
            columns.extend(["name", "sha256", "size", "path", "approver"].map(|name| (name, body[name].clone())));
            put(db, "trusts", &columns);
        }
        "trust.removed" => {
            let sql = "DELETE FROM trusts WHERE name = ?1 AND sha256 = ?2";
            assert_eq!(db.execute(sql, [text(&body["name"]), text(&body["sha256"])]).unwrap(), 1);
        }
        "key.registered" => {
            let columns = [("public", body["key"].clone()), ("approver", body["approver"].clone()), ("wall", wall)];
            put(db, "keys", &columns);
        }
        "lockdown.begun" => put(db, "meta", &[("key", "lockdown".into()), ("value", body["approver"].clone())]),
        other => panic!("a record that is not replayed: {other}"),
    }
}

#[test]
fn from_the_record_alone_the_state_tables_are_rebuilt() {
    let world = World::new();
    let whole = eventful(&world.store);
    let told = story(&world.store, whole);
    let records = intact(&world.store);
    let (db, ended) = world.raw();
    db.execute_batch("DELETE FROM meta WHERE key = 'opened'").unwrap();
    let before = dump(&db);
    for (table, rows) in &before {
        assert!(!rows.is_empty(), "nothing happened to {table}");
    }
    let triggers: Vec<(String, String)> = db
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name <> 'audit'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    for (name, _) in &triggers {
        db.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    for table in TABLES.iter().rev() {
        db.execute_batch(&format!("DELETE FROM {table}")).unwrap();
    }
    assert!(dump(&db).iter().all(|(_, rows)| rows.is_empty()));
    // The triggers stand again: what is rebuilt also moves along arrows only.
    for (_, sql) in &triggers {
        db.execute_batch(sql).unwrap();
    }
    records.iter().for_each(|record| replay(&db, record));
    for ((table, was), (_, now)) in before.iter().zip(dump(&db)) {
        assert_eq!(was, &now, "{table}");
    }
    drop(db);

    // And from what was rebuilt: the object, the evidence, the policy and the authority at the time of the approval.
    let store = Store::open(&ended.dir).unwrap();
    let again = story(&store, whole);
    assert_eq!((again.subject, again.evidence), (told.subject, told.evidence));
    assert_eq!(again.request.policy, policy());
    let lease = again.lease.unwrap().lease;
    assert_eq!(lease, told.lease.unwrap().lease);
    assert_eq!(lease.approvers, [ana()]);
    assert_eq!(again.decisions[0].evidence, again.request.evidence);
    assert_eq!(again.execution.unwrap().outcome, told.execution.unwrap().outcome);
}

#[test]
fn large_evidence_takes_several_lines_and_comes_back() {
    let World { store, .. } = &World::new();
    let mut new = asks(store, "touch a", Class::Write, &session(1000, 5));
    let mut facts = new.evidence.facts().unwrap();
    facts.unbound = (0..900).map(|n| format!("an input that could not be bound, number {n}")).collect();
    new.evidence = Evidence::bind(&facts).unwrap();
    let evidence = new.evidence.clone();
    let request = store.park(new, at(0)).wait().unwrap().request;
    let lines = store.audit_of(request).wait().unwrap();
    assert!(lines.len() > 3 && lines.iter().all(|line| line.len() <= 16 * 1024));
    let records = tollgate::record::audit::records(lines.iter().map(String::as_str));
    let [parked] = &records[..] else { panic!("{records:?}") };
    let manifest = parked.body["evidence_manifest"].as_str().unwrap().to_owned();
    assert_eq!(Evidence::stored(manifest, evidence.digest()), Some(evidence));
}
