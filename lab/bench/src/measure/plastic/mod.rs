//! Loops that are changed while they run: how soon a change takes effect, what it costs that there
//! could be one, and what one is worth.
//!
//! | file | contents |
//! |---|---|
//! | `delays` | from the call that changes something to the first chunk under the new setting |
//! | `costs` | an unused control, metrics of each thread, a schedule that is switched in time: beside the same without |

mod costs;
pub(crate) mod delays;

use super::line::Line;
use crate::problem::Scale;

/// Makes all measurements of this file.
pub(super) fn run(scale: Scale) -> Result<Vec<Line>, String> {
    let mut lines = delays::run(scale)?;
    lines.extend(costs::run(scale)?);
    Ok(lines)
}
