//! Skeletons with a control, through the builder: what they answer, under changes from their own functions, and cancelled.

use proptest::prelude::*;
use sinew::Stopped;
use sinew::prelude::*;

const SCHEDULES: [Schedule; 5] = [
    Schedule::Static,
    Schedule::Dynamic { chunk: 3 },
    Schedule::Tapered { min: 1 },
    Schedule::Stealing,
    Schedule::Adaptive { grain: 1 },
];

/// Changes the control at every item, in a way that follows from the item.
fn change(control: &Control, item: usize) {
    control.set_threads(1 + item % 4);
    control.set_schedule(SCHEDULES[item % SCHEDULES.len()]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Would miss: a skeleton that does not hand its control on, or answers something else under it.
    #[test]
    fn skeletons_answer_the_same_while_they_are_changed(xs in proptest::collection::vec(0..1_000_usize, 0..300)) {
        let control = Control::new();
        let step = |x: &usize| { change(&control, *x); x * 2 };
        let doubled: Vec<usize> = xs.iter().map(|x| x * 2).collect();
        let sum: usize = doubled.iter().sum();
        prop_assert_eq!(over(&xs).control(&control).map(step), Ok(doubled.clone()));
        prop_assert_eq!(over(&xs).control(&control).try_map(|x| Ok::<_, ()>(step(x))), Ok(doubled.clone()));
        prop_assert_eq!(over(&xs).control(&control).map_array(&xs, |x, all| step(x).min(all.len() * 2_000)), Ok(doubled.clone()));
        prop_assert_eq!(over(&xs).control(&control).map_reduce(step, || 0, |a, b| a + b), Ok(sum));
        prop_assert_eq!(over(&xs).reproducible().control(&control).map_reduce(step, || 0, |a, b| a + b), Ok(sum));
        prop_assert_eq!(over(&doubled).control(&control).reduce(|| 0, |a, b| a + b), Ok(sum));
        prop_assert_eq!(over(&xs).control(&control).scan(1, |a, b| a + b), Ok(over(&xs).scan(1, |a, b| a + b)));
        prop_assert_eq!(over(&xs).control(&control).scan_exclusive(1, |a, b| a + b), Ok(over(&xs).scan_exclusive(1, |a, b| a + b)));
        let mut ys = xs.clone();
        prop_assert_eq!(over(&mut ys).control(&control).for_each(|y| *y = step(y)), Ok(()));
        prop_assert_eq!(&ys, &doubled);
        prop_assert_eq!(sinew::over2(0..xs.len(), 0..3).control(&control).map_reduce(|[i, j]| i * j, || 0, |a, b| a + b), Ok(3 * (0..xs.len()).sum::<usize>()));
        prop_assert_eq!(control.snapshot().fraction(), 1.0);
    }
}

/// Would miss: a skeleton that runs although its control has ended it, and an error taken for a cancellation.
#[test]
fn a_cancelled_control_ends_every_skeleton() {
    let (control, xs) = (Control::new(), vec![1_usize; 100]);
    let failing = over(&xs).control(&control).try_for_each(|x| Err(*x));
    assert_eq!(failing, Err(Stopped::Failed(1)));
    control.cancel();
    let never = |_: &usize| -> usize { panic!("called after the end") };
    assert_eq!(over(&xs).control(&control).for_each(|x| assert_eq!(never(x), 0)), Err(Cancelled));
    assert_eq!(over(&xs).control(&control).map(never), Err(Cancelled));
    assert_eq!(over(&xs).control(&control).try_map(|x| Ok::<_, ()>(never(x))), Err(Stopped::Cancelled));
    assert_eq!(over(&xs).control(&control).map_reduce(never, || 0, |a, b| a + b), Err(Cancelled));
    assert_eq!(over(&xs).control(&control).scan(0, |a, b| a + b), Err(Cancelled));
    assert_eq!(
        sinew::over3(0..2, 0..2, 0..2).control(&control).for_each(|_| panic!("called after the end")),
        Err(Cancelled)
    );
    assert_eq!(Cancelled.to_string(), "cancelled by its control before it was done");
    // Nothing to do is done.
    assert_eq!(over(&xs[..0]).control(&control).map(never), Ok(vec![]));
}
