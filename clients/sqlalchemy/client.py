"""SQLAlchemy over mssql-python, and pandas over it."""

import datetime
import decimal
import threading
import uuid

import sqlalchemy as sa
from check import HOST, PASSWORD, PORT, check, expect, line
from sqlalchemy.dialects import mssql
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    mapped_column,
    relationship,
    selectinload,
)

try:
    import pandas
except ImportError:  # without it its check is not there
    pandas = None

MANY = 64


def engine(tls=False, **options):
    query = {"Encrypt": "yes" if tls else "no", "TrustServerCertificate": "yes"}
    address = sa.URL.create("mssql+mssqlpython", "sa", PASSWORD, HOST, PORT, "master", query)
    return sa.create_engine(address, **options)


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "clients_author"
    id: Mapped[int] = mapped_column(sa.Identity(start=10, increment=5), primary_key=True)
    name: Mapped[str] = mapped_column(sa.Unicode(40), unique=True)
    born: Mapped[datetime.date | None]
    books: Mapped[list["Book"]] = relationship(
        back_populates="author", cascade="all, delete-orphan"
    )


class Book(Base):
    __tablename__ = "clients_book"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    author_id: Mapped[int] = mapped_column(sa.ForeignKey("clients_author.id"), index=True)
    title: Mapped[str] = mapped_column(sa.Unicode(80))
    price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(9, 2), server_default=sa.text("9.99"))
    author: Mapped[Author] = relationship(back_populates="books")
    __table_args__ = (sa.CheckConstraint("price >= 0", name="clients_book_price"),)


def version(tls):
    with engine(tls).connect() as connection:
        encrypted = connection.scalar(
            sa.text(
                "SELECT encrypt_option FROM sys.dm_exec_connections " "WHERE session_id = @@SPID"
            )
        )
        expect(encrypted, "TRUE" if tls else "FALSE")
        return connection.scalar(sa.text("SELECT @@VERSION")).splitlines()[0]


def create():
    own = engine()
    Base.metadata.drop_all(own)
    Base.metadata.create_all(own)
    Base.metadata.create_all(own)
    names = sa.inspect(own).get_table_names()
    return expect(
        [name for name in names if name.startswith("clients_") and name in Base.metadata.tables],
        ["clients_author", "clients_book"],
    )


def reflect():
    own = engine()
    metadata = sa.MetaData()
    metadata.reflect(own, only=["clients_author", "clients_book"])
    book = metadata.tables["clients_book"]
    expect([column.name for column in book.columns], ["id", "author_id", "title", "price"])
    expect(
        [str(column.type).split(" COLLATE")[0] for column in book.columns],
        ["UNIQUEIDENTIFIER", "INTEGER", "NVARCHAR(80)", "NUMERIC(9, 2)"],
    )
    expect([column.nullable for column in book.columns], [False] * 4)
    expect([key.target_fullname for key in book.foreign_keys], ["clients_author.id"])
    inspector = sa.inspect(own)
    expect(
        [index["column_names"] for index in inspector.get_indexes("clients_book")], [["author_id"]]
    )
    expect(inspector.get_pk_constraint("clients_book")["constrained_columns"], ["id"])
    identity = inspector.get_columns("clients_author")[0]["identity"]
    expect((identity["start"], identity["increment"]), (10, 5))
    expect("9.99" in inspector.get_columns("clients_book")[3]["default"], True)
    expect(inspector.has_table("clients_none"), False)
    expect("dbo" in inspector.get_schema_names(), True)
    return "columns, keys, index, identity, default"


def orm():
    with Session(engine()) as session:
        author = Author(name="Größe", born=datetime.date(1900, 2, 28))
        author.books = [Book(title=f"Книга {n}", price=decimal.Decimal(n)) for n in range(3)]
        author.books.append(Book(title="default"))
        session.add(author)
        session.add_all(Author(name=f"author {n}") for n in range(500))
        session.commit()
        expect(author.id, 10)
        query = sa.select(Author).where(Author.name == "Größe").options(selectinload(Author.books))
        found = session.scalars(query).one()
        expect(
            sorted(book.price for book in found.books),
            [decimal.Decimal(text) for text in ("0.00", "1.00", "2.00", "9.99")],
        )
        found.books[0].title = "changed"
        found.born = None
        session.delete(found.books[1])
        session.commit()
        join = sa.select(Author.name, sa.func.count(Book.id)).join(Book).group_by(Author.name)
        expect(session.execute(join).all(), [("Größe", 3)])
        page = sa.select(Author.id).order_by(Author.id).offset(10).limit(3)
        expect(session.scalars(page).all(), [60, 65, 70])
        session.execute(
            sa.update(Author).where(Author.id > 100).values(born=datetime.date(2000, 1, 1))
        )
        done = session.execute(sa.delete(Author).where(Author.born.is_not(None)))
        expect(done.rowcount, 482)
        session.commit()
        expect(session.scalar(sa.select(sa.func.count()).select_from(Author)), 19)
    return "insert, select, update, delete, join, page"


