//! OTLP logs, as JSON over HTTP (`ExportLogsServiceRequest`).

use super::{Context, at_ms};
use crate::facts::BUILD;
use crate::record::audit::Record;
use serde_json::{Value, json};

fn attribute(key: &str, value: Option<Value>) -> Option<Value> {
    Some(json!({ "key": key, "value": value? }))
}

fn text(value: impl Into<String>) -> Value {
    json!({ "stringValue": value.into() })
}

/// 64-bit numbers are strings in the JSON form of protobuf.
fn number(value: u64) -> Value {
    json!({ "intValue": value.to_string() })
}

fn log(context: &mut Context, record: &Record) -> Value {
    let told = context.tell(record);
    let (severity, word) = if told.trouble { (13, "WARN") } else { (9, "INFO") };
    let request = record.request.map(|id| text(id.to_string()));
    let attributes: Vec<Value> = [
        attribute("event.name", Some(text(format!("tollgate.{}", record.what)))),
        attribute("tollgate.seq", Some(number(record.seq))),
        attribute("tollgate.prev", Some(text(record.prev.to_string()))),
        attribute("tollgate.request", request),
        attribute("tollgate.class", told.class.map(text)),
        attribute("tollgate.agent", told.agent.map(text)),
        attribute("process.command_line", told.command.map(text)),
        attribute("process.working_directory", told.cwd.map(text)),
        attribute("process.exit.code", told.exit.map(number)),
        attribute("user.id", told.uid.map(|uid| text(uid.to_string()))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let at = format!("{}000000", at_ms(record));
    json!({ "timeUnixNano": at, "observedTimeUnixNano": at, "severityNumber": severity, "severityText": word,
        "eventName": format!("tollgate.{}", record.what), "body": text(record.body.to_string()), "attributes": attributes })
}

/// One request for these records, on this host.
pub fn request(context: &mut Context, records: &[Record], host: &str) -> Value {
    let logs: Vec<Value> = records.iter().map(|record| log(context, record)).collect();
    let resource = [("service.name", "tollgate"), ("service.version", BUILD), ("host.name", host)]
        .map(|(key, value)| json!({ "key": key, "value": text(value) }));
    json!({ "resourceLogs": [{ "resource": { "attributes": resource },
        "scopeLogs": [{ "scope": { "name": "tollgate.audit", "version": BUILD }, "logRecords": logs }] }] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::export::tests::record;

    #[test]
    fn numbers_of_64_bits_are_strings_and_the_body_is_whole() {
        let records = [record("request.parked", json!({ "command": "make" }))];
        let request = request(&mut Context::default(), &records, "box");
        let log = &request["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
        assert_eq!(log["timeUnixNano"], "1772600767008000000");
        assert_eq!(log["body"]["stringValue"], r#"{"command":"make"}"#);
        let seq = log["attributes"].as_array().unwrap().iter().find(|one| one["key"] == "tollgate.seq").unwrap();
        assert_eq!(seq["value"]["intValue"], "7");
    }
}
