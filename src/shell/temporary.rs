//! Where may a command keep what it needs for a moment? One directory per session, kept between its commands, named by
//! TMPDIR; swept when the session's process is gone.

use crate::authorize::FenceSpec;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// At most this many leftovers are looked at when a session begins.
const SWEPT_MAX: usize = 64;

/// The description with the session's directory made; without one where it cannot be had (then nothing is writable
/// there).
pub fn made(mut spec: FenceSpec) -> FenceSpec {
    spec.temporary = spec.temporary.filter(|own| make(own.path()).is_some());
    spec
}

fn make(own: &Path) -> Option<()> {
    if is_private(own) {
        return Some(());
    }
    let (base, name) = (own.parent()?, own.file_name()?.to_str()?);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(own).ok()?;
    sweep(base, name);
    (is_private(base) && is_private(own)).then_some(())
}

fn is_private(dir: &Path) -> bool {
    fs::symlink_metadata(dir).is_ok_and(|facts| {
        facts.is_dir() && facts.uid() == nix::unistd::geteuid().as_raw() && facts.mode() & 0o077 == 0
    })
}

/// Process id and start time: a number that is used again does not bring the old files back.
fn session(pid: u32) -> Option<String> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the fields after its last parenthesis may not.
    let after = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let fields = std::str::from_utf8(&stat[after..]).ok()?;
    let start: u64 = fields.split_ascii_whitespace().nth(19)?.parse().ok()?;
    Some(format!("{pid}-{start}"))
}

/// Removes what sessions that have ended left. Links are removed, not followed.
fn sweep(base: &Path, own: &str) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten().take(SWEPT_MAX) {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let Some(pid) = name.split_once('-').and_then(|(pid, _)| pid.parse().ok()) else { continue };
        if name != own && session(pid).as_deref() != Some(&name) {
            // Harmless if it stays: the next session tries again.
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Class;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_session_keeps_its_directory_and_an_ended_one_is_swept() {
        let world = tempfile::tempdir().unwrap();
        let base = world.path().join("gate/tmp");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(base.join("4194304-1/deep")).unwrap();
        fs::write(base.join("kept"), "not a session").unwrap();
        let own = base.join(session(std::process::id()).unwrap());
        let wanted = FenceSpec { temporary: Some(own.as_os_str().into()), ..FenceSpec::of(Class::Read) };
        let spec = made(wanted.clone());
        assert!(spec == wanted && is_private(&own));
        assert!(!base.join("4194304-1").exists() && base.join("kept").exists());
        fs::write(own.join("x"), "y").unwrap();
        assert_eq!(made(wanted.clone()), wanted);
        assert!(own.join("x").exists());
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(made(wanted).temporary, None, "others may enter");
    }
}
