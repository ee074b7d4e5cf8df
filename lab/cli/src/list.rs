//! `sinew-lab list`: the applications and their sizes.

use sinew_console::{Failure, Table, output};

pub(crate) fn perform() -> Result<(), Failure> {
    let mut table =
        Table::new(&["application", "description", "sizes besides tiny, small and full"]);
    for app in sinew_apps::all() {
        table.row(vec![app.name.into(), app.about.into(), app.sizes.into()]);
    }
    Ok(output::print(&table.render())?)
}
