//! The message about an unknown name: similar names, and all names.

/// A line that names the unknown name, similar ones and all names. `kind` says what it should have
/// named: "application".
pub fn unknown(kind: &str, name: &str, all: &[&str]) -> String {
    let mut close: Vec<(usize, &str)> =
        all.iter().map(|other| (distance(name, other), *other)).collect();
    close.sort_unstable();
    close.retain(|(distance, other)| *distance <= 1 + other.len() / 4);
    let close: Vec<String> = close.iter().map(|(_, other)| format!("`{other}`")).collect();
    let guess = if close.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", close.join(" or "))
    };
    format!("there is no {kind} `{name}`{guess} (there are {})", all.join(", "))
}

/// The number of letters to change, add, drop or swap; hyphens, underscores and case do not count.
fn distance(name: &str, other: &str) -> usize {
    let letters = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
    };
    strsim::osa_distance(&letters(name), &letters(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 7] =
        ["fib", "nqueens", "uts", "quicksort", "heat", "wordcount", "tbb-matrix"];

    /// Catches: a typing error that is not recognised.
    #[test]
    fn a_name_that_comes_close_is_suggested() {
        for (typo, name) in [
            ("fibb", "fib"),
            ("n-queens", "nqueens"),
            ("WordCount", "wordcount"),
            ("quiksrot", "quicksort"),
            ("ust", "uts"),
            ("tbb_matrx", "tbb-matrix"),
            ("tbbmatrix", "tbb-matrix"),
        ] {
            let line = unknown("application", typo, &ALL);
            assert!(line.contains(&format!("did you mean `{name}`")), "{line}");
        }
    }

    /// Catches: an implausible suggestion.
    #[test]
    fn a_name_like_no_other_is_answered_with_all_names() {
        let line = unknown("application", "mandelbrot", &ALL);
        assert!(
            !line.contains("did you mean") && ALL.iter().all(|name| line.contains(name)),
            "{line}"
        );
    }
}
