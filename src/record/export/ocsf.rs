//! OCSF 1.3, class 1007 Process Activity: one object for each record.

use super::{Context, at_ms};
use crate::facts::BUILD;
use crate::record::audit::Record;
use serde_json::{Map, Value, json};

const CLASS_UID: u64 = 1007;
const CATEGORY_UID: u64 = 1;

/// Activity number and name: a run begins, a run ends, anything else.
fn activity(what: &str) -> (u64, &'static str) {
    match what {
        "execution.started" | "lease.consumed" | "request.auto_allowed" => (1, "Launch"),
        "execution.finished" => (2, "Terminate"),
        _ => (99, "Other"),
    }
}

/// The record as OCSF sees it, on this host.
pub fn event(context: &mut Context, record: &Record, host: &str) -> Value {
    let told = context.tell(record);
    let (activity_id, activity_name) = activity(&record.what);
    let (severity_id, severity) = if told.trouble { (3, "Medium") } else { (1, "Informational") };
    let (status_id, status) = match (record.what.as_str(), told.trouble) {
        ("execution.result_unknown", _) => (0, "Unknown"),
        (_, true) => (2, "Failure"),
        (_, false) => (1, "Success"),
    };
    let mut process = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            process.insert(key.to_owned(), value);
        }
    };
    put("cmd_line", told.command.map(Value::from));
    put("working_directory", told.cwd.map(Value::from));
    put("pid", record.body.pointer("/runner/pid").cloned());
    let user = told.uid.map(|uid| json!({ "uid": uid.to_string() }));
    let mut event = json!({
        "activity_id": activity_id, "activity_name": activity_name,
        "category_uid": CATEGORY_UID, "category_name": "System Activity",
        "class_uid": CLASS_UID, "class_name": "Process Activity", "type_uid": CLASS_UID * 100 + activity_id,
        "time": at_ms(record), "severity_id": severity_id, "severity": severity,
        "status_id": status_id, "status": status, "status_detail": record.what,
        "metadata": {
            "version": "1.3.0", "log_name": "audit", "uid": record.seq.to_string(), "sequence": record.seq,
            "original_time": record.at, "product": { "name": "Tollgate", "vendor_name": "Tollgate", "version": BUILD },
        },
        "device": { "hostname": host, "type_id": 0, "type": "Unknown" },
        "actor": { "app_name": told.agent, "user": user, "process": { "pid": told.pid } },
        "process": process,
        "unmapped": { "what": record.what, "request": record.request, "prev": record.prev, "class": told.class,
            "body": record.body },
    });
    if let (Some(exit), Some(fields)) = (told.exit, event.as_object_mut()) {
        fields.insert("exit_code".into(), exit.into());
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::export::tests::record;

    #[test]
    fn a_record_has_what_the_class_demands() {
        let body = json!({ "outcome": { "end": { "exit": 0 } } });
        let event = event(&mut Context::default(), &record("execution.finished", body), "box");
        for (at, want) in [("/class_uid", 1007), ("/type_uid", 100_702), ("/exit_code", 0), ("/metadata/sequence", 7)] {
            assert_eq!(event.pointer(at), Some(&json!(want)), "{at}");
        }
        for demanded in ["activity_id", "category_uid", "time", "severity_id", "metadata", "device", "actor", "process"]
        {
            assert!(event.get(demanded).is_some(), "{demanded}");
        }
    }
}
