//! The parameters of victim policies; see [`Victims`](crate::Victims) for the policies themselves.
//! All but the error need the feature `experiments`.
//!
//! ```
//! use sinew_core::Victims;
//! use sinew_core::victims::{AfterSuccess, LoadScope, Loads};
//!
//! let loads = Loads { refresh: 10, scope: LoadScope::Package, after_success: AfterSuccess::Stay };
//! assert_eq!("sorted:10,package,stay".parse(), Ok(Victims::SortedLoads(loads)));
//! ```

pub use sinew_policy::victim::ParseVictimsError;
#[cfg(feature = "experiments")]
pub use sinew_policy::victim::{AfterSuccess, LoadScope, Loads, Samples, Sampling};
