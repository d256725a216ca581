//! Does anything get out? A table of attempts, run in every class, at both levels, as root and as an ordinary user.
//!
//! An attempt is a line of shell that ends well only if it got out. All of them run in one fence; what must not change
//! outside is looked at afterwards as well. The few that need calls no program makes are made by this test binary.

use super::battery::{START, World, said, worlds};
use super::sys;
use crate::assess::Class;
use crate::authorize::fence::Level;
use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

/// Where an attempt must fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    /// In every class.
    All,
    /// In read and write: above, this is what the class is for.
    Quiet,
    /// In read at both levels; above read at level full only (the other one cannot hold it, and says so).
    ReadOrFull,
    /// At level full: the other one cannot hold it, and says so.
    Full,
    /// In read.
    Read,
}

const ATTEMPTS: &[(In, &str)] = &[
    // Files outside, by every road.
    (In::All, "echo x > $O/f"),
    (In::All, "ln $O/f $TMPDIR/hard && echo x > $TMPDIR/hard"),
    (
        In::All,
        "(for i in $(seq 99); do ln -sfn $O r; ln -sfn sub r; done) & for i in $(seq 99); do echo x > r/new; done; test -e $O/new",
    ),
    (In::All, "mv sub $O/"),
    (In::All, "cp -a --reflink=always f $O/f"),
    (In::All, "exec 5<$O/f && echo x > /proc/self/fd/5"),
    (In::All, "exec 5<$O/f && dd of=/dev/fd/5 if=/dev/zero bs=1 count=1 conv=notrunc"),
    (In::All, "tar cf - f | tar xf - -C $O"),
    (In::All, "echo x >> $O/f"),
    (In::All, ": > $O/new"),
    (In::All, "truncate -s 0 $O/f"),
    (In::All, "rm $O/f"),
    (In::All, "mv $O/f $O/h"),
    (In::All, "mv $O/f ."),
    (In::All, "mv f $O/"),
    (In::All, "ln $O/f hard && echo x > hard"),
    (In::All, "ln f $O/hard"),
    (In::All, "ln -s $O/f soft && echo x > soft"),
    (In::All, "ln -s $O $TMPDIR/way && echo x > $TMPDIR/way/f"),
    (In::All, "cp f $O/g"),
    (In::All, "dd if=/dev/zero of=$O/f bs=1 count=1 conv=notrunc"),
    (In::All, "mkdir $O/d"),
    (In::All, "mkfifo $O/p2"),
    (In::All, "echo x <>$O/fifo >&0"),
    (In::All, "exec 5<>$O/f"),
    (In::All, "sed -i s/b/x/ $O/f"),
    (In::All, "cd .. && echo x > outside/f"),
    (In::All, "echo x > /proc/self/cwd/../outside/f"),
    (In::All, "echo x > /proc/self/root$O/f"),
    (In::All, "echo x > /proc/$PPID/root$O/f"),
    (In::All, "echo x > /proc/1/root$O/f"),
    (In::All, "echo x > /proc/$VICTIM/cwd/new"),
    (In::All, "mv $PWD $PWD.moved"),
    (In::All, "rmdir $PWD/sub/../../outside/d"),
    (In::All, "echo x > /etc/tollgate-escape"),
    (In::All, "echo x >> $HOME/.bashrc"),
    (In::All, "mkdir -p $HOME/.cargo/bin && echo x > $HOME/.cargo/bin/ls"),
    (In::All, "echo x > /usr/local/bin/tollgate-escape"),
    (In::All, "echo x > /var/spool/cron/root || echo x > /var/spool/cron/crontabs/root"),
    (In::All, "echo '* * * * * true' | crontab -"),
    (In::All, "echo true | at now"),
    (In::All, "systemd-run --user true"),
    (In::All, "dbus-send --session --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames"),
    (In::ReadOrFull, "chmod 777 $O/f"),
    (In::ReadOrFull, "touch -d 2001-01-01 $O/f"),
    (In::ReadOrFull, "chown $(id -u) $O/f"),
    (In::ReadOrFull, "probe xattr"),
    (In::Read, "echo x > f"),
    (In::Read, "chmod 600 f"),
    (In::Read, "touch f"),
    (In::Read, "probe xattr-here"),
    (In::Read, "git init -q x"),
    // What was left open.
    (In::All, "echo x > /proc/self/fd/7/new"),
    (In::All, "echo x >&8"),
    (In::All, "echo x > /proc/self/fd/9"),
    (In::All, "echo x > /dev/fd/9"),
    (In::All, "cd /proc/self/fd/7"),
    // What is hidden.
    (In::All, "cat ../hidden/key"),
    (In::All, "cat /proc/self/root$O/../hidden/key"),
    (In::All, "cat /proc/1/root$O/../hidden/key"),
    (In::All, "cat /proc/$VICTIM/root$O/../hidden/key"),
    (In::All, "cp ../hidden/key $TMPDIR/key"),
    (In::All, "grep -r secret ../hidden"),
    (In::Full, "cd ../hidden && ls | grep -q key"),
    (In::All, "exec 5<../hidden/key && cat <&5"),
    (In::All, "ln -s ../hidden/key k && cat k"),
    (In::Full, "find ../hidden -name key | grep -q ."),
    (In::All, "echo x > ../hidden/key"),
    (In::All, "for f in /proc/1/fd/*; do echo x > $f && exit 0; done; exit 1"),
    (In::All, "mv ../hidden ../shown"),
    (In::All, "tar cf - ../hidden/key | grep -qa secret"),
    // Devices.
    (In::All, "head -c1 $(lsblk -pnro NAME | head -1) | grep -qa ."),
    (In::All, "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/xvda; do head -c1 $d && exit 0; done; exit 1"),
    (In::All, "head -c1 /dev/mem"),
    (In::All, "head -c1 /dev/kmsg"),
    (In::All, "head -c1 /proc/kcore"),
    (In::All, "mknod d c 1 1"),
    (In::All, "mknod b b 8 0"),
    (In::All, "echo x > /dev/kmsg"),
    (In::All, "exec 5<>/dev/fuse"),
    (In::All, "exec 5<>/dev/kvm"),
    (In::All, "exec 5<>/dev/loop-control"),
    (In::All, "exec 5<>/dev/net/tun"),
    (In::All, "exec 5<>/dev/uinput"),
    (In::All, "exec 5<>/dev/userfaultfd"),
    (In::All, "exec 5<>/dev/vhost-vsock"),
    (In::All, "exec 5<>/dev/tty0"),
    (In::All, "exec 5<>/dev/cpu_dma_latency"),
    // Namespaces and mounts.
    (In::All, "unshare -U true"),
    (In::All, "unshare -Ur true"),
    (In::All, "unshare -m true"),
    (In::All, "unshare -n true"),
    (In::All, "unshare -p -f true"),
    (In::All, "nsenter -t 1 -m true"),
    (In::All, "nsenter -t $VICTIM -m -n true"),
    (In::All, "mount -o remount,rw /"),
    (In::All, "mount -o remount,rw,bind $O"),
    (In::All, "mount -t tmpfs x sub"),
    (In::All, "mount --bind $O sub"),
    (In::All, "umount /tmp"),
    (In::All, "umount -l /run"),
    (In::All, "chroot / true"),
    (In::All, "call $UNSHARE,$((0x10000000))"),
    (In::All, "call $CLONE,$((0x10000011))"),
    (In::All, "call $SETNS,9,0"),
    (In::All, "call $MOVE_MOUNT,$((-1)),0,$((-100)),0,4"),
    (In::All, "call $PIVOT_ROOT,0,0"),
    (In::All, "call $CHROOT,0"),
    (In::All, "call $OPEN_BY_HANDLE,$((-100)),0,0"),
    // Other processes.
    (In::All, "call $SETPRIORITY,2,0,19"),
    (In::All, "call $SETPRIORITY,1,0,19"),
    (In::All, "call $IOPRIO_SET,3,0,$((3 << 13))"),
    (In::All, "call $IOPRIO_SET,2,0,$((3 << 13))"),
    (In::All, "renice -n 19 -u $(id -u)"),
    (In::All, "probe shared-memory"),
    (In::All, "probe queue"),
    (In::All, "call $PIDFD_GETFD,0,0,0"),
    (In::All, "call $PROCESS_MADVISE,0,0,0"),
    (In::All, "exec 5</proc/$VICTIM/ns/mnt && call $SETNS,5,0"),
    (In::All, "kill $VICTIM"),
    (In::All, "kill -9 $VICTIM"),
    (In::All, "kill -STOP $VICTIM"),
    (In::All, "kill -0 $VICTIM"),
    (In::All, "renice -n 19 -p $VICTIM"),
    (In::All, "taskset -p 1 $VICTIM"),
    (In::All, "prlimit --pid $VICTIM --nofile=10:10"),
    (In::All, "ionice -c 3 -p $VICTIM"),
    (In::All, "cat /proc/$VICTIM/environ"),
    (In::All, "cat /proc/$VICTIM/maps"),
    (In::All, "readlink /proc/$VICTIM/fd/0"),
    (In::All, "head -c1 /proc/$VICTIM/mem"),
    (In::All, "echo 1000 > /proc/$VICTIM/oom_score_adj"),
    (In::All, "cat /proc/$PPID/environ"),
    (In::All, "echo 1 > /proc/sys/kernel/core_uses_pid"),
    (In::All, "echo '|/bin/true' > /proc/sys/kernel/core_pattern"),
    (In::All, "sysctl -w kernel.core_uses_pid=1"),
    (In::All, "echo h > /proc/sysrq-trigger"),
    (In::All, "echo ':x:M::x::/bin/true:' > /proc/sys/fs/binfmt_misc/register"),
    (In::All, "echo 1 > /proc/sys/vm/drop_caches"),
    (In::All, "echo 5 > /proc/self/oom_score_adj"),
    (In::All, "echo 0 > /proc/self/loginuid"),
    (In::All, "echo always > /sys/kernel/mm/transparent_hugepage/enabled"),
    (In::All, "echo 1 > /sys/kernel/mm/ksm/run"),
    (In::All, "mkdir /sys/fs/cgroup/tollgate-escape || mkdir /sys/fs/cgroup/unified/tollgate-escape"),
    // Networks.
    (In::Quiet, "exec 5<>/dev/tcp/127.0.0.1/$PORT"),
    (In::Quiet, "exec 5<>/dev/tcp/localhost/$PORT"),
    (In::Quiet, "curl -s -m 2 http://127.0.0.1:$PORT/"),
    (In::Quiet, "exec 5<>/dev/udp/192.0.2.1/9 && echo x >&5"),
    (In::Quiet, "probe fastopen"),
    (In::Quiet, "probe mptcp"),
    (In::Quiet, "ping -c1 -W1 192.0.2.1"),
    (In::All, "call $SOCKET,17,3,768"),
    (In::All, "call $SOCKET,40,1,0"),
    (In::All, "call $SOCKET,38,5,0"),
    (In::All, "call $SOCKET,31,3,1"),
    (In::All, "call $SOCKET,16,3,9"),
    (In::All, "call $SOCKET,16,3,15"),
    (In::All, "call $SOCKET,44,3,0"),
    (In::All, "call $SOCKET,15,3,2"),
    (In::All, "call $SOCKET,30,1,0"),
    (In::All, "call $SOCKET,42,2,0"),
    (In::All, "call $SOCKET,43,1,0"),
    (In::All, "probe unix"),
    (In::All, "probe abstract"),
    (In::All, "probe pair"),
    // Doors of the kernel.
    (In::All, "call $IO_URING,1,0,0"),
    (In::All, "call $BPF,0,0,0"),
    (In::All, "call $KEYCTL,0,-3,1"),
    (In::All, "call $KEYCTL,1,0,0"),
    (In::All, "call $PERF,0,0,0"),
    (In::All, "call $USERFAULTFD,0"),
    (In::All, "call $FANOTIFY,0,0"),
    (In::All, "call $TIOCSTI,0,$((0x5412))"),
    (In::All, "call $TIOCSTI,0,$((0x541C))"),
    (In::All, "call $PTRACE,$((0x4206)),$VICTIM,0"),
    (In::All, "call $PTRACE,16,$VICTIM,0"),
    (In::All, "call $((0x40000000)),0,0,0"),
    (In::All, "call $REBOOT,0,0,0"),
    (In::All, "call $SETHOSTNAME,0,0"),
    (In::All, "hostname tollgate-escape"),
    (In::All, "date -s 2001-01-01"),
    (In::All, "swapoff -a && swapon -a && false || call $SWAPOFF,0"),
    // Power.
    (In::All, "cp /bin/true t && chmod 4755 t"),
    (In::All, "chmod g+s sub"),
    (In::All, "install -m 4755 f sub/set"),
    (In::All, "su -c true nobody"),
    (In::All, "sudo -n true"),
    (In::All, "setpriv --reuid 1 true && setpriv --inh-caps +sys_admin --ambient-caps +sys_admin true"),
    (In::All, "setcap cap_net_raw+ep f"),
    (In::All, "ulimit -c unlimited"),
    (In::All, "grep -q 'NoNewPrivs:.0' /proc/self/status"),
    // Through ourselves.
    (In::All, "BASH_ENV=/dev/null \"$PROBE\" --exact execute::escapes::probe && [ -n \"$(type -t smuggled)\" ]"),
    (In::All, "[ \"$(type -t smuggled)\" = function ]"),
    (In::All, "[ -n \"$LD_PRELOAD$BASH_ENV\" ]"),
];

