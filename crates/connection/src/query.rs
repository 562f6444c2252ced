//! Queries: bound, planned and executed when their statement runs.
//!
//! ```text
//! syntax ── bind ──▶ relation, prologue ── plan ──▶ operators ── exec ──▶ batches ──▶ rows
//!             ▲                                                   ▲
//!       surroundings.rs: catalog, variables, functions      functions.rs: those of the session
//! ```
//!
//! Invariants
//! - Names are resolved when the statement runs: the one before may have made what they name. A
//!   plan that is kept is used again while no definition has changed.
//! - A query is one statement of the engine, whatever it reads: its locks and its snapshot are
//!   those of one statement.

mod change_failure;
mod failure;
mod function_body;
mod functions;
mod kept_plan;
mod my_permissions;
mod plan_text;
mod prepared;
mod rows;
mod spt_values;
mod surroundings;
mod system_view;
mod user_function;

pub use failure::{bind_cause, exec_cause, operator_cause, plan_cause};
pub use function_body::verify_function_body;
pub use functions::RowFunctions;
pub use kept_plan::{Basis, Ground, KeptPlan, OnGround, Planned};
pub use prepared::{
    Change, Prepared, QueryStop, all_batches, each_batch, evaluate_call, operator, set,
};
pub use rows::{column_infos, columns_of, has_row, send_planned, send_rows, single_value};
pub use surroundings::{QuerySurroundings, ViewName, refused, view};
pub use system_view::{Reader, object as system_view};
