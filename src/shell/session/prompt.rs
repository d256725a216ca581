//! What does a terminal show before a command? The prompt that is set, with the escapes that name things; nothing in it
//! runs.

use super::state::State;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The prompt before a command's first line, or before one of the others.
pub fn expand(state: &State, argv0: &OsStr, first: bool) -> Vec<u8> {
    let (name, default) = if first { ("PS1", &b"\\s\\$ "[..]) } else { ("PS2", &b"> "[..]) };
    let text = state.prompts.get(name).map_or(default, Vec::as_slice);
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b'a') => out.push(7),
            Some(b'e') => out.push(27),
            // They enclose what takes no room: nobody counts here.
            Some(b'[' | b']') => {}
            Some(b'$') => out.push(if rustix::process::geteuid().is_root() { b'#' } else { b'$' }),
            Some(b's') => out.extend_from_slice(last_part(argv0.as_bytes())),
            Some(b'u') => out.extend(state.variable("USER").map(OsStr::as_bytes).unwrap_or_default()),
            Some(b'h') => out.extend_from_slice(host().split(|byte| *byte == b'.').next().unwrap_or_default()),
            Some(b'H') => out.extend(host()),
            Some(b'w') => out.extend(directory(state)),
            Some(b'W') => out.extend_from_slice(last_part(&directory(state))),
            Some(b'\\') => out.push(b'\\'),
            Some(other) => out.extend_from_slice(&[b'\\', other]),
            None => out.push(b'\\'),
        }
    }
    out
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().filter(|part| !part.is_empty()).unwrap_or(path)
}

fn host() -> Vec<u8> {
    let name = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim_ascii_end().to_vec()
}

fn directory(state: &State) -> Vec<u8> {
    let path = state.variable("PWD").map(OsStr::as_bytes).unwrap_or_default();
    match state.variable("HOME").map(OsStr::as_bytes) {
        Some(home) if home.len() > 1 && path.starts_with(home) && matches!(path.get(home.len()), None | Some(b'/')) => {
            [b"~", &path[home.len()..]].concat()
        }
        _ => path.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_names_things_and_runs_nothing() {
        let env = [("PWD", "/h/ana/src"), ("HOME", "/h/ana"), ("USER", "ana"), ("PS1", "\\u:\\w \\W$(id)\\n\\q> ")];
        let state = State::new(env.map(|(n, v)| (n.into(), v.into())).into(), Vec::new());
        assert_eq!(expand(&state, OsStr::new("/x/bash"), true), b"ana:~/src src$(id)\n\\q> ");
        assert_eq!(expand(&state, OsStr::new("/x/bash"), false), b"> ");
        let state = State::new(Vec::new(), Vec::new());
        assert!(expand(&state, OsStr::new("/x/bash"), true).starts_with(b"bash"));
    }
}