/// Runs one attempt that needs a call of its own; says whether it got out.
#[test]
fn probe() {
    let Ok(name) = std::env::var("BATTERY_PROBE") else { return };
    println!("{START}{}", if tried(&name) { "out" } else { "held" });
}

fn tried(name: &str) -> bool {
    use rustix::net::{self, AddressFamily, SocketType};
    let outside = std::env::var("O").unwrap_or_default();
    let port = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(9);
    let address = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
    let xattr = |path: &str| rustix::fs::setxattr(path, "user.x", b"x", rustix::fs::XattrFlags::empty()).is_ok();
    match name {
        "xattr" => xattr(&format!("{outside}/f")),
        "xattr-here" => xattr("f"),
        "fastopen" => net::socket(AddressFamily::INET, SocketType::STREAM, None).is_ok_and(|socket| {
            let fast_open = net::SendFlags::from_bits_retain(libc::MSG_FASTOPEN.cast_unsigned());
            net::sendto(&socket, b"x", fast_open, &address).is_ok()
        }),
        "mptcp" => net::socket(AddressFamily::INET, SocketType::STREAM, Some(net::ipproto::MPTCP))
            .is_ok_and(|socket| net::connect(&socket, &address).is_ok()),
        "unix" => std::os::unix::net::UnixStream::connect(format!("{outside}/socket")).is_ok(),
        "abstract" => {
            use std::os::linux::net::SocketAddrExt;
            let named = std::os::unix::net::SocketAddr::from_abstract_name(std::env::var("ABSTRACT").unwrap());
            std::os::unix::net::UnixStream::connect_addr(&named.unwrap()).is_ok()
        }
        "pair" => {
            let none = net::SocketFlags::empty();
            net::socketpair(AddressFamily::UNIX, SocketType::DGRAM, none, None).is_ok_and(|(one, _)| {
                let named = net::SocketAddrUnix::new(format!("{outside}/datagrams")).unwrap();
                net::sendto(&one, b"x", net::SendFlags::empty(), &named).is_ok()
            })
        }
        "shared-memory" => {
            let id = std::env::var("SHARED").unwrap().parse().unwrap();
            sys::raw_call6(libc::SYS_shmat, [id, 0, 0, 0, 0, 0]).is_ok()
        }
        "queue" => queue(&std::env::var("QUEUE").unwrap(), 0).is_ok(),
        other => panic!("no attempt {other}"),
    }
}

