//! What a peer writes on a socket is a call, an answer or refused, never worse; and what was understood is said again
//! with the same meaning.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::{Serialize, de::DeserializeOwned};
use tollgate::gate::protocol::{Answer, Call, Hello, Method, Submit, Submitted};

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|&byte| byte == b'\n') {
        if let Ok(call) = serde_json::from_slice::<Call>(line) {
            drop(Method::from_name(&call.method));
            again::<Hello>(&call.params);
            again::<Submit>(&call.params);
        }
        if let Ok(answer) = serde_json::from_slice::<Answer>(line)
            && let Some(result) = answer.result
        {
            again::<Submitted>(&result);
        }
    }
});

/// Where it has this shape, it has the same value after a way through the wire.
fn again<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &serde_json::Value) {
    if let Ok(first) = serde_json::from_value::<T>(value.clone()) {
        let line = serde_json::to_vec(&first).expect("it is plain data");
        assert!(!line.contains(&b'\n'), "one line");
        assert_eq!(serde_json::from_slice::<T>(&line).expect("it was written by us"), first);
    }
}
