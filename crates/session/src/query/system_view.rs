//! System views as tables of queries.

use extentdb_base::sync::Arc;
use extentdb_bind::provider::{KeptRows, RequestedColumn, RowProvider, RowStream};
use extentdb_bind::surroundings::{MadeRows, Object};
use extentdb_bind::{Cause as BindCause, Result as Bound};
use extentdb_engine::{Database, Instance};
use extentdb_sysview::{Content, Source, View};
use extentdb_tsql::syntax::ObjectName;
use extentdb_types::Collation;

/// A system view in a database.
struct SystemRows {
    instance: Arc<Instance>,
    database: Arc<Database>,
    view: &'static View,
}

impl RowProvider for SystemRows {
    fn open(&self, columns: &[RequestedColumn]) -> Result<Box<dyn RowStream>, String> {
        let model = self.database.model().map_err(|error| error.to_string())?;
        let source = Source::new(&self.instance, &self.database, &model);
        let rows = self.view.rows(&source).map_err(|error| error.to_string())?;
        Ok(Box::new(KeptRows::new(rows, columns)))
    }
}

/// The system view that a name stands for in a database.
///
/// # Errors
/// The server has what the view is about, and does not fill it.
pub(super) fn object(
    name: &ObjectName,
    instance: &Arc<Instance>,
    database: &Arc<Database>,
    collation: Collation,
) -> Bound<Option<Object>> {
    let schema = name.schema().map_or("dbo", |schema| &schema.text);
    let Some(view) = extentdb_sysview::view(schema, &name.name.text) else { return Ok(None) };
    if view.content() == Content::Refused {
        let what = format!("the view {}.{}", view.schema, view.name);
        return Err(BindCause::NotSupported { what }.at(name.span));
    }
    let columns = view
        .columns
        .iter()
        .map(|column| (column.name.to_owned(), column.ty.sql_type(collation), column.is_nullable))
        .collect();
    let (instance, database) = (instance.clone(), database.clone());
    let provider = Arc::new(SystemRows { instance, database, view });
    let schema = Some(view.schema.to_owned());
    Ok(Some(Object::Rows(MadeRows { schema, columns, provider })))
}
