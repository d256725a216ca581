//! Turns `policies/catalogue/*.toml` into one packed table, and refuses what is not strict enough.

use std::path::Path;

#[path = "src/assess/catalogue/check.rs"]
mod check;
#[path = "src/assess/class.rs"]
#[allow(dead_code)]
mod class;
#[path = "src/assess/catalogue/compile.rs"]
mod compile;
#[path = "src/assess/catalogue/keys.rs"]
#[allow(dead_code)]
mod keys;
#[path = "src/assess/catalogue/packed.rs"]
#[allow(dead_code)]
mod packed;
#[path = "src/assess/catalogue/schema.rs"]
#[allow(dead_code)]
mod schema;

fn main() {
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
