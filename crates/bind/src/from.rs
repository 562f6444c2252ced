//! FROM: table sources and joins.

use extentdb_engine::model::ObjectBody;
use extentdb_engine::{ReadHints, TableHint as EngineHint};
use extentdb_expr::Scalar;
use extentdb_expr::json_rows::JsonField;
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Arguments, Condition, Expr, ExprKind, IndexReference, Join, JoinKind as JoinSyntax, Literal,
    ObjectName, Query, TableAlias, TableFunction as FunctionSyntax, TableHint, TableHintKind,
    TableReference, TableSource, TableSourceKind,
};
use extentdb_types::SqlType;

use crate::access;
use crate::binder::{Binder, CHAIN_MAX, shown};
use crate::error::{Cause, Result, not_supported};
use crate::logical::{Column, Computed, JoinKind, Relation, RowsSource, TableFunction};
use crate::method_call::as_method;
use crate::query::QueryPlace;
use crate::scalar::{Clause, Place, parameter};
use crate::scope::{NamedColumn, Scope, Source};
use crate::stage::Stage;
use crate::surroundings::{CalledRows, MadeRows, Object, StoredTable, TableFunctionObject, View};
use crate::table::{BoundTable, KnownStatistics, TableColumn};

/// Rows with the names of their columns.
pub(crate) type Named = (Relation, Vec<Source>);

