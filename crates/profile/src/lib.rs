//! The machine profile: what every experiment writes and every model and report reads.
//!
//! A [`Profile`] is one JSON file with a section per experiment. Every measured figure in it is an [`Estimate`].
//! [`SECTIONS`] lists the sections; each says by the trait [`Section`] what figures it has.
//! The papers' published figures are profiles too: [`published`].
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]

mod calls;
mod coherence;
mod coherence_times;
mod contention;
mod counters;
mod cpuid;
mod dates;
mod estimate;
mod file;
pub mod fitted;
mod footprint;
mod host;
mod idle;
mod line_spread;
mod loaded;
mod memory;
mod method;
mod network;
mod ns;
mod numbers;
pub mod order;
mod profile;
pub mod published;
pub mod ratio;
mod replacement;
mod rest;
mod run;
mod same_machine;
mod section;
mod share;
mod sync;
mod text;
mod time_matrix;
pub mod unixbench;
mod waiting;
mod workload;

pub use calls::{CacheState, Calibration, Call, CallMethod, Calls, Damage, Side};
pub use coherence::{
    Coherence, CoherenceTime, Elsewhere, History, Home, LineState, Pair, PairMethod, SAME_MODE, Single,
    StateRead, Timeline, TimelineSample,
};
pub use contention::{Contention, ContentionRow, LineOperation};
pub use counters::{ClockFacts, ClockOffset, CounterTool, Counters, Counts, EventTest, Rdpmc};
pub use cpuid::CpuidAnswer;
pub use dates::Dated;
pub use estimate::{Estimate, Mode};
pub use file::{Error, check_unnamed, check_writable, read_text, write_atomic, write_unnamed};
pub use footprint::{
    Affinity, AssignedBy, Assignment, Batch, Channel, ChannelPayload, Files, Footprint, HostLast,
};
pub use host::Host;
pub use idle::{Frequency, Idle, IdleControl, IdleState, Wakeup};
pub use line_spread::LineSpread;
pub use loaded::{Loaded, LoadedRow, Traffic};
pub use memory::{
    BlockState, CacheType, CoherenceCost, DmaRate, EarlierParts, Fence, LinesLeft, Memory, MemoryLatency,
    MemoryRate, MemoryType, Operation, Transfer, TransferPass,
};
pub use method::Method;
pub use network::{MessageEnds, Network, NodeMessage, SurveyedNode};
pub use ns::Ns;
pub use profile::{Profile, SCHEMA, SECTIONS, TopologySection};
pub use replacement::Growing;
pub use run::{Examination, Live, PlacementRate, PlacementTime, Runs, Trial, TriedFile};
pub use same_machine::OtherMachine;
pub use section::{Better, Figure, Figures, Listed, PLACES, Parameters, Quantity, Section, Stored};
pub use share::{Share, ShareCount, ShareFix, ShareKind, ShareLine, SharePart, SharePlacement, ShareTotal};
pub use sync::{BarrierTime, ForkJoinTime, Inexact, Kernel, KernelPoint, Sync, SyncLimit, SyncPeer};
pub use time_matrix::TimeMatrix;
pub use waiting::{Waiting, WaitingCell};
pub use workload::{
    ClockPoint, IdleGain, Score, SharedKernel, TemperaturePoint, WithoutIdle, WorkloadPeer, WorkloadResult,
    Workloads,
};
