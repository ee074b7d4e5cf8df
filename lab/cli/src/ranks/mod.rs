//! `sinew-lab run NAME --ranks N`: an application over ranks, each with a pool of its own.
//!
//! | file | contents |
//! |---|---|
//! | `uts`, `nqueens`, `wordcount`, `jacobi` | an application each |
//! | `program` | what they have in common |
//! | `show` | the output: text, or one JSON object with a part for each rank |
//!
//! If `mpirun` has started this process, the ranks are its processes, and rank 0 prints. Otherwise
//! they are threads of this process, each with a pool of one worker unless `--threads` or the
//! environment says more.

mod jacobi;
mod nqueens;
mod program;
mod show;
mod uts;
mod wordcount;

use std::time::Instant;

use sinew::Pool;
use sinew_console::{Failure, output, unknown};
use sinew_dist::threads::Ranks;
use sinew_dist::{InitError, World};
use sinew_sync::lock::Mutex;

use crate::files::ResultFile;
use crate::pool::{Kept, build_over};
use crate::progress::Progress;
use crate::run::RunArgs;
use crate::trace;
use program::{Measured, Program};

/// Runs an application over `ranks` ranks.
pub(crate) fn perform(args: &RunArgs, ranks: usize) -> Result<(), Failure> {
    let size = args.size.as_str();
    match args.name.as_str() {
        "uts" => run(&uts::program(size)?, args, ranks),
        "nqueens" => run(&nqueens::program(size)?, args, ranks),
        "wordcount" => run(&wordcount::program(args)?, args, ranks),
        "jacobi" => run(&jacobi::program(size)?, args, ranks),
        other => Err(Failure::Usage(unknown(
            "application over ranks",
            other,
            &["uts", "nqueens", "wordcount", "jacobi"],
        ))),
    }
}

fn run<P: Program>(program: &P, args: &RunArgs, ranks: usize) -> Result<(), Failure> {
    let ranks = u32::try_from(ranks).map_err(Failure::usage)?;
    let measured = match sinew_dist::launched() {
        None => as_threads(program, args, ranks)?,
        Some(launched) if launched != ranks => {
            return Err(Failure::Usage(format!(
                "mpirun has started {launched} ranks, and --ranks is {ranks}: give the same number"
            )));
        }
        Some(_) => as_process(program, args)?,
    };
    // Rank 0 prints.
    let Some(measured) = measured else { return Ok(()) };
    let name = args.name.as_str();
    let text = if args.json { show::json(name, &measured)? } else { show::text(name, &measured) };
    let printed = output::print(&text);
    if !measured.right {
        return Err(Failure::Wrong(format!("{name}: another answer than one thread has")));
    }
    if let (Some(file), Some(trace)) = (&args.trace, measured.trace) {
        ResultFile::create(file)?.write(&trace?)?;
    }
    Ok(printed?)
}

fn kept(args: &RunArgs) -> Kept {
    Kept { timeline: args.trace.is_some(), ..Kept::default() }
}

fn as_threads<P: Program>(
    program: &P,
    args: &RunArgs,
    ranks: u32,
) -> Result<Option<Measured>, Failure> {
    if let Some(file) = &args.trace {
        // A file that cannot be written is refused before anything runs.
        drop(ResultFile::create(file)?);
    }
    let one = || build_over(Pool::builder().threads(1).set_from_env(), &args.pool, &kept(args));
    let pools = (0..ranks).map(|_| one().map(Some)).collect::<Result<Vec<_>, _>>()?;
    let pools = Mutex::new(pools);
    let take = |rank| pools.lock()[rank as usize].take().expect("a rank takes one pool");
    let results = Ranks::new(ranks).run_in(take, |world| measure(program, world, args));
    let results = results.map_err(|lost| Failure::Wrong(lost.to_string()))?;
    Ok(results.into_iter().next().flatten())
}

fn as_process<P: Program>(program: &P, args: &RunArgs) -> Result<Option<Measured>, Failure> {
    let world = sinew_dist::init().map_err(|error| match error {
        InitError::WithoutMpi(ranks) => Failure::Usage(format!(
            "mpirun has started {ranks} ranks, but this command was built without MPI: build it \
             with --features mpi"
        )),
        other => Failure::usage(other),
    })?;
    let pool = build_over(world.pool_builder(), &args.pool, &kept(args))?;
    let world = world.with_pool(pool);
    Ok(measure(program, &world, args))
}

/// Runs the program on one rank. Rank 0 returns what was measured.
fn measure<P: Program>(program: &P, world: &World, args: &RunArgs) -> Option<Measured> {
    let serial = (world.rank() == 0).then(|| {
        let began = Instant::now();
        (program.serial(), began.elapsed())
    });
    let progress = Progress::new();
    let see = |words: &str| {
        if world.rank() == 0 {
            let line = format!("{} {}: {words}", args.name, program.size());
            progress.now(&line);
            progress.done(&line);
        }
    };
    let (mut parallel, mut answers, mut bags) = (vec![], vec![], vec![]);
    for _ in 0..args.repeat {
        world.barrier();
        let began = Instant::now();
        let (answer, counts) = program.over(world, &see);
        parallel.push(began.elapsed());
        answers.push(answer);
        bags = counts;
    }
    drop(progress);
    let reports = world.report();
    let trace = args.trace.is_some().then(|| trace::of_ranks(&args.name, world));
    let (serial, serial_time) = serial?;
    let is_known = program.known().is_none_or(|known| known == serial);
    Some(Measured {
        size: program.size(),
        serial: serial_time,
        parallel,
        answer: serial.to_string(),
        right: is_known && answers.iter().all(|answer| *answer == serial),
        reports,
        bags,
        trace,
    })
}