impl Binder<'_> {
    /// The rows of FROM.
    pub(crate) fn from(&mut self, list: &[TableSource]) -> Result<Named> {
        if let Some(source) = list.get(CHAIN_MAX) {
            return Err(Cause::too_deep().at(source.span));
        }
        let mut all: Option<Named> = None;
        for source in list {
            let next = self.source(source)?;
            all = Some(match all {
                None => next,
                Some((left, mut sources)) => {
                    sources.extend(next.1);
                    (cross(left, next.0), sources)
                }
            });
        }
        let (relation, sources) = all.unwrap_or((Relation::Row, Vec::new()));
        self.verify_names(&sources, list.first().map_or(Span::default(), |it| it.span))?;
        Ok((relation, sources))
    }

    /// Each source is exposed under a name of its own.
    fn verify_names(&self, sources: &[Source], span: Span) -> Result<()> {
        for (at, source) in sources.iter().enumerate() {
            let others = sources.get(..at).unwrap_or_default();
            let same = others.iter().find(|other| {
                self.is_same(&other.name, &source.name) && other.schema == source.schema
            });
            if let Some(other) = same.filter(|it| !it.name.is_empty()) {
                let name = source.name.clone();
                return Err(match source.schema {
                    None => Cause::SameAliases { name },
                    Some(_) => Cause::SameNames { first: other.name.clone(), second: name },
                }
                .at(span));
            }
        }
        Ok(())
    }

    pub(crate) fn source(&mut self, source: &TableSource) -> Result<Named> {
        let alias = source.alias.as_ref();
        let span = source.span;
        match &source.kind {
            TableSourceKind::Table(reference) => self.table_reference(reference, alias, span),
            TableSourceKind::Variable { name, hints } => {
                let Some(table) = self.surroundings.table_variable(&name.text) else {
                    let name = name.text.to_string();
                    return Err(Cause::UnknownTableVariable { name }.at(span));
                };
                let hints = self.hints(hints)?;
                let (relation, mut own) = self.stored(&table, hints, &name.text);
                own.schema = None;
                self.aliased(relation, own, alias, span)
            }
            TableSourceKind::Derived(query) => self.derived(query, alias, span),
            TableSourceKind::Values(rows) => self.values_source(rows, alias, span),
            TableSourceKind::Function(function) => self.function_source(function, alias, span),
            TableSourceKind::Method(call) => self.nodes_source(call, alias, span),
            TableSourceKind::Joined { first, joins } => self.joined_sources(first, joins),
            TableSourceKind::Pivot(pivot) => self.pivot(pivot, alias, span),
            TableSourceKind::Unpivot(unpivot) => self.unpivot(unpivot, alias, span),
            other => not_supported(kind_name(other), span),
        }
    }

    fn table_reference(
        &mut self,
        reference: &TableReference,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        if reference.system_time.is_some() || reference.is_for_path {
            return not_supported("FOR SYSTEM_TIME and FOR PATH", span);
        }
        if let Some(found) = self.common_table(&reference.name, alias, span)? {
            return Ok(found);
        }
        let home = self.home.clone();
        let name = shown(&reference.name);
        let Some(object) = self.surroundings.object(&reference.name, home.as_ref())? else {
            return Err(Cause::InvalidObject { name }.at(reference.name.span));
        };
        match object {
            Object::Table(table) => {
                table.accesses.iter().try_for_each(|own| own.verify_source(span))?;
                let hints = self.hints(&reference.hints)?;
                self.verify_index(&table, &hints, &name, span)?;
                let (mut relation, mut own) = self.stored(&table, hints, &reference.name.name.text);
                own.schema = Some(table.table.schema().to_owned());
                own.database = Some(table.database.name().to_owned());
                if let Some(sample) = &reference.sample {
                    self.sampled(&mut relation, sample, span)?;
                }
                self.aliased(relation, own, alias, span)
            }
            Object::View(view) => {
                view.access.iter().try_for_each(|own| own.verify_source(span))?;
                self.view(&view, alias, span)
            }
            Object::Rows(rows) => {
                let (relation, mut own) = self.made_rows(rows, &reference.name.name.text);
                own.database = reference.name.database().map(|name| name.text.to_string());
                self.aliased(relation, own, alias, span)
            }
        }
    }

    /// The index that a hint names is there.
    fn verify_index(
        &self,
        table: &StoredTable,
        hints: &Hints,
        name: &str,
        span: Span,
    ) -> Result<()> {
        let (Some(index), ObjectBody::Table(model)) = (hints.index.as_deref(), &table.object.body)
        else {
            return Ok(());
        };
        let mut names = model.indexes.iter().filter_map(|own| own.name.as_deref());
        if names.any(|own| self.is_same(own, index)) {
            return Ok(());
        }
        let text = format!(
            "Index '{index}' on table '{name}' (specified in the FROM clause) does not exist."
        );
        Err(Cause::Other { number: 308, text }.at(span))
    }

    fn sampled(
        &mut self,
        relation: &mut Relation,
        sample: &extentdb_tsql::syntax::TableSample,
        span: Span,
    ) -> Result<()> {
        let number = |expr: &Expr| match &expr.kind {
            extentdb_tsql::syntax::ExprKind::Literal(
                extentdb_tsql::syntax::Literal::Integer(text)
                | extentdb_tsql::syntax::Literal::Decimal(text),
            ) => text.parse::<f64>().ok(),
            _ => None,
        };
        let (Some(percent), false) = (number(&sample.count), sample.is_rows) else {
            return not_supported("TABLESAMPLE of a number of rows", span);
        };
        let seed = sample.seed.as_ref().and_then(number).map_or(0, |seed| seed as u64);
        if let Relation::Table(table) = relation {
            table.sample = Some(extentdb_engine::Sample { percent, seed });
        }
        Ok(())
    }

    /// The rows of a stored table under its own name.
    pub(crate) fn stored(
        &mut self,
        stored: &StoredTable,
        hints: Hints,
        name: &str,
    ) -> (Relation, Source) {
        let mut columns = Vec::new();
        let mut named = Vec::new();
        let model = match &stored.object.body {
            ObjectBody::Table(table) => table.columns.as_slice(),
            _ => &[],
        };
        for (ordinal, (text, ty)) in stored.table.columns().into_iter().enumerate() {
            let own = model.iter().find(|column| column.name == text);
            let is_nullable = own.is_none_or(|column| column.nullable);
            let column = self.new_column(ty, is_nullable);
            named.push(NamedColumn {
                name: text.clone(),
                column: column.clone(),
                is_identity: own.is_some_and(|column| column.identity.is_some()),
                is_row_guid: own.is_some_and(|column| column.row_guid),
                denied: None,
                node: None,
            });
            columns.push(TableColumn {
                column,
                ordinal,
                column_id: own.map_or(0, |column| column.id),
                name: text,
            });
        }
        access::restrict(&mut named, stored.accesses.first());
        let table = BoundTable {
            database: stored.database.clone(),
            accesses: stored.accesses.clone(),
            table: stored.table.clone(),
            object: stored.object.clone(),
            columns,
            hints: hints.read,
            forced_index: hints.index,
            sample: None,
            locator: None,
            known: KnownStatistics::default(),
        };
        let mut source = Source::derived(name, named);
        source.table = Some(stored.table.id());
        source.in_database = Some(stored.database.name().to_owned());
        (Relation::Table(Box::new(table)), source)
    }

    fn made_rows(&mut self, rows: MadeRows, name: &str) -> (Relation, Source) {
        let mut columns = Vec::new();
        let mut named = Vec::new();
        for (text, ty, is_nullable) in rows.columns {
            let column = self.new_column(ty, is_nullable);
            named.push(NamedColumn::new(text, column.clone()));
            columns.push(column);
        }
        let source = RowsSource::Provider(rows.provider);
        let function = TableFunction { source, columns };
        let mut own = Source::derived(name, named);
        own.schema = rows.schema;
        (Relation::Function(Box::new(function)), own)
    }

    /// The rows of a view: those of its query, whose names mean what they mean there.
    pub(crate) fn view(
        &mut self,
        view: &View,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        let scopes = std::mem::take(&mut self.scopes);
        let common_tables = std::mem::take(&mut self.common_tables);
        let namespaces = std::mem::take(&mut self.namespaces);
        let home = std::mem::replace(&mut self.home, view.home.clone());
        let bound = self.query(&view.query, QueryPlace::Subquery);
        self.home = home;
        self.namespaces = namespaces;
        self.common_tables = common_tables;
        self.scopes = scopes;
        let mut bound = bound.map_err(|error| crate::error::Error { span, ..error })?;
        let mut columns = self.output_columns(bound.outputs, &view.columns, &view.name, span)?;
        if let Some(access) = &view.access {
            access::restrict(&mut columns, Some(access));
            access::note_view(&mut bound.relation, access);
        }
        let mut own = Source::derived(view.name.clone(), columns);
        own.schema = view.schema.clone();
        own.database = view.home.as_ref().map(|home| home.database.name().to_owned());
        self.aliased(bound.relation, own, alias, span)
    }

    fn derived(&mut self, query: &Query, alias: Option<&TableAlias>, span: Span) -> Result<Named> {
        let bound = self.query(query, QueryPlace::Subquery)?;
        let name = alias.map(|it| it.name.text.to_string()).unwrap_or_default();
        let given: Vec<String> = alias_columns(alias);
        let columns = self.output_columns(bound.outputs, &given, &name, span)?;
        Ok((bound.relation, vec![Source::derived(name, columns)]))
    }

    /// The columns of a query as those of a table: each has a name, and none has it twice.
    pub(crate) fn output_columns(
        &mut self,
        outputs: Vec<crate::query::Output>,
        given: &[String],
        name: &str,
        span: Span,
    ) -> Result<Vec<NamedColumn>> {
        if !given.is_empty() && given.len() != outputs.len() {
            let name = name.to_owned();
            return Err(if outputs.len() > given.len() {
                Cause::MoreColumns { name }
            } else {
                Cause::FewerColumns { name }
            }
            .at(span));
        }
        let mut columns: Vec<NamedColumn> = Vec::new();
        for (at, output) in outputs.into_iter().enumerate() {
            let text = given.get(at).cloned().unwrap_or(output.name);
            if text.is_empty() {
                let name = name.to_owned();
                return Err(Cause::UnnamedColumn { position: at + 1, name }.at(span));
            }
            if columns.iter().any(|own| self.is_same(&own.name, &text)) {
                let name = name.to_owned();
                return Err(Cause::DuplicateColumn { column: text, name }.at(span));
            }
            columns.push(NamedColumn::new(text, output.column));
        }
        Ok(columns)
    }

    /// A source under its alias.
    pub(crate) fn aliased(
        &mut self,
        relation: Relation,
        mut source: Source,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        if let Some(alias) = alias {
            source.name = alias.name.text.to_string();
            source.schema = None;
            source.database = None;
            let given = alias_columns(Some(alias));
            if !given.is_empty() {
                if given.len() != source.columns.len() {
                    let name = source.name.clone();
                    return Err(if source.columns.len() > given.len() {
                        Cause::MoreColumns { name }
                    } else {
                        Cause::FewerColumns { name }
                    }
                    .at(span));
                }
                for (column, name) in source.columns.iter_mut().zip(given) {
                    column.name = name;
                }
            }
        }
        Ok((relation, vec![source]))
    }

    fn values_source(
        &mut self,
        rows: &[Vec<Expr>],
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        let (relation, columns) = self.values(rows, span)?;
        let name = alias.map(|it| it.name.text.to_string()).unwrap_or_default();
        let given = alias_columns(alias);
        if given.len() != columns.len() {
            let cause = match given.is_empty() {
                true => Cause::UnnamedColumn { position: 1, name },
                false if columns.len() > given.len() => Cause::MoreColumns { name },
                false => Cause::FewerColumns { name },
            };
            return Err(cause.at(span));
        }
        let named = given.into_iter().zip(columns);
        let named = named.map(|(text, column)| NamedColumn::new(text, column)).collect();
        Ok((relation, vec![Source::derived(name, named)]))
    }

    /// Rows of VALUES, whose values in a column get a common type.
    pub(crate) fn values(
        &mut self,
        rows: &[Vec<Expr>],
        span: Span,
    ) -> Result<(Relation, Vec<Column>)> {
        let width = rows.first().map_or(0, Vec::len);
        if rows.iter().any(|row| row.len() != width) {
            return Err(Cause::ValuesRows.at(span));
        }
        let mut stage = Stage::default();
        let mut bound: Vec<Vec<Scalar>> = Vec::with_capacity(rows.len());
        for row in rows {
            let mut values = Vec::with_capacity(width);
            for value in row {
                let place = Place { clause: Clause::Other, stage: &mut stage, grouping: None };
                values.push(self.value(value, place)?);
            }
            bound.push(values);
        }
        let mut columns = Vec::with_capacity(width);
        for at in 0..width {
            let column: Vec<Scalar> = bound.iter().filter_map(|row| row.get(at)).cloned().collect();
            let ty = self.values_type(&column, span)?;
            let is_nullable = column.iter().any(Scalar::is_nullable);
            for row in &mut bound {
                if let Some(value) = row.get_mut(at) {
                    let converted = value.assigned(ty, &self.environment);
                    *value = converted.map_err(|cause| Cause::Expression(cause).at(span))?;
                }
            }
            columns.push(self.new_column(ty, is_nullable));
        }
        if stage.is_empty() {
            return Ok((Relation::Values { columns: columns.clone(), rows: bound }, columns));
        }
        self.staged_values(bound, columns, stage)
    }

    /// Rows of VALUES with subqueries in them: a concatenation of rows.
    fn staged_values(
        &mut self,
        rows: Vec<Vec<Scalar>>,
        columns: Vec<Column>,
        stage: Stage,
    ) -> Result<(Relation, Vec<Column>)> {
        let base = stage.upon(Relation::Row);
        let mut inputs = Vec::new();
        for row in rows {
            let mut values = Vec::new();
            for value in row {
                let id = self.new_id();
                values.push(crate::logical::Computed { id, value });
            }
            let ids = values.iter().map(|it| it.id).collect();
            inputs.push((base.clone().computing(values), ids));
        }
        Ok((Relation::Concat { inputs, columns: columns.clone() }, columns))
    }

    fn values_type(&self, values: &[Scalar], span: Span) -> Result<SqlType> {
        let mut types = values.iter().filter(|it| !it.is_null_literal()).map(Scalar::ty);
        let first = types.next().unwrap_or(SqlType::Int);
        if types.all(|ty| ty == first) {
            return Ok(first);
        }
        let common = Scalar::common_type(&kinds(values), &self.environment);
        common.map_err(|cause| Cause::Expression(cause).at(span))
    }

    fn joined_sources(&mut self, first: &TableSource, joins: &[Join]) -> Result<Named> {
        if let Some(join) = joins.get(CHAIN_MAX) {
            return Err(Cause::too_deep().at(join.right.span));
        }
        let mut left = self.source(first)?;
        for join in joins {
            left = self.join(left, join)?;
        }
        Ok(left)
    }

    fn join(&mut self, (left, mut sources): Named, join: &Join) -> Result<Named> {
        let is_apply = matches!(join.kind, JoinSyntax::CrossApply | JoinSyntax::OuterApply);
        if is_apply {
            self.scopes.push(Scope { sources: sources.clone(), grouped: None });
        }
        let right = self.source(&join.right);
        if is_apply {
            self.scopes.pop();
        }
        let (right, mut right_sources) = right?;
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = match join.kind {
            JoinSyntax::Inner | JoinSyntax::Cross | JoinSyntax::CrossApply => JoinKind::Inner,
            JoinSyntax::Left | JoinSyntax::Right | JoinSyntax::OuterApply => JoinKind::Left,
            JoinSyntax::Full => JoinKind::Full,
        };
        let mut all = sources.clone();
        all.extend(right_sources.iter().cloned());
        let (conditions, stage) = match &join.on {
            Some(on) => self.on(on, all)?,
            None => (Vec::new(), Stage::default()),
        };
        match join.kind {
            JoinSyntax::Left | JoinSyntax::OuterApply => {
                right_sources.iter_mut().for_each(Source::make_nullable);
            }
            JoinSyntax::Right => sources.iter_mut().for_each(Source::make_nullable),
            JoinSyntax::Full => {
                sources.iter_mut().for_each(Source::make_nullable);
                right_sources.iter_mut().for_each(Source::make_nullable);
            }
            _ => {}
        }
        sources.extend(right_sources);
        let relation = match join.kind {
            _ if kind == JoinKind::Inner => {
                let rows = Relation::Join { kind, left, right, conditions: Vec::new() };
                stage.upon(rows).filtered(conditions)
            }
            _ if !stage.is_empty() && kind == JoinKind::Full => {
                return not_supported(
                    "a subquery in the condition of a full outer join",
                    join.right.span,
                );
            }
            _ if !stage.is_empty() => {
                // The subqueries belong to the rows that are joined, as those of an APPLY do.
                let (outer, inner) = match join.kind {
                    JoinSyntax::Right => (right, left),
                    _ => (left, right),
                };
                let inner = Box::new(stage.upon(*inner).filtered(conditions));
                Relation::Join { kind, left: outer, right: inner, conditions: Vec::new() }
            }
            JoinSyntax::Right => Relation::Join { kind, left: right, right: left, conditions },
            _ => Relation::Join { kind, left, right, conditions },
        };
        Ok((relation, sources))
    }

    fn on(&mut self, on: &Condition, sources: Vec<Source>) -> Result<(Vec<Scalar>, Stage)> {
        self.scopes.push(Scope { sources, grouped: None });
        let mut stage = Stage::default();
        let place = Place { clause: Clause::On, stage: &mut stage, grouping: None };
        let conditions = self.conjuncts(on, place);
        self.scopes.pop();
        Ok((conditions?, stage))
    }

    fn function_source(
        &mut self,
        function: &FunctionSyntax,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        if let Some(call) = as_method(&function.call)
            && &*call.name.text == "nodes"
        {
            return self.nodes_source(&call, alias, span);
        }
        let name = function.call.name.name.text.to_lowercase();
        let values: &[Expr] = match &function.call.arguments {
            Arguments::List(values) => values,
            _ => &[],
        };
        if !matches!(name.as_str(), "string_split" | "generate_series" | "openjson") {
            let home = self.home.clone();
            let found = self.surroundings.table_function(&function.call.name, home.as_ref())?;
            match found {
                Some(TableFunctionObject::Inline(inline)) => {
                    return self.inline_function(&inline, &function.call.name, values, alias, span);
                }
                Some(TableFunctionObject::User(user)) => {
                    return self.user_rows(user, &function.call.name, values, alias, span);
                }
                _ => {}
            }
        }
        let mut stage = Stage::default();
        let mut arguments = Vec::new();
        for value in values {
            let place = Place { clause: Clause::Other, stage: &mut stage, grouping: None };
            // DEFAULT is NULL for the functions of the system.
            let value = match value.kind {
                ExprKind::Default => {
                    &Expr { kind: ExprKind::Literal(Literal::Null), span: value.span }
                }
                _ => value,
            };
            arguments.push(self.value(value, place)?);
        }
        let (source, columns) = match (name.as_str(), arguments.len()) {
            ("string_split", 2 | 3) => {
                verify_separator(values)?;
                self.string_split(arguments)
            }
            ("generate_series", 2 | 3) => self.generate_series(arguments, span)?,
            ("openjson", 1 | 2) => return self.open_json(arguments, function, stage, alias, span),
            _ => self.called(&function.call.name, arguments, span)?,
        };
        let own = columns.iter().map(|it| it.column.clone()).collect();
        let made = Relation::Function(Box::new(TableFunction { source, columns: own }));
        let relation = stage.before(made);
        self.aliased(relation, Source::derived(name, columns), alias, span)
    }

    /// A function of the system.
    fn called(
        &mut self,
        name: &ObjectName,
        arguments: Vec<Scalar>,
        span: Span,
    ) -> Result<(RowsSource, Vec<NamedColumn>)> {
        let home = self.home.clone();
        let found = self.surroundings.table_function(name, home.as_ref())?;
        let Some(TableFunctionObject::System(CalledRows { columns, provider })) = found else {
            let shown = shown(name);
            if name.schema().is_some_and(|schema| schema.text.eq_ignore_ascii_case("sys")) {
                return not_supported(format!("the table function {shown}"), span);
            }
            return Err(Cause::InvalidObject { name: shown }.at(span));
        };
        let mut own = Vec::new();
        for (name, ty, is_nullable) in columns {
            own.push(NamedColumn::new(name, self.new_column(ty, is_nullable)));
        }
        Ok((RowsSource::Called { provider, arguments }, own))
    }

    fn string_split(&mut self, mut arguments: Vec<Scalar>) -> (RowsSource, Vec<NamedColumn>) {
        let collation = self.environment.database_collation;
        let ty = match arguments.first().map(Scalar::ty) {
            Some(SqlType::Char { len, collation }) => {
                SqlType::VarChar { len: Some(len), collation }
            }
            Some(SqlType::NChar { len, collation }) => {
                SqlType::NVarChar { len: Some(len), collation }
            }
            Some(ty) if ty.collation().is_some() => ty,
            _ => SqlType::NVarChar { len: Some(8000), collation },
        };
        let has_ordinal = arguments.len() == 3
            && arguments.pop().and_then(|it| it.literal_integer()).is_some_and(|it| it != 0);
        let mut columns = vec![NamedColumn::new("value", self.new_column(ty, true))];
        if has_ordinal {
            let ordinal = self.new_column(SqlType::BigInt, false);
            columns.push(NamedColumn::new("ordinal", ordinal));
        }
        (RowsSource::StringSplit(arguments), columns)
    }

    fn generate_series(
        &mut self,
        arguments: Vec<Scalar>,
        span: Span,
    ) -> Result<(RowsSource, Vec<NamedColumn>)> {
        let types: Vec<SqlType> =
            arguments.iter().filter(|it| !it.is_null_literal()).map(Scalar::ty).collect();
        let ty = types.first().copied().unwrap_or(SqlType::Int);
        let kind = |ty: &SqlType| match ty {
            SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
                Some(ty.base_name())
            }
            SqlType::Decimal { .. } | SqlType::Numeric { .. } => Some("decimal"),
            _ => None,
        };
        if kind(&ty).is_none() || types.iter().any(|own| kind(own) != kind(&ty)) {
            let text = "All the input parameters should be of the same type. Supported types are \
                        tinyint, smallint, int, bigint, decimal and numeric.";
            return Err(Cause::Other { number: 5373, text: text.to_owned() }.at(span));
        }
        let ty = types.iter().fold(ty, |widest, own| widest_decimal(widest, *own));
        let converted: std::result::Result<Vec<Scalar>, _> =
            arguments.iter().map(|value| value.assigned(ty, &self.environment)).collect();
        let arguments = converted.map_err(|cause| Cause::Expression(cause).at(span))?;
        let columns = vec![NamedColumn::new("value", self.new_column(ty, false))];
        Ok((RowsSource::GenerateSeries(arguments), columns))
    }

    /// OPENJSON. Values of fields are texts, converted to the types of their columns above it.
    fn open_json(
        &mut self,
        arguments: Vec<Scalar>,
        function: &FunctionSyntax,
        stage: Stage,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        let collation = self.environment.database_collation;
        let text = |len| SqlType::NVarChar { len, collation };
        if function.columns.is_empty() {
            let columns = vec![
                NamedColumn::new("key", self.new_column(text(Some(8000)), false)),
                NamedColumn::new("value", self.new_column(text(None), true)),
                NamedColumn::new("type", self.new_column(SqlType::TinyInt, false)),
            ];
            let own = columns.iter().map(|it| it.column.clone()).collect();
            let source = RowsSource::OpenJson { arguments, fields: None };
            let made = Relation::Function(Box::new(TableFunction { source, columns: own }));
            let source = Source::derived("openjson", columns);
            return self.aliased(stage.before(made), source, alias, span);
        }
        let (mut columns, mut fields) = (Vec::new(), Vec::new());
        let (mut texts, mut values) = (Vec::new(), Vec::new());
        for own in &function.columns {
            let ty = self.surroundings.data_type(&own.data_type)?;
            let path = match own.path.as_ref().map(|it| &it.kind) {
                None => format!("$.\"{}\"", own.name.text),
                Some(extentdb_tsql::syntax::ExprKind::Literal(
                    extentdb_tsql::syntax::Literal::String(text),
                )) => text.value.to_string(),
                Some(_) => return not_supported("a path that is no literal", own.name.span),
            };
            let failed = |cause| Cause::Expression(cause).at(own.name.span);
            if matches!(ty, SqlType::VarBinary { .. } | SqlType::Binary { .. }) {
                return not_supported("OPENJSON with a binary column", own.name.span);
            }
            fields.push(JsonField::new(&path, own.is_json).map_err(|_| {
                let text = format!("JSON path is not properly formatted: '{path}'.");
                Cause::Other { number: 13607, text }.at(own.name.span)
            })?);
            let raw = self.new_column(text(None), true);
            let column = self.new_column(ty, true);
            let value = Scalar::parameter(parameter(&raw));
            let value = value.assigned(ty, &self.environment).map_err(failed)?;
            texts.push(raw);
            values.push(Computed { id: column.id, value });
            columns.push(NamedColumn::new(own.name.text.to_string(), column));
        }
        let source = RowsSource::OpenJson { arguments, fields: Some(fields) };
        let made = Relation::Function(Box::new(TableFunction { source, columns: texts }));
        let relation = stage.before(made.computing(values));
        self.aliased(relation, Source::derived("openjson", columns), alias, span)
    }

    /// Table hints: how rows are locked, and which index is used.
    pub(crate) fn hints(&mut self, hints: &[TableHint]) -> Result<Hints> {
        let mut found = Hints::default();
        let mut locks = Vec::new();
        for hint in hints {
            match &hint.kind {
                TableHintKind::Word(word) => match EngineHint::by_name(word) {
                    Some(own) => locks.push(own),
                    // Hints about plans and versions that change no result.
                    None if matches!(*word, "FORCESCAN" | "NOEXPAND" | "KEEPIDENTITY") => {}
                    None if *word == "SNAPSHOT" => {}
                    None => return not_supported(format!("the table hint {word}"), hint.span),
                },
                TableHintKind::Index(indexes) => {
                    if let [IndexReference::Name(name)] = indexes.as_slice() {
                        found.index = Some(name.text.to_string())
                    }
                }
                TableHintKind::ForceSeek(_) => {}
                TableHintKind::SpatialWindowMaxCells(_) => {
                    return not_supported("SPATIAL_WINDOW_MAX_CELLS", hint.span);
                }
            }
        }
        let span = hints.first().map_or(Span::default(), |it| it.span);
        found.read = ReadHints::of(&locks).map_err(|_| {
            let text = "Conflicting locking hints specified.".to_owned();
            Cause::Other { number: 1047, text }.at(span)
        })?;
        Ok(found)
    }
}