/// Opens a message queue by its name.
fn queue(name: &str, flags: i32) -> Result<i64, sys::Errno> {
    let name = std::ffi::CString::new(name).unwrap();
    let flags = libc::O_RDWR | flags;
    sys::raw_call6(libc::SYS_mq_open, [name.as_ptr() as i64, flags.into(), 0o600, 0, 0, 0])
}

/// What the kernel keeps for others of the same user, until dropped.
struct Kept {
    shared: i64,
    queue: String,
}

impl Kept {
    fn new() -> Kept {
        let shared = sys::raw_call6(libc::SYS_shmget, [0, 4096, 0o1666, 0, 0, 0]).unwrap();
        let queue = format!("tollgate-escapes-{shared}");
        let made = self::queue(&queue, libc::O_CREAT).unwrap();
        _ = sys::raw_call6(libc::SYS_close, [made, 0, 0, 0, 0, 0]);
        // Everybody of the test's users may open it.
        let path = std::path::Path::new("/dev/mqueue").join(&queue);
        drop(fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o666)));
        Kept { shared, queue }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let name = std::ffi::CString::new(self.queue.clone()).unwrap();
        _ = sys::raw_call6(libc::SYS_mq_unlink, [name.as_ptr() as i64, 0, 0, 0, 0, 0]);
        _ = sys::raw_call6(libc::SYS_shmctl, [self.shared, libc::IPC_RMID.into(), 0, 0, 0, 0]);
    }
}

