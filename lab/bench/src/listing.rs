//! The instruction listing of a join that is not stolen: the instructions of the fast path.
//!
//! The listing is that of fib with an explicit worker, from this very program. The slow paths are
//! calls to functions of their own, so a fence or an atomic read-modify-write in the listing would
//! be one on the fast path.

use crate::output::say;
use crate::problems::fib::listed_fib;
use crate::runtimes::sinew;
use std::process::Command;

/// The function whose listing shows an unstolen join.
const FUNCTION: &str = "problems::fib::sinew::listed_fib";

/// Prints the listing and what it shows.
///
/// # Errors
///
/// One line: `objdump` is missing, or the function is not found.
pub(crate) fn print() -> Result<(), String> {
    // The listed function must also be the one that computes.
    let answer = sinew::pool(1)?.run(|w| listed_fib(w, 20));
    if answer != 6765 {
        return Err(format!("the listed function says that fib 20 is {answer}"));
    }
    let program =
        std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let output = Command::new("objdump")
        .args(["--disassemble", "--demangle", "--no-show-raw-insn"])
        .arg(program)
        .output()
        .map_err(|error| format!("no objdump: {error}"))?;
    let dump = String::from_utf8_lossy(&output.stdout);
    let listings = functions(&dump, FUNCTION);
    if listings.is_empty() {
        return Err(format!("objdump shows no function named {FUNCTION}"));
    }
    say!("\ninstructions of an unstolen join, by objdump");
    let mut barriers = Vec::new();
    for listing in listings {
        let padding = |line: &&str| !line.ends_with("int3") && !line.contains("nop");
        listing.lines().filter(padding).for_each(|line| say!("{line}"));
        barriers.extend(listing.lines().filter(|line| is_barrier(line)));
    }
    if barriers.is_empty() {
        say!("no fence and no atomic read-modify-write among them");
    } else {
        say!("FENCES or atomic read-modify-writes among them:\n{}", barriers.join("\n"));
    }
    Ok(())
}

/// The parts of `dump` that belong to functions whose name contains `name`, without hash or module
/// prefix.
fn functions<'d>(dump: &'d str, name: &str) -> Vec<&'d str> {
    // The head of a function: `0000000000001234 <bench::problems::fib::sinew::listed_fib>:`
    let is_wanted = |part: &&str| {
        let head = part.lines().next().unwrap_or_default();
        let named = head.split_once('<').map_or("", |(_, rest)| rest.trim_end_matches(">:"));
        let bare = named.split("::h").next().unwrap_or_default();
        bare.ends_with(name) && head.ends_with(">:")
    };
    dump.split("\n\n").map(str::trim).filter(is_wanted).collect()
}

/// Whether a line of a listing is a fence or an atomic read-modify-write, on x86 or on ARM.
fn is_barrier(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let prefixes = ["ldaxr", "ldxr", "stlxr", "stxr", "casa", "swpa", "ldadda", "dmb"];
    words.iter().any(|word| matches!(*word, "lock" | "mfence" | "lfence" | "sfence"))
        || words.iter().any(|word| prefixes.iter().any(|prefix| word.starts_with(prefix)))
        // An exchange with memory locks without saying so.
        || words.windows(2).any(|pair| pair[0].starts_with("xchg") && pair[1].contains('('))
}

#[cfg(test)]
mod tests {
    //! Blind to: instructions of other architectures than x86-64 and AArch64.
    use super::*;

    const DUMP: &str = "\
start

0000000000001000 <bench::problems::fib::sinew::listed_fib>:
    1000:\tpush   %rbx
    1001:\tret

0000000000002000 <bench::problems::fib::sinew::listed_fib_again>:
    2000:\tlock cmpxchg %rax,(%rdi)

0000000000003000 <bench::problems::fib::sinew::listed_fib::h0123456789abcdef>:
    3000:\tret
";

    #[test]
    fn functions_are_found_by_their_whole_name_with_or_without_a_hash() {
        let found = functions(DUMP, FUNCTION);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("push   %rbx") && found[1].contains("3000:"));
    }

    #[test]
    fn locked_instructions_and_fences_are_barriers_and_plain_ones_are_not() {
        for barrier in [
            "10:\tlock cmpxchg %rax,(%rdi)",
            "10:\tmfence",
            "10:\txchg   %eax,(%rdi)",
            "10:\tldaxr x0, [x1]",
        ] {
            assert!(is_barrier(barrier), "{barrier}");
        }
        for plain in
            ["10:\tmov %rax,(%rdi)", "10:\txchg %ax,%ax", "10:\tcall 1000 <sinew_core::block>"]
        {
            assert!(!is_barrier(plain), "{plain}");
        }
    }
}
