//! Where may a test kill this process, or slow its disk down? At named points, and only in builds with debug assertions: of
//! a release nothing of this is a part.

/// Dies here, as by `kill -9`, if this is the point that the file named by `TOLLGATE_TEST_KILL` names.
#[cfg(debug_assertions)]
pub fn point(name: impl FnOnce() -> String) {
    static AT: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let named = || {
        let file = std::env::var_os("TOLLGATE_TEST_KILL")?;
        std::fs::read_to_string(file).ok()
    };
    let at = AT.get_or_init(|| named().unwrap_or_default());
    if !at.is_empty() && *at == name() {
        // It cannot fail for oneself; and if it did, nothing may go on from here.
        _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        loop {
            std::thread::park();
        }
    }
}

#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn point(_: impl FnOnce() -> String) {}

/// Takes as long here as `TOLLGATE_TEST_SYNC_MS` says that the disk takes to sync.
#[cfg(debug_assertions)]
pub fn slow_sync() {
    static MS: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let named = || std::env::var("TOLLGATE_TEST_SYNC_MS").ok()?.parse().ok();
    let ms = *MS.get_or_init(|| named().unwrap_or(0));
    if ms > 0 {
        std::thread::sleep(std::time::Duration::from_millis(ms));
    }
}

#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn slow_sync() {}

/// What a transaction holds, to name the points before and after its end.
#[derive(Debug, Default)]
pub struct Trail {
    #[cfg(debug_assertions)]
    names: Vec<String>,
}

impl Trail {
    #[cfg(debug_assertions)]
    pub fn add(&mut self, name: &str) {
        self.names.push(name.to_owned());
    }

    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub fn add(&mut self, _: &str) {}

    #[cfg(debug_assertions)]
    pub fn point(&self, moment: &str) {
        for name in &self.names {
            point(|| format!("store.{name}.{moment}"));
        }
    }

    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub fn point(&self, _: &str) {}

    pub fn clear(&mut self) {
        *self = Trail::default();
    }
}
