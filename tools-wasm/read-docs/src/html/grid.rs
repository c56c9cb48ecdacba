//! Tables that consist of `<div>` elements and a style sheet, as in javadoc summaries.

use dom_query::{Document as Dom, NodeRef};

use super::present::Present;

/// Selector of the containers.
const GRIDS: &str = ".summary-table";
/// Class of the last cell of each row.
const LAST: &str = "col-last";
/// Class of the cells of the first row.
const HEAD: &str = "table-header";

pub(super) fn mark(dom: &Dom, present: &Present<'_>) {
    for grid in present.select(GRIDS) {
        let cells: Vec<_> = grid.children_it(false).filter(NodeRef::is_element).collect();
        let is_grid = grid.has_name("div")
            && cells.iter().all(|cell| cell.has_name("div"))
            && cells.last().is_some_and(|cell| cell.has_class(LAST));
        if !is_grid {
            continue;
        }
        let table = dom.tree.new_element("table");
        let mut row = None;
        for cell in cells {
            let own = row.take().unwrap_or_else(|| {
                let row = dom.tree.new_element("tr");
                table.append_child(&row);
                row
            });
            own.append_child(&cell);
            cell.rename(if cell.has_class(HEAD) { "th" } else { "td" });
            if !cell.has_class(LAST) {
                row = Some(own);
            }
        }
        grid.replace_with(&table);
    }
}
