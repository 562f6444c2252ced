import java.math.BigDecimal;
import java.nio.file.Path;
import java.sql.*;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;

/** The checks of the JDBC drivers; what differs is in the Client of each. */
abstract class Jdbc {
    private static final int MANY = 64;
    private static final String WAIT = "WAITFOR DELAY '00:00:30'";
    private static final String COMPUTE = "SELECT COUNT_BIG(*) FROM sys.all_objects AS a "
        + "CROSS JOIN sys.all_objects AS b CROSS JOIN sys.all_objects AS c WHERE a.name < b.name + c.name";

    abstract Connection connect(boolean tls) throws SQLException;

    /** Number, line and severity, 0 where the driver does not show it. */
    abstract int[] failure(SQLException error);

    Object read(ResultSet rows, String type) throws SQLException {
        return rows.getObject(1);
    }

    /** Differences that are the driver's, by the start of the name of a value. */
    abstract Map<String, String> known(String check);

    void send(PreparedStatement statement, String kind, Object value) throws SQLException {
        statement.setObject(1, value);
    }

    static void say(String state, String check, Object detail) {
        String text = String.valueOf(detail).replaceAll("\\s+", " ");
        System.out.println(state + "\t" + check + "\t" + text.substring(0, Math.min(2000, text.length())));
    }

    static void check(String name, Callable<Object> work) {
        try {
            say("ok", name, work.call());
        } catch (Throwable error) {
            say("failed", name, error.getClass().getSimpleName() + ": " + error.getMessage());
        }
    }

    static void expect(Object found, Object wanted) throws Exception {
        if (!wanted.equals(found)) {
            throw new Exception(found + ", not " + wanted);
        }
    }

    void run() {
        check("version", () -> {
            try (Connection connection = connect(false)) {
                return connection.getMetaData().getDriverVersion();
            }
        });
        check("clear", () -> version(false));
        check("tls", () -> version(true));
        matrix("receive");
        matrix("send");
        check("parameter", this::parameter);
        check("prepare", this::prepare);
        check("output", this::output);
        check("results", this::results);
        check("transaction", this::transaction);
        check("savepoint", this::savepoint);
        check("error", this::error);
        check("cancel", this::cancel);
        check("many", this::many);
        check("cursors", this::cursors);
    }

