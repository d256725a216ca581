//! Does the kernel really hold it? Real commands in real fences, in every class, as root and as an ordinary user.
//!
//! Each case runs in a process of its own: this test binary again, with its entry point below. A kernel that lacks
//! what the fence needs fails every case here; nothing is skipped.

use super::*;
use crate::assess::Class;
use crate::authorize::fence::{Level, Limits, Require};
use crate::authorize::{Digest, FenceSpec, Pin};
use crate::facts::Bytes;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

const ORDINARY: u32 = 4242;
pub const START: &str = "==start==";

/// Not a promise by itself: what the cases below start.
#[test]
fn entry_point() {
    let Some(class) = std::env::var("BATTERY_CLASS").ok().and_then(|name| Class::from_name(&name)) else { return };
    let path = |name| std::env::var_os(name).map(PathBuf::from);
    let break_at = std::env::var("BATTERY_BREAK").ok().map(|n| Step::ALL[n.parse::<usize>().unwrap()]);
    let bytes = |name| path(name).map(|path| Bytes::from(path.as_os_str()));
    let level = match std::env::var("BATTERY_LEVEL").as_deref() {
        Ok("full") => Level::Full,
        _ => Level::Landlock,
    };
    let spec = FenceSpec {
        level,
        require: if level == Level::Full { Require::Full } else { Require::Landlock },
        users: users_of(rustix::process::getuid().as_raw(), class),
        workspace: bytes("BATTERY_WORKSPACE"),
        temporary: bytes("BATTERY_TEMPORARY"),
        targets: bytes("BATTERY_TARGET").into_iter().collect(),
        deleted: bytes("BATTERY_DELETED").into_iter().collect(),
        forbidden: bytes("BATTERY_FORBIDDEN").into_iter().collect(),
        hidden: bytes("BATTERY_HIDDEN").into_iter().collect(),
        masked: vec!["/run".into()],
        shown: bytes("PROBE").into_iter().collect(),
        limits: std::env::var("BATTERY_LIMITS").map_or(Limits::DEFAULT, |text| serde_json::from_str(&text).unwrap()),
        ..FenceSpec::of(class)
    };
    let plan = Plan {
        argv: ["bash", "--norc", "--noprofile", "-c", "--"]
            .map(OsString::from)
            .into_iter()
            .chain(std::env::var_os("BATTERY_TEXT"))
            .collect(),
        env: std::env::vars_os().collect(),
        keeps: Vec::new(),
        cwd: fs::File::open(path("BATTERY_CWD").or(path("BATTERY_WORKSPACE")).unwrap_or("/".into())).unwrap().into(),
        spec,
        signals: signals::take_charge(true),
        pins: pins(),
    };
    println!("{START}");
    let blocked = match runner::prepare_breaking(plan, break_at) {
        Ok(blocked) => blocked,
        Err(error) => {
            eprintln!("FENCE: {error}");
            std::process::exit(125);
        }
    };
    if std::env::var_os("BATTERY_DROP").is_some() {
        drop(blocked);
        std::process::exit(0);
    }
    match blocked.release(Ticket::of_a_recorded_claim()).and_then(Running::wait) {
        Ok(outcome) => {
            if std::env::var_os("BATTERY_REFUSED").is_some() {
                println!("REFUSED {:?}", outcome.refused);
            }
            if std::env::var_os("BATTERY_LIMITS").is_some() {
                println!("{:?}", outcome.limit);
            }
            if std::env::var_os("BATTERY_NOTES").is_some() {
                println!("{:?}", outcome.notes);
            }
            std::process::exit(outcome.ended.status().into());
        }
        Err(error) => {
            eprintln!("FENCE: {error}");
            std::process::exit(125);
        }
    }
}

/// The files that are pinned, verified as they are now.
fn pins() -> Vec<pin::Copy> {
    let Ok(paths) = std::env::var("BATTERY_PIN") else { return Vec::new() };
    let verified = |path: &str| Pin { path: path.into(), sha256: Digest::of(&fs::read(path).unwrap()) };
    pin::copies(&paths.split(':').map(verified).collect::<Vec<_>>()).unwrap()
}

