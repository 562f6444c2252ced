//! `sys.fn_listextendedproperty`: extended properties by the names of what they belong to.
//!
//! ```text
//! level 0   SCHEMA, USER, FILEGROUP …          none: the database
//! level 1   TABLE, VIEW, PROCEDURE …           of the schema
//! level 2   COLUMN, INDEX, CONSTRAINT …        of the table
//! ```
//!
//! A level with a type and without a name means everything of that type.

use extentdb_engine::model::{ExtendedProperty, ObjectModel};
use extentdb_types::Datum;

use super::text;
use crate::base::data_spaces;
use crate::columns::Columns;
use crate::error::Error;
use crate::rows::Rows;
use crate::source::Source;
use crate::view::column::columns_of;
use crate::view::index::indexes_of;
use crate::view::module::{modules, parameters_of};
use crate::view::object::{is_of_users, property_value};

/// Classes of extended properties.
const DATABASE: u8 = 0;
const OBJECT: u8 = 1;
const PARAMETER: u8 = 2;
const SCHEMA: u8 = 3;
const PRINCIPAL: u8 = 4;
const TYPE: u8 = 6;
const INDEX: u8 = 7;
const DATA_SPACE: u8 = 20;

/// Something that properties may belong to.
struct Owner {
    class: u8,
    id: i32,
    sub_id: i32,
    name: Option<String>,
}

/// A type and a name of one level, as they were asked for.
struct Level {
    kind: String,
    name: Option<String>,
}

impl Level {
    fn of(arguments: &[Datum<'_>], number: usize) -> Option<Level> {
        let kind = text(arguments, 2 * number + 1)?.to_ascii_uppercase();
        Some(Level { kind, name: text(arguments, 2 * number + 2) })
    }

    /// Was a thing of this name asked for?
    fn is_meant(&self, name: &str, source: &Source<'_>) -> bool {
        self.name.as_deref().is_none_or(|asked| source.model.is_same_name(asked, name))
    }
}

/// A property with what it belongs to.
struct Item<'a> {
    kind: Option<String>,
    owner: Option<String>,
    property: &'a ExtendedProperty,
}

/// `sys.fn_listextendedproperty`.
pub(in crate::view) fn list(
    source: &Source<'_>,
    arguments: &[Datum<'_>],
    rows: &mut Rows,
) -> Result<(), Error> {
    let columns = Columns::new()
        .put("objtype", |it: &Item<'_>| it.kind.as_ref().into())
        .put("objname", |it| it.owner.as_ref().into())
        .put("name", |it| (&it.property.name).into())
        .put("value", |it| it.property.value.as_deref().map(property_value).into());
    let name = text(arguments, 0);
    let levels: Vec<Level> = (0..3).map_while(|number| Level::of(arguments, number)).collect();
    let kind = levels.last().map(|level| level.kind.clone());
    let is_meant = |property: &ExtendedProperty| {
        is_of_users(property)
            && name.as_deref().is_none_or(|name| source.model.is_same_name(name, &property.name))
    };
    let items = owners(source, &levels)?.into_iter().flat_map(|owner| {
        let own = properties_of(source, &owner).into_iter().filter(|it| is_meant(it));
        let kind = kind.clone();
        own.map(|property| Item { kind: kind.clone(), owner: owner.name.clone(), property })
            .collect::<Vec<_>>()
    });
    rows.add(&columns, items)
}

fn properties_of<'s>(source: &Source<'s>, owner: &Owner) -> Vec<&'s ExtendedProperty> {
    let model = source.model.object_by_id(extentdb_base::ObjectId(owner.id));
    let all = match model.filter(|_| owner.class == OBJECT) {
        Some(model) => model.properties.as_slice(),
        None => source.model.properties(),
    };
    let is_own = |it: &&ExtendedProperty| {
        (it.class, it.id, it.sub_id) == (owner.class, owner.id, owner.sub_id)
    };
    all.iter().filter(is_own).collect()
}

