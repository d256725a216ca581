//! Turns `policies/catalogue/*.toml` into one packed table, and refuses what is not strict enough.

use sha2::{Digest as _, Sha256};
use std::path::Path;

#[path = "src/assess/catalogue/check.rs"]
mod check;
#[path = "src/assess/class.rs"]
#[allow(dead_code)]
mod class;
#[path = "src/assess/catalogue/compile.rs"]
mod compile;
#[path = "src/assess/catalogue/packed.rs"]
#[allow(dead_code)]
mod packed;
#[path = "src/assess/catalogue/schema.rs"]
#[allow(dead_code)]
mod schema;

/// Libraries that the linker is told to load at run time, and what holds the same for good.
const STATIC: &[(&str, &str)] = &[
    ("gcc_s", "-lgcc_eh -lgcc"),
    ("c", "libc.a"),
    ("m", "libm.a"),
    ("dl", "libdl.a"),
    ("pthread", "libpthread.a"),
    ("rt", "librt.a"),
    ("util", "libutil.a"),
];

/// What decides about classes.
const CLASSIFIER: &[&str] = &["policies/catalogue", "src/assess", "Cargo.lock"];

fn main() {
    fingerprint();
    link_the_shell_statically();
    let folder = Path::new("policies/catalogue");
    println!("cargo:rerun-if-changed=policies/catalogue");
    println!("cargo:rerun-if-changed=src/assess/class.rs");
    for shared in ["check", "compile", "keys", "packed", "schema"] {
        println!("cargo:rerun-if-changed=src/assess/catalogue/{shared}.rs");
    }
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("policies/catalogue is a readable folder")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
        .collect();
    paths.sort();
    let files: Vec<(String, String)> = paths
        .iter()
        .map(|path| {
            println!("cargo:rerun-if-changed={}", path.display());
            (path.display().to_string(), std::fs::read_to_string(path).expect("a readable catalogue file"))
        })
        .collect();
    match compile::compile(&files) {
        Ok(compiled) => {
            let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
            let bytes = packed::pack(&compiled.entries, &compiled.names).expect("tables of fewer than 4 GiB");
            std::fs::write(Path::new(&out).join("catalogue.bin"), bytes).expect("a writable OUT_DIR");
            std::fs::write(Path::new(&out).join("catalogue_sources.rs"), sources(&paths)).expect("a writable OUT_DIR");
        }
        Err(faults) => {
            for fault in &faults {
                eprintln!("{fault}");
            }
            eprintln!("{} faults in the catalogue; policies/catalogue/README.md explains the format", faults.len());
            std::process::exit(1);
        }
    }
}

/// Name and text of every file, for the tests.
fn sources(paths: &[std::path::PathBuf]) -> String {
    let mut out = String::from("const SOURCES: &[(&str, &str)] = &[\n");
    for path in paths {
        let whole = path.canonicalize().expect("a file that was read");
        out.push_str(&format!(
            "({:?}, include_str!({:?})),\n",
            path.display().to_string(),
            whole.display().to_string()
        ));
    }
    out.push_str("];\n");
    out
}

/// One digest over every file that decides about classes, for the version of a policy.
fn fingerprint() {
    let mut open: Vec<std::path::PathBuf> = CLASSIFIER.iter().map(Into::into).collect();
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        println!("cargo:rerun-if-changed={}", path.display());
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a readable folder");
            open.extend(entries.map(|entry| entry.expect("a readable folder").path()));
        } else if path.exists() {
            files.push(path);
        }
    }
    files.sort();
    let mut hasher = Sha256::new();
    hasher.update(env!("CARGO_PKG_VERSION"));
    for path in files {
        let content = std::fs::read(&path).expect("a readable file");
        hasher.update(path.to_string_lossy().as_bytes());
        hasher.update((content.len() as u64).to_be_bytes());
        hasher.update(&content);
    }
    let digest: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rustc-env=TOLLGATE_CLASSIFIER={digest}");
}

/// `tollsh` starts for every command, and before it looks at its environment nothing that the environment names may run
/// in it: no loader, no `LD_PRELOAD`. With the GNU library, Cargo links either every program of a build statically or
/// none; the others need the library's name services, so this one is done here, where the parts are there.
fn link_the_shell_statically() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") != "linux" || target("ENV") != "gnu" || target("FEATURE").split(',').any(|one| one == "crt-static")
    {
        return;
    }
    if std::env::var("HOST") != std::env::var("TARGET") {
        return;
    }
    // The linker says the whole path of a file it knows, and repeats the name of one it does not.
    let has = |file: &str| {
        let asked = std::process::Command::new("cc").arg(format!("-print-file-name={file}")).output();
        asked.is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_absolute())
    };
    let archives = STATIC.iter().filter_map(|(_, parts)| parts.ends_with(".a").then_some(*parts));
    if !archives.chain(["libgcc_eh.a", "rcrt1.o"]).all(has) {
        println!("cargo:warning=no static C library here: tollsh is linked dynamically and starts more slowly");
        return;
    }
    let folder = Path::new(&std::env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("static");
    std::fs::create_dir_all(&folder).expect("a writable OUT_DIR");
    for (library, parts) in STATIC {
        let script = folder.join(format!("lib{library}.so"));
        std::fs::write(script, format!("GROUP ( {parts} )\n")).expect("a writable OUT_DIR");
    }
    println!("cargo:rustc-link-arg-bin=tollsh=-L{}", folder.display());
    println!("cargo:rustc-link-arg-bin=tollsh=-static-pie");
}
