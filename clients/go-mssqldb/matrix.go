package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

// Case is a value of types.tsv.
type Case struct {
	Type, Kind, Label, Ways, Text, Stored, Literal string
}

func (c Case) name() string  { return c.Type + " " + c.Label }
func (c Case) value() string { return "CAST(" + c.Literal + " AS " + c.Type + ")" }

// found is the condition on column v that holds where the value has been stored.
func (c Case) found() string {
	if c.Label == "null" {
		return "v IS NULL"
	}
	return strings.ReplaceAll(c.Stored, "$", "v") + " = " + strings.ReplaceAll(c.Stored, "$", c.value())
}

func cases() ([]Case, error) {
	text, err := os.ReadFile(filepath.Join("..", "types.tsv"))
	if err != nil {
		return nil, err
	}
	var found []Case
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")[1:] {
		cells := strings.Split(line, "\t")
		if count, part, repeats := strings.Cut(strings.TrimPrefix(cells[4], "*"), " "); repeats && cells[4][0] == '*' {
			times, err := strconv.Atoi(count)
			if err != nil {
				return nil, err
			}
			cells[4] = strings.Repeat(part, times)
		}
		found = append(found, Case{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]})
	}
	return found, nil
}

// differs tells what differs: "" where the value is the one of the case.
func (c Case) differs(value any) string {
	if c.Label == "null" {
		if value == nil {
			return ""
		}
		return fmt.Sprintf("%v", value)
	}
	shown := c.shown(value)
	if shown == c.Text {
		return ""
	}
	if len(shown) > 60 {
		return fmt.Sprintf("%.40s… of %d", shown, len(shown))
	}
	return shown
}

func (c Case) shown(value any) string {
	switch value := value.(type) {
	case bool:
		return map[bool]string{false: "0", true: "1"}[value]
	case float64:
		bits := 64
		if c.Kind == "real" {
			bits = 32
		}
		if wanted, err := strconv.ParseFloat(c.Text, bits); err == nil && wanted == value {
			return c.Text
		}
	case time.Time:
		return moment(c.Kind, value)
	case []byte:
		return c.bytes(value)
	}
	return fmt.Sprint(value)
}

func (c Case) bytes(value []byte) string {
	switch c.Kind {
	case "decimal":
		// The zeros at the end of a fraction say nothing.
		if strings.TrimRight(string(value), "0") == strings.TrimRight(c.Text, "0") {
			return c.Text
		}
		return string(value)
	case "guid":
		var guid mssql.UniqueIdentifier
		if err := guid.Scan(value); err != nil {
			return err.Error()
		}
		return guid.String()
	}
	return strings.ToUpper(hex.EncodeToString(value))
}

func moment(kind string, value time.Time) string {
	layout := map[string]string{
		"date": "2006-01-02", "time": "15:04:05.9999999",
		"datetime": "2006-01-02 15:04:05.9999999", "offset": "2006-01-02 15:04:05.9999999 -07:00",
	}[kind]
	return value.Format(layout)
}
