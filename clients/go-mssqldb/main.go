// go-mssqldb: the driver of Go.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"
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

func check(name string, work func() (any, error)) {
	detail, err := work()
	if err != nil {
		fmt.Printf("failed\t%s\t%s\n", name, strings.Join(strings.Fields(err.Error()), " "))
		return
	}
	fmt.Printf("ok\t%s\t%v\n", name, detail)
}

func version(encrypt string) func() (any, error) {
	return func() (any, error) {
		db := open(encrypt)
		defer db.Close()
		var text string
		err := db.QueryRow("SELECT @@VERSION").Scan(&text)
		return strings.Split(text, "\n")[0], err
	}
}

func parameter() (any, error) {
	db := open("disable")
	defer db.Close()
	var number int
	var text string
	row := db.QueryRow("SELECT @n + 1, @t", sql.Named("n", 41), sql.Named("t", "Grüße"))
	if err := row.Scan(&number, &text); err != nil {
		return nil, err
	}
	if number != 42 || text != "Grüße" {
		return nil, fmt.Errorf("%d %s", number, text)
	}
	return number, nil
}

func failure() (any, error) {
	db := open("disable")
	defer db.Close()
	_, err := db.Exec("SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)")
	var raised mssql.Error
	if !errors.As(err, &raised) || raised.Number != 50000 || raised.LineNo != 3 {
		return nil, fmt.Errorf("%v", err)
	}
	return raised.Number, nil
}

func transaction() (any, error) {
	db := open("disable")
	defer db.Close()
	connection, err := db.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	tx, err := connection.BeginTx(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	var inside, outside int
	if err := tx.QueryRow("SELECT @@TRANCOUNT").Scan(&inside); err != nil {
		return nil, err
	}
	if err := tx.Rollback(); err != nil {
		return nil, err
	}
	row := connection.QueryRowContext(context.Background(), "SELECT @@TRANCOUNT")
	if err := row.Scan(&outside); err != nil {
		return nil, err
	}
	if inside != 1 || outside != 0 {
		return nil, fmt.Errorf("%d %d", inside, outside)
	}
	return inside, nil
}

func main() {
	fmt.Println("ok\tversion\t1.8.0")
	check("clear", version("disable"))
	check("tls", version("true"))
	check("strict", version("strict"))
	check("parameter", parameter)
	check("error", failure)
	check("transaction", transaction)
}
