//! Programs of other languages and kinds print the same in both modes while their shares change
//! every three milliseconds.
//!
//! Blind to: programs that go wrong once in a thousand runs.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::compile::{MODES, text};
use common::{Script, end, two_cpus, until, words};

/// Runs a command plain and under changing shares, if its tools are installed.
fn compare(name: &str, command: &[&str]) {
    let Some(cpus) = two_cpus() else { return };
    let plain = Command::new(command[0]).args(&command[1..]).output();
    let Some(plain) = plain.ok().filter(|output| output.status.success()) else {
        println!("skipped: {name} is not here");
        return;
    };
    assert!(!plain.stdout.is_empty(), "{name} prints nothing");
    for mode in MODES {
        let script = Script::new();
        let output = script.run_flapping(&mut script.command(&words(mode), &words(command)), cpus);
        let printed = printed(output, &format!("{name} {mode:?}"));
        assert_eq!(printed, String::from_utf8_lossy(&plain.stdout), "{name} {mode:?}");
    }
}

/// The output of a command. Its errors have no line of this project, except the one that says why
/// `--malleable` has no effect on a program of this kind.
fn printed(mut output: Output, what: &str) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let others: Vec<&str> =
        said.lines().filter(|line| !line.contains("--malleable has no effect: ")).collect();
    output.stderr = others.join("\n").into_bytes();
    text(&output, what)
}

/// Writes a program to a file, and returns the file's path.
fn write(folder: &Path, name: &str, source: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, source).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn pools_of_python_processes() {
    let folder = tempfile::tempdir().unwrap();
    for way in ["fork", "spawn"] {
        let source = format!(
            "import multiprocessing
def f(i): return sum(i * j % 13 for j in range(20000))
if __name__ == '__main__':
    with multiprocessing.get_context('{way}').Pool(3) as pool:
        print(sum(pool.map(f, range(30))))
"
        );
        let program = write(folder.path(), &format!("{way}.py"), &source);
        compare("python3 with multiprocessing", &["python3", &program]);
    }
}

#[test]
fn parallel_streams_of_java() {
    let folder = tempfile::tempdir().unwrap();
    let source = "import java.util.stream.*;
public class Sums {
    public static void main(String[] words) {
        System.out.println(LongStream.range(0, 5000000L).parallel().map(i -> i * i % 31).sum());
        System.out.println(IntStream.range(0, 100000).parallel().boxed()
            .collect(Collectors.groupingByConcurrent(i -> i % 7, Collectors.counting())).get(3));
    }
}
";
    let program = write(folder.path(), "Sums.java", source);
    compare("java with its compiler", &["java", "-XX:+UseParallelGC", &program]);
}

#[test]
fn workers_of_node() {
    let folder = tempfile::tempdir().unwrap();
    let source = "const { Worker, isMainThread, parentPort, workerData } =
    require('worker_threads');
if (isMainThread) {
    let sum = 0, done = 0;
    for (let k = 0; k < 3; k++)
        new Worker(__filename, { workerData: k }).on('message', (part) => {
            sum += part;
            if (++done == 3) console.log(sum);
        });
} else {
    let sum = 0;
    for (let i = 0; i < 3000000; i++) sum += (i * (workerData + 1)) % 7;
    parentPort.postMessage(sum);
}
";
    let program = write(folder.path(), "workers.js", source);
    compare("node", &["node", &program]);
}

#[test]
fn make_and_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let targets: Vec<String> = (0..24).map(|target| format!("o{target}")).collect();
    let source = format!(
        "all: {}
\t@cat $^ | sort -n
\t@rm -f $^
o%:
\t@echo $* $$(seq 1 2000 | awk '{{ s += $$1 * $* % 7 }} END {{ print s }}') > $@
",
        targets.join(" ")
    );
    write(folder.path(), "Makefile", &source);
    let folder = folder.path().to_str().unwrap();
    compare("make", &["make", "-s", "-j4", "-C", folder]);
    compare("sort", &["sh", "-c", "seq 1 100000 | sort --parallel=4 -r | sort -n | cksum"]);
}

