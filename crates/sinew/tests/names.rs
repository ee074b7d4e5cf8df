//! A user can name every type that a public signature of `sinew` contains: to store it in a field,
//! to match it, to implement it.
//!
//! Catches: a type that moves, or that is no longer exported. Blind to: a new type that is missing
//! here.

#![expect(unused_imports, reason = "each name need only exist")]

use sinew::items::{
    Chunks, ChunksMut, Index, IntoItems, Items, Owned, OwnedPiece, ReadItems, SliceMut, TilesMut,
    TilesPiece,
};
use sinew::iter::{Enumerate, IndexedParIter, ParIter, Zip};
use sinew::locality::{
    Distribution, DomainOrder, DomainQueues, DomainScope, Domains, DomainsError,
    ParseDomainKindError, PlacedOptions,
};
use sinew::profile::{
    Attempts, Bounds, Breakdown, Call, Doing, Function, Functions, Graph, GraphError, Profile,
    Profiler, Split, Tasks, Timeline, TimelineSpan, Token, WorkerProfile,
};
use sinew::skeleton::{
    Callers, CancelRegistration, Cancellable, Heaviest, HelperPin, Limit, Neighbours, NextTask,
    OpenScope, OpenScopeFifo, Outcome, Participants, Pin, PollReason, PoolHook, Preset, Queueing,
    Reach, Registration, ScopeQueues, ScopeTask, TaskQueues, VictimPolicy, View, WorkerLocal,
    observer,
};
use sinew::stages::{
    Identity, Parallel, ParallelSink, Serial, SerialSink, SerialStage, Sink, StageContext, Stages,
};
use sinew::stm::{
    Abort, Boxed, Cause, Change, ContentionManager, ContentionManagerError, Counters, Entry,
    Inline, Locking, Prefetch, PrefetchEnd, Prefetched, Store, TBoundedQueue, Tx, TxError,
    TxResult, Unfinished,
};
use sinew::topology::{
    CpuAssignment, CpuSet, CpuSetIter, Level, Limits, ListError, Machine, Memory, Node, Object,
    ParsePlacementError, PlacementError, Pu, PuId, Quota,
};
use sinew::victims::{AfterSuccess, LoadScope, Loads, ParseVictimsError, Samples, Sampling};
use sinew::worklist::{
    Baseline, KeepAlive, KnobError, Knobs, Method, More, Pages, PagesError, Path, Report,
    Row as PathRow, Settings, SettingsError, SettingsHandle, Settling, Step as TunerStep, Touch,
    Tuning, TuningError, Work, WorklistError,
};
use sinew::{
    BroadcastContext, BuildError, CallBuilder, CallError, Cancelled, Control, Controlled,
    DivideAndConquer, Edge, Fences, Intent, LoopMemory, LoopMetrics, Mapping, MappingError,
    Metered, Mode, Neighbourhood, Operation, Over, OverBlocks, OwnPages, Participant, Pipeline,
    Pool, PoolBuilder, PoolControl, PoolSnapshot, Priority, Row, Schedule, ScheduleError, Scope,
    ScopeBuilder, Shape, Share, Snapshot, Spin, StackKind, StealsAt, Stencil, Step, Stopped,
    Streams, ThreadMetrics, Tile, TileMut, TileOrder, Uncontrolled, UnknownName, Victims, Wait,
    Worker, WorkerThread, over, pipeline,
};

#[test]
fn a_field_can_hold_a_loop_a_pipeline_and_what_a_pool_is_built_from() {
    type Doubled = Parallel<Identity, fn(u32) -> u32>;
    type Slice<'a> = Over<'static, &'a [u8]>;
    struct Held<'a> {
        pairs: Enumerate<Zip<Slice<'a>, Slice<'a>>>,
        doubled: Pipeline<'static, std::ops::Range<u32>, Doubled>,
        build: fn(Fences, Spin, Machine) -> PoolBuilder,
    }
    let (xs, ys) = ([1, 2], [3, 4]);
    let double: fn(u32) -> u32 = |n| 2 * n;
    let held = Held {
        pairs: over(&xs[..]).zip(&ys[..]).enumerate(),
        doubled: pipeline(0..3).parallel(double),
        build: |fences, spin, machine| Pool::builder().fences(fences).spin(spin).machine(machine),
    };
    let sums: Vec<usize> = held.pairs.map(|(at, (x, y))| at + usize::from(x + y)).collect();
    assert_eq!((sums, held.doubled.collect()), (vec![4, 7], vec![0, 2, 4]));
    let pool = (held.build)(Fences::Full, Spin::Adaptive, Machine::flat(2)).threads(2).build();
    assert_eq!(pool.unwrap().max_threads(), 2);
}
