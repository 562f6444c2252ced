// go-mssqldb: the driver of Go.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

const (
	many    = 64
	loaded  = 2000
	wait    = "WAITFOR DELAY '00:00:30'"
	compute = "SELECT COUNT_BIG(*) FROM sys.all_objects AS a CROSS JOIN sys.all_objects AS b " +
		"CROSS JOIN sys.all_objects AS c WHERE a.name < b.name + c.name"
)

func open(encrypt string) *sql.DB {
	query := url.Values{"encrypt": {encrypt}, "TrustServerCertificate": {"true"}, "database": {"master"}}
	if encrypt == "strict" {
		query.Set("certificate", os.Getenv("EXTENTDB_CERTIFICATE"))
		query.Del("TrustServerCertificate")
	}
	address := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword("sa", os.Getenv("EXTENTDB_PASSWORD")),
		Host:     os.Getenv("EXTENTDB_HOST") + ":" + os.Getenv("EXTENTDB_PORT"),
		RawQuery: query.Encode(),
	}
	db, err := sql.Open("sqlserver", address.String())
	if err != nil {
		panic(err)
	}
	return db
}

// one is a connection of its own, which temporary tables need.
func one() *sql.Conn {
	db := open("disable")
	db.SetMaxOpenConns(1)
	connection, err := db.Conn(context.Background())
	must(err)
	return connection
}

// must ends a check by a panic, which check turns into a line.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(found, wanted any) {
	if fmt.Sprint(found) != fmt.Sprint(wanted) {
		panic(fmt.Errorf("%v, not %v", found, wanted))
	}
}

func say(state, name string, detail any) {
	text := strings.Join(strings.Fields(fmt.Sprint(detail)), " ")
	fmt.Printf("%s\t%s\t%.2000s\n", state, name, text)
}

func check(name string, work func() any) {
	defer func() {
		if failure := recover(); failure != nil {
			say("failed", name, failure)
		}
	}()
	say("ok", name, work())
}

func execute(connection *sql.Conn, text string, values ...any) {
	_, err := connection.ExecContext(context.Background(), text, values...)
	must(err)
}

func ask(connection *sql.Conn, text string, values ...any) any {
	var value any
	must(connection.QueryRowContext(context.Background(), text, values...).Scan(&value))
	return value
}

func version(encrypt string) func() any {
	return func() any {
		db := open(encrypt)
		defer db.Close()
		var text, encrypted string
		must(db.QueryRow("SELECT @@VERSION, encrypt_option FROM sys.dm_exec_connections "+
			"WHERE session_id = @@SPID").Scan(&text, &encrypted))
		expect(encrypted, map[bool]string{true: "FALSE", false: "TRUE"}[encrypt == "disable"])
		return strings.Split(text, "\n")[0]
	}
}

// matrix receives all values, or sends what it has received.
func matrix(name string, differs func(*sql.Conn, Case) string) {
	check(name, func() any {
		values, err := cases()
		must(err)
		connection := one()
		var failures []string
		total := 0
		for _, value := range values {
			if name == "send" && value.Ways != "both" {
				continue
			}
			total++
			if difference := differs(connection, value); difference != "" {
				failures = append(failures, value.name()+": "+difference)
			}
		}
		detail := fmt.Sprintf("%d of %d", total-len(failures), total)
		if len(failures) > 0 {
			panic(detail + "; " + strings.Join(failures, "; "))
		}
		return detail
	})
}

// caught turns a panic into a difference.
func caught(work func(*sql.Conn, Case) string) func(*sql.Conn, Case) string {
	return func(connection *sql.Conn, value Case) (difference string) {
		defer func() {
			if failure := recover(); failure != nil {
				difference = fmt.Sprint(failure)
			}
		}()
		return work(connection, value)
	}
}

func receive(connection *sql.Conn, value Case) string {
	return value.differs(ask(connection, "SELECT "+value.value()+" AS v"))
}

func send(connection *sql.Conn, value Case) string {
	received := ask(connection, "SELECT "+value.value()+" AS v")
	execute(connection, "DROP TABLE IF EXISTS #sent; CREATE TABLE #sent (v "+value.Type+" NULL)")
	execute(connection, "INSERT #sent VALUES (@v)", sql.Named("v", parameter(value, received)))
	read := ask(connection, "SELECT v FROM #sent")
	if found := ask(connection, "SELECT COUNT(*) FROM #sent WHERE "+value.found()); found != int64(1) {
		return fmt.Sprintf("stored as %v", read)
	}
	return value.differs(read)
}