const PRELUDE: &str = r#"
probe() { BATTERY_PROBE=$1 "$PROBE" --exact execute::escapes::probe --nocapture --test-threads=1 | grep -q '==start==out$'; }
call() { BATTERY_CALL=$1 "$PROBE" --exact execute::battery::raw_call --nocapture --test-threads=1 | grep -q '==start==0$'; }
"#;

/// The numbers of calls that attempts name.
const CALLS: &[(&str, i64)] = &[
    ("UNSHARE", libc::SYS_unshare),
    ("CLONE", libc::SYS_clone),
    ("SETNS", libc::SYS_setns),
    ("SOCKET", libc::SYS_socket),
    ("IO_URING", libc::SYS_io_uring_setup),
    ("BPF", libc::SYS_bpf),
    ("KEYCTL", libc::SYS_keyctl),
    ("PERF", libc::SYS_perf_event_open),
    ("USERFAULTFD", libc::SYS_userfaultfd),
    ("FANOTIFY", libc::SYS_fanotify_init),
    ("TIOCSTI", libc::SYS_ioctl),
    ("PTRACE", libc::SYS_ptrace),
    ("REBOOT", libc::SYS_reboot),
    ("SETHOSTNAME", libc::SYS_sethostname),
    ("SWAPOFF", libc::SYS_swapoff),
    ("MOVE_MOUNT", libc::SYS_move_mount),
    ("PIVOT_ROOT", libc::SYS_pivot_root),
    ("CHROOT", libc::SYS_chroot),
    ("OPEN_BY_HANDLE", libc::SYS_open_by_handle_at),
    ("SETPRIORITY", libc::SYS_setpriority),
    ("IOPRIO_SET", libc::SYS_ioprio_set),
    ("PIDFD_GETFD", libc::SYS_pidfd_getfd),
    ("PROCESS_MADVISE", libc::SYS_process_madvise),
];