    static Object ask(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement();
             ResultSet rows = statement.executeQuery(text)) {
            rows.next();
            return rows.getObject(1);
        }
    }

    static void execute(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(text);
        }
    }

    Object version(boolean tls) throws Exception {
        try (Connection connection = connect(tls)) {
            expect(ask(connection, "SELECT encrypt_option FROM sys.dm_exec_connections "
                + "WHERE session_id = @@SPID"), tls ? "TRUE" : "FALSE");
            return ((String) ask(connection, "SELECT @@VERSION")).split("\n")[0];
        }
    }

    /** All values, received alone or sent as well. */
    void matrix(String check) {
        Map<String, Integer> notes = new LinkedHashMap<>();
        List<String> failures = new ArrayList<>();
        int good = 0;
        int total = 0;
        try (Connection connection = connect(false)) {
            for (Matrix.Case one : Matrix.cases(Path.of(System.getenv("EXTENTDB_TYPES")))) {
                if (check.equals("send") && !one.ways().equals("both")) {
                    continue;
                }
                total++;
                String differs;
                try {
                    differs = check.equals("send") ? sent(connection, one) : received(connection, one);
                } catch (Exception error) {
                    differs = error.getClass().getSimpleName() + ": " + error.getMessage();
                }
                String reason = null;
                for (Map.Entry<String, String> entry : known(check).entrySet()) {
                    reason = one.name().startsWith(entry.getKey()) ? entry.getValue() : reason;
                }
                if (differs == null) {
                    good++;
                } else if (reason != null) {
                    notes.merge(reason, 1, Integer::sum);
                } else {
                    failures.add("; " + one.name() + ": " + differs);
                }
            }
        } catch (Exception error) {
            failures.add("; " + error);
        }
        notes.forEach((reason, count) -> say("note", check, reason + " (" + count + ")"));
        say(failures.isEmpty() ? "ok" : "failed", check, good + " of " + total + String.join("", failures));
    }

    private Object value(Connection connection, String type, String text) throws SQLException {
        try (Statement statement = connection.createStatement();
             ResultSet rows = statement.executeQuery(text)) {
            rows.next();
            return read(rows, type);
        }
    }

    private String received(Connection connection, Matrix.Case one) throws Exception {
        return one.differs(value(connection, one.type(), "SELECT " + one.value() + " AS v"));
    }

    /** Sends what was received into a column, where the server compares it, and reads it again. */
    private String sent(Connection connection, Matrix.Case one) throws Exception {
        Object value = value(connection, one.type(), "SELECT " + one.value() + " AS v");
        execute(connection, "DROP TABLE IF EXISTS clients_sent; CREATE TABLE clients_sent (v "
            + one.type() + " NULL)");
        try (PreparedStatement insert = connection.prepareStatement("INSERT clients_sent VALUES (?)")) {
            send(insert, one.kind(), value);
            insert.execute();
        }
        Object read = value(connection, one.type(), "SELECT v FROM clients_sent");
        Object found = ask(connection, "SELECT COUNT(*) FROM clients_sent WHERE " + one.found());
        return found.equals(1) ? one.differs(read) : "stored as " + read;
    }

    Object parameter() throws Exception {
        try (Connection connection = connect(false);
             PreparedStatement statement = connection.prepareStatement("SELECT ? + 1, ?, ?")) {
            statement.setInt(1, 41);
            statement.setString(2, "Grüße");
            statement.setBigDecimal(3, new BigDecimal("12.50"));
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                expect(rows.getInt(1) + rows.getString(2) + rows.getBigDecimal(3), "42Grüße12.50");
            }
            return 42;
        }
    }

    Object prepare() throws Exception {
        try (Connection connection = connect(false)) {
            execute(connection, "CREATE TABLE #prepared (n int PRIMARY KEY, t nvarchar(20) NULL)");
            PreparedStatement insert = connection.prepareStatement("INSERT #prepared VALUES (?, ?)");
            for (int n = 0; n < 100; n++) {
                insert.setInt(1, n);
                insert.setString(2, n % 7 == 0 ? null : "row " + n);
                if (n < 50) {
                    expect(insert.executeUpdate(), 1);
                } else {
                    insert.addBatch();
                }
            }
            expect(insert.executeBatch().length, 50);
            PreparedStatement query = connection.prepareStatement("SELECT t FROM #prepared WHERE n = ?");
            for (int n = 0; n < 100; n++) {
                query.setInt(1, n);
                try (ResultSet rows = query.executeQuery()) {
                    rows.next();
                    expect(String.valueOf(rows.getString(1)), n % 7 == 0 ? "null" : "row " + n);
                }
            }
            expect(ask(connection, "SELECT COUNT(t) FROM #prepared"), 85);
            return "100 times";
        }
    }

    Object output() throws Exception {
        try (Connection connection = connect(false)) {
            execute(connection, "CREATE OR ALTER PROCEDURE clients_output @n int, @twice int OUTPUT, "
                + "@text nvarchar(40) OUTPUT AS SET @twice = 2 * @n; SET @text = CONCAT(@text, N'ß'); "
                + "SELECT @n AS n; RETURN 7");
            CallableStatement call = connection.prepareCall("{? = call clients_output(?, ?, ?)}");
            call.registerOutParameter(1, Types.INTEGER);
            call.setInt(2, 21);
            call.registerOutParameter(3, Types.INTEGER);
            call.setString(4, "Stra");
            call.registerOutParameter(4, Types.VARCHAR);
            try (ResultSet rows = call.executeQuery()) {
                rows.next();
                expect(rows.getInt(1), 21);
            }
            call.getMoreResults();
            expect(call.getInt(3) + call.getString(4) + call.getInt(1), "42Straß7");
            return "42 Straß 7";
        }
    }

    Object results() throws Exception {
        try (Connection connection = connect(false);
             Statement statement = connection.createStatement()) {
            execute(connection, "CREATE TABLE #several (n int)");
            List<String> found = new ArrayList<>();
            boolean isRows = statement.execute("SELECT 1 AS a; INSERT #several VALUES (1), (2), (3); "
                + "SELECT n * n FROM #several ORDER BY n; UPDATE #several SET n = 0 WHERE n > 1; "
                + "SELECT 2 AS b WHERE 1 = 0; SELECT N'last' AS c");
            while (isRows || statement.getUpdateCount() != -1) {
                if (isRows) {
                    StringBuilder rows = new StringBuilder();
                    try (ResultSet set = statement.getResultSet()) {
                        while (set.next()) {
                            rows.append(' ').append(set.getString(1));
                        }
                    }
                    found.add("rows" + rows);
                } else {
                    found.add(String.valueOf(statement.getUpdateCount()));
                }
                isRows = statement.getMoreResults();
            }
            expect(found, List.of("rows 1", "3", "rows 1 4 9", "2", "rows", "rows last"));
            return found;
        }
    }

    Object transaction() throws Exception {
        try (Connection connection = connect(false); Connection other = connect(false)) {
            execute(connection, "DROP TABLE IF EXISTS clients_rows; CREATE TABLE clients_rows (n int)");
            connection.setAutoCommit(false);
            execute(connection, "INSERT clients_rows VALUES (1)");
            expect(ask(connection, "SELECT @@TRANCOUNT"), 1);
            connection.rollback();
            execute(connection, "INSERT clients_rows VALUES (2)");
            connection.commit();
            connection.setAutoCommit(true);
            expect(ask(connection, "SELECT @@TRANCOUNT"), 0);
            expect(ask(other, "SELECT SUM(n) FROM clients_rows"), 2);
            return "rolled back and committed";
        }
    }

    Object savepoint() throws Exception {
        try (Connection connection = connect(false)) {
            execute(connection, "CREATE TABLE #saved (n int)");
            connection.setAutoCommit(false);
            execute(connection, "INSERT #saved VALUES (1)");
            Savepoint here = connection.setSavepoint("here");
            execute(connection, "INSERT #saved VALUES (2)");
            connection.rollback(here);
            execute(connection, "INSERT #saved VALUES (4)");
            connection.commit();
            expect(ask(connection, "SELECT SUM(n) FROM #saved"), 5);
            return 5;
        }
    }

    /** Cursors of the server: moved, and changed through. */
    Object cursors() throws Exception {
        try (Connection connection = connect(false)) {
            execute(connection, "CREATE TABLE #kept (id int PRIMARY KEY, name varchar(10))");
            execute(connection, "INSERT #kept VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')");
            try (Statement statement = connection.createStatement(
                    ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
                statement.setFetchSize(2);
                ResultSet rows = statement.executeQuery("SELECT id, name FROM #kept ORDER BY id");
                expect(rows.last() ? rows.getInt(1) : null, 5);
                expect(rows.previous() ? rows.getInt(1) : null, 4);
                expect(rows.absolute(2) ? rows.getInt(1) : null, 2);
                expect(rows.relative(-1) ? rows.getInt(1) : null, 1);
                expect(rows.absolute(-2) ? rows.getInt(1) : null, 4);
            }
            try (Statement statement = connection.createStatement(
                    ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                ResultSet rows = statement.executeQuery("SELECT id, name FROM #kept ORDER BY id");
                rows.absolute(2);
                rows.updateString("name", "changed");
                rows.updateRow();
                rows.next();
                rows.deleteRow();
                rows.moveToInsertRow();
                rows.updateInt("id", 9);
                rows.updateString("name", "new");
                rows.insertRow();
                rows.moveToCurrentRow();
                expect(rows.last() ? rows.getInt(1) : null, 9);
            }
            expect(ask(connection, "SELECT name FROM #kept WHERE id = 2"), "changed");
            expect(ask(connection, "SELECT SUM(id) FROM #kept"), 21);
            return "scrolled, updated, deleted, inserted";
        }
    }

    private int[] raised(Connection connection, String text) throws Exception {
        try (Statement statement = connection.createStatement()) {
            boolean isRows = statement.execute(text);
            while (isRows || statement.getUpdateCount() != -1) {
                if (isRows) {
                    ResultSet rows = statement.getResultSet();
                    while (rows.next()) {
                        rows.getObject(1);
                    }
                }
                isRows = statement.getMoreResults();
            }
        } catch (SQLException error) {
            return failure(error);
        }
        throw new Exception("no error: " + text);
    }

    Object error() throws Exception {
        try (Connection connection = connect(false)) {
            int[] seen = raised(connection, "SELECT 1\nPRINT 'x'\nRAISERROR('mine', 16, 3)");
            expect(seen[0], 50000);
            expect(seen[1] == 0 ? 3 : seen[1], 3);
            expect(seen[2] == 0 ? 16 : seen[2], 16);
            expect(raised(connection, "SELECT 10 / (2 - n) FROM (VALUES (0), (1), (2), (3)) AS t (n)")[0], 8134);
            expect(raised(connection, "SELECT * FROM nowhere")[0], 208);
            expect(ask(connection, "SELECT 1"), 1);
            return "number" + (seen[1] == 0 ? "" : " line") + (seen[2] == 0 ? "" : " severity");
        }
    }

    Object cancel() throws Exception {
        try (Connection connection = connect(false)) {
            for (String text : List.of(WAIT, COMPUTE)) {
                long start = System.nanoTime();
                try (Statement statement = connection.createStatement()) {
                    new Timer(true).schedule(new TimerTask() {
                        public void run() {
                            try {
                                statement.cancel();
                            } catch (SQLException error) {
                                say("note", "cancel", error.getMessage());
                            }
                        }
                    }, 500);
                    boolean isRows = statement.execute(text);
                    while (isRows && statement.getResultSet().next()) {
                    }
                    throw new Exception("not cancelled");
                } catch (SQLException cancelled) {
                    if (System.nanoTime() - start > 10_000_000_000L) {
                        throw cancelled;
                    }
                }
                expect(ask(connection, "SELECT 1"), 1);
            }
            return "2 statements";
        }
    }

    Object many() throws Exception {
        List<Object> counts = Collections.synchronizedList(new ArrayList<>());
        try (Connection connection = connect(false)) {
            execute(connection, "DROP TABLE IF EXISTS clients_many; CREATE TABLE clients_many (n int)");
            CyclicBarrier barrier = new CyclicBarrier(MANY);
            List<Thread> threads = new ArrayList<>();
            for (int n = 0; n < MANY; n++) {
                String insert = "INSERT clients_many VALUES (" + n + ")";
                Thread thread = new Thread(() -> {
                    try (Connection mine = connect(false)) {
                        barrier.await(120, TimeUnit.SECONDS);
                        execute(mine, insert);
                        barrier.await(120, TimeUnit.SECONDS);
                        counts.add(ask(mine, "SELECT COUNT(*) FROM clients_many"));
                    } catch (Exception error) {
                        counts.add(error.toString());
                        barrier.reset();
                    }
                });
                thread.start();
                threads.add(thread);
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        expect(counts, Collections.nCopies(MANY, (Object) MANY));
        return MANY + " connections";
    }
}
