//! Arrays of elements that are not plain data, and parts that follow the speeds of ranks.

use sinew_dist::World;

fn word(i: usize) -> String {
    "x".repeat(i % 7) + &i.to_string()
}

/// Catches: words that are lost, torn, or put elsewhere, also on ranks without any.
pub(super) fn words(world: &World) {
    let size = world.size();
    for length in [0, 1, 5, 9_000] {
        let words = world.block(length).init(word).serde();
        let weights: Vec<f64> = (0..size).map(|rank| f64::from((rank + 1) % 3)).collect();
        let weights = if size == 2 { vec![0.0, 1.0] } else { weights };
        let moved = words.redistribute(&weights);
        assert!(moved.gather().into_iter().eq((0..length).map(word)), "{length} words");
        let lengths = moved.map(String::len).reduce(0, |a, b| a + b);
        assert_eq!(lengths, (0..length).map(|i| word(i).len()).sum::<usize>());
        let back = moved.map(|word| vec![word.clone()]).redistribute(&vec![1.0; size as usize]);
        assert!(back.gather().into_iter().eq((0..length).map(|i| vec![word(i)])));
    }
}

/// Every third rank takes so many times as long for an element.
const SLOW: u64 = 4;

fn cost(rank: u32) -> u64 {
    if rank % 3 == 1 { SLOW } else { 1 }
}

/// Catches: parts that stay although a rank is slow, that move for ever, or that lose elements.
pub(super) fn slow_ranks(world: &World) {
    let (length, rank) = (4_000, world.rank());
    let mut numbers = world.block(length).init(|i| i as u64);
    let mut moves = Vec::new();
    for _ in 0..10 {
        let before = numbers.own().len();
        numbers = numbers.rebalance_by(before as u64 * cost(rank));
        moves.push(world.all_reduce(numbers.own().len() != before, |a, b| a || b));
    }
    assert!(moves[4..].iter().all(|moved| !moved), "parts that have settled move: {moves:?}");
    let speed: f64 = (0..world.size()).map(|rank| 1.0 / cost(rank) as f64).sum();
    let ideal = length as f64 / speed;
    let own = (numbers.own().len() as u64 * cost(rank)) as f64;
    assert!(own <= 1.1 * ideal, "{own} of {ideal} on rank {rank}");
    assert!(numbers.gather().into_iter().eq(0..length as u64));
}

/// Catches: parts that follow ranks alone, although elements differ.
pub(super) fn uneven_elements(world: &World) {
    let mut numbers = world.block(1_000).init(|i| if (300..500).contains(&i) { 20 } else { 1 });
    for _ in 0..10 {
        let cost = numbers.own().iter().sum();
        numbers = numbers.rebalance_by(cost);
    }
    let own: u64 = numbers.own().iter().sum();
    let mean = numbers.reduce(0, |a, b| a + b) as f64 / f64::from(world.size());
    assert!(own as f64 <= 1.3 * mean, "{own} of {mean} on rank {}", world.rank());
}

/// Catches: a measured speed that makes elements disappear, whatever it is.
pub(super) fn measured_speeds(world: &World) {
    let mut words = world.block(500).init(word).serde();
    for _ in 0..3 {
        let sum = words.map(|word| word.len() as u64).reduce(0, |a, b| a + b);
        assert_eq!(sum, (0..500).map(|i| word(i).len() as u64).sum::<u64>());
        words = words.rebalance();
        assert!(!words.own().is_empty());
    }
    assert!(words.gather().into_iter().eq((0..500).map(word)));
}
