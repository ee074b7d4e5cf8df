//! The step of CI: the exported names, and every example and test in C and C++, by each compiler,
//! with both kinds of the library, and under valgrind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::compile::{C, CPP, Language, Library, Link, files, starts};
use super::install::{Options, install, source};
use crate::command;

/// A tool that finds accesses to memory that is not there, and memory that is lost. Memory that the
/// library still uses at the end of the process is not lost.
const VALGRIND: [&str; 6] = [
    "valgrind",
    "--quiet",
    "--error-exitcode=9",
    "--leak-check=full",
    "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite",
];

/// Runs all checks, or returns why none can run.
///
/// # Errors
///
/// The first check that failed.
pub(crate) fn in_ci() -> Result<Option<String>, String> {
    if !cfg!(unix) {
        return Ok(Some("the library is installed on Unix alone".to_owned()));
    }
    let prefix = command::output_folder("doors");
    install(&Options { prefix: prefix.clone() })?;
    let library = Library { prefix };
    names(&library)?;
    let (c, cpp) = (C.installed(), CPP.installed());
    if c.is_empty() && cpp.is_empty() {
        return Ok(Some("no C compiler".to_owned()));
    }
    programs(&library, C, &c, "c")?;
    programs(&library, CPP, &cpp, "cpp")?;
    scheduler(&library, &cpp)?;
    packages(&library, &c)?;
    Ok(None)
}

/// Compares the names that the library exports with the list.
fn names(library: &Library) -> Result<(), String> {
    if !starts("nm") {
        println!("skipped: no nm, so the exported names are not compared");
        return Ok(());
    }
    let mut nm = Command::new("nm");
    nm.args(["-D", "--defined-only", "--format=posix"]);
    nm.arg(library.prefix.join("lib/libsinew.so.0"));
    let output = command::output(&mut nm)?;
    let mut exported: Vec<_> =
        output.lines().filter_map(|line| line.split_whitespace().next()).collect();
    exported.sort_unstable();
    let list = source().join("symbols.txt");
    let listed =
        fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let listed: Vec<_> = listed.lines().collect();
    if exported == listed {
        return Ok(());
    }
    let missing = listed.iter().filter(|name| !exported.contains(name));
    let surplus = exported.iter().filter(|name| !listed.contains(name));
    Err(format!(
        "the library and symbols.txt differ: it lacks {:?} and has besides {:?}",
        missing.collect::<Vec<_>>(),
        surplus.collect::<Vec<_>>()
    ))
}

/// Compiles and runs all programs of a language.
fn programs(
    library: &Library,
    language: Language,
    compilers: &[String],
    ending: &str,
) -> Result<(), String> {
    if compilers.is_empty() {
        println!("skipped: no {} compiler", language.name);
        return Ok(());
    }
    let valgrind = starts(VALGRIND[0]);
    if !valgrind {
        println!("skipped: no valgrind");
    }
    let mut sources = files(&source().join("examples"), ending)?;
    sources.extend(files(&source().join("tests"), ending)?);
    sources.extend(pages(library, ending)?);
    for file in &sources {
        for compiler in compilers {
            for link in [Link::Shared, Link::Static] {
                let program = compile(library, language, compiler, link, file)?;
                library.run(&[], &program)?;
                let is_first = link == Link::Shared && compiler == &compilers[0];
                if let Some(tool) = valgrind_of(file)?.filter(|_| valgrind && is_first) {
                    library.run(tool, &program)?;
                }
            }
        }
    }
    println!("{} programs in {}, by {}", sources.len(), language.name, compilers.join(" and "));
    Ok(())
}

/// How valgrind runs a program. A child after a fork has lost what its parent's threads had. In the
/// table of programs the crate rustix reads the kernel's vDSO, which valgrind takes away.
fn valgrind_of(file: &Path) -> Result<Option<&'static [&'static str]>, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let tool = if text.contains("fork()") { &VALGRIND[..3] } else { &VALGRIND };
    Ok((!text.contains("SINEW_COORDINATE")).then_some(tool))
}

fn compile(
    library: &Library,
    language: Language,
    compiler: &str,
    link: Link,
    file: &Path,
) -> Result<PathBuf, String> {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).ok_or("a file without a name")?;
    let name = format!("{stem}-{compiler}-{link:?}");
    library.compile(compiler, language.flags, link, &[file], &name)
}