def types():
    values = {
        "big": (sa.BigInteger, -(2**63)),
        "small": (sa.SmallInteger, 32767),
        "tiny": (mssql.TINYINT, 255),
        "flag": (sa.Boolean, True),
        "number": (sa.Numeric(38, 10), decimal.Decimal("1234567890.0123456789")),
        "money": (mssql.MONEY, decimal.Decimal("-12345.6789")),
        "real": (mssql.REAL, 0.5),
        "double": (sa.Double, 0.1),
        "text": (sa.String(40), "Grüße"),
        "unicode": (sa.Unicode(40), "日本語 😀"),
        "long": (sa.UnicodeText, "Привет" * 5000),
        "bytes": (sa.LargeBinary, bytes(range(256)) * 100),
        "day": (sa.Date, datetime.date(2024, 2, 29)),
        "clock": (sa.Time, datetime.time(12, 34, 56, 123456)),
        "moment": (sa.DateTime, datetime.datetime(2024, 2, 29, 12, 34, 56, 123000)),
        "precise": (mssql.DATETIME2(6), datetime.datetime(1, 1, 1, 12, 34, 56, 123456)),
        "zoned": (
            mssql.DATETIMEOFFSET(6),
            datetime.datetime(
                2024,
                2,
                29,
                12,
                34,
                56,
                123456,
                datetime.timezone(datetime.timedelta(hours=-5, minutes=-30)),
            ),
        ),
        "guid": (sa.Uuid, uuid.UUID("6F9619FF-8B86-D011-B42D-00C04FC964FF")),
        "xml": (mssql.XML, '<a b="1"/>'),
        "json": (sa.JSON, {"a": [1, None, "ß"]}),
    }
    columns = [sa.Column(name, kind, nullable=True) for name, (kind, _) in values.items()]
    table = sa.Table(
        "clients_types", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), *columns
    )
    own = engine()
    with own.begin() as connection:
        table.drop(connection, checkfirst=True)
        table.create(connection)
        row = {name: value for name, (_, value) in values.items()}
        connection.execute(table.insert(), row)
        connection.execute(table.insert(), {"day": None})
        found = connection.execute(table.select().order_by(table.c.id)).mappings().all()
    for name, wanted in row.items():
        expect((name, found[0][name]), (name, wanted))
    expect({value for name, value in found[1].items() if name != "id"}, {None})
    return f"{len(row)} types"


def pandas_frames():
    own = engine()
    frame = pandas.DataFrame(
        {
            "n": range(1200),
            "t": [f"Größe {n}" if n % 5 else None for n in range(1200)],
            "f": [n / 4 for n in range(1200)],
            "d": pandas.date_range("2024-01-01", periods=1200, freq="h"),
        }
    )
    expect(
        frame.to_sql("clients_frame", own, if_exists="replace", index=False, chunksize=500) != 0,
        True,
    )
    found = pandas.read_sql("SELECT * FROM clients_frame ORDER BY n", own)
    expect(found["n"].tolist(), frame["n"].tolist())
    expect(
        [None if pandas.isna(text) else text for text in found["t"]],
        [None if pandas.isna(text) else text for text in frame["t"]],
    )
    expect(found["f"].tolist(), frame["f"].tolist())
    expect(found["d"].tolist(), frame["d"].tolist())
    table = pandas.read_sql_table("clients_frame", own)
    return f"{len(table)} rows"


def transaction():
    own = engine()
    with own.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS clients_rows")
        connection.exec_driver_sql("CREATE TABLE clients_rows (n int)")
    with own.connect() as connection:
        connection.exec_driver_sql("INSERT clients_rows VALUES (1)")
        connection.rollback()
        connection.exec_driver_sql("INSERT clients_rows VALUES (2)")
        connection.commit()
    with own.connect().execution_options(isolation_level="SERIALIZABLE") as connection:
        return expect(connection.scalar(sa.text("SELECT SUM(n) FROM clients_rows")), 2)


def savepoint():
    with engine().begin() as connection:
        connection.exec_driver_sql("CREATE TABLE #saved (n int)")
        connection.exec_driver_sql("INSERT #saved VALUES (1)")
        nested = connection.begin_nested()
        connection.exec_driver_sql("INSERT #saved VALUES (2)")
        nested.rollback()
        connection.exec_driver_sql("INSERT #saved VALUES (4)")
        return expect(connection.scalar(sa.text("SELECT SUM(n) FROM #saved")), 5)


def error():
    with engine().connect() as connection:
        for text, wanted in (
            ("SELECT * FROM nowhere", sa.exc.ProgrammingError),
            ("INSERT clients_book (id) VALUES (NEWID())", sa.exc.IntegrityError),
        ):
            try:
                connection.exec_driver_sql(text)
            except sa.exc.DBAPIError as raised:
                expect(type(raised), wanted)
                connection.rollback()
            else:
                raise AssertionError(f"no error: {text}")
        return expect(connection.scalar(sa.text("SELECT 1")), 1)


def many():
    own = engine(pool_size=MANY, max_overflow=0)
    with own.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS clients_many")
        connection.exec_driver_sql("CREATE TABLE clients_many (n int)")
    barrier = threading.Barrier(MANY, timeout=120)
    counts = []

    def work(n):
        try:
            with own.connect() as connection:
                connection.execute(sa.text("INSERT clients_many VALUES (:n)"), {"n": n})
                connection.commit()
                barrier.wait()
                counts.append(connection.scalar(sa.text("SELECT COUNT(*) FROM clients_many")))
        except Exception as raised:
            counts.append(str(raised))
            barrier.abort()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(MANY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(counts, [MANY] * MANY)
    return f"{MANY} connections"


line("ok", "version", sa.__version__)
check("clear", lambda: version(False))
check("tls", lambda: version(True))
check("create_all", create)
check("reflect", reflect)
check("orm", orm)
check("column types", types)
if pandas:
    check("pandas", pandas_frames)
check("transaction", transaction)
check("savepoint", savepoint)
check("error", error)
check("many", many)