/// Values that stand for all: one of each type, among constants and among others.
pub(crate) fn kinds(values: &[Scalar]) -> Vec<Scalar> {
    let mut kinds: Vec<Scalar> = Vec::new();
    for value in values {
        let is_known = kinds.iter().any(|it| {
            it.ty() == value.ty()
                && it.is_constant() == value.is_constant()
                && it.is_null_literal() == value.is_null_literal()
        });
        if !is_known {
            kinds.push(value.clone());
        }
    }
    kinds
}

/// What table hints ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    pub(crate) read: ReadHints,
    pub(crate) index: Option<String>,
}

fn cross(left: Relation, right: Relation) -> Relation {
    Relation::Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        conditions: Vec::new(),
    }
}

fn alias_columns(alias: Option<&TableAlias>) -> Vec<String> {
    let columns = alias.map(|it| it.columns.as_slice()).unwrap_or_default();
    columns.iter().map(|name| name.text.to_string()).collect()
}

fn kind_name(kind: &TableSourceKind) -> &'static str {
    match kind {
        TableSourceKind::Dml(_) => "a DML statement in FROM",
        TableSourceKind::OpenXml(_) => "OPENXML",
        TableSourceKind::OpenQuery { .. } => "OPENQUERY",
        TableSourceKind::OpenRowset(_) => "OPENROWSET",
        TableSourceKind::OpenDatasource { .. } => "OPENDATASOURCE",
        TableSourceKind::ChangeTable(_) => "CHANGETABLE",
        TableSourceKind::FullText(_) => "full-text tables",
        TableSourceKind::Predict(_) => "PREDICT",
        _ => "this table source",
    }
}

/// The decimal that has the digits of two; another type as it is.
fn widest_decimal(a: SqlType, b: SqlType) -> SqlType {
    let digits = |ty: SqlType| match ty {
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            Some((precision, scale))
        }
        _ => None,
    };
    let Some(((p1, s1), (p2, s2))) = digits(a).zip(digits(b)) else { return a };
    let scale = s1.max(s2);
    let whole = p1.saturating_sub(s1).max(p2.saturating_sub(s2));
    SqlType::Decimal { precision: (whole + scale).clamp(1, 38), scale }
}

/// STRING_SPLIT separates by one character.
fn verify_separator(arguments: &[Expr]) -> Result<()> {
    let Some(Expr { kind: ExprKind::Literal(Literal::String(separator)), span }) = arguments.get(1)
    else {
        return Ok(());
    };
    if separator.value.encode_utf16().count() == 1 {
        return Ok(());
    }
    let text = "Procedure expects parameter 'separator' of type 'nchar(1)/nvarchar(1)'.".to_owned();
    Err(Cause::Other { number: 214, text }.at(*span))
}
