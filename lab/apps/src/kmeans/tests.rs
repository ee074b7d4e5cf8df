//! Tests of the whole application; its parts are tested where they are.

use std::path::PathBuf;

use sinew::Pool;

use super::*;
use crate::Size;
use crate::options::tunings;

fn prepared(size: &str, by_hand: bool) -> KMeans {
    let options = Options { size: size.parse().unwrap(), by_hand, ..Options::default() };
    KMeans::prepare(&options).unwrap()
}

fn parallel(kmeans: &KMeans, threads: usize) -> Clusters {
    let pool = Pool::builder().threads(threads).build().unwrap();
    pool.run(|worker| kmeans.parallel(worker, ()))
}

/// Catches: points that are counted twice or not at all where several workers claim them.
#[test]
fn the_version_by_hand_finds_the_same_centres_on_one_to_four_workers() {
    for size in ["tiny", "n500-d17-c8-m5-t0", "n7-d1-c2-m7-t0.5", "n300-d3-c1-m40-t0"] {
        let kmeans = prepared(size, true);
        let serial = kmeans.serial(());
        kmeans.check(&serial).unwrap();
        for threads in [1, 2, 4] {
            let clusters = parallel(&kmeans, threads);
            kmeans.check(&clusters).unwrap_or_else(|wrong| panic!("{size} on {threads}: {wrong}"));
            assert!(
                clusters == serial && clusters.steps == serial.steps,
                "{size}: {clusters}, {serial}"
            );
        }
    }
}

/// Catches: a point that is lost, or counted by an attempt that was given up, under some setting
/// of the list.
#[test]
fn the_worklist_finds_the_same_centres_under_all_settings() {
    for size in ["tiny", "n300-d9-c8-m3-t0"] {
        let mut kmeans = prepared(size, false);
        let serial = kmeans.serial(());
        for tuning in tunings() {
            kmeans.lists = tuning.into();
            for threads in [1, 4] {
                let clusters = parallel(&kmeans, threads);
                kmeans
                    .check(&clusters)
                    .unwrap_or_else(|wrong| panic!("{size} under {tuning:?}: {wrong}"));
                assert!(
                    clusters == serial && clusters.steps == serial.steps,
                    "{tuning:?}: {clusters}, {serial}"
                );
            }
        }
    }
}

/// Blind to: centres that are no means, where the groups are not found anyway.
#[test]
fn distant_groups_are_found() {
    let kmeans = prepared("n400-d8-c2-m2-t0", false);
    let clusters = kmeans.serial(());
    let group = |at: usize| clusters.centers.nearest(kmeans.points.get(at));
    let (same, other): (Vec<usize>, Vec<usize>) = (0..400).partition(|at| group(*at) == group(0));
    assert!(!same.is_empty() && !other.is_empty());
    let apart =
        |a: usize, b: usize| (kmeans.points.get(a)[0] - kmeans.points.get(b)[0]).abs() > 1.0;
    assert!(other.iter().all(|at| apart(*at, 0)) && !same.iter().any(|at| apart(*at, 0)));
}

/// Blind to: what only a comparison with the serial version tells.
#[test]
fn a_wrong_count_centre_or_end_is_noticed() {
    let kmeans = prepared("tiny", false);
    let right = kmeans.serial(());
    let wrong = |tamper: fn(&mut Clusters)| {
        let mut clusters = right.clone();
        tamper(&mut clusters);
        kmeans.check(&clusters).unwrap_err().to_string()
    };
    assert!(wrong(|clusters| clusters.counts[0] += 1).contains("201 were counted"));
    let message = wrong(|clusters| {
        clusters.counts[0] += 1;
        clusters.counts[1] -= 1;
    });
    assert!(message.contains("cluster 0 has"), "{message}");
    assert!(wrong(|clusters| clusters.centers.values[1] += 0.01).contains("mean"));
    assert!(wrong(|clusters| clusters.changed = 150).contains("150 points still change"));
    let mut other = right.clone();
    other.centers.values[1] += 0.01;
    assert!(other != right);
}

/// Catches: clusters without a first centre.
#[test]
fn more_clusters_than_points_are_refused() {
    for size in ["n5-m6", "n1-m2"] {
        let options = Options { size: size.parse().unwrap(), ..Options::default() };
        let message = prepare(&options).err().unwrap().to_string();
        assert!(message.contains("kmeans has no size") && message.contains("points"), "{message}");
    }
}

/// Blind to: the results, for which there is no published value.
#[test]
fn the_suites_files_are_read_and_clustered() {
    let Some(folder) = std::env::var_os("SINEW_DATA").map(PathBuf::from) else {
        println!("skipped: set SINEW_DATA to the folder of STAMP's inputs");
        return;
    };
    for (name, points, dimensions) in
        [("random-n2048-d16-c16.txt", 2_048, 16), ("random-n16384-d24-c16.txt", 16_384, 24)]
    {
        for clusters in [15, 40] {
            let size = Size::Exact(format!("m{clusters}-t0.05"));
            let options = Options {
                size,
                path: Some(folder.join(name)),
                by_hand: clusters == 15,
                ..Options::default()
            };
            let kmeans = KMeans::prepare(&options).unwrap();
            assert_eq!((kmeans.points.len(), kmeans.points.dimensions), (points, dimensions));
            let (serial, parallel) = (kmeans.serial(()), parallel(&kmeans, 2));
            kmeans.check(&serial).and_then(|()| kmeans.check(&parallel)).unwrap();
            assert!(serial == parallel, "{serial}, {parallel}");
            println!("{name}: {serial}");
        }
    }
}
