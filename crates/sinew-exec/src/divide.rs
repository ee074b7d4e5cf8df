//! One command's share among those of its processes that have parallel regions. Pure.
//!
//! To other programs a command is one program, however many processes it starts. Within it,
//! processes that have registered as parallel get equal pieces, one after the other in the order of
//! CPU numbers. All others stay on the whole share: they are few, or short, or wait.

use sinew_topology::CpuSet;

use crate::share_source::Grant;

/// The pieces of `grant` for `count` processes: each at least one thread. If there are more
/// processes than threads, all pieces are the whole set.
pub(crate) fn divide(grant: &Grant, count: usize) -> Vec<Grant> {
    let cpus: Vec<usize> = grant.cpus.iter().collect();
    if count <= 1 || grant.threads < count || cpus.len() < count {
        return vec![
            Grant { threads: (grant.threads / count.max(1)).max(1), ..grant.clone() };
            count
        ];
    }
    let piece = |index: usize| {
        let bound = |index: usize| index * cpus.len() / count;
        let cpus: CpuSet = cpus[bound(index)..bound(index + 1)].iter().copied().collect();
        let threads = cpus.len().min(grant.threads / count);
        Grant { threads: threads.max(1), cpus }
    };
    (0..count).map(piece).collect()
}

#[cfg(test)]
mod tests {
    //! Blind to: pieces that split a shared cache.
    use super::*;

    fn grant(cpus: &str, threads: usize) -> Grant {
        Grant { cpus: cpus.parse().unwrap(), threads }
    }

    /// Blind to: an order that changes from one division to the next.
    #[test]
    fn one_process_has_everything_and_several_have_equal_pieces() {
        assert_eq!(divide(&grant("0-3", 4), 1), [grant("0-3", 4)]);
        assert_eq!(divide(&grant("0-3", 4), 2), [grant("0-1", 2), grant("2-3", 2)]);
        assert_eq!(divide(&grant("0-3", 4), 4), ["0", "1", "2", "3"].map(|cpu| grant(cpu, 1)));
        assert!(divide(&grant("0-3", 4), 0).is_empty());
    }

    /// Catches: a process without a thread, or without a processor.
    #[test]
    fn more_processes_than_cpus_share_all_of_them_with_a_thread_each() {
        assert_eq!(divide(&grant("0-1", 2), 3), vec![grant("0-1", 1); 3]);
        assert_eq!(divide(&grant("0-1", 1), 2), vec![grant("0-1", 1); 2]);
    }

    /// Blind to: sets with gaps.
    #[test]
    fn pieces_are_disjoint_and_together_the_whole() {
        for cpus in 1..20 {
            for count in 1..=cpus {
                let pieces = divide(&grant(&format!("0-{}", cpus - 1), cpus), count);
                let all: CpuSet =
                    pieces.iter().flat_map(|piece| piece.cpus.iter().collect::<Vec<_>>()).collect();
                assert_eq!(
                    (all.len(), pieces.iter().map(|piece| piece.cpus.len()).sum()),
                    (cpus, cpus)
                );
                assert!(pieces.iter().all(|piece| (1..=piece.cpus.len()).contains(&piece.threads)));
            }
        }
    }
}
