//! Programs of other languages and kinds print the same in both modes while their shares change
//! every three milliseconds.
//!
//! Blind to: programs that go wrong once in a thousand runs.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;
use std::process::Command;

use common::compile::{MODES, text};
use common::{Script, two_cpus, words};

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
        assert_eq!(text(&output, name), String::from_utf8_lossy(&plain.stdout), "{name} {mode:?}");
    }
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
