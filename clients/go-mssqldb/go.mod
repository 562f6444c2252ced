module extentdb.example/clients/go-mssqldb

go 1.21

require github.com/microsoft/go-mssqldb v1.8.0