fn owners(source: &Source<'_>, levels: &[Level]) -> Result<Vec<Owner>, Error> {
    Ok(match levels {
        [] => vec![Owner { class: DATABASE, id: 0, sub_id: 0, name: None }],
        [first] => of_database(source, first)?,
        [first, second] if first.kind == "SCHEMA" => of_schema(source, first, second),
        [first, second, third] if first.kind == "SCHEMA" => {
            let tables = objects(source, first, second);
            tables.into_iter().flat_map(|model| of_object(source, model, third)).collect()
        }
        _ => Vec::new(),
    })
}

/// Things of the database itself.
fn of_database(source: &Source<'_>, level: &Level) -> Result<Vec<Owner>, Error> {
    let owner = |class: u8, id: i32, name: &str| Owner {
        class,
        id,
        sub_id: 0,
        name: Some(name.to_owned()),
    };
    let all: Vec<Owner> = match level.kind.as_str() {
        "SCHEMA" => source.model.schemas().map(|it| owner(SCHEMA, it.id, &it.name)).collect(),
        "USER" => {
            let principals = source.model.principals().iter();
            principals.map(|it| owner(PRINCIPAL, it.id, &it.name)).collect()
        }
        "FILEGROUP" | "PARTITION SCHEME" => {
            let spaces = data_spaces(source.database)?;
            spaces.iter().map(|it| owner(DATA_SPACE, it.id, &it.name)).collect()
        }
        "TYPE" => source.model.scalar_types().map(|it| owner(TYPE, it.id, &it.name)).collect(),
        _ => Vec::new(),
    };
    let is_meant = |it: &Owner| it.name.as_deref().is_some_and(|it| level.is_meant(it, source));
    Ok(all.into_iter().filter(is_meant).collect())
}

/// Codes of objects that a word of level 1 means.
fn codes(kind: &str) -> &'static [&'static str] {
    match kind {
        "TABLE" => &["U"],
        "VIEW" => &["V"],
        "PROCEDURE" => &["P"],
        "FUNCTION" => &["FN", "IF", "TF"],
        "SYNONYM" => &["SN"],
        "RULE" => &["R"],
        "DEFAULT" => &["D"],
        "QUEUE" => &["SQ"],
        _ => &[],
    }
}

/// Objects of schemas.
fn objects<'s>(source: &Source<'s>, schema: &Level, level: &Level) -> Vec<&'s ObjectModel> {
    let codes = codes(&level.kind);
    let is_meant = |model: &&ObjectModel| {
        let object = &model.object;
        let of_schema = source.schema_name(object.schema_id);
        codes.contains(&object.kind.code())
            && level.is_meant(&object.name, source)
            && of_schema.is_some_and(|name| schema.is_meant(name, source))
    };
    source.objects().into_iter().map(|model| &**model).filter(is_meant).collect()
}

/// Objects and types of schemas.
fn of_schema(source: &Source<'_>, schema: &Level, level: &Level) -> Vec<Owner> {
    if level.kind == "TYPE" {
        let types = source.model.scalar_types().filter(|ty| {
            let of_schema = source.schema_name(ty.schema_id);
            level.is_meant(&ty.name, source)
                && of_schema.is_some_and(|name| schema.is_meant(name, source))
        });
        let owner =
            |id: i32, name: &String| Owner { class: TYPE, id, sub_id: 0, name: Some(name.clone()) };
        return types.map(|ty| owner(ty.id, &ty.name)).collect();
    }
    let owner = |model: &ObjectModel| Owner {
        class: OBJECT,
        id: model.object.id.0,
        sub_id: 0,
        name: Some(model.object.name.clone()),
    };
    objects(source, schema, level).into_iter().map(owner).collect()
}

