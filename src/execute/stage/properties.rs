//! Is what was captured exactly what is applied? Random change sets, an end at every step, racing edits, full disks.

use super::*;
use crate::authorize::{Bytes, Digest};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Names of all kinds, few enough that they meet.
const NAMES: &[&[u8]] = &[b"a", b"b.txt", b"with blank", b"new\nline", b"\xff\xfe", b"-rf", b"\xc3\xa4"];

#[derive(Clone, Debug)]
enum Change {
    Write(Vec<usize>, u8, u16),
    Append(Vec<usize>),
    Remove(Vec<usize>),
    Chmod(Vec<usize>, u32),
    Link(Vec<usize>, u8),
    Rename(Vec<usize>, Vec<usize>),
    HardLink(Vec<usize>, Vec<usize>),
    MakeDir(Vec<usize>),
}

fn path() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0..NAMES.len(), 1..5)
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (path(), any::<u8>(), 0u16..5000).prop_map(|(p, byte, len)| Change::Write(p, byte, len)),
        2 => path().prop_map(Change::Append),
        3 => path().prop_map(Change::Remove),
        2 => (path(), prop_oneof![Just(0o644u32), Just(0o755), Just(0o700), Just(0o1777), Just(0o600), Just(0o500)])
            .prop_map(|(p, mode)| Change::Chmod(p, mode)),
        1 => (path(), any::<u8>()).prop_map(|(p, to)| Change::Link(p, to)),
        2 => (path(), path()).prop_map(|(from, to)| Change::Rename(from, to)),
        1 => (path(), path()).prop_map(|(from, to)| Change::HardLink(from, to)),
        1 => path().prop_map(Change::MakeDir),
    ]
}

fn named(root: &Path, parts: &[usize]) -> PathBuf {
    parts.iter().fold(root.to_owned(), |path, &part| path.join(std::ffi::OsStr::from_bytes(NAMES[part])))
}

/// Whether a path leads over no link: those would lead out of the tree.
fn plain(root: &Path, path: &Path) -> bool {
    path.ancestors().skip(1).take_while(|dir| *dir != root).all(|dir| !dir.is_symlink())
}

/// Does it as a command would; what cannot be done is not done.
fn make(root: &Path, change: &Change) -> io::Result<()> {
    let at = |parts: &[usize]| -> io::Result<PathBuf> {
        let path = named(root, parts);
        if plain(root, &path) { Ok(path) } else { Err(io::Error::other("a link")) }
    };
    let ready = |parts: &[usize]| -> io::Result<PathBuf> {
        let path = at(parts)?;
        fs::create_dir_all(path.parent().unwrap())?;
        Ok(path)
    };
    match change {
        Change::Write(parts, byte, len) => {
            let path = ready(parts)?;
            if path.is_dir() && !path.is_symlink() {
                fs::remove_dir_all(&path)?;
            }
            _ = fs::remove_file(&path);
            fs::write(path, vec![*byte; usize::from(*len)])
        }
        Change::Append(parts) => {
            let path = at(parts)?;
            if path.is_symlink() {
                return Ok(());
            }
            io::Write::write_all(&mut fs::OpenOptions::new().append(true).open(path)?, b"more\n")
        }
        Change::Remove(parts) => {
            let path = at(parts)?;
            if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
        }
        Change::Chmod(parts, mode) => {
            let path = at(parts)?;
            if path.is_symlink() { Ok(()) } else { fs::set_permissions(path, fs::Permissions::from_mode(*mode)) }
        }
        Change::Link(parts, to) => symlink(format!("../{to}"), ready(parts)?),
        Change::Rename(from, to) => {
            let from = at(from)?;
            fs::symlink_metadata(&from)?;
            fs::rename(from, ready(to)?)
        }
        Change::HardLink(from, to) => fs::hard_link(at(from)?, ready(to)?),
        Change::MakeDir(parts) => fs::create_dir_all(at(parts)?),
    }
}