#[test]
fn back_ends_of_joblib() {
    let folder = tempfile::tempdir().unwrap();
    for back_end in ["loky", "multiprocessing", "threading"] {
        let source = format!(
            "import numpy
from joblib import Parallel, delayed
def f(i):
    a = numpy.arange(40000.0).reshape(200, 200) % (i + 2)
    return int((a @ a).sum()) % 1000003
if __name__ == '__main__':
    print(sum(Parallel(n_jobs=3, backend='{back_end}')(delayed(f)(i) for i in range(30))))
"
        );
        let program = write(folder.path(), &format!("with_{back_end}.py"), &source);
        compare("python3 with numpy and joblib", &["python3", &program]);
    }
}

#[test]
fn matrices_processes_and_sockets_of_r() {
    let folder = tempfile::tempdir().unwrap();
    let source = "library(parallel)
f <- function(i) sum((seq_len(20000) * i) %% 13)
cat(sum(unlist(mclapply(1:30, f, mc.cores = 3))), '\\n')
workers <- makeCluster(2)
cat(sum(unlist(parLapply(workers, 1:30, f))), '\\n')
stopCluster(workers)
a <- matrix(seq_len(40000) %% 7, 200)
cat(sum(a %*% a), '\\n')
";
    let program = write(folder.path(), "sums.R", source);
    compare("Rscript", &["Rscript", "--vanilla", &program]);
}

/// Catches: a binding by numactl that a changing share overwrites.
#[test]
fn bindings_by_numactl() {
    let Some([first, second]) = two_cpus() else { return };
    let bound = format!("--physcpubind={second}");
    let sort = "seq 1 100000 | sort --parallel=4 -r | cksum";
    compare("numactl", &["numactl", &bound, "grep", "Cpus_allowed_list", "/proc/self/status"]);
    compare("numactl", &["numactl", "--interleave=all", "sh", "-c", sort]);
    compare("numactl", &["sh", "-c", &format!("numactl --localalloc sh -c '{sort}'")]);
    if !Command::new("numactl").args([&bound, "true"]).status().is_ok_and(|end| end.success()) {
        println!("skipped: numactl binds nothing here");
        return;
    }
    // Without `--all`, numactl refuses processors outside of the mask that it starts with.
    let looks = format!(
        "numactl --all {bound} sh -c 'for i in $(seq 100); do grep Cpus_allowed_list \
         /proc/$$/status; done' | sort -u"
    );
    let expected = format!("Cpus_allowed_list:\t{second}\n");
    for mode in MODES {
        // A binding in the microsecond between reading a mask and changing it is lost.
        let found: Vec<String> = (0..3)
            .map(|_| looks_under_changing_shares(mode, &looks, [first, second]))
            .take_while(|found| *found != expected)
            .collect();
        assert!(found.len() < 3, "{mode:?}: {found:?} instead of {expected:?}");
    }
}

/// The output of a shell's `looks` while shares alternate between both processors and the first.
fn looks_under_changing_shares(mode: &[&str], looks: &str, [first, second]: [usize; 2]) -> String {
    let script = Script::new();
    let mut command = script.command(&words(mode), &words(&["sh", "-c", looks]));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The processor that numactl binds to is never granted alone.
    let mut grants = script.writer_from(&format!("{first} 1"));
    for grant in [format!("{first},{second} 2\n"), format!("{first} 1\n")].iter().cycle() {
        // The share agent ends with the command.
        if grants.write_all(grant.as_bytes()).is_err() || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(3));
    }
    printed(child.wait_with_output().unwrap(), "numactl in a shell")
}