/// Columns, indexes, parameters, constraints, triggers of an object.
fn of_object(source: &Source<'_>, model: &ObjectModel, level: &Level) -> Vec<Owner> {
    let id = model.object.id.0;
    let owner = |class: u8, sub_id: i32, name: &str| Owner {
        class,
        id,
        sub_id,
        name: Some(name.to_owned()),
    };
    let all: Vec<Owner> = match level.kind.as_str() {
        "COLUMN" => {
            columns_of(model).iter().map(|column| owner(OBJECT, column.id, &column.name)).collect()
        }
        "INDEX" => {
            let named =
                indexes_of(model).iter().filter_map(|it| Some((it.id.0, it.name.as_ref()?)));
            named.map(|(sub_id, name)| owner(INDEX, sub_id, name)).collect()
        }
        "PARAMETER" => {
            let own = modules(source).filter(|module| module.object.id.0 == id);
            let parameters = own.flat_map(|module| parameters_of(source, &module));
            parameters.map(|it| owner(PARAMETER, it.id, &it.column.name)).collect()
        }
        "CONSTRAINT" => children(source, model, &["PK", "UQ", "F", "C", "D"]),
        "TRIGGER" => children(source, model, &["TR"]),
        _ => Vec::new(),
    };
    let is_meant = |it: &Owner| it.name.as_deref().is_some_and(|it| level.is_meant(it, source));
    all.into_iter().filter(is_meant).collect()
}

/// Constraints or triggers of a table, which are objects by themselves.
fn children(source: &Source<'_>, model: &ObjectModel, codes: &[&str]) -> Vec<Owner> {
    let models = model.children.iter().filter_map(|id| source.model.object_by_id(*id));
    let own = models.filter(|child| codes.contains(&child.object.kind.code()));
    let owner = |child: &ObjectModel| Owner {
        class: OBJECT,
        id: child.object.id.0,
        sub_id: 0,
        name: Some(child.object.name.clone()),
    };
    own.map(|child| owner(child)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use extentdb_base::sync::Arc;
    use extentdb_engine::{ColumnSpec, IndexSpec, Instance, InstanceOptions, Options, TableSpec};
    use extentdb_types::SqlType;

    fn server() -> Arc<Instance> {
        let options = Options::on(Arc::new(extentdb_io::MemDisk::new()));
        let options = InstanceOptions { tempdb_files: 1, ..InstanceOptions::new("/data", options) };
        let instance = Instance::start(options).unwrap();
        let mut session = instance.session("model").unwrap();
        let columns = ["a", "b"].map(|name| ColumnSpec::new(name, SqlType::Int));
        let table = session.create_table(&TableSpec::heap("t", columns.to_vec())).unwrap();
        session.create_index(&table, &IndexSpec::new("by_a", &["a"])).unwrap();
        session.add_check(&table, "positive", "([a]>(0))").unwrap();
        instance
    }

    /// Names of what levels mean, each a type with a name or `*`.
    fn meant(instance: &Instance, levels: &[&str]) -> Vec<String> {
        let database = instance.database("model").unwrap();
        let model = database.model().unwrap();
        let source = Source::new(instance, &database, &model);
        let level = |text: &&str| {
            let (kind, name) = text.split_once(' ').unwrap();
            let name = (name != "*").then(|| name.to_owned());
            Level { kind: kind.to_owned(), name }
        };
        let levels: Vec<Level> = levels.iter().map(level).collect();
        let found = owners(&source, &levels).unwrap();
        found.iter().map(|it| format!("{} {:?} {}", it.class, it.name, it.sub_id)).collect()
    }

    #[test]
    fn levels_lead_to_what_properties_belong_to() {
        let instance = server();
        let cases: [(&[&str], &[&str]); 9] = [
            (&[], &["0 None 0"]),
            (&["SCHEMA DBO"], &["3 Some(\"dbo\") 0"]),
            (&["SCHEMA dbo", "TABLE *"], &["1 Some(\"t\") 0"]),
            (&["SCHEMA sys", "TABLE *"], &[]),
            (&["SCHEMA dbo", "VIEW *"], &[]),
            (&["SCHEMA dbo", "TABLE t", "COLUMN *"], &["1 Some(\"a\") 1", "1 Some(\"b\") 2"]),
            (&["SCHEMA dbo", "TABLE t", "COLUMN B"], &["1 Some(\"b\") 2"]),
            (&["SCHEMA dbo", "TABLE t", "INDEX *"], &["7 Some(\"by_a\") 2"]),
            (&["SCHEMA dbo", "TABLE t", "CONSTRAINT *"], &["1 Some(\"positive\") 0"]),
        ];
        for (levels, expected) in cases {
            assert_eq!(meant(&instance, levels), expected, "{levels:?}");
        }
    }
}
