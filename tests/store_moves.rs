//! The database itself holds the table of states: also against somebody who writes SQL by hand.

use super::store_world::*;
use rusqlite::Connection;
use tollgate::assess::Class;
use tollgate::authorize::states::{Execution, Lease, Machine, Proposal, Request};

/// Insert a row in this state with something in every column that needs it.
fn insert(db: &Connection, table: &str, id: &str, state: &str) -> rusqlite::Result<usize> {
    let mut statement = db.prepare(&format!("PRAGMA table_info({table})"))?;
    let columns: Vec<(String, String, bool)> =
        statement.query_map([], |row| Ok((row.get(1)?, row.get(2)?, row.get(3)?)))?.collect::<rusqlite::Result<_>>()?;
    let needed = columns.iter().filter(|(name, _, not_null)| *not_null || name == "id");
    let (names, values): (Vec<&str>, Vec<String>) = needed
        .map(|(name, kind, _)| {
            let value = match (name.as_str(), kind.as_str()) {
                ("id", _) => format!("'{id}'"),
                ("state", _) => format!("'{state}'"),
                ("needed", _) => "1".to_owned(),
                (_, "INTEGER") => "0".to_owned(),
                _ => format!("'{name} of {id}'"),
            };
            (name.as_str(), value)
        })
        .unzip();
    db.execute(&format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), values.join(", ")), [])
}

/// The arrows that lead from a birth to this state.
fn path<M: Machine>(to: M) -> Vec<M> {
    let mut paths: Vec<Vec<M>> = M::INITIAL.iter().map(|&state| vec![state]).collect();
    loop {
        let at = paths.iter().position(|path| path.last() == Some(&to));
        if let Some(at) = at {
            return paths.swap_remove(at);
        }
        paths = paths
            .iter()
            .flat_map(|path| path[path.len() - 1].next().iter().map(move |&next| [&path[..], &[next]].concat()))
            .collect();
        assert!(!paths.is_empty(), "{to:?} is not reached");
    }
}

fn moves<M: Machine>(db: &Connection) {
    let table = M::TABLE;
    let set = |id: &str, state: M| {
        db.execute(&format!("UPDATE {table} SET state = ?1 WHERE id = ?2"), [state.name(), id]).is_ok_and(|n| n == 1)
    };
    for (n, &state) in M::ALL.iter().enumerate() {
        let born = insert(db, table, &format!("{n:a>26}"), state.name()).is_ok();
        assert_eq!(born, M::INITIAL.contains(&state), "{table}: born {state:?}");
    }
    for (n, (a, b)) in M::pairs().enumerate() {
        let id = format!("{n:b>26}");
        let way = path(a);
        insert(db, table, &id, way[0].name()).unwrap();
        assert!(way[1..].iter().all(|&step| set(&id, step)), "{table}: {way:?}");
        let stays = a == b && !a.is_final();
        assert_eq!(set(&id, b), a.next().contains(&b) || stays, "{table}: {a:?} to {b:?}");
        let touched = db.execute(&format!("UPDATE {table} SET reason = 'x' WHERE id = ?1"), [&id]);
        let now: String =
            db.query_row(&format!("SELECT state FROM {table} WHERE id = ?1"), [&id], |row| row.get(0)).unwrap();
        let is_final = M::from_name(&now).unwrap().is_final();
        assert_eq!(touched.is_err(), is_final, "{table}: touch {now}");
        assert!(db.execute(&format!("DELETE FROM {table} WHERE id = ?1"), [&id]).is_err(), "{table}: deleted {now}");
    }
    let id = format!("{:c>26}", 0);
    insert(db, table, &id, M::INITIAL[0].name()).unwrap();
    assert!(db.execute(&format!("UPDATE {table} SET state = 'DONE' WHERE id = ?1"), [&id]).is_err());
}

#[test]
fn the_store_moves_exactly_where_the_table_says() {
    let (db, _ended) = World::new().raw();
    moves::<Request>(&db);
    moves::<Lease>(&db);
    moves::<Execution>(&db);
    moves::<Proposal>(&db);
}

#[test]
fn what_was_recorded_is_neither_changed_nor_deleted_nor_slipped_in() {
    let world = World::new();
    let (_, claim) = approved(&world.store, "make", Class::Write, &session(1000, 5), &at(0));
    let execution = claimed(world.store.claim(claim, at(1)));
    world.store.finished(execution, outcome(0), at(2)).wait().unwrap();
    let (db, _ended) = world.raw();
    for sql in [
        "UPDATE audit SET line = '{}' WHERE seq = 1",
        "UPDATE audit SET seq = 99 WHERE seq = 2",
        "DELETE FROM audit WHERE seq = 1",
        "INSERT INTO audit (seq, line) VALUES (99, '{}')",
        "INSERT OR REPLACE INTO audit (seq, line) VALUES (1, '{}')",
        "UPDATE decisions SET decision = 'deny'",
        "DELETE FROM decisions",
        "UPDATE outcomes SET exit = 1",
        "DELETE FROM outcomes",
        "UPDATE leases SET state = 'ISSUED'",
        "UPDATE executions SET reason = 'none'",
        "UPDATE always_rules SET ceiling = 'destructive'; INSERT INTO always_rules
            (id, rule, digest, ceiling, request, approver, expires_wall)
            VALUES ('aaaaaaaaaaaaaaaaaaaaaaaaaa', '', '', 'destructive', '', '', 0)",
        "INSERT INTO outcomes (execution, ended, duration_ms, body) VALUES ('an exit without a status', 'exit', 0, '')",
        "INSERT INTO outcomes (execution, ended, exit, duration_ms, body) VALUES ('a status of nothing', 'unknown', 0, 0, '')",
        "INSERT INTO meta (key, value) VALUES ('strict', NULL)",
    ] {
        assert!(db.execute_batch(sql).is_err(), "{sql}");
    }
}