/// The programs of the language's page, each as a file: they begin with an `#include`.
fn pages(library: &Library, ending: &str) -> Result<Vec<PathBuf>, String> {
    let page = command::root().join(format!("docs/{ending}.md"));
    let text = fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    let fence = format!("```{ending}\n");
    let blocks = text.split(&fence).skip(1).filter_map(|rest| rest.split("```").next());
    let folder = library.prefix.join("pages");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths = Vec::new();
    for (number, block) in blocks.enumerate() {
        let path = folder.join(format!("page{number}.{ending}"));
        fs::write(&path, block).map_err(|error| format!("{}: {error}", path.display()))?;
        paths.push(path);
    }
    match paths.is_empty() {
        true => Err(format!("{}: it has no program", page.display())),
        false => Ok(paths),
    }
}

/// The parallel scheduler of C++26: under a transcript of its interface, and under stdexec where
/// the environment names its headers.
fn scheduler(library: &Library, compilers: &[String]) -> Result<(), String> {
    let tests = source().join("tests/scheduler");
    let backend = library.prefix.join("share/sinew/sinew_parallel_scheduler.cpp");
    let interface = "-DSINEW_PARALLEL_SCHEDULER_INTERFACE=\"interface.hpp\"";
    let folder = format!("-I{}", tests.display());
    for compiler in compilers {
        let sources = [&tests.join("transcript.cpp"), &backend];
        let flags = ["-std=c++20", interface, &folder];
        let name = format!("transcript-{compiler}");
        let program = library.compile(compiler, &flags, Link::Shared, &sources, &name)?;
        library.run(&[], &program)?;
    }
    let (Some(headers), Some(compiler)) = (std::env::var_os("STDEXEC"), compilers.first()) else {
        println!("skipped: no STDEXEC=PATH/include, so the scheduler ran under a transcript alone");
        return Ok(());
    };
    let headers = headers.into_string().map_err(|_| "STDEXEC is not text")?;
    let sources = [&tests.join("stdexec.cpp"), &backend];
    // Its headers have warnings; the standard library's parallel algorithms may need TBB.
    let flags = ["-std=c++20", "-w", "-isystem", &headers, "-Wl,--as-needed", "-ltbb"];
    let program = library.compile(compiler, &flags, Link::Shared, &sources, "stdexec")?;
    library.run(&[], &program)
}

/// A program that is compiled with nothing but what pkg-config or CMake finds.
fn packages(library: &Library, compilers: &[String]) -> Result<(), String> {
    let Some(compiler) = compilers.first() else { return Ok(()) };
    let example = source().join("examples/loop.c");
    if starts("pkg-config") {
        let folder = library.prefix.join("lib/pkgconfig");
        let mut tool = Command::new("pkg-config");
        tool.args(["--cflags", "--libs", "sinew"]).env("PKG_CONFIG_PATH", folder);
        let flags = command::output(&mut tool)?;
        let program = library.prefix.join("programs/pkg-config");
        let mut cc = Command::new(compiler);
        cc.arg(&example).arg("-o").arg(&program).args(flags.split_whitespace());
        command::run(&mut cc)?;
        library.run(&[], &program)?;
    } else {
        println!("skipped: no pkg-config");
    }
    if !starts("cmake") {
        println!("skipped: no cmake");
        return Ok(());
    }
    let project = library.prefix.join("project");
    let build = project.join("build");
    let text = format!(
        "cmake_minimum_required(VERSION 3.10)\nproject(example C)\n\
         find_package(Sinew {} REQUIRED)\nadd_executable(shared {example})\n\
         target_link_libraries(shared Sinew::sinew)\nadd_executable(static {example})\n\
         target_link_libraries(static Sinew::sinew_static)\n",
        env!("CARGO_PKG_VERSION"),
        example = example.display(),
    );
    fs::create_dir_all(&project).map_err(|error| format!("{}: {error}", project.display()))?;
    let lists = project.join("CMakeLists.txt");
    fs::write(&lists, text).map_err(|error| format!("{}: {error}", lists.display()))?;
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&project).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", library.prefix.display()));
    command::output(&mut configure)?;
    command::output(Command::new("cmake").arg("--build").arg(&build))?;
    library.run(&[], &build.join("shared"))?;
    library.run(&[], &build.join("static"))
}