/// Runs one raw call inside a fence and prints its error number, 0 for success.
#[test]
fn raw_call() {
    let Ok(list) = std::env::var("BATTERY_CALL") else { return };
    let numbers: Vec<i64> = list.split(',').map(|n| n.parse().unwrap()).collect();
    let errno = one_call(&numbers);
    println!("{START}{errno}");
}

fn one_call(numbers: &[i64]) -> i32 {
    let at = |i: usize| numbers.get(i).copied().unwrap_or(0);
    sys::raw_call6(numbers[0], [at(1), at(2), at(3), at(4), at(5), at(6)]).err().unwrap_or(0)
}

fn binary() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| {
        let dir = tempfile::Builder::new().prefix("tollgate-battery").tempdir_in("/var/tmp").unwrap().keep();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        let copy = dir.join("battery");
        fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        copy
    })
}

/// A throw-away place with a workspace, a session directory and something outside.
pub struct World {
    dir: tempfile::TempDir,
    pub uid: Option<u32>,
    pub level: Level,
}

impl World {
    pub fn new(uid: Option<u32>, level: Level) -> World {
        // Not in /tmp, which is another one inside a fence.
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["w", "w/sub", "t", "outside"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        for name in ["w/f", "outside/f", "outside/g"] {
            fs::write(dir.path().join(name), "before\n").unwrap();
        }
        if let Some(uid) = uid {
            for name in ["w", "w/sub", "t", "outside", "w/f", "outside/f", "outside/g"] {
                chown(dir.path().join(name), Some(uid), Some(uid)).unwrap();
            }
        }
        World { dir, uid, level }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A command of this world's user.
    pub fn as_its_user(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let Some(uid) = self.uid else { return Command::new(program) };
        let mut command = Command::new("setpriv");
        let id = uid.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(program);
        command
    }

    pub fn command(&self, class: Class, text: &str) -> Command {
        let mut command = self.as_its_user(binary());
        command.args(["--exact", "execute::battery::entry_point", "--nocapture", "--test-threads=1"]);
        command.stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
        command.env("BATTERY_CLASS", class.name()).env("BATTERY_TEXT", text).env("O", self.path("outside"));
        command.env("BATTERY_WORKSPACE", self.path("w")).env("BATTERY_TEMPORARY", self.path("t"));
        command.env("PROBE", binary()).env("BATTERY_LEVEL", self.level.name());
        command
    }

    fn run(&self, class: Class, text: &str) -> (i32, String, String) {
        said(self.command(class, text).output().unwrap())
    }

    #[track_caller]
    fn holds(&self, class: Class, text: &str, want: i32) {
        let (status, out, err) = self.run(class, text);
        assert_eq!(status, want, "{class} {text}\n{out}{err}");
    }

    /// The error number of one raw call inside the fence.
    fn call(&self, class: Class, numbers: &[i64]) -> i32 {
        let list = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let text = format!(
            "BATTERY_CALL={list} \"$PROBE\" --exact execute::battery::raw_call --nocapture --test-threads=1 | grep {START}"
        );
        let (_, out, err) = self.run(class, &text);
        let (_, number) = out.rsplit_once(START).unwrap_or_else(|| panic!("{out}{err}"));
        number.trim().parse().unwrap_or_else(|_| panic!("{out}{err}"))
    }
}

pub fn said(output: Output) -> (i32, String, String) {
    let out = String::from_utf8_lossy(&output.stdout);
    let out = out.split_once(START).map_or("", |(_, rest)| rest).trim_start_matches('\n').to_owned();
    (output.status.code().unwrap_or(-1), out, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// This user; and where this is root, an ordinary one too; each at both levels.
pub fn worlds() -> Vec<World> {
    let root = rustix::process::getuid().is_root();
    let users = [Some(None), root.then_some(Some(ORDINARY))];
    let each = |user: Option<u32>| Level::ALL.map(|level| World::new(user, level));
    users.into_iter().flatten().flat_map(each).collect()
}

const REACHES_NOTHING: [Class; 2] = [Class::Read, Class::Write];

#[test]
fn a_command_runs_and_its_status_comes_back() {
    for world in worlds() {
        for class in Class::ALL {
            assert_eq!(world.run(class, "echo out; echo err >&2; exit 3"), (3, "out\n".into(), "err\n".into()));
            world.holds(class, "kill -TERM $$", 143);
            world.holds(class, "cat f | grep -q before", 0);
            world.holds(
                class,
                "echo x > /dev/null; head -c1 /dev/zero >/dev/null; head -c1 /dev/urandom > /dev/null",
                0,
            );
            world.holds(class, "cat <<E\n$(seq 20000)\nE\n", 0);
            world.holds(class, "cat <(echo a) | tee >(cat >/dev/null) >/dev/null", 0);
            world.holds(class, "echo x > \"$TMPDIR/x\" && cat \"$TMPDIR/x\" && rm \"$TMPDIR/x\"", 0);
        }
    }
}

#[test]
fn reading_changes_nothing() {
    for world in worlds() {
        for text in [
            "echo x > f",
            "echo x >> f",
            ": > f",
            ": > new",
            "mkdir d",
            "rm f",
            "mv f g",
            "ln f g",
            "ln -s f g",
            "mkfifo p",
            "chmod 600 f",
            "touch f",
            "touch -d 2001-01-01 f",
            "cp f g",
            "truncate -s 0 f",
            "rmdir sub",
            "sed -i s/b/c/ f",
            "echo x > $O/new",
            "echo x >> $O/f",
            "exec 3<>f",
            "dd if=/dev/zero of=f bs=1 count=1 conv=notrunc",
            "chown $(id -u) f",
            "chmod 755 .",
            "echo 1 > /proc/self/oom_score_adj",
            "git init -q x",
        ] {
            let (status, ..) = world.run(Class::Read, &format!("( {text} ) 2>/dev/null"));
            assert_ne!(status, 0, "{text}");
        }
        for name in ["w/f", "outside/f"] {
            assert_eq!(fs::read_to_string(world.path(name)).unwrap(), "before\n");
            assert_eq!(fs::metadata(world.path(name)).unwrap().permissions().mode() & 0o777, 0o644);
        }
        let left: Vec<_> = fs::read_dir(world.path("w")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }
}

#[test]
fn writing_stays_in_the_workspace() {
    for world in worlds() {
        for text in [
            "echo x > new",
            "mkdir -p a/b && mv new a/b/ && rm -r a",
            "ln -s f s && rm s",
            "chmod 600 f && chmod 644 f",
            "touch f",
            "cp f sub/g && mv sub/g g && ln g h && rm g h",
            "mkfifo p && rm p",
            "sed -i s/b/b/ f",
        ] {
            world.holds(Class::Write, text, 0);
        }
        for text in [
            "echo x > $O/new",
            "echo x >> $O/f",
            "rm $O/f",
            "mv $O/f .",
            "ln $O/f here",
            "cp f $O/",
            "mkdir $O/d",
            "ln -s $O/f link && echo x > link",
            "cd $O && echo x > new",
            "mkfifo $O/p",
            "echo x > ../outside/f",
            "mv f $O/",
            "mknod d c 1 3",
            "mknod b b 8 0",
            "echo x > /etc/x",
            "exec 3<>$O/f",
            "mv ../w ../v",
            "chmod 4755 f",
            "chmod g+s sub",
            "install -m 4755 f sub/set",
            "perl -e 'exit(mkdir(\"../d\") ? 0 : 1)'",
        ] {
            let (status, ..) = world.run(Class::Write, &format!("( {text} ) 2>/dev/null"));
            assert_ne!(status, 0, "{text}");
        }
        assert_eq!(fs::read_to_string(world.path("outside/f")).unwrap(), "before\n");
        assert_eq!(fs::read_dir(world.path("outside")).unwrap().count(), 2);
    }
}

#[test]
fn started_in_the_home_or_at_the_root_nothing_is_writable() {
    for world in worlds() {
        for cwd in [world.path(""), world.path("outside"), "/".into()] {
            for class in Class::ALL {
                let mut command = world.command(class, "echo x > new || echo x > ./outside/new || mkdir d || rm f");
                command.env_remove("BATTERY_WORKSPACE").env("BATTERY_CWD", &cwd).env("HOME", world.path("outside"));
                assert_ne!(said(command.output().unwrap()).0, 0, "{class} in {}", cwd.display());
            }
        }
        assert_eq!(fs::read_dir(world.path("outside")).unwrap().count(), 2);
    }
}

#[test]
fn an_approved_path_opens_itself_and_a_forbidden_one_never() {
    for world in worlds() {
        let with = |class, target: &Path, forbidden: &Path, text: &str| {
            let mut command = world.command(class, text);
            said(command.env("BATTERY_TARGET", target).env("BATTERY_FORBIDDEN", forbidden).output().unwrap()).0
        };
        let (f, none) = (world.path("outside/f"), PathBuf::from("/nonexistent"));
        assert_eq!(with(Class::Write, &f, &none, "echo x >> $O/f"), 0);
        assert_ne!(with(Class::Write, &f, &none, "echo x >> $O/g"), 0);
        assert_ne!(with(Class::Write, &f, &none, "echo x > $O/new"), 0);
        assert_ne!(with(Class::Read, &f, &none, "echo x >> $O/f"), 0, "read writes nothing, whatever was approved");
        assert_eq!(with(Class::Write, &f, &f, "true"), 125);
        assert_eq!(with(Class::Write, &world.path("outside"), &f, "true"), 125);
        assert_eq!(with(Class::Write, &f, &world.path("w/state"), "true"), 125, "the workspace holds the gate's state");
        assert_eq!(with(Class::Write, Path::new("/x"), &none, "true"), 125, "opens the root");
        assert_eq!(with(Class::Destructive, &world.path("outside/new"), &none, "echo x > $O/new && rm $O/new"), 0);
    }
}

#[test]
fn sockets_are_given_out_by_class() {
    let socket = libc::SYS_socket;
    for world in worlds() {
        for class in Class::ALL {
            // With a network of its own, nothing that a socket sends leaves.
            let given = !REACHES_NOTHING.contains(&class) || (class, world.level) == (Class::Write, Level::Full);
            for family in [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] {
                for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW] {
                    if given && (kind == libc::SOCK_RAW || (family == libc::AF_NETLINK && kind == libc::SOCK_STREAM)) {
                        continue;
                    }
                    let errno = world.call(class, &[socket, family.into(), kind.into(), 0]);
                    assert_eq!(errno, if given { 0 } else { libc::EACCES }, "{class} {family} {kind}");
                }
            }
            assert_eq!(world.call(class, &[socket, 2, 1, 262]) == libc::EACCES, !given, "MPTCP");
            for family in [libc::AF_UNIX, libc::AF_PACKET, libc::AF_ALG, libc::AF_VSOCK, libc::AF_BLUETOOTH] {
                assert_eq!(world.call(class, &[socket, family.into(), libc::SOCK_STREAM.into(), 0]), libc::EACCES);
            }
            let bash = world.run(class, "exec 3<>/dev/udp/127.0.0.1/9").0;
            assert_eq!(bash == 0, given, "{class}");
            let leaves = world.run(class, "exec 3<>/dev/udp/192.0.2.1/9").0;
            let has_route = std::fs::read_to_string("/proc/net/route").is_ok_and(|routes| routes.lines().count() > 1);
            assert_eq!(leaves == 0, !REACHES_NOTHING.contains(&class) && has_route, "{class}");
        }
    }
}

#[test]
fn calls_that_reach_around_are_refused_in_every_class() {
    let own = |call| vec![call, 0, 0, 0];
    for world in worlds() {
        for class in [Class::Read, Class::Destructive] {
            for call in [
                libc::SYS_ptrace,
                libc::SYS_process_vm_readv,
                libc::SYS_pidfd_getfd,
                libc::SYS_bpf,
                libc::SYS_perf_event_open,
                libc::SYS_userfaultfd,
                libc::SYS_io_uring_setup,
                libc::SYS_keyctl,
                libc::SYS_mount,
                libc::SYS_umount2,
                libc::SYS_setns,
                libc::SYS_chroot,
                libc::SYS_open_tree,
                libc::SYS_kexec_load,
                libc::SYS_init_module,
                libc::SYS_reboot,
                libc::SYS_open_by_handle_at,
            ] {
                assert_eq!(world.call(class, &own(call)), libc::EPERM, "{class} {call}");
            }
            assert_eq!(world.call(class, &[libc::SYS_unshare, 0x1000_0000]), libc::EPERM);
            assert_eq!(world.call(class, &own(libc::SYS_clone3)), libc::ENOSYS);
            assert_eq!(world.call(class, &[libc::SYS_ioctl, 0, 0x5412]), libc::EPERM, "TIOCSTI");
            assert_eq!(world.call(class, &[libc::SYS_prlimit64, 1, 0]), libc::EPERM);
            assert_eq!(world.call(class, &own(seccomp_marker())), libc::EUCLEAN);
        }
    }
}

fn seccomp_marker() -> i64 {
    fence::seccomp::MARKER
}

#[test]
fn other_processes_are_out_of_reach() {
    for world in worlds() {
        for class in Class::ALL {
            world.holds(class, "kill -0 $PPID 2>/dev/null", 1);
            let text = format!("cat /proc/{}/environ >/dev/null 2>&1", std::process::id());
            world.holds(class, &text, 1);
            world.holds(class, "sleep 5 & kill $!; wait $!; [ $? = 143 ]", 0);
        }
    }
}

#[test]
fn root_keeps_its_files_and_no_power() {
    for world in worlds().into_iter().filter(|world| world.uid.is_none()) {
        let (_, out, _) =
            world.run(Class::Read, "grep -E 'NoNewPrivs|CapEff|CapBnd|Seccomp:' /proc/self/status | tr -d '\\t\\n'");
        let bounded = if out.contains("CapEff:0000000000000004") { "0000000000000004" } else { "" };
        assert!(out.contains("NoNewPrivs:1") && out.contains("Seccomp:2"), "{out}");
        assert!(out.contains(&format!("CapBnd:{bounded}")), "{out}");
    }
}

#[test]
fn every_step_can_fail_and_then_nothing_runs() {
    for (world, (index, step)) in worlds().iter().flat_map(|w| Step::ALL.iter().enumerate().map(move |step| (w, step)))
    {
        let mut command = world.command(Class::Write, "echo ran > ran");
        let (status, _, err) = said(command.env("BATTERY_BREAK", index.to_string()).output().unwrap());
        assert_eq!(status, 125, "{step:?}");
        assert!(err.contains(step.what()), "{err}");
        assert!(!world.path("w/ran").exists(), "{step:?}");
    }
}

#[test]
fn a_dropped_child_has_run_nothing() {
    for world in worlds() {
        let mut command = world.command(Class::Write, "echo ran > ran");
        assert_eq!(said(command.env("BATTERY_DROP", "1").output().unwrap()).0, 0);
        assert!(!world.path("w/ran").exists());
    }
}

#[test]
fn nothing_is_left_running() {
    for world in worlds() {
        let mut command = world.command(Class::Write, "setsid sleep 300 & (sleep 300 &) ; echo started");
        let (status, out, err) = said(command.env("BATTERY_NOTES", "1").output().unwrap());
        assert_eq!((status, out.starts_with("started\n")), (0, true), "{err}");
        assert!(out.contains("were left running"), "{out}");
    }
}

fn full() -> impl Iterator<Item = World> {
    worlds().into_iter().filter(|world| world.level == Level::Full)
}

#[test]
fn what_is_hidden_is_not_read_at_any_level() {
    for world in worlds() {
        let hidden = world.path("hidden");
        fs::create_dir(&hidden).unwrap();
        fs::write(hidden.join("key"), "secret\n").unwrap();
        if let Some(uid) = world.uid {
            chown(&hidden, Some(uid), Some(uid)).unwrap();
        }
        for class in Class::ALL {
            // The network classes of an ordinary user have no namespaces by default; here they are asked for.
            let mut command = world.command(class, "cat ../hidden/key; cat /proc/1/root$PWD/../hidden/key; cat f");
            let (_, out, err) = said(command.env("BATTERY_HIDDEN", &hidden).output().unwrap());
            assert_eq!(out, "before\n", "{class} {:?}: {err}", world.level);
        }
    }
}

#[test]
fn the_temporary_directory_is_the_sessions_and_what_a_read_leaves_there_is_thrown_away() {
    let marker = format!("/tmp/tollgate-battery-{}", std::process::id());
    for world in full() {
        fs::write(&marker, "").unwrap();
        world.holds(Class::Write, &format!("test ! -e {marker} && echo kept > /tmp/o"), 0);
        world.holds(
            Class::Read,
            "cat /tmp/o && echo gone > /tmp/p && cat /tmp/p >> /tmp/o && seq 99999 | sort -S 64k",
            0,
        );
        world.holds(Class::Read, "test ! -e /tmp/p && [ \"$(cat /tmp/o)\" = kept ]", 0);
        world.holds(Class::Read, "echo x > /dev/shm/x && cat /dev/shm/x && [ $TMPDIR = /tmp ]", 0);
        assert_eq!(fs::read_to_string(world.path("t/o")).unwrap(), "kept\n");
        fs::remove_file(&marker).unwrap();
    }
}

#[test]
fn a_command_sees_its_own_processes_network_and_terminals_only() {
    for world in full() {
        for class in Class::ALL {
            world.holds(class, "[ $(ls -d /proc/[0-9]* | wc -l) -lt 8 ] && [ $PPID = 1 ]", 0);
            world.holds(class, "cat /proc/1/environ /proc/1/maps || ls /proc/1/fd /proc/1/root/ /proc/1/cwd/", 2);
            world.holds(class, "[ $(ls /dev/pts | wc -l) = 1 ]", 0);
        }
        world.holds(Class::Write, "[ $(grep -c : /proc/net/dev) = 1 ]", 0);
    }
}

#[test]
fn what_runs_by_itself_stays_as_it_is_inside_a_writable_root() {
    for world in full() {
        let w = world.path("w");
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            let done = command
                .args(["-c", "safe.directory=*"])
                .args(args)
                .current_dir(&w)
                .env("HOME", "/nonexistent")
                .output()
                .unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "-q"]);
        git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"]);
        fs::write(w.join(".envrc"), "before\n").unwrap();
        fs::create_dir_all(w.join(".claude")).unwrap();
        if let Some(uid) = world.uid {
            let owner = format!("{uid}:{uid}");
            assert!(Command::new("chown").args(["-R", &owner]).arg(&w).status().unwrap().success());
        }
        for text in [
            "echo x > .git/hooks/pre-commit",
            "mv .git g",
            "mv .git/hooks h",
            "rm -rf .git/hooks; mkdir .git/hooks",
            "git config alias.x '!true'",
            "echo x >> .git/config",
            "echo x > .envrc",
            "rm .envrc",
            "echo x > n && mv n .envrc",
            "echo x > .claude/settings.json",
            "umount .git/config",
            "mount -o remount,rw,bind .git/config",
        ] {
            let (status, ..) = world.run(Class::Write, &format!("( {text} ) 2>/dev/null"));
            assert_ne!(status, 0, "{text}");
        }
        world.holds(
            Class::Write,
            "echo y > y && git add y && git -c user.name=a -c user.email=a@b commit -q -m y && git checkout -q -b side",
            0,
        );
        assert_eq!(fs::read_to_string(w.join(".envrc")).unwrap(), "before\n");
        assert!(!w.join(".git/hooks/pre-commit").exists());
        let mut approved = world.command(Class::Install, "git config alias.x '!true'");
        let text = "echo x >> .git/config";
        assert_eq!(
            said(approved.env("BATTERY_TARGET", w.join(".git/config")).env("BATTERY_TEXT", text).output().unwrap()).0,
            0
        );
    }
}