/// Everything that is in a tree.
fn whole(root: &Path) -> BTreeMap<Vec<u8>, State> {
    fn walk(root: &Root, path: &Bytes, dir: &Path, all: &mut BTreeMap<Vec<u8>, State>) {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let below = super::tree::below(path, &entry.file_name());
            let state = root.state(&below).unwrap();
            if state.is_dir() {
                walk(root, &below, &entry.path(), all);
            }
            all.insert(below.0, state);
        }
    }
    let mut all = BTreeMap::new();
    walk(&Root::open(root).unwrap(), &Bytes(Vec::new()), root, &mut all);
    all
}

/// A tree, what a command made of it, and where proposals are kept.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new(before: &[Change], then: &[Change]) -> World {
        // In memory where there is such a place: every application waits for the disk several times.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let world = World { dir };
        fs::create_dir(world.real()).unwrap();
        before.iter().for_each(|change| drop(make(&world.real(), change)));
        // Names that are one file would be written through: that is refused elsewhere.
        unlink_hard(&world.real());
        Layer::copy(&world.dir.path().join("run"), &world.real()).unwrap();
        then.iter().for_each(|change| drop(make(&world.run(), change)));
        world
    }

    fn real(&self) -> PathBuf {
        self.dir.path().join("real")
    }

    fn run(&self) -> PathBuf {
        self.dir.path().join("run/upper")
    }

    fn blobs(&self) -> Blobs {
        Blobs::open(&self.dir.path().join("blobs")).unwrap()
    }

    fn journal(&self) -> PathBuf {
        self.dir.path().join("journal")
    }

    fn capture(&self) -> Manifest {
        capture(&self.real(), Changed::Copy(&self.run()), "test".to_owned(), None, &self.blobs()).unwrap()
    }

    fn apply(&self, manifest: &Manifest, fault: Fault<'_>) -> Result<End, StageError> {
        apply(manifest, &self.blobs(), &self.journal(), fault)
    }

    fn recover(&self, manifest: &Manifest, fault: Fault<'_>) -> Result<End, StageError> {
        recover(manifest, &self.blobs(), &self.journal(), fault)
    }
}

fn unlink_hard(dir: &Path) {
    use std::os::unix::fs::MetadataExt;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let facts = fs::symlink_metadata(&path).unwrap();
        if facts.is_dir() {
            unlink_hard(&path);
        } else if facts.is_file() && facts.nlink() > 1 {
            let text = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            fs::write(&path, text).unwrap();
        }
    }
}

fn applied() -> End {
    End::Applied { edited: Vec::new() }
}

fn killed() -> io::Error {
    io::Error::other("killed")
}

