//! sp_bindefault, sp_bindrule, sp_unbindefault, sp_unbindrule.

use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_definition::{Binding, Bound, bind};

use super::given::Given;
use super::{Finished, verify_definer};

/// What becomes of the binding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Bind,
    Unbind,
}

pub(super) fn run(
    run: &mut Run<'_>,
    arguments: &[Argument],
    bound: Bound,
    action: Action,
) -> Result<Finished, Stop> {
    verify_definer(run)?;
    let (procedure, parameter) = match (action, bound) {
        (Action::Bind, Bound::Default) => ("sp_bindefault", "@defname"),
        (Action::Bind, Bound::Rule) => ("sp_bindrule", "@rulename"),
        (Action::Unbind, Bound::Default) => ("sp_unbindefault", "@objname"),
        (Action::Unbind, Bound::Rule) => ("sp_unbindrule", "@objname"),
    };
    let given = Given { procedure, arguments };
    let required = |place: usize, name: &'static str| {
        let text = given.text(place, name).filter(|text| !text.is_empty());
        text.ok_or_else(|| given.missing(name))
    };
    let first = required(0, parameter)?;
    match action {
        Action::Bind => {
            let of = required(1, "@objname")?;
            bind(run, &Binding { bound, to: Some(&first), of: &of })?;
        }
        Action::Unbind => bind(run, &Binding { bound, to: None, of: &first })?,
    }
    Ok(Finished::default())
}
