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
        String reason = "a text above 4,000 characters is sent as ntext, which is no varchar or text without CAST";
        return check.equals("receive") ? Map.of()
            : Map.of("varchar(8000) max", reason, "varchar(max) max", reason, "text max", reason);
    }

    @Override
    void send(PreparedStatement statement, String kind, Object value) throws SQLException {
        if (value == null && kind.equals("binary")) {
            statement.setNull(1, Types.VARBINARY);
        } else {
            statement.setObject(1, value);
        }
    }

    public static void main(String[] arguments) {
        new Client().run();
    }
}