fn script(class: Class, level: Level) -> String {
    let mut script = PRELUDE.to_owned();
    for (number, (place, text)) in ATTEMPTS.iter().enumerate() {
        let counts = match place {
            In::All => true,
            In::Quiet => class < Class::Network,
            In::ReadOrFull => class == Class::Read || level == Level::Full,
            In::Full => level == Level::Full,
            In::Read => class == Class::Read,
        };
        if counts {
            script.push_str(&format!("( {text}\n) >/dev/null 2>&1 </dev/null && echo OUT {number}\n"));
        }
    }
    script.push_str("(setsid sh -c 'sleep 0.5; echo x > late' &) ; echo DONE\n");
    script
}

/// The tree outside, as it must stay.
fn outside(world: &World) -> Vec<(String, u32, i64, Vec<u8>)> {
    use std::os::unix::fs::MetadataExt;
    let mut found: Vec<_> = fs::read_dir(world.path("outside"))
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let facts = entry.metadata().unwrap();
            let content = if facts.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
            (entry.file_name().into_string().unwrap(), facts.mode(), facts.mtime(), content)
        })
        .collect();
    found.sort();
    found
}

fn nothing_gets_out_of(world: &World, class: Class) {
    let hidden = world.path("hidden");
    fs::create_dir(&hidden).unwrap();
    fs::write(hidden.join("key"), "secret\n").unwrap();
    for name in ["home", "w/.git"] {
        fs::create_dir_all(world.path(name)).unwrap();
    }
    let fifo = world.path("outside/fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let unix = UnixListener::bind(world.path("outside/socket")).unwrap();
    let datagrams = std::os::unix::net::UnixDatagram::bind(world.path("outside/datagrams")).unwrap();
    let abstract_name = format!("tollgate-escapes-{}", world.path("").display());
    let named = {
        use std::os::linux::net::SocketAddrExt;
        std::os::unix::net::SocketAddr::from_abstract_name(&abstract_name).unwrap()
    };
    let hidden_listener = UnixListener::bind_addr(&named).unwrap();
    tcp.set_nonblocking(true).unwrap();
    unix.set_nonblocking(true).unwrap();
    hidden_listener.set_nonblocking(true).unwrap();
    datagrams.set_nonblocking(true).unwrap();
    if let Some(uid) = world.uid {
        let owner = format!("{uid}:{uid}");
        let done = Command::new("chown").args(["-R", &owner]).arg(world.path("")).status().unwrap();
        assert!(done.success());
    }
    let mut victim = world.as_its_user("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    let before = outside(world);
    let kept = Kept::new();

    let inner = world.command(class, &script(class, world.level));
    let mut command = Command::new("bash");
    command.args(["-c", "exec 7<$O 8<>$O/f 9<$O/f; exec \"$@\"", "x"]).arg(inner.get_program());
    command.args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("BATTERY_HIDDEN", &hidden).env("HOME", world.path("home")).env("VICTIM", victim.id().to_string());
    command.env("PORT", tcp.local_addr().unwrap().port().to_string()).env("ABSTRACT", &abstract_name);
    command.env("SHARED", kept.shared.to_string()).env("QUEUE", &kept.queue);
    command.env("BASH_FUNC_smuggled%%", "() { true; }").env("BASH_ENV", "/dev/null").stdin(Stdio::null());
    command.envs(CALLS.iter().map(|(name, number)| (name, number.to_string())));
    let (_, out, err) = said(command.output().unwrap());

    let at = format!("{class} at level {:?} as {:?}", world.level, world.uid);
    assert!(out.contains("DONE"), "{at}: {out}{err}");
    let escaped: Vec<&str> = out
        .lines()
        .filter_map(|line| line.strip_prefix("OUT ")?.parse::<usize>().ok())
        .map(|number| ATTEMPTS[number].1)
        .collect();
    assert!(escaped.is_empty(), "{at}:\n{}", escaped.join("\n"));
    if world.level == Level::Full || class == Class::Read {
        assert_eq!(outside(world), before, "{at}");
    }
    assert!(victim.try_wait().unwrap().is_none(), "{at}");
    let state = fs::read_to_string(format!("/proc/{}/stat", victim.id())).unwrap();
    assert!(!state.contains(") T "), "{at}: stopped");
    if class < Class::Network {
        assert!(tcp.accept().is_err(), "{at}");
    }
    assert!(unix.accept().is_err() && hidden_listener.accept().is_err() && datagrams.recv(&mut [0]).is_err(), "{at}");
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(!world.path("w/late").exists(), "{at}: it outlived its command");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn nothing_gets_out() {
    assert!(ATTEMPTS.len() >= 160, "{}", ATTEMPTS.len());
    let users = worlds();
    std::thread::scope(|scope| {
        for world in &users {
            scope.spawn(move || {
                for class in Class::ALL {
                    nothing_gets_out_of(&World::new(world.uid, world.level), class);
                }
            });
        }
    });
}
