//! The journal's native protocol: fields, one after the other; a value with a line feed in it goes with its length.

use super::Context;
use crate::record::audit::Record;

fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    if value.contains('\n') {
        out.push(b'\n');
        out.extend_from_slice(&(value.len() as u64).to_le_bytes());
    } else {
        out.push(b'=');
    }
    out.extend_from_slice(value.as_bytes());
    out.push(b'\n');
}

/// One entry.
pub fn entry(context: &mut Context, record: &Record) -> Vec<u8> {
    let told = context.tell(record);
    let mut out = Vec::new();
    let command = told.command.as_deref().unwrap_or_default();
    field(&mut out, "MESSAGE", format!("{} {command}", record.what).trim_end());
    field(&mut out, "PRIORITY", if told.trouble { "4" } else { "6" });
    field(&mut out, "SYSLOG_IDENTIFIER", "tollgate");
    field(&mut out, "TOLLGATE_SEQ", &record.seq.to_string());
    field(&mut out, "TOLLGATE_PREV", &record.prev.to_string());
    field(&mut out, "TOLLGATE_AT", &record.at);
    field(&mut out, "TOLLGATE_WHAT", &record.what);
    if let Some(request) = record.request {
        field(&mut out, "TOLLGATE_REQUEST", request.as_str());
    }
    for (name, value) in [("TOLLGATE_CLASS", told.class), ("TOLLGATE_AGENT", told.agent), ("TOLLGATE_CWD", told.cwd)] {
        if let Some(value) = value {
            field(&mut out, name, &value);
        }
    }
    if let Some(exit) = told.exit {
        field(&mut out, "TOLLGATE_EXIT", &exit.to_string());
    }
    field(&mut out, "TOLLGATE_BODY", &record.body.to_string());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::export::tests::record;
    use serde_json::json;

    #[test]
    fn a_value_of_several_lines_goes_with_its_length() {
        let entry = entry(&mut Context::default(), &record("request.parked", json!({ "command": "a\nb" })));
        let want =
            b"MESSAGE\n\x12\0\0\0\0\0\0\0request.parked a\nb\nPRIORITY=6\nSYSLOG_IDENTIFIER=tollgate\nTOLLGATE_SEQ=7\n";
        assert!(entry.starts_with(want), "{}", String::from_utf8_lossy(&entry));
    }
}
