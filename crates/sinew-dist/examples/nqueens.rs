//! In how many ways n queens stand on an n × n board, as a bag of boards over ranks.
//!
//! ```text
//! cargo run --release -p sinew-dist --example nqueens -- 12 --threads 4
//! ```

mod ranks;

use sinew_dist::World;
use sinew_dist::bag::Out;

/// The number of ways for 0, 1, 2, … queens (OEIS A000170).
const KNOWN: [u64; 16] =
    [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596, 2_279_184];

/// Rows with a queen, and the columns that queens attack in the next row: straight, and along both
/// diagonals.
type Board = [u32; 4];

fn main() {
    let (ranks, size) = ranks::arguments("12");
    let wanted = "a number of queens from 1 to 15";
    let size = size.parse().ok().filter(|size| (1..=15).contains(size));
    let size = size.unwrap_or_else(|| ranks::usage(wanted));
    ranks::run(ranks, |world| count(world, size));
}

fn count(world: &World, size: u32) {
    let roots = (world.rank() == 0).then_some([0; 4]);
    let unit = |[rows, columns, left, right]: Board, out: &mut Out<'_, Board>, ways: &mut u64| {
        if rows == size {
            *ways += 1;
        }
        let mut free = !(columns | left | right) & ((1 << size) - 1);
        while rows < size && free != 0 {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            out.push([rows + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1]);
        }
    };
    let (ways, counts) = world.plain_bag(roots).run_counted(unit, |a, b| a + b);
    assert_eq!(ways, KNOWN[size as usize], "{size} queens");
    if world.rank() == 0 {
        let moved: u64 = counts.iter().map(|one| one.units_taken).sum();
        println!("{size} queens: {ways} ways; {} ranks, {moved} boards moved", world.size());
    }
}