/// Threads add the same numbers.
const ADDING: &str = "#include <pthread.h>
#include <stdio.h>
static long sums[4];
static void *add(void *sum) {
    for (long i = 0; i < 3000000; i++) *(volatile long *)sum += i * 7 % 13;
    return 0;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, add, &sums[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return printf(\"%ld\\n\", sums[0] + sums[1] + sums[2] + sums[3]) < 0;
}
";

/// Catches: a library that musl's dynamic linker cannot load.
#[test]
fn programs_of_musl() {
    let folder = tempfile::tempdir().unwrap();
    let source = write(folder.path(), "adding.c", ADDING);
    for how in ["-static", "-no-pie"] {
        let program = folder.path().join(how);
        let mut compiler = Command::new("musl-gcc");
        compiler.args([how, "-O1", "-pthread", "-o"]).arg(&program).arg(&source);
        if !compiler.output().is_ok_and(|output| output.status.success()) {
            println!("skipped: musl-gcc {how} is not possible here");
            continue;
        }
        compare("musl", &[program.to_str().unwrap()]);
    }
}

/// Prints the most goroutines that run at a time, the processors in the mask, and a sum.
const GOROUTINES: &str = "package main

import (
\t\"fmt\"
\t\"runtime\"
\t\"sync\"
)

func main() {
\tmost := runtime.GOMAXPROCS(0)
\tvar wait sync.WaitGroup
\tparts := make(chan int, 64)
\tfor k := 0; k < 64; k++ {
\t\twait.Add(1)
\t\tgo func(k int) {
\t\t\tdefer wait.Done()
\t\t\tsum := 0
\t\t\tfor i := 0; i < 500000; i++ {
\t\t\t\tsum += i * (k + 1) % 13
\t\t\t}
\t\t\tparts <- sum
\t\t}(k)
\t}
\twait.Wait()
\tclose(parts)
\tsum := 0
\tfor part := range parts {
\t\tsum += part
\t}
\tfmt.Println(most, runtime.NumCPU(), sum)
}
";

/// Builds the program in Go. Prints a reason and returns `None` if that is impossible.
fn goroutines(folder: &Path) -> Option<PathBuf> {
    let source = write(folder, "goroutines.go", GOROUTINES);
    let program = folder.join("goroutines");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&program).arg(source).current_dir(folder);
    go.envs([("GO111MODULE", "off"), ("GOTOOLCHAIN", "local"), ("CGO_ENABLED", "0")]);
    let built = go.env_remove("GOFLAGS").output().map_err(|error| error.to_string());
    match built {
        Ok(output) if output.status.success() => return Some(program),
        Ok(output) => println!("skipped: go: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => println!("skipped: go: {error}"),
    }
    None
}

/// The numbers that the program printed.
fn numbers_of(output: Output) -> Vec<usize> {
    let text = printed(output, "go");
    text.split_whitespace().map(|word| word.parse().expect("a number")).collect()
}

/// A process that is killed at the end.
struct Busy(std::process::Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Catches: a program in Go that starts with a narrow share, and so runs on one processor for ever.
#[test]
fn goroutines_use_all_processors_in_a_narrow_share_and_beside_a_busy_neighbour() {
    let Some(cpus) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = goroutines(folder.path()) else { return };
    let all = sinew_topology::Limits::read().effective_threads();
    let sum = numbers_of(end(&mut Command::new(&program)))[2];
    let table = folder.path().join("table");
    let on_the_table = |mode: &[&str], words: &[&OsStr]| {
        let mut command = Command::new(common::EXEC);
        command.args(mode).arg("table").args(words).env("SINEW_TABLE_DIR", &table);
        command.env_remove("SINEW_EXEC").env_remove("LD_PRELOAD").env_remove("GOMAXPROCS");
        command.stdin(Stdio::null());
        command
    };
    let busy = words(&["sh", "-c", "while :; do :; done"]);
    let neighbour = Busy(on_the_table(&[], &busy).spawn().unwrap());
    until("a neighbour", || common::helpers_of(&neighbour.0).is_some());
    for mode in MODES {
        let script = Script::new();
        let mut narrow = script.command(&words(mode), &[program.as_os_str()]);
        narrow.env_remove("GOMAXPROCS").stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = narrow.spawn().unwrap();
        let _grants = script.writer_from(&format!("{} 1", cpus[0]));
        let numbers = numbers_of(child.wait_with_output().unwrap());
        assert_eq!(numbers, [all, 1, sum], "in a narrow share, {mode:?}");
        let numbers = numbers_of(end(&mut on_the_table(mode, &[program.as_os_str()])));
        assert_eq!([numbers[0], numbers[2]], [all, sum], "beside a neighbour, {mode:?}");
        let script = Script::new();
        let mut flapping = script.command(&words(mode), &[program.as_os_str()]);
        let numbers = numbers_of(script.run_flapping(flapping.env_remove("GOMAXPROCS"), cpus));
        assert_eq!([numbers[0], numbers[2]], [all, sum], "in a changing share, {mode:?}");
    }
}
