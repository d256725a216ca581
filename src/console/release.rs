//! `tollgate release ID`: put back what was set aside because it runs by itself.

use super::gate;
use super::output::{Done, Failure, Page};
use crate::execute::{is_inside, watch};
use crate::gate::Dirs;
use crate::gate::dirs::QUARANTINE;
use crate::gate::protocol::{ById, Method, Released};
use crate::record::visible;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, as its message said; any unique beginning
    id: Option<String>,
}

pub fn run(args: Args) -> Done {
    if is_inside() {
        return Err(Failure::no("a fenced command releases nothing", "Run it in a terminal of your own"));
    }
    let place = Dirs::find()?.state()?.join(QUARANTINE);
    let entries = std::fs::read_dir(&place).into_iter().flatten().flatten();
    let mut kept: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    kept.sort();
    let mut page = Page::open();
    let Some(id) = args.id else {
        for id in kept {
            let list = std::fs::read_to_string(place.join(&id).join(watch::LIST)).unwrap_or_default();
            page.line(&format!("{id}  {}", visible(&list.trim_end().replace('\n', ", "))))?;
        }
        page.flush()?;
        return Ok(ExitCode::SUCCESS);
    };
    let found: Vec<&String> = kept.iter().filter(|one| one.starts_with(&id)).collect();
    let [found] = found.as_slice() else {
        return Err(Failure::no(
            format!("{} runs have something set aside under {id}", found.len()),
            "List them with `tollgate release`",
        ));
    };
    // Recorded first: what is put back runs by itself.
    let _: Released = gate::needed(&id)?.call(Method::Release, &ById { id: (*found).clone() })?;
    let back = watch::release(&place.join(found)).map_err(|error| {
        Failure::no(format!("cannot put it back: {error}"), "Move what is in its place, then try again")
    })?;
    for path in back {
        page.line(&visible(&path.display().to_string()))?;
    }
    page.flush()?;
    Ok(ExitCode::SUCCESS)
}