// parameter is what a program passes for a value: bytes are binary unless it says more.
func parameter(value Case, received any) any {
	bytes, isBytes := received.([]byte)
	switch {
	case received == nil && value.Kind == "binary":
		return []byte(nil)
	case isBytes && value.Kind == "decimal":
		return string(bytes)
	case isBytes && value.Kind == "guid":
		var guid mssql.UniqueIdentifier
		must(guid.Scan(bytes))
		return guid
	}
	return received
}

func parameters() any {
	connection := one()
	var number int
	var text string
	row := connection.QueryRowContext(context.Background(), "SELECT @n + 1, @t", sql.Named("n", 41), sql.Named("t", "Grüße"))
	must(row.Scan(&number, &text))
	expect([]any{number, text}, []any{42, "Grüße"})
	return 42
}

func text(n int) any {
	if n%5 == 0 {
		return nil
	}
	return fmt.Sprintf("Größe %d", n)
}

func prepare() any {
	connection := one()
	execute(connection, "CREATE TABLE #prepared (n int PRIMARY KEY, t nvarchar(20) NULL)")
	insert, err := connection.PrepareContext(context.Background(), "INSERT #prepared VALUES (@p1, @p2)")
	must(err)
	query, err := connection.PrepareContext(context.Background(), "SELECT t FROM #prepared WHERE n = @p1")
	must(err)
	for n := 0; n < 100; n++ {
		result, err := insert.Exec(n, text(n))
		must(err)
		count, err := result.RowsAffected()
		must(err)
		expect(count, 1)
		var found any
		must(query.QueryRow(n).Scan(&found))
		expect(found, text(n))
	}
	must(insert.Close())
	expect(ask(connection, "SELECT COUNT(t) FROM #prepared"), 80)
	return "100 times"
}

func output() any {
	connection := one()
	execute(connection, "CREATE OR ALTER PROCEDURE clients_output @n int, @twice int OUTPUT, "+
		"@text nvarchar(40) OUTPUT AS SET @twice = 2 * @n; SET @text = CONCAT(@text, N'ß'); "+
		"SELECT @n AS n; RETURN 7")
	var twice int64
	said := "Stra"
	var status mssql.ReturnStatus
	rows, err := connection.QueryContext(context.Background(), "clients_output", sql.Named("n", 21),
		sql.Named("twice", sql.Out{Dest: &twice}), sql.Named("text", sql.Out{Dest: &said, In: true}), &status)
	must(err)
	for rows.Next() {
	}
	must(rows.Close())
	expect([]any{twice, said, status}, []any{42, "Straß", 7})
	return []any{twice, said, status}
}

func results() any {
	connection := one()
	rows, err := connection.QueryContext(context.Background(), "CREATE TABLE #several (n int); SELECT 1 AS a; "+
		"INSERT #several VALUES (1), (2), (3); SELECT n * n FROM #several ORDER BY n; "+
		"UPDATE #several SET n = 0 WHERE n > 1; SELECT 2 AS b WHERE 1 = 0; SELECT N'last' AS c")
	must(err)
	var found []string
	for {
		var values []string
		for rows.Next() {
			var value any
			must(rows.Scan(&value))
			values = append(values, fmt.Sprint(value))
		}
		found = append(found, strings.Join(values, " "))
		if !rows.NextResultSet() {
			break
		}
	}
	must(rows.Err())
	must(rows.Close())
	expect(strings.Join(found, "|"), "1|1 4 9||last")
	result, err := connection.ExecContext(context.Background(), "INSERT #several VALUES (4), (5); UPDATE #several SET n = 1")
	must(err)
	count, err := result.RowsAffected()
	must(err)
	expect(count, 7)
	return fmt.Sprintf("%d sets", len(found))
}

func transaction() any {
	connection, other := one(), one()
	execute(connection, "DROP TABLE IF EXISTS clients_rows; CREATE TABLE clients_rows (n int)")
	for n, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
		tx, err := connection.BeginTx(context.Background(), nil)
		must(err)
		_, err = tx.Exec("INSERT clients_rows VALUES (@p1)", n+1)
		must(err)
		var count int
		must(tx.QueryRow("SELECT @@TRANCOUNT").Scan(&count))
		expect(count, 1)
		must(end(tx))
	}
	expect(ask(connection, "SELECT @@TRANCOUNT"), 0)
	expect(ask(other, "SELECT SUM(n) FROM clients_rows"), 2)
	return "rolled back and committed"
}

func savepoint() any {
	connection := one()
	execute(connection, "CREATE TABLE #saved (n int)")
	tx, err := connection.BeginTx(context.Background(), nil)
	must(err)
	for _, text := range []string{"INSERT #saved VALUES (1)", "SAVE TRANSACTION here", "INSERT #saved VALUES (2)",
		"ROLLBACK TRANSACTION here", "INSERT #saved VALUES (4)"} {
		_, err := tx.Exec(text)
		must(err)
	}
	must(tx.Commit())
	expect(ask(connection, "SELECT SUM(n) FROM #saved"), 5)
	return 5
}

