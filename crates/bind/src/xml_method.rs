//! Methods of xml in queries: `nodes()` in FROM, and the methods of its rows.
//!
//! ```text
//! FROM t CROSS APPLY t.doc.nodes('/a/b') AS n(c)    rows: numbers of nodes
//! SELECT n.c.value('@id', 'int')                    the method, given t.doc and the number
//! ```
//!
//! Invariants
//! - The column of `nodes` is used by methods alone (493): its value is a number, which means
//!   nothing without its document.
//! - A document is a value of the statement; it is computed once where it is no column or variable.

use extentdb_expr::{Parameter, Scalar, XML_OF_NODE, XmlNodes, xml_nodes};
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Arguments, Expr, ExprKind, FunctionCall, Literal, MethodCall, StringLiteral, TableAlias,
    XmlNamespace,
};
use extentdb_types::SqlType;

use crate::binder::Binder;
use crate::error::{Cause, Result};
use crate::from::Named;
use crate::logical::{Relation, RowsSource, TableFunction};
use crate::scalar::{Clause, Place, parameter};
use crate::scope::{NamedColumn, Source};
use crate::stage::Stage;

/// Declarations of namespaces as the beginning of a query.
pub(crate) fn prolog(namespaces: &[XmlNamespace]) -> String {
    let declared = namespaces.iter().map(|own| {
        let uri = own.uri.value.replace('&', "&amp;").replace('"', "&quot;");
        match &own.prefix {
            Some(prefix) => format!("declare namespace {}=\"{uri}\";", prefix.text),
            None => format!("declare default element namespace \"{uri}\";"),
        }
    });
    declared.collect()
}

impl Binder<'_> {
    /// The call with what WITH XMLNAMESPACES declares before its query.
    fn declared(&self, call: &MethodCall) -> MethodCall {
        let mut call = call.clone();
        let first = call.arguments.as_mut().and_then(|arguments| arguments.first_mut());
        if let Some(Expr { kind: ExprKind::Literal(Literal::String(own)), .. }) = first
            && !self.namespaces.is_empty()
        {
            let prolog = prolog(&self.namespaces);
            if !own.value.starts_with(&prolog) {
                let value = (prolog + &own.value).into();
                *own = StringLiteral { value, is_national: true };
            }
        }
        call
    }

    /// The document and the number of the node that an operand is.
    fn node_of(&self, operand: &Expr) -> Result<Option<(Parameter, Parameter)>> {
        let ExprKind::Column(name) = &operand.kind else { return Ok(None) };
        let found = self.column(name, operand.span)?;
        Ok(found.named.node.map(|document| (document, parameter(&found.named.column))))
    }

    /// A method that `expr` evaluates: that of a node has the document as its operand, and the
    /// number of the node as its last argument.
    pub(crate) fn method_expr(&mut self, call: &MethodCall) -> Result<Expr> {
        let mut call = self.declared(call);
        let span = call.operand.span;
        if let Some((document, node)) = self.node_of(&call.operand)? {
            let shown = call.operand.to_string().replace(['[', ']'], "");
            call.operand = self.hidden(document, &shown, span);
            let node = self.hidden(node, "", span);
            call.arguments.get_or_insert_with(Vec::new).push(node);
            call.name.text = format!("{XML_OF_NODE}{}", call.name.text).into();
        }
        Ok(Expr { kind: ExprKind::Method(Box::new(call)), span })
    }

    /// A variable that stands for a value of the query, as `name` in messages.
    fn hidden(&mut self, value: Parameter, name: &str, span: Span) -> Expr {
        self.hidden.push(value);
        let place = self.hidden.len() - 1;
        let name = format!("{XML_OF_NODE}{place}{XML_OF_NODE}{name}").into();
        Expr { kind: ExprKind::Variable(name), span }
    }

    /// A function of `*` as one of all columns of the query.
    pub(crate) fn of_all_columns(&mut self, call: &FunctionCall, span: Span) -> Result<Expr> {
        let sources = self.scopes.last().map(|scope| scope.sources.clone()).unwrap_or_default();
        if sources.is_empty() {
            return Err(Cause::NoTable.at(span));
        }
        let mut values = Vec::new();
        for own in sources.iter().flat_map(|source| &source.columns) {
            crate::access::verify_readable(own, span)?;
            values.push(self.hidden(parameter(&own.column), "", span));
        }
        let call = FunctionCall { arguments: Arguments::List(values), ..call.clone() };
        Ok(Expr { kind: ExprKind::Function(Box::new(call)), span })
    }

    /// The value that a hidden variable stands for.
    pub(crate) fn hidden_value(&self, name: &str) -> Option<Parameter> {
        let (place, _) = name.strip_prefix(XML_OF_NODE)?.split_once(XML_OF_NODE)?;
        self.hidden.get(place.parse::<usize>().ok()?).copied()
    }

    /// `value.nodes(…)` in FROM.
    pub(crate) fn nodes_source(
        &mut self,
        call: &MethodCall,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Named> {
        if &*call.name.text != "nodes" {
            let text = format!("The table-valued method \"{}\" is unknown.", call.name.text);
            return Err(Cause::Other { number: 317, text }.at(span));
        }
        let call = self.declared(call);
        let mut stage = Stage::default();
        let (document, node) = match self.node_of(&call.operand)? {
            Some((document, node)) => (document, Scalar::parameter(node)),
            None => (self.document(&call.operand, &mut stage)?, Scalar::integer(-1)),
        };
        let failed = |cause| Cause::Expression(cause).at(span);
        let (query, outside) = xml_nodes(&call, span).map_err(failed)?;
        let mut types = Vec::new();
        let mut arguments = vec![Scalar::parameter(document), node];
        let text = SqlType::NVarChar { len: None, collation: self.environment.database_collation };
        for value in &outside {
            let place = Place { clause: Clause::Other, stage: &mut stage, grouping: None };
            let value = self.value(value, place)?;
            types.push(value.ty());
            arguments.push(value.assigned(text, &self.environment).map_err(failed)?);
        }
        let column = self.new_column(SqlType::Int, false);
        let nodes = XmlNodes::new(query, types.into_iter());
        let source = RowsSource::XmlNodes { arguments, nodes };
        let made = TableFunction { source, columns: vec![column.clone()] };
        let relation = stage.before(Relation::Function(Box::new(made)));
        let named = NamedColumn { node: Some(document), ..NamedColumn::new("nodes", column) };
        let given = alias.map_or(0, |alias| alias.columns.len());
        if given != 1 {
            let name = alias.map(|alias| alias.name.text.to_string()).unwrap_or_default();
            return Err(match given {
                0 => Cause::UnnamedColumn { position: 1, name },
                _ => Cause::FewerColumns { name },
            }
            .at(span));
        }
        self.aliased(relation, Source::derived("nodes", vec![named]), alias, span)
    }

    /// A document as a value of the statement.
    fn document(&mut self, operand: &Expr, stage: &mut Stage) -> Result<Parameter> {
        let place = Place { clause: Clause::Other, stage, grouping: None };
        let value = self.value(operand, place)?;
        if value.ty() != SqlType::Xml {
            let text = format!("Cannot call methods on {}.", value.ty().base_name());
            return Err(Cause::Other { number: 258, text }.at(operand.span));
        }
        if let Some(parameter) = value.as_parameter() {
            return Ok(parameter);
        }
        let place = self.staged(&value, stage);
        Ok(Parameter { place, ty: SqlType::Xml, is_nullable: true })
    }
}
