//! sp_describe_undeclared_parameters: types for the variables of a text that are declared nowhere.
//!
//! A variable has the type of what it meets: the column that it is a value for, the other side of a
//! comparison or an operator, the parameter that it is an argument for. One that meets nothing with
//! a type is refused by its name.

mod answer;

use extentdb_base::sync::Arc;
use extentdb_tsql::lexer::tokens;
use extentdb_tsql::syntax::{
    Column, ColumnName, Condition, ConditionKind, DeclarationKind, Dml, DmlFilter, Executed, Expr,
    ExprKind, Insert, InsertSource, ObjectName, ParameterType, ProcedureName, Query, QueryBody,
    Select, SelectItem, SetItem, Statement, StatementKind, TableReference, TableSource,
    TableSourceKind, Target, TargetKind, Update,
};
use extentdb_tsql::token::TokenKind;
use extentdb_tsql::{Options, parse};
use extentdb_types::SqlType;

use self::answer::{Suggested, TableTypeName, tell};
use super::given::Given;
use super::stored::procedure_of;
use super::{Finished, parameters};
use extentdb_connection::cause::Cause;
use extentdb_connection::data_type;
use extentdb_connection::frame::{Frame, Variable, variable_named};
use extentdb_connection::objects::DEFAULT_SCHEMA;
use extentdb_connection::output::Scope;
use extentdb_connection::pending_load;
use extentdb_connection::query::{Prepared, column_infos};
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::{Stop, located};

const NAME: &str = "sp_describe_undeclared_parameters";

/// A variable of the text that nothing declares.
struct Undeclared {
    name: Box<str>,
    /// Where it stands.
    start: u32,
    ty: Option<Suggested>,
}

/// What looks through a text.
struct Search<'r, 'o> {
    run: &'r mut Run<'o>,
    /// What is declared.
    frame: Frame,
    found: Vec<Undeclared>,
}

pub(super) fn run(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let given = Given { procedure: NAME, arguments };
    let text = given.text(0, "@tsql").ok_or_else(|| given.missing("@tsql"))?;
    let declarations = given.text(1, "@params").unwrap_or_default();
    let collation = run.connection.collation();
    let declared = parameters::declared(&declarations, collation)?;
    let variables: Vec<Variable> = declared.into_iter().map(|it| it.variable).collect();
    let options = Options { quoted_identifier: run.connection.options.quoted_identifier };
    let script = parse(&text, options)
        .map_err(|error| located(Cause::Syntax(error.cause), error.span.line))?;
    let mut search = Search {
        run,
        frame: Frame::new(Scope::Procedure, Arc::from(variables)),
        found: Vec::new(),
    };
    script.statements.iter().try_for_each(|statement| search.statement(statement))?;
    let found = search.in_order()?;
    let is_plain = |statement: &Statement| {
        matches!(statement.kind, StatementKind::Select(_) | StatementKind::Dml(_))
    };
    if script.statements.iter().all(is_plain) {
        verify_all(&text, &declarations, &found)?;
    }
    tell(run, &found)?;
    Ok(Finished::default())
}

/// Refuses a text with a variable that was found nowhere: clients take a list that is too short for
/// an error of the protocol.
fn verify_all(
    text: &str,
    declarations: &str,
    found: &[(Box<str>, Suggested)],
) -> Result<(), Cause> {
    let names = |text: &str| -> Vec<String> {
        let tokens = tokens(text).unwrap_or_default();
        let variables = tokens.iter().filter(|token| token.kind == TokenKind::Variable);
        variables.map(|token| token.span.of(text).to_owned()).collect()
    };
    let declared = names(declarations);
    let is_known = |name: &String| {
        found.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
            || declared.iter().any(|own| own.eq_ignore_ascii_case(name))
    };
    match names(text).iter().find(|name| !is_known(name)) {
        Some(name) => Err(Cause::not_supported(format!("the type of {name} by its use"))),
        None => Ok(()),
    }
}

