import com.microsoft.sqlserver.jdbc.ISQLServerBulkData;
import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import com.microsoft.sqlserver.jdbc.SQLServerException;
import java.math.BigDecimal;
import java.sql.*;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.Map;
import java.util.Set;

/** Microsoft's JDBC driver. */
public class Client extends Jdbc {
    private static final int ROWS = 2000;

    Connection connect(boolean tls) throws SQLException {
        return connect(tls ? "true" : "false");
    }

    static Connection connect(String encrypt) throws SQLException {
        String url = "jdbc:sqlserver://" + System.getenv("EXTENTDB_HOST") + ":"
            + System.getenv("EXTENTDB_PORT") + ";encrypt=" + encrypt
            + ";trustServerCertificate=true;databaseName=master;loginTimeout=10;sendTimeAsDatetime=false"
            + (encrypt.equals("strict") ? ";hostNameInCertificate=localhost;serverCertificate="
                + System.getenv("EXTENTDB_CERTIFICATE") : "");
        return DriverManager.getConnection(url, "sa", System.getenv("EXTENTDB_PASSWORD"));
    }

    int[] failure(SQLException error) {
        var told = ((SQLServerException) error).getSQLServerError();
        return new int[] {error.getErrorCode(), (int) told.getLineNumber(), told.getErrorSeverity()};
    }

    Map<String, String> known(String check) {
        return Map.of("datetimeoffset(0) min", "year 1 is one of the Julian calendar");
    }

    @Override
    Object read(ResultSet rows, String type) throws SQLException {
        String name = type.replaceAll("\\(.*", "");
        return switch (name) {
            case "date" -> rows.getObject(1, LocalDate.class);
            case "time" -> rows.getObject(1, LocalTime.class);
            case "datetime", "smalldatetime", "datetime2" -> rows.getObject(1, LocalDateTime.class);
            case "datetimeoffset" -> rows.getObject(1, OffsetDateTime.class);
            default -> rows.getObject(1);
        };
    }

    @Override
    void send(PreparedStatement statement, String kind, Object value) throws SQLException {
        if (value == null && kind.equals("binary")) {
            statement.setNull(1, Types.VARBINARY);
        } else {
            statement.setObject(1, value);
        }
    }

    static Object strict() throws Exception {
        try (Connection connection = connect("strict")) {
            return ((String) ask(connection, "SELECT @@VERSION")).split("\n")[0];
        }
    }

    Object bulk() throws Exception {
        try (Connection connection = connect(false)) {
            execute(connection, "DROP TABLE IF EXISTS clients_bulk; CREATE TABLE clients_bulk "
                + "(n int NOT NULL, t nvarchar(40) NULL, f float NULL, d decimal(9, 2) NULL)");
            SQLServerBulkCopy copy = new SQLServerBulkCopy(connection);
            copy.setDestinationTableName("clients_bulk");
            copy.writeToServer(new Rows());
            try (Statement statement = connection.createStatement();
                 ResultSet rows = statement.executeQuery("SELECT * FROM clients_bulk ORDER BY n")) {
                int n = 0;
                for (; rows.next(); n++) {
                    for (int column = 0; column < 4; column++) {
                        expect(String.valueOf(rows.getObject(column + 1)), String.valueOf(row(n)[column]));
                    }
                }
                expect(n, ROWS);
            }
            return ROWS + " rows";
        }
    }

    static Object[] row(int n) {
        return new Object[] {n, n % 5 == 0 ? null : "Größe " + n, n % 3 == 0 ? null : n / 4.0,
            n % 2 == 0 ? null : BigDecimal.valueOf(n, 2)};
    }

    /** The rows of the bulk copy. */
    static class Rows implements ISQLServerBulkData {
        private int next = -1;

        public Set<Integer> getColumnOrdinals() {
            return Set.of(1, 2, 3, 4);
        }

        public String getColumnName(int column) {
            return "ntfd".substring(column - 1, column);
        }

        public int getColumnType(int column) {
            return new int[] {Types.INTEGER, Types.NVARCHAR, Types.DOUBLE, Types.DECIMAL}[column - 1];
        }

        public int getPrecision(int column) {
            return new int[] {0, 40, 0, 9}[column - 1];
        }

        public int getScale(int column) {
            return column == 4 ? 2 : 0;
        }

        public Object[] getRowData() {
            return row(next);
        }

        public boolean next() {
            return ++next < ROWS;
        }
    }

    public static void main(String[] arguments) {
        Client client = new Client();
        client.run();
        check("strict", Client::strict);
        check("bulk", client::bulk);
    }
}
