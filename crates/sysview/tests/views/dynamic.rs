//! Dynamic management views: sessions, requests, locks, waits, counters.

use extentdb_base::SessionId;
use extentdb_engine::Database;
use extentdb_sysview::{
    ConnectionFacts, Facts, LoginFacts, RequestFacts, SessionFacts, Source, TransactionFacts,
};
use extentdb_types::{DateTime, Guid};

use crate::support::*;

/// A connection that runs a SELECT in a transaction.
struct OneClient(SessionId);

impl Facts for OneClient {
    fn session(&self, id: SessionId) -> Option<SessionFacts> {
        let program_name = Some("tests".to_owned());
        let facts = SessionFacts {
            program_name,
            open_transaction_count: 1,
            ..Default::default()
        };
        (id == self.0).then_some(facts)
    }

    fn connection(&self, id: SessionId) -> Option<ConnectionFacts> {
        (id == self.0).then(|| ConnectionFacts {
            connect_time: DateTime::BASE,
            net_transport: "TCP".to_owned(),
            protocol_version: 0x7400_0004,
            is_encrypted: true,
            packet_bytes: 4096,
            client_address: Some("10.0.0.1".to_owned()),
            client_port: Some(50_000),
            local_address: None,
            local_port: None,
            id: Guid([7; 16]),
            reads: None,
            writes: None,
            last_read: None,
            last_write: None,
        })
    }

    fn request(&self, id: SessionId) -> Option<RequestFacts> {
        (id == self.0).then(|| RequestFacts {
            start_time: DateTime::BASE,
            command: "SELECT".to_owned(),
            elapsed_ms: 5,
            cpu_time_ms: 1,
            row_count: 0,
            nest_level: 0,
            statement_offsets: Some((0, -1)),
        })
    }

    fn transaction(&self, id: SessionId) -> Option<TransactionFacts> {
        (id == self.0).then(|| TransactionFacts {
            id: 77,
            name: "user_transaction".to_owned(),
            began: DateTime::BASE,
            descriptor: 3,
            is_users: true,
            is_doomed: false,
        })
    }

    fn logins(&self) -> Vec<LoginFacts> {
        let reader = LoginFacts {
            name: "reader".to_owned(),
            id: 260,
            sid: vec![9; 16],
            is_disabled: true,
            roles: Vec::new(),
            ..LoginFacts::sa()
        };
        vec![LoginFacts::sa(), reader]
    }

    fn configuration(&self, id: i32) -> Option<i32> {
        (id == 115).then_some(0)
    }
}

fn shown(
    instance: &extentdb_engine::Instance,
    database: &Database,
    client: SessionId,
    name: &str,
    columns: &str,
) -> String {
    let model = database.model().unwrap();
    let facts = OneClient(client);
    read_from(&Source::new(instance, database, &model).with_facts(&facts), name, columns)
}

#[test]
fn a_client_is_seen_in_all_views_of_sessions() {
    let instance = server();
    let database = shop(&instance);
    let session = instance.session("shop").unwrap();
    let id = session.handle().id();
    let shown = |name: &str, columns: &str| shown(&instance, &database, id, name, columns);
    let all = shown("sys.dm_exec_sessions", "session_id program_name database_id is_user_process");
    assert!(all.lines().any(|line| line == format!("{id} tests 5 1")), "{all}");
    let columns = "session_id net_transport encrypt_option client_net_address client_tcp_port";
    let expected = format!("{id} TCP TRUE 10.0.0.1 50000\n");
    assert_eq!(shown("sys.dm_exec_connections", columns), expected);
    let columns = "session_id status command transaction_id blocking_session_id wait_type";
    assert_eq!(shown("sys.dm_exec_requests", columns), format!("{id} running SELECT 77 0 NULL\n"));
    let columns = "transaction_id name transaction_type transaction_state";
    let expected = "77 user_transaction 1 2\n";
    assert_eq!(shown("sys.dm_tran_active_transactions", columns), expected);
    let columns = "session_id transaction_id is_user_transaction open_transaction_count";
    assert_eq!(shown("sys.dm_tran_session_transactions", columns), format!("{id} 77 1 1\n"));
    let all = shown("sys.sysprocesses", "spid program_name cmd status open_tran");
    assert!(all.lines().any(|line| line == format!("{id} tests SELECT running 1")), "{all}");
}

#[test]
fn logins_and_configuration_are_those_of_the_facts() {
    let instance = server();
    let database = shop(&instance);
    let shown =
        |name: &str, columns: &str| shown(&instance, &database, SessionId(0), name, columns);
    let all = shown("sys.sql_logins", "name principal_id is_disabled default_database_name");
    assert_eq!(all, "reader 260 1 master\nsa 1 0 master\n");
    assert_eq!(shown("sys.server_role_members", "member_principal_id"), "1\n");
    let all = shown("sys.configurations", "name value_in_use");
    assert!(all.lines().any(|line| line == "nested triggers 0"), "{all}");
}

#[test]
fn locks_of_a_transaction_name_their_session() {
    let instance = server();
    let database = shop(&instance);
    let mut session = instance.session("shop").unwrap();
    let id = session.handle().id();
    let table = session.table("customers").unwrap();
    session.begin();
    let email = extentdb_types::NText::from_text("a@x");
    let row = [
        extentdb_types::Datum::Int(1),
        extentdb_types::Datum::NChar(extentdb_types::NText::from_text("x")),
        extentdb_types::Datum::NChar(email),
    ];
    session.insert(&table, &row).unwrap();
    let columns = "resource_type resource_database_id resource_associated_entity_id request_mode \
                   request_status request_session_id";
    let all = shown(&instance, &database, id, "sys.dm_tran_locks", columns);
    let expected = format!("OBJECT 5 {} IX GRANT {id}", table.id().0);
    assert!(all.lines().any(|line| line == expected), "{expected} in\n{all}");
    assert!(all.lines().any(|line| line.starts_with("KEY 5 ")), "{all}");
    let states = "transaction_id database_id database_transaction_state";
    let open = shown(&instance, &database, id, "sys.dm_tran_database_transactions", states);
    assert_eq!(open, "77 5 4\n");
    let old = shown(&instance, &database, id, "sys.syslockinfo", "rsc_type req_mode req_spid");
    assert!(old.lines().any(|line| line == format!("5 8 {id}")), "{old}");
    session.rollback().unwrap();
    let all = shown(&instance, &database, id, "sys.dm_tran_locks", columns);
    assert!(!all.contains("IX GRANT"), "{all}");
}

#[test]
fn counters_and_waits_have_the_names_of_the_product() {
    let instance = server();
    let database = shop(&instance);
    let waits = read(&instance, &database, "sys.dm_os_wait_stats", "wait_type");
    assert!(waits.lines().any(|line| line == "WRITELOG"), "{waits}");
    let columns = "object_name counter_name instance_name cntr_type";
    let all = read(&instance, &database, "sys.dm_os_performance_counters", columns);
    for expected in [
        "SQLServer:Buffer Manager Page life expectancy  65792",
        "SQLServer:Databases Log Flushes/sec shop 272696576",
        "SQLServer:Locks Number of Deadlocks/sec _Total 272696576",
    ] {
        assert!(all.lines().any(|line| line == expected), "{expected} in\n{all}");
    }
    let cores = read(&instance, &database, "sys.dm_os_sys_info", "cpu_count numa_node_count");
    assert!(cores.ends_with(" 1\n"), "{cores}");
}
