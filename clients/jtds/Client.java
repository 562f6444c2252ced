import java.sql.*;
import java.util.Map;

/** jTDS: TDS 7.1, which has no types of 2008 on the wire. */
public class Client extends Jdbc {
    Connection connect(boolean tls) throws SQLException {
        String url = "jdbc:jtds:sqlserver://" + System.getenv("EXTENTDB_HOST") + ":"
            + System.getenv("EXTENTDB_PORT") + "/master;ssl=" + (tls ? "require" : "off")
            + ";loginTimeout=10";
        return DriverManager.getConnection(url, "sa", System.getenv("EXTENTDB_PASSWORD"));
    }

    int[] failure(SQLException error) {
        return new int[] {error.getErrorCode(), 0, 0};
    }

    Map<String, String> known(String check) {
        return Map.of();
    }

    public static void main(String[] arguments) {
        new Client().run("1.3.1");
    }
}
