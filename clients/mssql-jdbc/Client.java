import java.sql.*;
import java.util.concurrent.Callable;

/** Microsoft's JDBC driver. */
public class Client {
    static Connection connect(String encrypt) throws SQLException {
        String url = "jdbc:sqlserver://" + System.getenv("EXTENTDB_HOST") + ":"
            + System.getenv("EXTENTDB_PORT") + ";encrypt=" + encrypt
            + ";trustServerCertificate=true;databaseName=master;loginTimeout=10"
            + (encrypt.equals("strict") ? ";hostNameInCertificate=localhost;serverCertificate="
                + System.getenv("EXTENTDB_CERTIFICATE") : "");
        return DriverManager.getConnection(url, "sa", System.getenv("EXTENTDB_PASSWORD"));
    }

    static void check(String name, Callable<Object> work) {
        try {
            System.out.println("ok\t" + name + "\t" + work.call());
        } catch (Throwable error) {
            String text = String.valueOf(error.getMessage()).replaceAll("\\s+", " ");
            System.out.println("failed\t" + name + "\t" + text);
        }
    }

    static Object version(String encrypt) throws SQLException {
        try (Connection connection = connect(encrypt);
             ResultSet rows = connection.createStatement().executeQuery("SELECT @@VERSION")) {
            rows.next();
            return rows.getString(1).split("\n")[0];
        }
    }

    static Object parameter() throws SQLException {
        try (Connection connection = connect("false")) {
            PreparedStatement statement = connection.prepareStatement("SELECT ? + 1, ?");
            for (int run = 0; run < 3; run++) {
                statement.setInt(1, 41);
                statement.setString(2, "Grüße");
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    if (rows.getInt(1) != 42 || !rows.getString(2).equals("Grüße")) {
                        throw new SQLException(rows.getString(1) + rows.getString(2));
                    }
                }
            }
            return "three times";
        }
    }

    static Object error() throws Exception {
        try (Connection connection = connect("false");
             Statement statement = connection.createStatement()) {
            boolean more = statement.execute("SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)");
            while (more || statement.getUpdateCount() != -1) {
                more = statement.getMoreResults();
            }
            throw new Exception("no error");
        } catch (com.microsoft.sqlserver.jdbc.SQLServerException raised) {
            int line = (int) raised.getSQLServerError().getLineNumber();
            if (raised.getErrorCode() != 50000 || line != 3) {
                throw raised;
            }
            return raised.getErrorCode();
        }
    }

    static int count(Connection connection) throws SQLException {
        try (ResultSet rows = connection.createStatement().executeQuery("SELECT @@TRANCOUNT")) {
            rows.next();
            return rows.getInt(1);
        }
    }

    static Object transaction() throws Exception {
        try (Connection connection = connect("false")) {
            connection.createStatement().execute("BEGIN TRAN");
            int inside = count(connection);
            connection.createStatement().execute("ROLLBACK");
            connection.setAutoCommit(false);
            connection.rollback();
            connection.setAutoCommit(true);
            int outside = count(connection);
            if (inside != 1 || outside != 0) {
                throw new Exception(inside + " " + outside);
            }
            return inside;
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ok\tversion\t12.8.1");
        check("clear", () -> version("false"));
        check("tls", () -> version("true"));
        check("strict", () -> version("strict"));
        check("parameter", Client::parameter);
        check("error", Client::error);
        check("transaction", Client::transaction);
    }
}
