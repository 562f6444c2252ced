//! Messages of statements that define objects: tables, indexes, constraints, modules, types.
//!
//! One variant for each message, in the order of their numbers; the table behind the enum has
//! number, severity and what the message ends.

mod facts;

/// Why a definition is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are the arguments of the texts")]
pub enum DefinitionCause {
    /// 128
    #[error(
        "The name \"{name}\" is not permitted in this context. Valid expressions are \
         constants, constant expressions, and (in some contexts) variables. Column names are \
         not permitted."
    )]
    ColumnNameInDefault { name: String },
    /// 131
    #[error(
        "The size ({size}) given to the {kind} '{name}' exceeds the maximum allowed for any \
         data type (8000)."
    )]
    SizeBeyondAll { size: u32, kind: &'static str, name: String },
    /// 208
    #[error("Invalid object name '{name}'.")]
    UnknownObject { name: String },
    /// 218
    #[error(
        "Could not find the type '{name}'. Either it does not exist or you do not have the \
         necessary permission."
    )]
    TypeNotFound { name: String },
    /// 219
    #[error("The type '{name}' already exists, or you do not have permission to create it.")]
    TypeExists { name: String },
    /// 448
    #[error("Invalid collation '{name}'.")]
    UnknownCollation { name: String },
    /// 452
    #[error("COLLATE clause cannot be used on user-defined data types.")]
    CollationOfType,
    /// 515
    #[error(
        "Cannot insert the value NULL into column '{column}', table '{table}'; column does not allow nulls. UPDATE fails."
    )]
    NullInRows { column: String, table: String },
    /// 547
    #[error(
        "The {statement} statement conflicted with the {kind} constraint \"{name}\". The \
         conflict occurred in database \"{database}\", table \"{table}\"{column}."
    )]
    DefinitionConflict {
        statement: &'static str,
        kind: &'static str,
        name: String,
        database: String,
        table: String,
        column: String,
    },
    /// 1088
    #[error(
        "Cannot find the object \"{name}\" because it does not exist or you do not have \
         permissions."
    )]
    NoTableOfIndex { name: String },
    /// 1505
    #[error(
        "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for \
         the object name '{table}' and the index name '{index}'. The duplicate key value is \
         ({key})."
    )]
    DuplicateInBuild { table: String, index: String, key: String },
    /// 1701
    #[error(
        "Creating or altering table '{table}' failed because the minimum row size would be {bytes}, including 7 bytes of internal overhead. This exceeds the maximum allowable table row size of 8060 bytes."
    )]
    RowTooWide { table: String, bytes: usize },
    /// 1702
    #[error(
        "CREATE TABLE failed because column '{column}' in table '{table}' exceeds the maximum of 1024 columns."
    )]
    TooManyColumns { column: String, table: String },
    /// 1750
    #[error("Could not create constraint or index. See previous errors.")]
    NotCreated,
    /// 1753
    #[error(
        "Column '{to}' is not the same length or scale as referencing column '{from}' in \
         foreign key '{key}'. Columns participating in a foreign key relationship must be \
         defined with the same length and scale."
    )]
    LengthInKey { to: String, from: String, key: String },
    /// 1754
    #[error(
        "Defaults cannot be created on columns with an IDENTITY attribute. Table '{table}', \
         column '{column}'."
    )]
    DefaultOfIdentity { table: String, column: String },
    /// 1755
    #[error(
        "Defaults cannot be created on columns of data type timestamp. Table '{table}', \
         column '{column}'."
    )]
    DefaultOfTimestamp { table: String, column: String },
    /// 1757
    #[error(
        "Column '{to}' is not of same collation as referencing column '{from}' in foreign \
         key '{key}'."
    )]
    CollationInKey { to: String, from: String, key: String },
    /// 1759
    #[error(
        "Computed column '{column}' in table '{table}' is not allowed to be used in another \
         computed-column definition."
    )]
    ComputedOfComputed { column: String, table: String },
    /// 1761
    #[error(
        "Cannot create the foreign key \"{key}\" with the SET NULL referential action, \
         because one or more referencing columns are not nullable."
    )]
    SetNullOfNotNull { key: String },
    /// 1762
    #[error(
        "Cannot create the foreign key \"{key}\" with the SET DEFAULT referential action, \
         because one or more referencing not-nullable columns lack a default constraint."
    )]
    SetDefaultWithoutDefault { key: String },
    /// 1763
    #[error("Cross-database foreign key references are not supported. Foreign key '{key}'.")]
    CrossDatabaseKey { key: String },
    /// 1764
    #[error(
        "Computed Column '{column}' in table '{table}' is invalid for use in '{what}' \
         because it is not persisted."
    )]
    NotPersistedInKey { column: String, table: String, what: &'static str },
    /// 1766
    #[error("Foreign key references to temporary tables are not supported. Foreign key '{key}'.")]
    TemporaryInKey { key: String },
    /// 1767
    #[error("Foreign key '{key}' references invalid table '{table}'.")]
    NoReferencedTable { key: String, table: String },
    /// 1768
    #[error("Foreign key '{key}' references object '{table}' which is not a user table.")]
    ReferencedNotTable { key: String, table: String },
    /// 1769
    #[error(
        "Foreign key '{key}' references invalid column '{column}' in referencing table \
         '{table}'."
    )]
    NoReferencingColumn { key: String, column: String, table: String },
    /// 1770
    #[error(
        "Foreign key '{key}' references invalid column '{column}' in referenced table \
         '{table}'."
    )]
    NoReferencedColumn { key: String, column: String, table: String },
    /// 1773
    #[error(
        "Foreign key '{key}' has implicit reference to object '{table}' which does not have \
         a primary key defined on it."
    )]
    NoPrimaryKeyReferenced { key: String, table: String },
    /// 1774
    #[error(
        "The number of columns in the referencing column list for foreign key '{key}' does \
         not match those of the primary key in the referenced table '{table}'."
    )]
    KeyColumnCount { key: String, table: String },
    /// 1776
    #[error(
        "There are no primary or candidate keys in the referenced table '{table}' that match \
         the referencing column list in the foreign key '{key}'."
    )]
    NoCandidateKey { table: String, key: String },
    /// 1778
    #[error(
        "Column '{to}' is not the same data type as referencing column '{from}' in foreign \
         key '{key}'."
    )]
    TypeInKey { to: String, from: String, key: String },
    /// 1779
    #[error("Table '{table}' already has a primary key defined on it.")]
    PrimaryKeyExists { table: String },
    /// 1781
    #[error("Column already has a DEFAULT bound to it.")]
    DefaultExists,
    /// 1784
    #[error(
        "Cannot create the foreign key '{key}' because the referenced column '{column}' is a non-persisted computed column."
    )]
    ComputedReferenced { key: String, column: String },
    /// 1785
    #[error(
        "Introducing FOREIGN KEY constraint '{key}' on table '{table}' may cause cycles or \
         multiple cascade paths. Specify ON DELETE NO ACTION or ON UPDATE NO ACTION, or \
         modify other FOREIGN KEY constraints."
    )]
    CascadePaths { key: String, table: String },
    /// 1902
    #[error(
        "Cannot create more than one clustered index on table '{table}'. Drop the existing \
         clustered index '{index}' before creating another."
    )]
    SecondClustered { table: String, index: String },
    /// 1904
    #[error(
        "The index '{index}' on table '{table}' has {count} columns in the key list. The \
         maximum limit for index key column list is 16."
    )]
    IndexColumnCount { index: String, table: String, count: usize },
    /// 1907
    #[error(
        "Cannot recreate index '{index}'. The new index definition does not match the \
         constraint being enforced by the existing index."
    )]
    OtherThanConstraint { index: String },
    /// 1909
    #[error(
        "Cannot use duplicate column names in {kind}. Column name '{column}' listed more \
         than once."
    )]
    ColumnTwice { kind: &'static str, column: String },
    /// 1911
    #[error("Column name '{column}' does not exist in the target table or view.")]
    NoColumnInIndex { column: String },
    /// 1913
    #[error(
        "The operation failed because an index or statistics with name '{name}' already \
         exists on table '{table}'."
    )]
    IndexExists { name: String, table: String },
    /// 1919
    #[error(
        "Column '{column}' in table '{table}' is of a type that is invalid for use as a key \
         column in an index."
    )]
    TypeInIndex { column: String, table: String },
    /// 1921
    #[error("Invalid filegroup '{name}' specified.")]
    NoFilegroup { name: String },
    /// 1927
    #[error("There are already statistics on table '{table}' named '{name}'.")]
    StatisticsExist { table: String, name: String },
    /// 1934
    #[error(
        "{statement} failed because the following SET options have incorrect settings: '{options}'. Verify that SET options are correct for use with indexed views and/or indexes on computed columns and/or filtered indexes and/or query notifications and/or XML data type methods and/or spatial index operations."
    )]
    SetOptions { statement: &'static str, options: String },
    /// 1944
    #[error(
        "Index '{index}' was not created. This index has a key length of at least {bytes} \
         bytes. The maximum permissible key length is 900 bytes."
    )]
    KeyTooLong { index: String, bytes: usize },
    /// 2010
    #[error("Cannot perform {action} on '{name}' because it is an incompatible object type.")]
    IncompatibleObject { action: &'static str, name: String },
    /// 2103
    #[error(
        "Cannot {action} trigger '{name}' because its schema is different from the schema of the target table or view."
    )]
    TriggerSchema { action: &'static str, name: String },
    /// 2705
    #[error(
        "Column names in each table must be unique. Column name '{column}' in table \
         '{table}' is specified more than once."
    )]
    ColumnTwiceInTable { column: String, table: String },
    /// 2706
    #[error("Table '{name}' does not exist.")]
    NoTableOfStatistics { name: String },
    /// 2714
    #[error("There is already an object named '{name}' in the database.")]
    ObjectExists { name: String },
    /// 2716
    #[error(
        "Column, parameter, or variable #{position}: Cannot specify a column width on data \
         type {ty}."
    )]
    WidthOfType { position: usize, ty: String },
    /// 2717
    #[error("The size ({size}) given to the {kind} '{name}' exceeds the maximum allowed ({most}).")]
    SizeBeyond { size: u32, kind: &'static str, name: String, most: u32 },
    /// 2727
    #[error("Cannot find index '{name}'.")]
    NoIndexNamed { name: String },
    /// 2729
    #[error(
        "Column '{column}' in table '{table}' cannot be used in an index or statistics or as \
         a partition key because it is non-deterministic."
    )]
    NondeterministicInIndex { column: String, table: String },
    /// 2738
    #[error(
        "A table can only have one timestamp column. Because table '{table}' already has \
         one, the column '{column}' cannot be added."
    )]
    SecondTimestamp { table: String, column: String },
    /// 2744
    #[error(
        "Multiple identity columns specified for table '{table}'. Only one identity column \
         per table is allowed."
    )]
    SecondIdentity { table: String },
    /// 2749
    #[error(
        "Identity column '{column}' must be of data type int, bigint, smallint, tinyint, or \
         decimal or numeric with a scale of 0, unencrypted, and constrained to be \
         nonnullable."
    )]
    IdentityType { column: String },
    /// 2750
    #[error(
        "Column or parameter #{position}: Specified column precision {precision} is greater \
         than the maximum precision of 38."
    )]
    PrecisionBeyond { position: usize, precision: u32 },
    /// 2751
    #[error(
        "Column or parameter #{position}: Specified column scale {scale} is greater than the \
         specified precision of {precision}."
    )]
    ScaleBeyond { position: usize, scale: u32, precision: u32 },
    /// 2759
    #[error("CREATE SCHEMA failed due to previous errors.")]
    SchemaNotCreated,
    /// 2760
    #[error(
        "The specified schema name \"{name}\" either does not exist or you do not have \
         permission to use it."
    )]
    NoSchema { name: String },
    /// 2761
    #[error("The ROWGUIDCOL property can only be specified on the uniqueidentifier data type.")]
    RowGuidType,
    /// 3701
    #[error(
        "Cannot {action} the {kind} '{name}', because it does not exist or you do not have \
         permission."
    )]
    NoTableInDrop { action: &'static str, kind: &'static str, name: String },
    /// 3705
    #[error("Cannot use DROP {statement} with '{name}' because '{name}' is a {kind}. Use {other}.")]
    WrongKindInDrop {
        statement: &'static str,
        name: String,
        kind: &'static str,
        other: &'static str,
    },
    /// 3723
    #[error(
        "An explicit DROP INDEX is not allowed on index '{name}'. It is being used for \
         {kind} constraint enforcement."
    )]
    ConstraintIndex { name: String, kind: &'static str },
    /// 3725
    #[error(
        "The constraint '{name}' is being referenced by table '{table}', foreign key \
         constraint '{key}'."
    )]
    ReferencedConstraint { name: String, table: String, key: String },
    /// 3726
    #[error("Could not drop object '{name}' because it is referenced by a FOREIGN KEY constraint.")]
    ReferencedTable { name: String },
    /// 3727
    #[error("Could not drop constraint. See previous errors.")]
    ConstraintNotDropped,
    /// 3728
    #[error("'{name}' is not a constraint.")]
    NotAConstraint { name: String },
    /// 3729
    #[error("Cannot {action} '{name}' because it is being referenced by object '{object}'.")]
    ReferencedObject { action: &'static str, name: String, object: String },
    /// 3732
    #[error(
        "Cannot drop type '{name}' because it is being referenced by object '{object}'. \
         There may be other objects that reference this type."
    )]
    ReferencedType { name: String, object: String },
    /// 3733
    #[error("Constraint '{name}' does not belong to table '{table}'.")]
    ForeignConstraint { name: String, table: String },
    /// 3739
    #[error("Cannot {action} the index '{name}' because it is not a statistics collection.")]
    NotStatistics { action: &'static str, name: String },
    /// 4701
    #[error(
        "Cannot find the object \"{name}\" because it does not exist or you do not have \
         permissions."
    )]
    CannotFind { name: String },
    /// 4712
    #[error(
        "Cannot truncate table '{name}' because it is being referenced by a FOREIGN KEY \
         constraint."
    )]
    TruncateReferenced { name: String },
    /// 4901
    #[error(
        "ALTER TABLE only allows columns to be added that can contain nulls, or have a \
         DEFAULT definition specified, or the column being added is an identity or timestamp \
         column, or alternatively if none of the previous conditions are satisfied the table \
         must be empty to allow addition of this column. Column '{column}' cannot be added \
         to non-empty table '{table}' because it does not satisfy these conditions."
    )]
    NotNullWithoutValue { column: String, table: String },
    /// 4902
    #[error(
        "Cannot find the object \"{name}\" because it does not exist or you do not have \
         permissions."
    )]
    NoTableToAlter { name: String },
    /// 4909
    #[error("Cannot alter '{name}' because it is not a table.")]
    NotATable { name: String },
    /// 4916
    #[error("Could not enable or disable the constraint. See previous errors.")]
    ConstraintNotSwitched,
    /// 4917
    #[error("Constraint '{name}' does not exist.")]
    NoConstraint { name: String },
    /// 4920
    #[error("ALTER TABLE failed because trigger '{name}' on table '{table}' does not exist.")]
    NoTriggerOfTable { name: String, table: String },
    /// 4922
    #[error("{statement} {name} failed because one or more objects access this column.")]
    Accessed { statement: &'static str, name: String },
    /// 4923
    #[error(
        "ALTER TABLE DROP COLUMN failed because '{column}' is the only data column in table \
         '{table}'. A table must have at least one data column."
    )]
    OnlyColumn { column: String, table: String },
    /// 4924
    #[error("{statement} failed because column '{column}' does not exist in table '{table}'.")]
    NoColumnToAlter { statement: &'static str, column: String, table: String },
    /// 4925
    #[error(
        "ALTER TABLE ALTER COLUMN ADD ROWGUIDCOL failed because a column already exists in table '{table}' with ROWGUIDCOL property."
    )]
    RowGuidExists { table: String },
    /// 4927
    #[error("Cannot alter column '{column}' to be data type {ty}.")]
    CannotAlterToType { column: String, ty: String },
    /// 4928
    #[error("Cannot alter column '{column}' because it is '{what}'.")]
    CannotAlter { column: String, what: &'static str },
    /// 4936
    #[error(
        "Computed column '{column}' in table '{table}' cannot be persisted because the \
         column is non-deterministic."
    )]
    PersistedNondeterministic { column: String, table: String },
    /// 5074
    #[error("The {kind} '{name}' is dependent on column '{column}'.")]
    Dependent { kind: &'static str, name: String, column: String },
    /// 7202
    #[error(
        "Could not find server '{name}' in sys.servers. Verify that the correct server name \
         was specified. If necessary, execute the stored procedure sp_addlinkedserver to add \
         the server to sys.servers."
    )]
    NoServer { name: String },
    /// 7999
    #[error("Could not find any index named '{index}' for table '{table}'.")]
    NoIndexToRecreate { index: String, table: String },
    /// 8110
    #[error("Cannot add multiple PRIMARY KEY constraints to table '{table}'.")]
    SecondPrimaryKey { table: String },
    /// 8111
    #[error("Cannot define PRIMARY KEY constraint on nullable column in table '{table}'.")]
    NullablePrimaryKey { table: String },
    /// 8112
    #[error("Cannot add more than one clustered index for constraints on table '{table}'.")]
    SecondClusteredConstraint { table: String },
    /// 8139
    #[error(
        "Number of referencing columns in foreign key differs from number of referenced \
         columns, table '{table}'."
    )]
    ReferencingCount { table: String },
    /// 8140
    #[error("More than one key specified in column level {kind} constraint, table '{table}'.")]
    ColumnConstraintColumns { kind: &'static str, table: String },
    /// 8141
    #[error(
        "Column {kind} constraint for column '{column}' references another column, table \
         '{table}'."
    )]
    OtherColumnInConstraint { kind: &'static str, column: String, table: String },
    /// 8147
    #[error("Could not create IDENTITY attribute on nullable column '{column}', table '{table}'.")]
    NotNullTwice { column: String, table: String },
    /// 8148
    #[error(
        "More than one column {kind} constraint specified for column '{column}', table \
         '{table}'."
    )]
    SecondColumnConstraint { kind: &'static str, column: String, table: String },
    /// 8152
    #[error("String or binary data would be truncated.")]
    Truncated,
    /// 8183
    #[error(
        "Only UNIQUE or PRIMARY KEY constraints can be created on computed columns, while \
         CHECK, FOREIGN KEY, and NOT NULL constraints require that computed columns be \
         persisted."
    )]
    ComputedConstraint,
    /// 8197
    #[error("The object '{name}' does not exist or is invalid for this operation.")]
    NoTriggerTarget { name: String },
    /// 11700
    #[error("The increment for sequence object '{name}' cannot be zero.")]
    SequenceIncrement { name: String },
    /// 11701
    #[error(
        "The absolute value of the increment for sequence object '{name}' must be less than \
         or equal to the difference between the minimum and maximum value of the sequence \
         object."
    )]
    SequenceStep { name: String },
    /// 11702
    #[error(
        "The sequence object '{name}' must be of data type int, bigint, smallint, tinyint, \
         or decimal or numeric with a scale of 0, or any user-defined data type that is \
         based on one of the preceding integer data types."
    )]
    SequenceType { name: String },
    /// 11703
    #[error(
        "The start value for sequence object '{name}' must be between the minimum and \
         maximum value of the sequence object."
    )]
    SequenceStart { name: String },
    /// 11704
    #[error(
        "The current value '{value}' for sequence object '{name}' must be between the minimum and maximum value of the sequence object."
    )]
    SequenceValue { value: String, name: String },
    /// 11705
    #[error("The minimum value for sequence object '{name}' must be less than its maximum value.")]
    SequenceLimits { name: String },
    /// 11706
    #[error("The cache size for sequence object '{name}' must be greater than 0.")]
    SequenceCache { name: String },
    /// 11728
    #[error(
        "The sequence object '{name}' has reached its minimum or maximum value. Restart the \
         sequence object to allow new values to be generated."
    )]
    SequenceEnd { name: String },
    /// 15150
    #[error("Cannot {action} the {kind} '{name}'.")]
    CannotDrop { action: &'static str, kind: &'static str, name: String },
    /// 15151
    #[error(
        "Cannot {action} the {kind} '{name}', because it does not exist or you do not have \
         permission."
    )]
    CannotFindToDrop { action: &'static str, kind: &'static str, name: String },
    /// 15151
    #[error(
        "Cannot find the {kind} '{name}', because it does not exist or you do not have permission."
    )]
    CannotFindPrincipal { kind: &'static str, name: String },
    /// 15225
    #[error(
        "No item by the name of '{name}' could be found in the current database \
         '{database}', given that @itemtype was input as '{ty}'."
    )]
    NothingToRename { name: String, database: String, ty: String },
    /// 15248
    #[error("Either the parameter @objname is ambiguous or the claimed @objtype ({ty}) is wrong.")]
    AmbiguousRename { ty: String },
    /// 15249
    #[error("Error: Explicit @objtype '{ty}' is unrecognized.")]
    RenameType { ty: String },
    /// 15335
    #[error(
        "Error: The new name '{name}' is already in use as a {kind} name and would cause a \
         duplicate that is not permitted."
    )]
    NameInUse { name: String, kind: &'static str },
    /// 15336
    #[error(
        "Object '{name}' cannot be renamed because the object participates in enforced dependencies."
    )]
    RenameDependent { name: String },
}
