//! The instruction listing of a join that is not stolen: the instructions of the fast path.
//!
//! The listing is that of fib with an explicit worker, from this very program: a function that
//! calls it, and the functions of the recursion as the compiler has divided it. The slow paths are
//! calls to functions of their own, so a fence or an atomic read-modify-write in the listing would
//! be one on the fast path.

use crate::output::say;
use crate::problems::fib::listed_fib;
use crate::runtimes::sinew;
use std::process::Command;

/// The function that calls fib.
const FUNCTION: &str = "problems::fib::sinew::listed_fib";

/// The functions that may be a part of the recursion.
const PARTS: [&str; 2] = ["problems::fib::sinew::fib", "::join_of_words"];

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
    let listings = recursion(&dump);
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

/// The listings of the function that calls fib, and of the parts of the recursion.
fn recursion(dump: &str) -> Vec<&str> {
    let all: Vec<(&str, &str, &str)> = dump.split("\n\n").filter_map(function).collect();
    let mut found: Vec<_> =
        all.iter().filter(|(_, name, _)| name.ends_with(FUNCTION)).copied().collect();
    let mut next = 0;
    while let Some((_, _, listing)) = found.get(next) {
        for called in listing.lines().filter_map(called) {
            let part = all.iter().find(|(address, name, _)| {
                *address == called && PARTS.iter().any(|part| name.ends_with(part))
            });
            found.extend(part.filter(|part| !found.contains(part)));
        }
        next += 1;
    }
    found.into_iter().map(|(_, _, listing)| listing).collect()
}

/// The address, the name without a hash, and the text of the function at the head of this part:
/// `0000000000001234 <bench::problems::fib::sinew::listed_fib>:`
fn function(part: &str) -> Option<(&str, &str, &str)> {
    let part = part.trim();
    let (address, name) = part.lines().next()?.split_once(" <")?;
    let name = name.strip_suffix(">:")?;
    let name = name.rsplit_once("::h").filter(|(_, hash)| hash.len() == 16).map_or(name, |at| at.0);
    Some((address.trim_start_matches('0'), name, part))
}

/// The address that a line calls or jumps to: `10: call 1234 <name>`.
fn called(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip(1);
    let is_call = words.next().is_some_and(|word| ["call", "jmp", "bl", "b"].contains(&word));
    words.next().filter(|_| is_call && words.next().is_some_and(|word| word.starts_with('<')))
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

0000000000001000 <bench::problems::fib::sinew::listed_fib::h0123456789abcdef>:
    1000:\tpush   %rbx
    1001:\tcall   3000 <sinew_core::<impl Worker>::join_of_words>
    1002:\tcall   4000 <sinew_core::<impl Worker>::after_push_cold>

0000000000002000 <sinew_core::<impl Worker>::join_of_words>:
    2000:\tlock cmpxchg %rax,(%rdi)

0000000000003000 <sinew_core::<impl Worker>::join_of_words>:
    3000:\tcall   3000 <sinew_core::<impl Worker>::join_of_words>
    3001:\tret

0000000000004000 <sinew_core::<impl Worker>::after_push_cold>:
    4000:\tlock cmpxchg %rax,(%rdi)
";

    #[test]
    fn the_recursion_is_what_the_listed_function_calls_without_slow_paths() {
        let found = recursion(DUMP);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("push   %rbx") && found[1].contains("3001:"));
        assert!(recursion("start").is_empty());
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
