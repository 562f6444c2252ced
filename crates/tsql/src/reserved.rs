//! The reserved words of T-SQL, from the public list "Reserved Keywords (Transact-SQL)".
//!
//! A reserved word is a name only between brackets or double quotes. Every other word of the
//! grammar (`THROW`, `OFFSET`, `STATE` …) is a keyword where the grammar expects it and a name
//! elsewhere.
//!
//! The list has `WITHIN GROUP` as one entry; `WITHIN` alone is a name. It has `PRECISION`, too,
//! which scripts write bare as a column of `sys.columns`, and SQL Server takes: here it is a name.

/// Length of the longest reserved word.
const LONGEST: usize = 30;

/// True for a reserved word, in any case.
#[must_use]
pub fn is_reserved(word: &str) -> bool {
    let mut upper = [0u8; LONGEST];
    let Some(upper) = upper.get_mut(..word.len()) else { return false };
    upper.copy_from_slice(word.as_bytes());
    upper.make_ascii_uppercase();
    let Ok(upper) = std::str::from_utf8(upper) else { return false };
    of_length(upper.len()).binary_search(&upper).is_ok()
}

/// The reserved words of a length, sorted.
fn of_length(length: usize) -> &'static [&'static str] {
    match length {
        2 => &["AS", "BY", "IF", "IN", "IS", "OF", "ON", "OR", "TO"],
        3 => &[
            "ADD", "ALL", "AND", "ANY", "ASC", "END", "FOR", "KEY", "NOT", "OFF", "SET", "TOP",
            "USE",
        ],
        4 => &[
            "BULK", "CASE", "DBCC", "DENY", "DESC", "DISK", "DROP", "DUMP", "ELSE", "EXEC", "EXIT",
            "FILE", "FROM", "FULL", "GOTO", "INTO", "JOIN", "KILL", "LEFT", "LIKE", "LOAD", "NULL",
            "OPEN", "OVER", "PLAN", "PROC", "READ", "RULE", "SAVE", "SOME", "THEN", "TRAN", "USER",
            "VIEW", "WHEN", "WITH",
        ],
        5 => &[
            "ALTER", "BEGIN", "BREAK", "CHECK", "CLOSE", "CROSS", "FETCH", "GRANT", "GROUP",
            "INDEX", "INNER", "MERGE", "ORDER", "OUTER", "PIVOT", "PRINT", "RIGHT", "TABLE",
            "UNION", "WHERE", "WHILE",
        ],
        6 => &[
            "BACKUP", "BROWSE", "COLUMN", "COMMIT", "CREATE", "CURSOR", "DELETE", "DOUBLE",
            "ERRLVL", "ESCAPE", "EXCEPT", "EXISTS", "HAVING", "INSERT", "LINENO", "NULLIF",
            "OPTION", "PUBLIC", "RETURN", "REVERT", "REVOKE", "SCHEMA", "SELECT", "UNIQUE",
            "UPDATE", "VALUES",
        ],
        7 => &[
            "BETWEEN", "CASCADE", "COLLATE", "COMPUTE", "CONVERT", "CURRENT", "DECLARE", "DEFAULT",
            "EXECUTE", "FOREIGN", "NOCHECK", "OFFSETS", "OPENXML", "PERCENT", "PRIMARY", "RESTORE",
            "SETUSER", "TRIGGER", "TSEQUAL", "UNPIVOT", "VARYING", "WAITFOR",
        ],
        8 => &[
            "COALESCE", "CONTAINS", "CONTINUE", "DATABASE", "DISTINCT", "EXTERNAL", "FREETEXT",
            "FUNCTION", "HOLDLOCK", "IDENTITY", "NATIONAL", "READTEXT", "RESTRICT", "ROLLBACK",
            "ROWCOUNT", "SHUTDOWN", "TEXTSIZE", "TRUNCATE",
        ],
        9 => &["CLUSTERED", "INTERSECT", "OPENQUERY", "PROCEDURE", "RAISERROR", "WRITETEXT"],
        10 => &[
            "CHECKPOINT",
            "CONSTRAINT",
            "DEALLOCATE",
            "FILLFACTOR",
            "OPENROWSET",
            "REFERENCES",
            "ROWGUIDCOL",
            "STATISTICS",
            "UPDATETEXT",
        ],
        11 => &[
            "DISTRIBUTED",
            "IDENTITYCOL",
            "RECONFIGURE",
            "REPLICATION",
            "SYSTEM_USER",
            "TABLESAMPLE",
            "TRANSACTION",
            "TRY_CONVERT",
        ],
        12 => &["CURRENT_DATE", "CURRENT_TIME", "CURRENT_USER", "NONCLUSTERED", "SESSION_USER"],
        13 => &["AUTHORIZATION", "CONTAINSTABLE", "FREETEXTTABLE", "SECURITYAUDIT"],
        14 => &["OPENDATASOURCE"],
        15 => &["IDENTITY_INSERT"],
        17 => &["CURRENT_TIMESTAMP"],
        22 => &["SEMANTICKEYPHRASETABLE"],
        23 => &["SEMANTICSIMILARITYTABLE"],
        30 => &["SEMANTICSIMILARITYDETAILSTABLE"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_and_of_their_length() {
        let mut count = 0;
        for length in 0..=LONGEST {
            let words = of_length(length);
            assert!(words.is_sorted() && words.iter().all(|word| word.len() == length));
            count += words.len();
        }
        assert_eq!(count, 183);
        assert_eq!(of_length(LONGEST).len(), 1);
    }

    #[test]
    fn case_does_not_matter() {
        assert!(is_reserved("Select") && is_reserved("semanticsimilaritydetailstable"));
        assert!(!is_reserved("throw") && !is_reserved("") && !is_reserved("été"));
    }
}