// raised is the error at the end of all results of a text.
func raised(connection *sql.Conn, text string) mssql.Error {
	rows, err := connection.QueryContext(context.Background(), text)
	for err == nil {
		for rows.Next() {
		}
		if err = rows.Err(); err == nil && !rows.NextResultSet() {
			err = rows.Err()
			break
		}
	}
	var found mssql.Error
	if !errors.As(err, &found) {
		panic(fmt.Errorf("no error but %v: %s", err, text))
	}
	return found
}

func failure() any {
	connection := one()
	seen := raised(connection, "SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)")
	expect(fmt.Sprint(seen.Number, seen.LineNo, seen.Class, seen.State), "50000 3 16 3")
	expect(raised(connection, "SELECT 10 / (2 - n) FROM (VALUES (0), (1), (2), (3)) AS t (n)").Number, 8134)
	expect(raised(connection, "SELECT * FROM nowhere").Number, 208)
	expect(ask(connection, "SELECT 1"), 1)
	return "number line severity state"
}

func cancel() any {
	connection := one()
	for _, text := range []string{wait, compute} {
		start := time.Now()
		// Not a deadline: after one the driver takes the connection for broken.
		cancelled, stop := context.WithCancel(context.Background())
		time.AfterFunc(500*time.Millisecond, stop)
		_, err := connection.ExecContext(cancelled, text)
		if err == nil || time.Since(start) > 10*time.Second {
			panic(fmt.Errorf("%v after %v: %s", err, time.Since(start), text))
		}
		expect(ask(connection, "SELECT 1"), 1)
	}
	return "2 statements"
}

func row(n int) []any {
	values := []any{n, text(n), nil, nil}
	if n%3 != 0 {
		values[2] = float64(n) / 4
	}
	if n%2 != 0 {
		values[3] = fmt.Sprintf("%d.%02d", n/100, n%100)
	}
	return values
}

func bulk() any {
	connection := one()
	execute(connection, "DROP TABLE IF EXISTS clients_bulk; CREATE TABLE clients_bulk "+
		"(n int NOT NULL, t nvarchar(40) NULL, f float NULL, d decimal(9, 2) NULL)")
	load, err := connection.PrepareContext(context.Background(), mssql.CopyIn("clients_bulk", mssql.BulkOptions{}, "n", "t", "f", "d"))
	must(err)
	for n := 0; n < loaded; n++ {
		_, err := load.Exec(row(n)...)
		must(err)
	}
	_, err = load.Exec()
	must(err)
	must(load.Close())
	rows, err := connection.QueryContext(context.Background(), "SELECT n, t, f, d FROM clients_bulk ORDER BY n")
	must(err)
	count := 0
	for ; rows.Next(); count++ {
		var n, t, f, d any
		must(rows.Scan(&n, &t, &f, &d))
		if bytes, isBytes := d.([]byte); isBytes {
			d = string(bytes)
		}
		expect([]any{n, t, f, d}, row(count))
	}
	must(rows.Err())
	expect(count, loaded)
	return fmt.Sprintf("%d rows", count)
}

func together() any {
	setup := one()
	execute(setup, "DROP TABLE IF EXISTS clients_many; CREATE TABLE clients_many (n int)")
	var inserted, finished sync.WaitGroup
	inserted.Add(many)
	counts := make(chan any, many)
	for n := 0; n < many; n++ {
		finished.Add(1)
		go func(n int) {
			defer finished.Done()
			defer func() {
				if failure := recover(); failure != nil {
					counts <- failure
					inserted.Done()
				}
			}()
			connection := one()
			execute(connection, "INSERT clients_many VALUES (@p1)", n)
			inserted.Done()
			inserted.Wait()
			counts <- ask(connection, "SELECT COUNT(*) FROM clients_many")
		}(n)
	}
	finished.Wait()
	close(counts)
	for count := range counts {
		expect(count, many)
	}
	return fmt.Sprintf("%d connections", many)
}

// driver is the version of go-mssqldb that is linked in.
func driver() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/microsoft/go-mssqldb" {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return ""
}

func main() {
	say("ok", "version", driver())
	check("clear", version("disable"))
	check("tls", version("true"))
	check("strict", version("strict"))
	matrix("receive", caught(receive))
	matrix("send", caught(send))
	check("parameter", parameters)
	check("prepare", prepare)
	check("output", output)
	check("results", results)
	check("transaction", transaction)
	check("savepoint", savepoint)
	check("error", failure)
	check("cancel", cancel)
	check("bulk", bulk)
	check("many", together)
}
