//! Turns `policies/catalogue/*.toml` into static tables, and refuses what is not strict enough.

use std::fmt::Write as _;
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
#[path = "src/assess/catalogue/schema.rs"]
#[allow(dead_code)]
mod schema;

use compile::Compiled;
use schema::{Entry, Form};

fn main() {
    let folder = Path::new("policies/catalogue");
    println!("cargo:rerun-if-changed=policies/catalogue");
    for shared in ["class.rs", "catalogue/check.rs", "catalogue/compile.rs", "catalogue/keys.rs", "catalogue/schema.rs"]
    {
        println!("cargo:rerun-if-changed=src/assess/{shared}");
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
            std::fs::write(Path::new(&out).join("catalogue.rs"), tables(&compiled)).expect("a writable OUT_DIR");
            std::fs::write(Path::new(&out).join("catalogue_examples.rs"), examples(&compiled))
                .expect("a writable OUT_DIR");
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

/// The tables as Rust.
fn tables(compiled: &Compiled) -> String {
    let mut out = String::from("pub static ENTRIES: &[Entry] = &[\n");
    for entry in &compiled.entries {
        write_entry(&mut out, entry);
    }
    out.push_str("];\npub static NAMES: &[(Text, u32)] = &[\n");
    for (name, index) in &compiled.names {
        let _ = writeln!(out, "({}, {index}),", text(name));
    }
    out.push_str("];\n");
    out
}

fn text(value: &str) -> String {
    format!("Cow::Borrowed({value:?})")
}

fn write_entry(out: &mut String, entry: &Entry) {
    let flags = match &entry.flags {
        Some(flags) => format!("Some({})", text(flags)),
        None => "None".to_owned(),
    };
    let pairs = |pairs: &[(schema::Text, u32)]| -> String {
        pairs.iter().map(|(name, index)| format!("({}, {index}),", text(name))).collect()
    };
    let why: String = entry.why.iter().map(|(name, phrase)| format!("({}, {}),", text(name), text(phrase))).collect();
    let forms: String = entry.forms.iter().map(form).collect();
    let _ = writeln!(
        out,
        "Entry {{ path: {}, parent: {:?}, class: Class::{:?}, style: Style::{:?}, first: {}, flags: {flags}, \
         globals: {}, args: {}, forms: Cow::Borrowed(&[{forms}]), subs: Cow::Borrowed(&[{}]), abbreviate: {}, \
         effects: {}, attributes: {}, whole: {}, does: {}, why: Cow::Borrowed(&[{why}]), help: {}, open: {}, \
         complete: {}, stdin: Feed::{:?}, unknown_flag: Class::{:?}, unknown_sub: Class::{:?} }},",
        text(&entry.path),
        entry.parent,
        entry.class,
        entry.style,
        entry.first,
        text(&entry.globals),
        text(&entry.args),
        pairs(&entry.subs),
        entry.abbreviate,
        text(&entry.effects),
        text(&entry.attributes),
        text(&entry.whole),
        text(&entry.does),
        text(&entry.help),
        text(&entry.open),
        entry.complete,
        entry.stdin,
        entry.unknown_flag,
        entry.unknown_sub,
    );
}

fn form(form: &Form) -> String {
    format!(
        "Form {{ any: {}, none: {}, operands: {:?}, class: Class::{:?}, args: {}, does: {} }},",
        text(&form.any),
        text(&form.none),
        form.operands,
        form.class,
        text(&form.args),
        text(&form.does),
    )
}

/// Command, class and entry of every example, for the tests.
fn examples(compiled: &Compiled) -> String {
    let mut out = String::from("pub static EXAMPLES: &[(&str, Class, &str)] = &[\n");
    for (command, class, path) in &compiled.examples {
        let _ = writeln!(out, "({command:?}, Class::{class:?}, {path:?}),");
    }
    out.push_str("];\n");
    out
}
