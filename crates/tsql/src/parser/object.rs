//! CREATE, ALTER and DROP: which class, and the small ones.

use super::{Parsed, Parser};
use crate::syntax::{
    Cache, CreateDefault, CreateRule, CreateSchema, CreateSynonym, CreateType, DropClass,
    DropObjects, Limit, SchemaElement, Sequence, StatementKind, TriggerTarget, TypeDefinition,
};
use crate::token::TokenKind;

const DROP_CLASSES: [(&str, DropClass); 15] = [
    ("TABLE", DropClass::Table),
    ("VIEW", DropClass::View),
    ("PROC", DropClass::Procedure),
    ("PROCEDURE", DropClass::Procedure),
    ("FUNCTION", DropClass::Function),
    ("TRIGGER", DropClass::Trigger),
    ("TYPE", DropClass::Type),
    ("SCHEMA", DropClass::Schema),
    ("SEQUENCE", DropClass::Sequence),
    ("SYNONYM", DropClass::Synonym),
    ("STATISTICS", DropClass::Statistics),
    ("RULE", DropClass::Rule),
    ("DEFAULT", DropClass::Default),
    ("AGGREGATE", DropClass::Aggregate),
    ("DATABASE", DropClass::Database),
];

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Parsed<StatementKind> {
        let is_or_alter = self.is_word_at(1, "OR") && self.is_word_at(2, "ALTER");
        let class = if is_or_alter { 3 } else { 1 };
        if self.module_class_at(class).is_some() {
            return self.define_module(class);
        }
        if self.is_admin() {
            return self.admin_statement();
        }
        if self.is_create_index() {
            return self.create_index();
        }
        match self.token(1).span.of(self.text).to_ascii_uppercase().as_str() {
            "TABLE" => self.create_table_statement(),
            "STATISTICS" => self.create_statistics(),
            "TYPE" => self.create_type(),
            "SCHEMA" => self.create_schema(),
            "SEQUENCE" => self.sequence(),
            "SYNONYM" => self.create_synonym(),
            "RULE" => self.create_rule(),
            "DEFAULT" => self.create_default(),
            _ => Err(self.unknown_class()),
        }
    }

    pub(super) fn alter(&mut self) -> Parsed<StatementKind> {
        if self.module_class_at(1).is_some() {
            return self.define_module(1);
        }
        if self.is_admin() {
            return self.admin_statement();
        }
        match self.token(1).span.of(self.text).to_ascii_uppercase().as_str() {
            "TABLE" => self.alter_table(),
            "INDEX" => self.alter_index(),
            "SEQUENCE" => self.sequence(),
            "AUTHORIZATION" => self.alter_authorization(),
            _ => Err(self.unknown_class()),
        }
    }

    pub(super) fn drop_statement(&mut self) -> Parsed<StatementKind> {
        if self.is_admin() {
            return self.admin_statement();
        }
        if self.is_word_at(1, "INDEX") {
            return self.drop_index();
        }
        let known = DROP_CLASSES.iter().find(|(word, _)| self.is_word_at(1, word));
        let Some((_, class)) = known else { return Err(self.unknown_class()) };
        self.at += 2;
        let if_exists = self.if_exists();
        let names = self.list(Parser::object_name)?;
        let behaviour = self.choose_word(&["CASCADE", "RESTRICT"]);
        let has_scope = *class == DropClass::Trigger && self.accept("ON");
        let scope = self.when(has_scope, |parser| match parser.trigger_target()? {
            TriggerTarget::Object(_) => {
                parser.at -= 1;
                Err(parser.unexpected())
            }
            scope => Ok(scope),
        })?;
        let drop = DropObjects { class: *class, if_exists, names, behaviour, scope };
        Ok(StatementKind::DropObjects(Box::new(drop)))
    }

    fn create_type(&mut self) -> Parsed<StatementKind> {
        self.at += 2;
        let name = self.object_name()?;
        let definition = if self.accept("FROM") {
            let base = self.data_type()?;
            TypeDefinition::Alias { base, is_nullable: self.nullability()? }
        } else if self.accept("EXTERNAL") {
            TypeDefinition::External(self.external_name()?)
        } else {
            self.expect_all(&["AS", "TABLE"])?;
            let elements = self.table_elements()?;
            let options = self.with_clauses("table_option")?;
            TypeDefinition::Table { elements, options }
        };
        Ok(StatementKind::CreateType(Box::new(CreateType { name, definition })))
    }

    fn create_schema(&mut self) -> Parsed<StatementKind> {
        self.verify_first(1, "CREATE SCHEMA")?;
        self.at += 2;
        let has_name = !self.is("AUTHORIZATION");
        let name = self.when(has_name, Parser::name)?;
        let has_owner = self.accept("AUTHORIZATION");
        let owner = self.when(has_owner, Parser::name)?;
        let mut elements = Vec::new();
        while let Some(element) = self.schema_element()? {
            elements.push(element);
        }
        Ok(StatementKind::CreateSchema(Box::new(CreateSchema { name, owner, elements })))
    }

    fn schema_element(&mut self) -> Parsed<Option<SchemaElement>> {
        if self.are(&["CREATE", "TABLE"]) {
            return self.create_table().map(|it| Some(SchemaElement::Table(Box::new(it))));
        }
        if self.are(&["CREATE", "VIEW"]) {
            return self.module(1).map(|it| Some(SchemaElement::View(Box::new(it))));
        }
        if self.is_any(&["GRANT", "DENY", "REVOKE"]) {
            let permission = self.permission_clause()?;
            return Ok(Some(SchemaElement::Permission(Box::new(permission))));
        }
        Ok(None)
    }

    fn sequence(&mut self) -> Parsed<StatementKind> {
        let is_alter = self.is("ALTER");
        self.at += 2;
        let mut sequence = Sequence {
            is_alter,
            name: self.object_name()?,
            data_type: None,
            start: None,
            restart: None,
            increment: None,
            minimum: None,
            maximum: None,
            is_cycle: None,
            cache: None,
        };
        while self.sequence_option(&mut sequence)? {}
        Ok(StatementKind::Sequence(Box::new(sequence)))
    }

    /// Takes one option; false when there is none.
    fn sequence_option(&mut self, sequence: &mut Sequence) -> Parsed<bool> {
        if !sequence.is_alter && self.accept("AS") {
            sequence.data_type = Some(self.data_type()?);
        } else if !sequence.is_alter && self.accept_all(&["START", "WITH"]) {
            sequence.start = Some(self.simple_value()?);
        } else if sequence.is_alter && self.accept("RESTART") {
            let has_value = self.accept("WITH");
            sequence.restart = Some(self.when(has_value, Parser::simple_value)?);
        } else if self.accept_all(&["INCREMENT", "BY"]) {
            sequence.increment = Some(self.simple_value()?);
        } else if self.accept("MINVALUE") {
            sequence.minimum = Some(Limit::Value(self.simple_value()?));
        } else if self.accept_all(&["NO", "MINVALUE"]) {
            sequence.minimum = Some(Limit::None);
        } else if self.accept("MAXVALUE") {
            sequence.maximum = Some(Limit::Value(self.simple_value()?));
        } else if self.accept_all(&["NO", "MAXVALUE"]) {
            sequence.maximum = Some(Limit::None);
        } else if self.accept("CYCLE") {
            sequence.is_cycle = Some(true);
        } else if self.accept_all(&["NO", "CYCLE"]) {
            sequence.is_cycle = Some(false);
        } else if self.accept_all(&["NO", "CACHE"]) {
            sequence.cache = Some(Cache::None);
        } else if self.accept("CACHE") {
            let has_size = self.is_kind(TokenKind::Integer);
            let size = self.when(has_size, Parser::simple_value)?;
            sequence.cache = Some(size.map_or(Cache::Default, Cache::Size));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn create_synonym(&mut self) -> Parsed<StatementKind> {
        self.at += 2;
        let name = self.object_name()?;
        self.expect("FOR")?;
        let object = self.object_name()?;
        Ok(StatementKind::CreateSynonym(Box::new(CreateSynonym { name, object })))
    }

    fn create_rule(&mut self) -> Parsed<StatementKind> {
        self.verify_first(1, "CREATE RULE")?;
        self.at += 2;
        let name = self.object_name()?;
        self.expect("AS")?;
        let (condition, source) = self.with_source(Parser::condition)?;
        Ok(StatementKind::CreateRule(Box::new(CreateRule { name, condition, source })))
    }

    fn create_default(&mut self) -> Parsed<StatementKind> {
        self.verify_first(1, "CREATE DEFAULT")?;
        self.at += 2;
        let name = self.object_name()?;
        self.expect("AS")?;
        let (value, source) = self.with_source(Parser::expression)?;
        Ok(StatementKind::CreateDefault(Box::new(CreateDefault { name, value, source })))
    }
}
