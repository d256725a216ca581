//! Runs what is called a read, and looks whether it only reads; or asks bash about the structure of texts.
//!
//! `oracle [--seconds N] [--jobs N] [--generated N] [--options N] [--catalogue DIR] [--out DIR] [FILE|DIR …]`
//! `oracle --structure [FILE|DIR …]`: bash is asked about the structure of texts
//! `oracle --planted N [FILE|DIR …]`: programs with a known effect are classified, and the commands in other ways

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tollgate_fuzz::cage::Cage;
use tollgate_fuzz::hunt::{self, Tally};
use tollgate_fuzz::structure::{self, Told};
use tollgate_fuzz::{corpus, options, trial};
use tollgate_planter::{Choice, bytes_of, is_form, reading};

struct Args {
    seconds: u64,
    jobs: usize,
    generated: u64,
    options: u64,
    from: u64,
    out: PathBuf,
    structure: bool,
    planted: u64,
    texts: Vec<String>,
}

fn main() -> ExitCode {
    let name = std::env::current_exe().ok().and_then(|exe| Some(exe.file_name()?.to_owned()));
    // Copied under the product's name, this program is the product: see `cage`.
    if name.is_some_and(|name| name == "tollgate") {
        return tollgate::console::main();
    }
    let done = arguments().and_then(|args| match (args.structure, args.planted) {
        (true, _) => structures(&args),
        (false, 0) => run(&args),
        (false, count) => Ok(trials(&args, count)),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("oracle: {error}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<Args, String> {
    let mut args = Args {
        seconds: 3600,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        generated: 0,
        options: 0,
        from: 0,
        out: "findings".into(),
        structure: false,
        planted: 0,
        texts: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
        match word.as_str() {
            "--seconds" => args.seconds = number(value()?)?,
            "--jobs" => args.jobs = usize::try_from(number(value()?)?).map_err(|error| error.to_string())?.max(1),
            "--generated" => args.generated = number(value()?)?,
            "--options" => args.options = number(value()?)?,
            "--from" => args.from = number(value()?)?,
            "--planted" => args.planted = number(value()?)?,
            "--out" => args.out = value()?.into(),
            "--structure" => args.structure = true,
            "--catalogue" => {
                let examples = corpus::examples(value()?.as_ref()).map_err(|error| error.to_string())?;
                args.texts.extend(examples.into_iter().map(|(text, _)| text));
            }
            option if option.starts_with('-') => return Err(format!("no option {option}")),
            path => args.texts.extend(corpus::commands(path.as_ref()).map_err(|error| format!("{path}: {error}"))?),
        }
    }
    for seed in args.from..args.from + args.generated {
        args.texts.push(reading(&bytes_of(seed)).text);
    }
    for seed in args.from..args.from + args.options {
        args.texts.extend(options::call(&mut Choice::of(&bytes_of(!seed))));
    }
    Ok(args)
}

/// Whether nothing that is called a read did more.
fn run(args: &Args) -> Result<bool, String> {
    let began = Instant::now();
    let unique: BTreeSet<&str> = args.texts.iter().map(String::as_str).filter(|text| !text.contains('\0')).collect();
    let reads: Vec<&str> = unique.iter().copied().filter(|text| hunt::is_read(text)).collect();
    println!("{} commands, {} of them called a read", unique.len(), reads.len());
    let batches: Vec<&[&str]> = reads.chunks(hunt::TOGETHER).collect();
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let work = |number: usize| -> std::io::Result<()> {
        let cage = Cage::new(number)?;
        while began.elapsed() < Duration::from_secs(args.seconds) {
            let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let mut tally = Tally::default();
            hunt::among(&cage, batch, &mut tally)?;
            for finding in &tally.findings {
                println!("FOUND {:?}\n  from {:?}\n  {}", finding.small, finding.text, finding.effects.join("\n  "));
            }
            let mut total = total.lock().expect("no thread panicked");
            total.ran += tally.ran;
            total.asked += tally.asked;
            total.findings.extend(tally.findings);
            total.together.extend(tally.together);
        }
        Ok(())
    };
    let failed: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.jobs).map(|number| scope.spawn(move || work(number))).collect();
        threads.into_iter().filter_map(|thread| thread.join().expect("no panic").err()).map(|e| e.to_string()).collect()
    });
    let total = total.into_inner().expect("no thread panicked");
    if !total.findings.is_empty() {
        write(args, &total).map_err(|error| error.to_string())?;
    }
    for effect in &total.together {
        println!("not seen again alone: {effect}");
    }
    println!(
        "{} ran, {} effects, {} asked about, {} not reached, {} s",
        total.ran,
        total.findings.len(),
        total.asked,
        reads.len() - total.ran - total.asked,
        began.elapsed().as_secs()
    );
    if failed.is_empty() { Ok(total.findings.is_empty()) } else { Err(failed.join("; ")) }
}

/// One case a line, as `tests/effects/commands.txt` has them, each under what was seen.
fn write(args: &Args, total: &Tally) -> std::io::Result<()> {
    std::fs::create_dir_all(&args.out)?;
    let case = |finding: &hunt::Finding| format!("# {}\n{}\n", finding.effects.join("; "), finding.as_case());
    let cases: String = total.findings.iter().map(case).collect();
    let path = args.out.join("cases.txt");
    println!("cases for tests/effects/commands.txt: {}", path.display());
    std::fs::write(path, cases)
}

/// Whether nothing was called less than it is.
fn trials(args: &Args, count: u64) -> bool {
    let planted = trial::planted_programs(args.from, count, args.jobs).report("planted");
    let forms: Vec<&str> = args.texts.iter().map(String::as_str).filter(|text| is_form(text)).collect();
    let others = forms.is_empty() || trial::other_ways(&forms, args.from, count, args.jobs).report("other ways");
    planted && others
}

/// Whether bash sees every text as we do.
fn structures(args: &Args) -> Result<bool, String> {
    let (mut same, mut unread, mut other) = (0, 0, 0);
    for text in &args.texts {
        match structure::asked(text).map_err(|error| error.to_string())? {
            Told::Same => same += 1,
            Told::Unread => unread += 1,
            Told::Refused(said) => {
                other += 1;
                println!("BASH REFUSES {text:?}\n  {}", said.trim());
            }
            Told::Another(printed) => {
                other += 1;
                println!("BASH SEES ANOTHER {text:?}\n  {printed:?}");
            }
        }
    }
    println!("{same} the same, {other} other, {unread} not read by us");
    Ok(other == 0)
}
