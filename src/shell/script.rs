//! A script in a file: opened with the caller's eyes, read once, judged by its text. What was read is what runs: right
//! before it runs the file is read again, and any difference ends it.

use super::argv::{Call, How};
use super::refusal::Refusal;
use crate::facts::codes::Code;
use crate::facts::limits::SCRIPT_BYTES_MAX;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// Like bash: not found, and found but not to be run.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
/// Where bash looks for the bytes that no text has.
const BINARY_LOOK_BYTES: usize = 80;

/// The file of a script, as it was read.
#[derive(Debug)]
pub struct Script {
    path: PathBuf,
    text: Vec<u8>,
}

/// Why there is no script.
#[derive(Debug)]
pub enum NoScript {
    /// What bash says, and its status.
    AsBash(String, u8),
    Refused(Refusal),
}

/// Reads the script, and makes the call that runs it. Without a [`Script`] its text is handed over as such: what comes
/// out of a pipe comes only once.
pub fn read(how: How, file: OsString, arguments: Vec<OsString>) -> Result<(Call, Option<Script>), NoScript> {
    let (path, opened) = find(&how.argv0, &file)?;
    let says = |error: &io::Error| as_bash(&how.argv0, &file, error);
    let facts = opened.metadata().map_err(|error| says(&error))?;
    let name = file.to_string_lossy();
    if facts.is_dir() {
        return Err(NoScript::AsBash(format!("{name}: {name}: Is a directory"), NOT_EXECUTABLE));
    }
    let text = whole(opened).map_err(|error| says(&error))?.ok_or_else(|| {
        let why = format!("{name} is longer than {SCRIPT_BYTES_MAX} bytes");
        NoScript::Refused(Refusal::of(Code::EvidenceTooLarge, why, Code::EvidenceTooLarge.next()))
    })?;
    if is_binary(&text) {
        return Err(NoScript::AsBash(format!("{name}: {name}: cannot execute binary file"), NOT_EXECUTABLE));
    }
    let zero = path.clone().into_os_string();
    let positional: Vec<OsString> = std::iter::once(zero).chain(arguments).collect();
    if !facts.is_file() {
        let call = Call::of_text(how, OsString::from_vec(text), positional);
        return Ok((call, None));
    }
    let call = Call::of_script(how, OsString::from_vec(text.clone()), positional);
    Ok((call, Some(Script { path, text })))
}

impl Script {
    /// Whether the file still holds what was read.
    ///
    /// # Errors
    /// APPROVAL_EVIDENCE_CHANGED: it does not, or cannot be read any more.
    pub fn is_unchanged(&self) -> Result<(), Refusal> {
        match open(&self.path).and_then(whole) {
            Ok(Some(text)) if text == self.text => Ok(()),
            Ok(_) | Err(_) => {
                let code = Code::EvidenceChanged;
                let why = format!("{} is not what it was when it was read", self.path.display());
                Err(Refusal::of(code, why, code.next()))
            }
        }
    }
}

/// The file itself, or one of this name along PATH, as bash looks for it.
fn find(argv0: &OsStr, file: &OsStr) -> Result<(PathBuf, File), NoScript> {
    let error = match open(file.as_ref()) {
        Ok(opened) => return Ok((file.into(), opened)),
        Err(error) => error,
    };
    if error.kind() == io::ErrorKind::NotFound && !file.as_bytes().contains(&b'/') {
        for dir in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
            let path = dir.join(file);
            if let Ok(opened) = open(&path)
                && opened.metadata().is_ok_and(|facts| facts.is_file())
            {
                return Ok((path, opened));
            }
        }
    }
    Err(as_bash(argv0, file, &error))
}

fn open(path: &std::path::Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NOCTTY | libc::O_CLOEXEC).open(path)
}

/// `None`: longer than is read.
fn whole(file: File) -> io::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    file.take(SCRIPT_BYTES_MAX as u64 + 1).read_to_end(&mut text)?;
    Ok((text.len() <= SCRIPT_BYTES_MAX).then_some(text))
}

/// As bash decides it: by the first line, and not beyond the first few bytes.
fn is_binary(text: &[u8]) -> bool {
    let looked = &text[..text.len().min(BINARY_LOOK_BYTES)];
    looked.split(|&byte| byte == b'\n').next().is_some_and(|line| line.contains(&0))
}

fn as_bash(argv0: &OsStr, file: &OsStr, error: &io::Error) -> NoScript {
    let why = match error.raw_os_error() {
        Some(number) => nix::errno::Errno::from_raw(number).desc().to_owned(),
        None => error.to_string(),
    };
    let status = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
    NoScript::AsBash(format!("{}: {}: {why}", argv0.to_string_lossy(), file.to_string_lossy()), status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn how() -> How {
        let dialect = crate::assess::Dialect::Bash;
        How { argv0: "bash".into(), dialect, options: Vec::new(), passed: vec!["-e".into()] }
    }

    #[test]
    fn a_script_that_changed_after_it_was_read_does_not_run() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s");
        std::fs::write(&path, "echo hi\n").expect("written");
        let (call, script) = read(how(), path.clone().into(), vec!["a".into()]).expect("it is there");
        let script = script.expect("a file");
        assert_eq!(call.command, "echo hi\n");
        assert_eq!(call.bash[1..5], ["--noprofile", "--norc", "-e", "--"]);
        assert_eq!(call.bash[5..], [path.clone().into_os_string(), "a".into()]);
        assert!(script.is_unchanged().is_ok());
        std::fs::write(&path, "echo ho\n").expect("written");
        assert_eq!(script.is_unchanged().expect_err("changed").status(), 75);
    }

    #[test]
    fn what_is_no_script_is_said_as_bash_says_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("b");
        std::fs::write(&path, b"\x7fELF\0\n").expect("written");
        for (file, says, status) in [
            (OsString::from("/nonexistent/x"), "bash: /nonexistent/x: No such file or directory".to_owned(), 127),
            ("/usr".into(), "/usr: /usr: Is a directory".to_owned(), 126),
            (path.clone().into(), format!("{0}: {0}: cannot execute binary file", path.display()), 126),
        ] {
            match read(how(), file, Vec::new()) {
                Err(NoScript::AsBash(said, with)) => assert_eq!((said, with), (says, status)),
                other => panic!("{other:?}"),
            }
        }
    }
}
