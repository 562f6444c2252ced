//! Views, procedures, functions and triggers.

use super::{Body, Parsed, Parser};
use crate::span::Span;
use crate::syntax::{
    Clause, DataType, DefineModule, DefinitionVerb, ExternalName, Function, FunctionBody, Module,
    ModuleBody, ModuleOptions, Name, Parameter, ParameterType, Procedure, Query, StatementKind,
    SwitchTrigger, TableElement, Trigger, TriggerTarget, TriggerTiming, VariableName, View,
};
use crate::token::TokenKind;

/// Names of the classes in message 111.
const FIRST: [(&str, &str); 5] = [
    ("VIEW", "CREATE VIEW"),
    ("PROC", "CREATE/ALTER PROCEDURE"),
    ("PROCEDURE", "CREATE/ALTER PROCEDURE"),
    ("FUNCTION", "CREATE FUNCTION"),
    ("TRIGGER", "CREATE TRIGGER"),
];

impl Parser<'_> {
    /// The class of a module `ahead`, as message 111 has it.
    pub(super) fn module_class_at(&self, ahead: usize) -> Option<&'static str> {
        FIRST.iter().find(|(word, _)| self.is_word_at(ahead, word)).map(|(_, shown)| *shown)
    }

    /// CREATE, ALTER or CREATE OR ALTER of a module, whose class is `ahead`.
    pub(super) fn define_module(&mut self, ahead: usize) -> Parsed<StatementKind> {
        let shown = self.module_class_at(ahead).unwrap_or_default();
        self.verify_first(ahead, shown)?;
        let mut module = self.module(ahead)?;
        module.source = Span { start: 0, end: self.text.len() as u32, line: 1 };
        while self.accept_kind(TokenKind::Semicolon) {}
        self.expect_end()?;
        Ok(StatementKind::DefineModule(Box::new(module)))
    }

    /// A module wherever it stands: the views of CREATE SCHEMA are not the first of their batch.
    pub(super) fn module(&mut self, ahead: usize) -> Parsed<DefineModule> {
        let start = self.span();
        let verb = match (self.is("ALTER"), ahead) {
            (true, _) => DefinitionVerb::Alter,
            (false, 1) => DefinitionVerb::Create,
            (false, _) => DefinitionVerb::CreateOrAlter,
        };
        self.at += ahead;
        let module = if self.accept("VIEW") {
            Module::View(self.view()?)
        } else if self.accept("FUNCTION") {
            Module::Function(self.function()?)
        } else if self.accept("TRIGGER") {
            Module::Trigger(self.trigger()?)
        } else {
            self.at += 1;
            Module::Procedure(self.procedure()?)
        };
        let source = self.since(start);
        Ok(DefineModule { verb, module, source })
    }

    fn view(&mut self) -> Parsed<View> {
        let name = self.object_name()?;
        let columns = self.optional_list(Parser::name)?;
        let options = self.module_options()?;
        self.expect("AS")?;
        let (query, query_source) = self.with_source(Parser::query_with_tables)?;
        let with_check_option = self.accept_all(&["WITH", "CHECK", "OPTION"]);
        Ok(View {
            name,
            columns,
            options,
            query: Box::new(query),
            query_source,
            with_check_option,
        })
    }

    /// `[ WITH option , … ]`
    fn module_options(&mut self) -> Parsed<ModuleOptions> {
        let mut options = ModuleOptions::default();
        if !self.accept("WITH") {
            return Ok(options);
        }
        loop {
            self.module_option(&mut options)?;
            if !self.accept_kind(TokenKind::Comma) {
                return Ok(options);
            }
        }
    }

    fn module_option(&mut self, options: &mut ModuleOptions) -> Parsed<()> {
        if self.accept("ENCRYPTION") {
            options.has_encryption = true;
        } else if self.accept("SCHEMABINDING") {
            options.has_schemabinding = true;
        } else if self.accept("RECOMPILE") {
            options.has_recompile = true;
        } else if self.accept("VIEW_METADATA") {
            options.has_view_metadata = true;
        } else if self.accept("NATIVE_COMPILATION") {
            options.is_native = true;
        } else if self.choose(&[("EXEC", ()), ("EXECUTE", ())]).is_some() {
            self.expect("AS")?;
            options.execute_as = Some(self.execute_context()?);
        } else if self.accept_all(&["RETURNS", "NULL", "ON", "NULL", "INPUT"]) {
            options.returns_null_on_null = Some(true);
        } else if self.accept_all(&["CALLED", "ON", "NULL", "INPUT"]) {
            options.returns_null_on_null = Some(false);
        } else {
            self.expect("INLINE")?;
            self.expect_kind(TokenKind::Equal)?;
            options.inline = Some(self.on_or_off()?);
        }
        Ok(())
    }

    fn procedure(&mut self) -> Parsed<Procedure> {
        let name = self.object_name()?;
        let has_number = self.accept_kind(TokenKind::Semicolon);
        let number = self.when(has_number, Parser::integer)?;
        let parameters = self.procedure_parameters()?;
        let options = self.module_options()?;
        let is_for_replication = self.accept_all(&["FOR", "REPLICATION"]);
        self.expect("AS")?;
        let body = self.module_body(Body::Procedure)?;
        Ok(Procedure { name, number, parameters, options, is_for_replication, body })
    }

    /// Parameters with or without parentheses around them.
    fn procedure_parameters(&mut self) -> Parsed<Vec<Parameter>> {
        if self.is_kind(TokenKind::LeftParen) {
            return self.parenthesised_list(Parser::parameter);
        }
        if self.is_kind(TokenKind::Variable) {
            return self.list(Parser::parameter);
        }
        Ok(Vec::new())
    }

    fn parameter(&mut self) -> Parsed<Parameter> {
        let start = self.span();
        let name = self.variable()?;
        self.accept("AS");
        let data_type = if self.accept("CURSOR") {
            self.expect("VARYING")?;
            ParameterType::Cursor
        } else {
            ParameterType::Type(self.data_type()?)
        };
        let is_nullable = self.nullability()?;
        let has_default = self.accept_kind(TokenKind::Equal);
        let default = self.when(has_default, Parser::parameter_default)?;
        let mut parameter = Parameter {
            name,
            data_type,
            is_nullable,
            default,
            is_output: false,
            is_readonly: false,
            span: start,
        };
        parameter.is_output = self.choose(&[("OUTPUT", ()), ("OUT", ())]).is_some();
        parameter.is_readonly = self.accept("READONLY");
        parameter.span = self.since(start);
        Ok(parameter)
    }

    /// A literal, or a word that stands for a string.
    fn parameter_default(&mut self) -> Parsed<crate::syntax::Expr> {
        if self.is_name() { self.primary() } else { self.simple_value() }
    }

    /// Statements up to the end of the batch, or an external name.
    fn module_body(&mut self, body: Body) -> Parsed<ModuleBody> {
        if self.accept("EXTERNAL") {
            return self.external_name().map(ModuleBody::External);
        }
        let statements = self.in_body(body, |parser| {
            let statements = parser.nested(Parser::statements_until_end)?;
            // A procedure may do nothing at all.
            let ends_here = parser.is_kind(crate::token::TokenKind::End);
            if statements.is_empty() && !(body == Body::Procedure && ends_here) {
                return Err(parser.unexpected());
            }
            Ok(statements)
        })?;
        Ok(ModuleBody::Statements(statements))
    }

    /// Runs `parse` as the body of a module.
    fn in_body<T>(&mut self, body: Body, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let outside = std::mem::replace(&mut self.body, body);
        let parsed = parse(self);
        self.body = outside;
        parsed
    }

    /// `NAME assembly [ . class [ . method ] ]`
    pub(super) fn external_name(&mut self) -> Parsed<ExternalName> {
        self.expect("NAME")?;
        let assembly = self.name()?;
        let has_class = self.accept_kind(TokenKind::Dot);
        let class = self.when(has_class, Parser::name)?;
        let has_method = has_class && self.accept_kind(TokenKind::Dot);
        let method = self.when(has_method, Parser::name)?;
        Ok(ExternalName { assembly, class, method })
    }

    fn function(&mut self) -> Parsed<Function> {
        let name = self.object_name()?;
        self.expect_kind(TokenKind::LeftParen)?;
        let has_parameters = !self.is_kind(TokenKind::RightParen);
        let parameters = if has_parameters { self.list(Parser::parameter)? } else { Vec::new() };
        self.expect_kind(TokenKind::RightParen)?;
        self.expect("RETURNS")?;
        let mut options = ModuleOptions::default();
        let body = if self.is_kind(TokenKind::Variable) {
            self.table_function(&mut options)?
        } else if self.accept("TABLE") {
            self.inline_function(&mut options)?
        } else {
            self.scalar_function(&mut options)?
        };
        Ok(Function { name, parameters, options, body })
    }

    fn scalar_function(&mut self, options: &mut ModuleOptions) -> Parsed<FunctionBody> {
        let returns: DataType = self.data_type()?;
        *options = self.module_options()?;
        self.accept("AS");
        if self.accept("EXTERNAL") {
            return Ok(FunctionBody::ExternalScalar { returns, name: self.external_name()? });
        }
        let statements = self.function_block()?;
        Ok(FunctionBody::Scalar { returns, statements })
    }

    /// `BEGIN … END`, or BEGIN ATOMIC.
    fn function_block(&mut self) -> Parsed<Vec<crate::syntax::Statement>> {
        if !self.is("BEGIN") {
            return Err(self.unexpected());
        }
        self.in_body(Body::Function, |parser| {
            let block = parser.nested(Parser::statement)?;
            parser.accept_kind(TokenKind::Semicolon);
            match block.kind {
                StatementKind::Block(statements) => Ok(statements),
                _ => Ok(vec![block]),
            }
        })
    }

    /// `@name TABLE ( … ) [ WITH … ] [ AS ] BEGIN … END`
    fn table_function(&mut self, options: &mut ModuleOptions) -> Parsed<FunctionBody> {
        let variable: VariableName = self.variable()?;
        self.expect("TABLE")?;
        let elements = self.table_elements()?;
        *options = self.module_options()?;
        self.accept("AS");
        let statements = self.function_block()?;
        Ok(FunctionBody::Table { variable, elements, statements })
    }

    /// `TABLE [ ( … ) ] [ WITH … ] [ ORDER ( … ) ] [ AS ] { RETURN query | EXTERNAL NAME … }`
    fn inline_function(&mut self, options: &mut ModuleOptions) -> Parsed<FunctionBody> {
        let is_external = self.is_kind(TokenKind::LeftParen);
        let elements: Vec<TableElement> =
            if is_external { self.table_elements()? } else { Vec::new() };
        *options = self.module_options()?;
        if is_external {
            let has_order = self.is("ORDER");
            let order: Option<Clause> =
                self.when(has_order, |parser| parser.clause("clr_order"))?;
            self.accept("AS");
            self.expect("EXTERNAL")?;
            let name = self.external_name()?;
            return Ok(FunctionBody::ExternalTable { elements, order, name });
        }
        self.accept("AS");
        self.expect("RETURN")?;
        let (query, query_source) = self.with_source(Parser::returned_query)?;
        Ok(FunctionBody::Inline { query: Box::new(query), query_source })
    }

    /// A query in parentheses or not; inside them it may have common tables.
    fn returned_query(&mut self) -> Parsed<Query> {
        let has_tables = self.is_kind(TokenKind::LeftParen) && self.is_word_at(1, "WITH");
        if has_tables {
            return self.parenthesised(|parser| parser.nested(Parser::query_with_tables));
        }
        self.query_with_tables()
    }

    fn trigger(&mut self) -> Parsed<Trigger> {
        let name = self.object_name()?;
        self.expect("ON")?;
        let target = self.trigger_target()?;
        let options = self.module_options()?;
        let timing = if self.accept_all(&["INSTEAD", "OF"]) {
            TriggerTiming::InsteadOf
        } else {
            self.expect_choice(&[("FOR", ()), ("AFTER", ())])?;
            TriggerTiming::After
        };
        let events = self.list(Parser::trigger_event)?;
        let with_append = self.accept_all(&["WITH", "APPEND"]);
        let is_not_for_replication = self.accept_all(&["NOT", "FOR", "REPLICATION"]);
        self.expect("AS")?;
        let body = self.module_body(Body::Trigger)?;
        Ok(Trigger {
            name,
            target,
            options,
            timing,
            events,
            with_append,
            is_not_for_replication,
            body,
        })
    }

    /// `table | DATABASE | ALL SERVER`
    pub(super) fn trigger_target(&mut self) -> Parsed<TriggerTarget> {
        if self.accept("DATABASE") {
            return Ok(TriggerTarget::Database);
        }
        if self.accept_all(&["ALL", "SERVER"]) {
            return Ok(TriggerTarget::AllServer);
        }
        self.object_name().map(TriggerTarget::Object)
    }

    /// `INSERT`, `UPDATE`, `DELETE`, or a DDL event or group.
    fn trigger_event(&mut self) -> Parsed<Name> {
        let is_dml = self.is_any(&["INSERT", "UPDATE", "DELETE"]);
        let mut name = if is_dml { self.any_word()? } else { self.name()? };
        name.text = name.text.to_ascii_uppercase().into();
        Ok(name)
    }

    /// `{ ENABLE | DISABLE } TRIGGER { name , … | ALL } ON target`
    pub(super) fn switch_trigger(&mut self) -> Parsed<StatementKind> {
        let is_enabled = self.expect_choice(&[("ENABLE", true), ("DISABLE", false)])?;
        self.expect("TRIGGER")?;
        let is_all = self.accept("ALL");
        let names = if is_all { Vec::new() } else { self.list(Parser::object_name)? };
        self.expect("ON")?;
        let target = self.trigger_target()?;
        let switch = SwitchTrigger { is_enabled, names, target };
        Ok(StatementKind::SwitchTrigger(Box::new(switch)))
    }
}
