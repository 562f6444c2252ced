//! Every view that is filled can be read in every database, and its values are of the types that
//! its shape says.

use crate::support::*;
use extentdb_sysview::{Content, Error, Source, View, views};
use extentdb_types::Datum;

pub(crate) fn verify_row(view: &View, row: &[Datum<'static>]) {
    assert_eq!(row.len(), view.columns.len(), "{}", view.name);
    for (value, column) in row.iter().zip(view.columns) {
        let named = format!("{}.{}: {value:?}", view.name, column.name);
        if matches!(value, Datum::Null) {
            assert!(column.is_nullable, "{named}");
            continue;
        }
        let ty = column.ty.sql_type(COLLATION);
        let mut bytes = Vec::new();
        value.encode(&ty, &mut bytes).unwrap_or_else(|error| panic!("{named}: {error}"));
        assert!(ty.max_bytes().is_none_or(|most| bytes.len() <= most), "{named}");
    }
}

#[test]
fn values_are_of_the_types_of_their_columns_in_every_database() {
    let instance = server();
    shop(&instance);
    let mut with_rows = 0;
    for info in instance.databases() {
        let database = instance.database_by_id(info.id).unwrap();
        let model = database.model().unwrap();
        let source = Source::new(&instance, &database, &model);
        for view in views().filter(|view| view.content() == Content::Filled) {
            let rows = view.call(&source, &[]).unwrap_or_else(|error| panic!("{error}"));
            rows.iter().for_each(|row| verify_row(view, row));
            with_rows += usize::from(!rows.is_empty());
        }
    }
    assert!(with_rows > 200, "{with_rows}");
}

#[test]
fn a_view_that_is_not_filled_is_refused_by_its_name() {
    let instance = server();
    let database = instance.database("master").unwrap();
    let model = database.model().unwrap();
    let source = Source::new(&instance, &database, &model);
    let rows = |name: &str| extentdb_sysview::view("sys", name).unwrap().rows(&source);
    let Err(error @ Error::Refused { .. }) = rows("dm_os_buffer_descriptors") else {
        panic!("it is not filled")
    };
    assert_eq!(error.to_string(), "not supported: the view sys.dm_os_buffer_descriptors");
    assert_eq!(rows("assemblies").unwrap().len(), 0);
}

#[test]
fn functions_are_called_with_arguments() {
    let instance = server();
    let database = shop(&instance);
    let model = database.model().unwrap();
    let source = Source::new(&instance, &database, &model);
    let call = |name: &str| {
        let function = extentdb_sysview::function("sys", name).unwrap();
        let rows = function.call(&source, &[]);
        rows.inspect(|rows| rows.iter().for_each(|row| verify_row(function, row)))
    };
    assert_eq!(call("fn_helpcollations").unwrap().len(), 3955);
    assert_eq!(call("fn_listextendedproperty").unwrap().len(), 0);
    assert!(matches!(call("dm_exec_sql_text"), Err(Error::Refused { .. })));
    assert_eq!(call("fn_get_audit_file").unwrap().len(), 0, "there is no audit");
}
