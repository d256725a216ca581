//! What a peer writes on a socket is a call, an answer or refused, never worse; and what was understood is said again
//! with the same meaning.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::{Serialize, de::DeserializeOwned};
use tollgate::gate::protocol::{Hello, Method, Submit, Submitted};

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|&byte| byte == b'\n') {
        let Ok(said) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
        drop(said["method"].as_str().and_then(Method::from_name));
        again::<Hello>(&said["params"]);
        again::<Submit>(&said["params"]);
        again::<Submitted>(&said["result"]);
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
