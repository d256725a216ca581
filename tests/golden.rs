//! Pages that are generated from tables: the file in the repository must be what the table says now. The tests of the
//! library and of the outside share this one way.

use std::path::Path;

/// Compares `path` (from the repository's root) with `text`; with `TOLLGATE_WRITE_DOCS=1` in the environment, writes it
/// instead.
#[track_caller]
pub fn page(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("TOLLGATE_WRITE_DOCS").is_some() {
        std::fs::write(&path, text).expect("the page can be written");
        return;
    }
    let now = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        now == text,
        "{} is not what its table says; run `TOLLGATE_WRITE_DOCS=1 cargo test` and look at the diff",
        path.display()
    );
}
