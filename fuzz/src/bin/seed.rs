//! Writes the seeds of the fuzz targets and the dictionary, from the catalogue's examples: `seed CATALOGUE FUZZ`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use tollgate_fuzz::corpus;
use tollgate_planter::{PLANTS, READS, bytes_of, is_form, place};

/// More seeds than this make a short run a walk over seeds.
const SEEDS_MAX: usize = 120;

/// In the dictionary, what follows is made of examples.
const MARK: &str = "# Written by fuzz/seed.";

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [catalogue, fuzz] = &words[..] else { return Err(io::Error::other("call it as: seed CATALOGUE FUZZ")) };
    let examples = corpus::examples(catalogue.as_ref())?;
    let seeds = Path::new(fuzz).join("seeds");
    // Spread over the whole catalogue, not the first file.
    let step = (examples.len() / SEEDS_MAX).max(1);
    let some: Vec<&str> = examples.iter().step_by(step).map(|(text, _)| text.as_str()).collect();
    for (at, text) in some.iter().enumerate() {
        write(&seeds.join("assess").join(format!("example-{at}")), text.as_bytes())?;
        if is_form(text) {
            let chosen = &bytes_of(at as u64)[..48];
            write(
                &seeds.join("equivalence").join(format!("example-{at}")),
                &[text.as_bytes(), b"\n", chosen].concat(),
            )?;
        }
    }
    for at in 0..SEEDS_MAX {
        write(&seeds.join("planted").join(format!("seed-{at}")), &bytes_of(at as u64)[..64])?;
    }
    let spelled = examples.iter().map(|(text, _)| text.as_str()).chain(PLANTS.iter().map(|plant| plant.form));
    let texts = spelled.chain(READS.iter().copied()).flat_map(str::split_whitespace);
    let options: BTreeSet<&str> = texts.filter(|word| word.starts_with('-') && word.len() < 24).collect();
    let around: BTreeSet<&str> = place::PLACES.iter().flat_map(|place| place.split(['@', ' ', '\n'])).collect();
    let entry = |word: &&str| {
        let bytes: String = word
            .bytes()
            .map(|byte| match byte {
                b'"' | b'\\' => format!("\\x{byte:02X}"),
                0x20..=0x7e => char::from(byte).to_string(),
                _ => format!("\\x{byte:02X}"),
            })
            .collect();
        format!("\"{bytes}\"\n")
    };
    let more: String = around.iter().chain(&options).filter(|word| word.len() > 1).map(entry).collect();
    // What stands above the mark was written by hand and stays.
    let path = Path::new(fuzz).join("shell.dict");
    let before = fs::read_to_string(&path)?;
    let by_hand = before.split(MARK).next().unwrap_or("");
    fs::write(path, format!("{by_hand}{MARK}\n{more}"))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, bytes)
}
