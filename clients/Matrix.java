import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;

/** The values of types.tsv and what they are in Java. */
final class Matrix {
    record Case(String type, String kind, String label, String ways, String text, String stored,
                String literal) {
        String name() {
            return type + " " + label;
        }

        String value() {
            return "CAST(" + literal + " AS " + type + ")";
        }

        boolean isNull() {
            return label.equals("null");
        }

        /** The condition on column v that holds where the value has been stored. */
        String found() {
            return isNull() ? "v IS NULL" : stored.replace("$", "v") + " = " + stored.replace("$", value());
        }

        /** What differs: null where the value is the one of the case. */
        String differs(Object value) throws Exception {
            if (isNull()) {
                return value == null ? null : "not NULL";
            }
            String found = shown(value);
            if (found.equals(text)) {
                return null;
            }
            return found.length() < 60 ? found : found.substring(0, 40) + "… of " + found.length();
        }

        private String shown(Object value) throws Exception {
            if (value instanceof Boolean bit) {
                return bit ? "1" : "0";
            }
            if (kind.equals("decimal") && value instanceof BigDecimal number) {
                return number.compareTo(new BigDecimal(text)) == 0 ? text : number.toPlainString();
            }
            if (kind.equals("float") && value instanceof Double number) {
                return number == Double.parseDouble(text) ? text : number.toString();
            }
            if (kind.equals("real") && value instanceof Float number) {
                return number == Float.parseFloat(text) ? text : number.toString();
            }
            if (value instanceof byte[] bytes) {
                return java.util.HexFormat.of().withUpperCase().formatHex(bytes);
            }
            if (value instanceof java.sql.Clob clob) {
                return clob.getSubString(1, (int) clob.length());
            }
            if (value instanceof java.sql.Blob blob) {
                return shown(blob.getBytes(1, (int) blob.length()));
            }
            if (List.of("date", "time", "datetime", "offset").contains(kind)) {
                return moment(value);
            }
            return String.valueOf(value);
        }

        private String moment(Object value) {
            String shown = String.valueOf(value);
            if (value instanceof OffsetDateTime moment) {
                shown = moment.format(DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.nnnnnnnnn xxx"));
            } else if (value instanceof java.time.LocalDateTime moment) {
                shown = moment.format(DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.nnnnnnnnn"));
            } else if (value instanceof java.time.LocalTime moment) {
                shown = moment.format(DateTimeFormatter.ofPattern("HH:mm:ss.nnnnnnnnn"));
            }
            // A fraction without the zeros at its end.
            return shown.replaceAll("(\\.\\d*?)0+( |$)", "$1$2").replaceAll("\\.( |$)", "$1");
        }
    }

    static List<Case> cases(Path file) throws Exception {
        List<Case> cases = new ArrayList<>();
        List<String> lines = Files.readAllLines(file, StandardCharsets.UTF_8);
        for (String line : lines.subList(1, lines.size())) {
            String[] cells = line.split("\t", -1);
            String text = cells[4];
            if (text.startsWith("*")) {
                int blank = text.indexOf(' ');
                text = text.substring(blank + 1).repeat(Integer.parseInt(text.substring(1, blank)));
            }
            cases.add(new Case(cells[0], cells[1], cells[2], cells[3], text, cells[5], cells[6]));
        }
        return cases;
    }
}