impl Search<'_, '_> {
    fn in_order(mut self) -> Result<Vec<(Box<str>, Suggested)>, Cause> {
        self.found.sort_by_key(|own| own.start);
        let mut all: Vec<(Box<str>, Suggested)> = Vec::new();
        for own in self.found {
            let Undeclared { name, ty, .. } = own;
            if all.iter().any(|(other, _)| other.eq_ignore_ascii_case(&name)) {
                let text = format!(
                    "The undeclared parameter '{name}' is used more than once in the batch being \
                     analyzed."
                );
                return Err(Cause::Failed { number: 11_508, severity: 16, text });
            }
            let unknown = || Cause::not_supported(format!("the type of {name} by its use"));
            all.push((name.clone(), ty.ok_or_else(unknown)?));
        }
        Ok(all)
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Stop> {
        match &statement.kind {
            StatementKind::Declare(declare) => {
                let mut variables = self.frame.variables.to_vec();
                for own in &declare.declarations {
                    if let DeclarationKind::Scalar { data_type, .. } = &own.kind {
                        let collation = self.run.connection.collation();
                        let ty = data_type::declared(data_type, 1, collation)?;
                        variables.push(Variable { name: own.name.text.as_ref().into(), ty });
                    }
                }
                self.frame = Frame::new(Scope::Procedure, Arc::from(variables));
            }
            StatementKind::Select(select) => self.query(&select.query, &[])?,
            StatementKind::Dml(Dml::Insert(insert)) => self.insert(insert)?,
            StatementKind::Dml(Dml::Update(update)) => self.update(update)?,
            StatementKind::Dml(Dml::Delete(delete)) => {
                let from = sources(&delete.target, &delete.from);
                self.filter(delete.filter.as_ref(), &from);
            }
            StatementKind::Execute(execute) => {
                let procedure = match &execute.what {
                    Executed::Procedure { name: ProcedureName::Object(name), .. } => name,
                    _ => return Ok(()),
                };
                let types = self.parameter_types(procedure)?;
                for (at, argument) in execute.arguments.iter().enumerate() {
                    let name = argument.name.as_ref().map(|name| &*name.text);
                    let named = |own: &&(String, Suggested)| {
                        name.is_some_and(|name| own.0.eq_ignore_ascii_case(name))
                    };
                    let found = types.iter().find(named);
                    let found = found.or_else(|| types.get(at).filter(|_| name.is_none()));
                    match (found, &argument.value.kind) {
                        (Some((_, Suggested::Table(table))), ExprKind::Variable(name)) => {
                            let ty = Some(Suggested::Table(table.clone()));
                            let start = argument.value.span.start;
                            self.found.push(Undeclared { name: name.clone(), start, ty });
                        }
                        (Some((_, Suggested::Value(ty))), _) => {
                            self.value(&argument.value, Some(*ty), &[]);
                        }
                        _ => self.value(&argument.value, None, &[]),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The parameters of a procedure: those of tables are in its text alone.
    fn parameter_types(&mut self, name: &ObjectName) -> Result<Vec<(String, Suggested)>, Cause> {
        let Some(found) = self.run.connection.readable(name)? else { return Ok(Vec::new()) };
        let Some(module) = found.object.module() else { return Ok(Vec::new()) };
        let named = module.parameters.iter().filter(|own| !own.column.name.is_empty());
        let value = |own: &extentdb_engine::model::Parameter| {
            Some((own.column.name.clone(), Suggested::Value(own.column.ty?)))
        };
        let mut types: Vec<_> = named.filter_map(value).collect();
        let text = module.text.as_deref().unwrap_or_default();
        for (place, parameter, ty) in table_parameters(text) {
            let suggested = Suggested::Table(TableTypeName {
                database: found.database.name().to_owned(),
                schema: ty.schema().map_or(DEFAULT_SCHEMA, |it| &it.text).to_owned(),
                name: ty.name.text.to_string(),
            });
            types.insert(place.min(types.len()), (parameter, suggested));
        }
        Ok(types)
    }

    /// The columns of a target that take values, or those that are named.
    fn target_types(
        &mut self,
        target: &Target,
        columns: &[ColumnName],
    ) -> Result<Vec<Option<SqlType>>, Cause> {
        let TargetKind::Object(name) = &target.kind else { return Ok(Vec::new()) };
        let Some(found) = self.run.connection.readable(name)? else {
            let name = name.to_string().replace(['[', ']'], "");
            let text = format!("Invalid object name '{name}'.");
            return Err(Cause::Failed { number: 208, severity: 16, text });
        };
        let all = found.object.table().map(|table| &*table.columns).unwrap_or_default();
        if columns.is_empty() {
            let takes_value = |own: &&extentdb_engine::model::Column| {
                own.identity.is_none()
                    && own.computed.is_none()
                    && own.ty != Some(SqlType::RowVersion)
            };
            return Ok(all.iter().filter(takes_value).map(|own| own.ty).collect());
        }
        let type_of = |column: &ColumnName| {
            let Column::Named(name) = &column.column else { return None };
            let own = all.iter().find(|own| own.name.eq_ignore_ascii_case(&name.text));
            own.and_then(|own| own.ty)
        };
        Ok(columns.iter().map(type_of).collect())
    }

    fn insert(&mut self, insert: &Insert) -> Result<(), Stop> {
        let types = self.target_types(&insert.target, &insert.columns)?;
        match &insert.source {
            InsertSource::Values(rows) => {
                for row in rows {
                    for (at, value) in row.iter().enumerate() {
                        self.value(value, types.get(at).copied().flatten(), &[]);
                    }
                }
            }
            InsertSource::Query(query) => self.query(query, &types)?,
            InsertSource::DefaultValues | InsertSource::Execute(_) => {}
        }
        Ok(())
    }

    fn update(&mut self, update: &Update) -> Result<(), Stop> {
        let from = sources(&update.target, &update.from);
        for set in &update.sets {
            if let SetItem::Column { column, value, .. } = set {
                let of = ExprKind::Column(Box::new(column.clone()));
                let ty = self.type_of(&Expr { kind: of, span: update.span }, &from);
                self.value(value, ty, &from);
            }
        }
        self.filter(update.filter.as_ref(), &from);
        Ok(())
    }

    fn filter(&mut self, filter: Option<&DmlFilter>, from: &[TableSource]) {
        if let Some(DmlFilter::Condition(condition)) = filter {
            self.condition(condition, from);
        }
    }

    /// A query whose columns are values of these types.
    fn query(&mut self, query: &Query, types: &[Option<SqlType>]) -> Result<(), Stop> {
        self.body(&query.body, types);
        if let Some(offset) = &query.offset {
            self.value(&offset.skip, Some(SqlType::BigInt), &[]);
            let fetch = offset.fetch.as_ref();
            fetch.into_iter().for_each(|it| self.value(it, Some(SqlType::BigInt), &[]));
        }
        Ok(())
    }

    fn body(&mut self, body: &QueryBody, types: &[Option<SqlType>]) {
        match body {
            QueryBody::Select(select) => self.select(select, types),
            QueryBody::Parenthesised(inner) => self.body(&inner.body, types),
            QueryBody::Set { first, rest } => {
                self.body(first, types);
                rest.iter().for_each(|term| self.body(&term.body, types));
            }
        }
    }

    fn select(&mut self, select: &Select, types: &[Option<SqlType>]) {
        if let Some(top) = &select.top {
            self.value(&top.count, Some(SqlType::BigInt), &[]);
        }
        for (at, item) in select.items.iter().enumerate() {
            if let SelectItem::Value { value, .. } = item {
                self.value(value, types.get(at).copied().flatten(), &select.from);
            }
        }
        select.from.iter().for_each(|source| self.source(source, &select.from));
        let conditions = select.filter.iter().chain(&select.having);
        conditions.for_each(|condition| self.condition(condition, &select.from));
    }

    fn source(&mut self, source: &TableSource, from: &[TableSource]) {
        match &source.kind {
            TableSourceKind::Derived(query) => self.body(&query.body, &[]),
            TableSourceKind::Joined { first, joins } => {
                self.source(first, from);
                for join in joins {
                    self.source(&join.right, from);
                    join.on.iter().for_each(|on| self.condition(on, from));
                }
            }
            _ => {}
        }
    }

    fn condition(&mut self, condition: &Condition, from: &[TableSource]) {
        match &condition.kind {
            ConditionKind::And(all) | ConditionKind::Or(all) => {
                all.iter().for_each(|it| self.condition(it, from));
            }
            ConditionKind::Not(inner) => self.condition(inner, from),
            ConditionKind::Comparison { left, right, .. }
            | ConditionKind::IsDistinct { left, right, .. } => {
                self.together(&[left.as_ref(), right.as_ref()], from);
            }
            ConditionKind::Between(between) => {
                self.together(&[&between.operand, &between.low, &between.high], from);
            }
            ConditionKind::InList { operand, values, .. } => {
                let all: Vec<&Expr> = std::iter::once(operand.as_ref()).chain(values).collect();
                self.together(&all, from);
            }
            ConditionKind::Like(like) => self.together(&[&like.operand, &like.pattern], from),
            ConditionKind::InQuery { operand, query, .. } => {
                self.value(operand, None, from);
                self.body(&query.body, &[]);
            }
            ConditionKind::Exists(query) => self.body(&query.body, &[]),
            ConditionKind::IsNull { operand, .. } => self.value(operand, None, from),
            _ => {}
        }
    }

    /// Values that are compared: each has the type of the first one that has one.
    fn together(&mut self, values: &[&Expr], from: &[TableSource]) {
        let ty = values.iter().find_map(|value| self.type_of(value, from));
        values.iter().for_each(|value| self.value(value, ty, from));
    }

    /// A value where one of this type is expected.
    fn value(&mut self, value: &Expr, ty: Option<SqlType>, from: &[TableSource]) {
        match &value.kind {
            ExprKind::Variable(name) => {
                if variable_named(&self.frame.variables, name).is_none() {
                    let start = value.span.start;
                    let ty = ty.map(Suggested::Value);
                    self.found.push(Undeclared { name: name.clone(), start, ty });
                }
            }
            ExprKind::Chain { first, rest } => {
                let all =
                    || std::iter::once(first.as_ref()).chain(rest.iter().map(|it| &it.operand));
                let own = all().find_map(|operand| self.type_of(operand, from)).or(ty);
                all().for_each(|operand| self.value(operand, own, from));
            }
            ExprKind::Cast { operand, data_type, .. } => {
                let to = data_type::converted(data_type, self.run.connection.collation());
                self.value(operand, to.ok(), from);
            }
            ExprKind::Convert(convert) => {
                let collation = self.run.connection.collation();
                let to = data_type::converted(&convert.data_type, collation);
                self.value(&convert.operand, to.ok(), from);
            }
            ExprKind::Subquery(query) => self.body(&query.body, &[ty]),
            ExprKind::Unary { operand, .. } => self.value(operand, ty, from),
            _ => extentdb_bind::each_operand(value, &mut |operand| {
                self.value(operand, None, from);
            }),
        }
    }

    /// The type of an expression over these tables; `None` when it has none.
    fn type_of(&mut self, value: &Expr, from: &[TableSource]) -> Option<SqlType> {
        if matches!(&value.kind, ExprKind::Variable(_)) {
            let ExprKind::Variable(name) = &value.kind else { return None };
            let slot = variable_named(&self.frame.variables, name)?;
            return self.frame.variables.get(slot).map(|variable| variable.ty);
        }
        let mut query = pending_load::query(&[], value.span);
        let QueryBody::Select(select) = &mut query.body else { return None };
        select.items = vec![SelectItem::Value { value: value.clone(), alias: None }];
        select.from = from.to_vec();
        let bound = Prepared::bind(self.run, &self.frame, |binder| binder.statement(&query));
        let (_, bound) = bound.ok()?;
        column_infos(&bound).first().map(|column| column.ty)
    }
}

/// The parameters of a procedure that are tables: their positions, names and types.
fn table_parameters(text: &str) -> Vec<(usize, String, ObjectName)> {
    let Ok(script) = parse(text, Options::default()) else { return Vec::new() };
    let Some(procedure) = procedure_of(&script.statements) else { return Vec::new() };
    let parameters = procedure.parameters.iter().enumerate();
    let tables = parameters.filter(|(_, parameter)| parameter.is_readonly);
    let named = tables.filter_map(|(place, parameter)| match &parameter.data_type {
        ParameterType::Type(ty) => Some((place, parameter.name.text.to_string(), ty.name.clone())),
        ParameterType::Cursor => None,
    });
    named.collect()
}

/// The tables that a change reads: those of FROM, or the target.
fn sources(target: &Target, from: &[TableSource]) -> Vec<TableSource> {
    if !from.is_empty() {
        return from.to_vec();
    }
    let TargetKind::Object(name) = &target.kind else { return Vec::new() };
    let reference = TableReference {
        name: name.clone(),
        system_time: None,
        is_for_path: false,
        sample: None,
        hints: Vec::new(),
    };
    vec![TableSource {
        kind: TableSourceKind::Table(Box::new(reference)),
        alias: None,
        span: target.span,
    }]
}
