//! Locality domains: tasks and data that stay where their memory is near.
//!
//! A *locality domain* is a part of a pool whose workers are near to one part of the memory: a NUMA
//! node, a shared cache, a package. A [`DomainScope`] keeps a queue per domain, first in, first
//! out: workers serve that of their own domain first, and the others' when it is empty. [`Placed`]
//! is an array whose blocks know their domain. So the schedule is dynamic within a domain and
//! static between domains, and no core is idle while there is work.
//!
//! Source: M. Wittmann and G. Hager, "A Proof of Concept for Optimizing Task Parallelism by
//! Locality Queues" (2009). Differences: domains may be of any level, the others may be served by
//! distance or not at all, and the bound on pending tasks is the user's to choose.
//!
//! | module | what it contains |
//! |---|---|
//! | `domains` | which worker belongs to which domain |
//! | `queues` | the queues of a scope, and which task is next |
//! | `scope` | the scope with these queues |
//! | `placed` | arrays whose blocks know their domain |

mod domains;
mod placed;
mod queues;
mod scope;
#[cfg(all(test, shuttle))]
mod shuttle;

pub use domains::{DomainKind, Domains, DomainsError, ParseDomainKindError};
pub use placed::{Distribution, Placed, PlacedOptions};
pub use queues::{DomainQueues, Order};
pub use scope::{DomainScope, domain_scope};
pub use sinew_topology::{Placement, PlacementError, page_nodes};