fn changes(most: usize) -> impl Strategy<Value = Vec<Change>> {
    proptest::collection::vec(change(), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn what_was_captured_is_applied_byte_and_mode_exact(before in changes(20), then in changes(20)) {
        let world = World::new(&before, &then);
        let first = whole(&world.real());
        let wanted = whole(&world.run());
        let manifest = world.capture();
        prop_assert_eq!(&whole(&world.real()), &first, "capturing changes nothing");
        let bytes = manifest.encode().unwrap();
        let manifest = Manifest::decode(&bytes, Digest::of(&bytes)).unwrap();
        prop_assert_eq!(world.apply(&manifest, &no_fault).unwrap(), applied());
        prop_assert_eq!(whole(&world.real()), wanted);
        prop_assert!(!world.journal().exists());
        if !manifest.entries.is_empty() {
            let again = world.apply(&manifest, &no_fault).unwrap();
            prop_assert!(matches!(again, End::Conflict(_)), "{:?}", again);
        }
    }
}

/// Applies with an end at the step with this number; whether there was one.
fn ended_at(world: &World, manifest: &Manifest, number: usize, error: fn() -> io::Error) -> (bool, Option<End>) {
    let count = Cell::new(0);
    let fault = |_: &str| {
        count.set(count.get() + 1);
        if count.get() == number + 1 { Err(error()) } else { Ok(()) }
    };
    let end = world.apply(manifest, &fault);
    (count.get() > number, end.ok())
}

fn sets(count: usize) -> Vec<(Vec<Change>, Vec<Change>)> {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = (changes(16), changes(16));
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

#[test]
fn an_end_at_any_step_leaves_it_fully_old_or_fully_new_and_says_which() {
    let (mut points, mut old, mut new) = (0, 0, 0);
    for (before, then) in sets(60) {
        for number in 0.. {
            let world = World::new(&before, &then);
            let manifest = world.capture();
            if manifest.entries.is_empty() {
                break;
            }
            let (was, wanted) = (whole(&world.real()), whole(&world.run()));
            let (reached, end) = ended_at(&world, &manifest, number, killed);
            if !reached {
                assert_eq!(end, Some(applied()));
                break;
            }
            points += 1;
            // It may be killed again while it is taken up.
            let again = Cell::new(0);
            let twice = |_: &str| {
                again.set(again.get() + 1);
                if again.get() == 1 + number % 7 { Err(killed()) } else { Ok(()) }
            };
            drop(world.recover(&manifest, &twice));
            let end = world.recover(&manifest, &no_fault).unwrap();
            let now = whole(&world.real());
            match end {
                End::Applied { .. } => {
                    assert_eq!(now, wanted);
                    new += 1;
                }
                // Nothing had begun, or it was over at the first try: the tree tells.
                End::Conflict(_) if now == was => old += 1,
                End::Conflict(_) => {
                    assert_eq!(now, wanted, "{before:?} {then:?} {number}");
                    new += 1;
                }
                End::Unknown(why) => panic!("{why}: {before:?} {then:?} {number}"),
            }
        }
    }
    assert!(points >= 1000 && old > 100 && new > 100, "{points} points, {old} old, {new} new");
}

#[test]
fn a_full_disk_at_any_step_leaves_it_fully_old_or_fully_new() {
    let mut points = 0;
    for (before, then) in sets(30) {
        for number in 0.. {
            let world = World::new(&before, &then);
            let manifest = world.capture();
            if manifest.entries.is_empty() {
                break;
            }
            let (was, wanted) = (whole(&world.real()), whole(&world.run()));
            let full = || io::Error::from_raw_os_error(libc::ENOSPC);
            let (reached, end) = ended_at(&world, &manifest, number, full);
            match end.unwrap() {
                End::Applied { .. } => assert_eq!(whole(&world.real()), wanted),
                End::Conflict(_) => assert_eq!(whole(&world.real()), was),
                End::Unknown(why) => panic!("{why}"),
            }
            assert!(!world.journal().exists());
            if !reached {
                break;
            }
            points += 1;
        }
    }
    assert!(points > 300, "{points}");
}

/// How somebody else changes a file: by a new one in its place, or in the one that is there.
fn edit(path: &Path, text: &str, by_rename: bool) {
    if by_rename {
        let new = path.with_extension("edit");
        fs::write(&new, text).unwrap();
        fs::rename(new, path).unwrap();
    } else {
        fs::write(path, text).unwrap();
    }
}

#[test]
fn racing_edits_are_never_lost_and_seldom_unknown() {
    let (mut unknown, mut applied, mut refused) = (0, 0, 0);
    for round in 0..200usize {
        let world = World::new(&[], &[]);
        for number in 0..8 {
            fs::write(world.real().join(format!("f{number}")), "base").unwrap();
            fs::write(world.run().join(format!("f{number}")), "proposed").unwrap();
        }
        let manifest = world.capture();
        let victim = world.real().join(format!("f{}", round % 8));
        let by_rename = round % 2 == 0;
        let edited = std::thread::scope(|scope| {
            let editor = scope.spawn(|| {
                // Anywhere in the whole of it.
                std::thread::sleep(std::time::Duration::from_micros((round * 37 % 4000) as u64));
                edit(&victim, "edited", by_rename);
            });
            let end = world.apply(&manifest, &no_fault).unwrap();
            editor.join().unwrap();
            end
        });
        let there = fs::read_to_string(&victim).unwrap();
        let kept = || {
            fs::read_dir(world.real()).unwrap().flatten().filter(|e| e.path().is_dir()).any(|side| {
                fs::read_dir(side.path()).unwrap().flatten().any(|e| fs::read(e.path()).unwrap() == b"edited")
            })
        };
        assert!(there == "edited" || kept(), "round {round}: {edited:?}, {there}");
        match edited {
            End::Applied { .. } => applied += 1,
            End::Conflict(_) => {
                refused += 1;
                let others = (0..8).map(|n| world.real().join(format!("f{n}"))).filter(|path| *path != victim);
                others.for_each(|path| assert_eq!(fs::read_to_string(path).unwrap(), "base", "round {round}"));
            }
            End::Unknown(_) => unknown += 1,
        }
    }
    assert!(unknown <= 10, "{unknown} unknown, {applied} applied, {refused} refused");
}

#[test]
fn an_edit_between_any_two_steps_survives() {
    for by_rename in [true, false] {
        for number in 0.. {
            let world = World::new(&[], &[]);
            for name in ["f0", "f1", "f2"] {
                fs::write(world.real().join(name), "base").unwrap();
                fs::write(world.run().join(name), "proposed").unwrap();
            }
            let manifest = world.capture();
            let victim = world.real().join("f1");
            let count = Cell::new(0);
            let fault = |_: &str| {
                if count.replace(count.get() + 1) == number {
                    edit(&victim, "edited", by_rename);
                }
                Ok(())
            };
            let end = world.apply(&manifest, &fault).unwrap();
            let over = count.get() <= number;
            assert!(over || fs::read_to_string(&victim).unwrap() == "edited", "{number}: {end:?}");
            assert!(!matches!(end, End::Unknown(_)), "{number}: {end:?}");
            if over {
                break;
            }
        }
    }
}

#[test]
fn a_file_that_somebody_holds_open_for_writing_is_not_taken_away() {
    let world = World::new(&[], &[]);
    fs::write(world.real().join("f"), "base").unwrap();
    fs::write(world.run().join("f"), "proposed").unwrap();
    let manifest = world.capture();
    let held = fs::OpenOptions::new().append(true).open(world.real().join("f")).unwrap();
    assert!(matches!(world.apply(&manifest, &no_fault).unwrap(), End::Conflict(_)));
    io::Write::write_all(&mut { held }, b" and more").unwrap();
    assert_eq!(fs::read_to_string(world.real().join("f")).unwrap(), "base and more");
}

#[test]
fn an_edited_target_a_changed_blob_and_a_link_on_the_way_are_refused() {
    let made = || {
        let world = World::new(&[], &[]);
        for root in [world.real(), world.run()] {
            fs::create_dir(root.join("d")).unwrap();
            fs::write(root.join("d/f"), "base").unwrap();
        }
        fs::write(world.run().join("d/f"), "proposed").unwrap();
        fs::write(world.run().join("d/g"), "new").unwrap();
        let manifest = world.capture();
        (world, manifest)
    };
    let refused = |world: &World, manifest: &Manifest| {
        let was = whole(&world.real());
        let end = world.apply(manifest, &no_fault).unwrap();
        assert!(matches!(end, End::Conflict(_)), "{end:?}");
        assert_eq!(whole(&world.real()), was);
    };
    let (world, manifest) = made();
    fs::write(world.real().join("d/f"), "a person's edit").unwrap();
    refused(&world, &manifest);
    let (world, manifest) = made();
    fs::write(world.real().join("d/g"), "somebody was first").unwrap();
    refused(&world, &manifest);
    let (world, manifest) = made();
    fs::set_permissions(world.real().join("d/f"), fs::Permissions::from_mode(0o600)).unwrap();
    refused(&world, &manifest);
    let (world, manifest) = made();
    let blob = world.dir.path().join("blobs").join(Digest::of(b"proposed").to_string());
    fs::write(blob, "Proposed").unwrap();
    refused(&world, &manifest);
    let (world, manifest) = made();
    fs::rename(world.real().join("d"), world.dir.path().join("elsewhere")).unwrap();
    symlink(world.dir.path().join("elsewhere"), world.real().join("d")).unwrap();
    let outside = whole(&world.dir.path().join("elsewhere"));
    assert!(matches!(world.apply(&manifest, &no_fault).unwrap(), End::Conflict(_)));
    assert_eq!(whole(&world.dir.path().join("elsewhere")), outside);
}

#[test]
fn what_cannot_be_proposed_is_refused_with_the_reason() {
    let refused = |make: &dyn Fn(&World), why: &str| {
        let world = World::new(&[], &[]);
        fs::write(world.real().join("f"), "base").unwrap();
        fs::copy(world.real().join("f"), world.run().join("f")).unwrap();
        make(&world);
        let error = capture(&world.real(), Changed::Copy(&world.run()), String::new(), None, &world.blobs());
        let error = error.unwrap_err();
        assert!(matches!(error, StageError::Unfit(_)) && error.to_string().contains(why), "{error}");
    };
    let fifo = |world: &World| nix::unistd::mkfifo(&world.run().join("p"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    refused(&fifo, "a pipe or socket");
    let socket = |world: &World| drop(std::os::unix::net::UnixListener::bind(world.run().join("s")).unwrap());
    refused(&socket, "a pipe or socket");
    let attribute = |world: &World| {
        fs::write(world.run().join("f"), "new").unwrap();
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(world.run().join("f"), "user.mine", b"x", flags).unwrap();
    };
    refused(&attribute, "its attribute user.mine");
    let linked = |world: &World| {
        fs::hard_link(world.real().join("f"), world.dir.path().join("other")).unwrap();
        fs::write(world.run().join("f"), "new").unwrap();
    };
    refused(&linked, "other names");
    let setuid =
        |world: &World| fs::set_permissions(world.run().join("f"), fs::Permissions::from_mode(0o4755)).unwrap();
    refused(&setuid, "run as its owner");
    if rustix::process::geteuid().is_root() {
        let given = |world: &World| {
            fs::write(world.run().join("f"), "new").unwrap();
            std::os::unix::fs::chown(world.run().join("f"), Some(1234), None).unwrap();
        };
        refused(&given, "belong to user 1234");
        let device = |world: &World| {
            let kind = nix::sys::stat::SFlag::S_IFCHR;
            nix::sys::stat::mknod(&world.run().join("n"), kind, nix::sys::stat::Mode::S_IRWXU, 0x103).unwrap();
        };
        refused(&device, "a device");
    }
}

#[test]
fn git_does_not_work_while_its_files_are_changed_and_the_lock_goes_again() {
    let world = World::new(&[], &[]);
    for root in [world.real(), world.run()] {
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/HEAD"), "a").unwrap();
    }
    fs::write(world.run().join(".git/HEAD"), "b").unwrap();
    let manifest = world.capture();
    fs::write(world.real().join(".git/index.lock"), "").unwrap();
    let End::Conflict(why) = world.apply(&manifest, &no_fault).unwrap() else { panic!("git is at work") };
    assert!(why.contains("git is at work here"), "{why}");
    fs::remove_file(world.real().join(".git/index.lock")).unwrap();
    let seen = Cell::new(false);
    let fault = |step: &str| {
        seen.set(seen.get() || (step == "swap" && world.real().join(".git/index.lock").exists()));
        Ok(())
    };
    assert_eq!(world.apply(&manifest, &fault).unwrap(), applied());
    assert!(seen.get() && !world.real().join(".git/index.lock").exists());
}
