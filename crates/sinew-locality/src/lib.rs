//! Locality domains: tasks run near their data.
//!
//! A *locality domain* is a part of a pool whose workers are near to one part of the memory: a NUMA
//! node, a shared cache, a package. A [`DomainScope`] has a first-in, first-out queue for each
//! domain. Workers serve the queue of their own domain first, and the others when it is empty.
//! [`Placed`] is an array of blocks with a domain each. So the schedule is dynamic within a domain
//! and static between domains, and no core is idle while there is work.
//!
//! Source: M. Wittmann and G. Hager, "A Proof of Concept for Optimizing Task Parallelism by
//! Locality Queues" (2009). Differences: domains may be of any level, workers may serve other
//! domains by distance or not at all, and the user sets the bound on pending tasks.
//!
//! | module | contents |
//! |---|---|
//! | `domains` | the domains of each worker |
//! | `queues` | the queues of a scope, and the choice of the next task |
//! | `scope` | the scope with these queues |
//! | `placed` | arrays whose blocks have domains |

mod domains;
mod placed;
mod queues;
mod scope;
#[cfg(all(test, shuttle))]
mod shuttle;

pub use domains::{DomainKind, Domains, DomainsError, ParseDomainKindError};
pub use placed::{Distribution, Placed, PlacedOptions};
pub use queues::{DomainOrder, DomainQueues};
pub use scope::{DomainScope, domain_scope};
pub use sinew_topology::{Placement, PlacementError, page_nodes};
