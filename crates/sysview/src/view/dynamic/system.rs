//! The machine: `sys.dm_os_sys_info`, `sys.dm_os_host_info`.

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::thread;

use crate::columns::Columns;
use crate::error::Error;
use crate::facts::ServerFacts;
use crate::rows::Rows;
use crate::source::Source;
use crate::value::Value;

/// English of the United States.
const LANGUAGE: i32 = 1033;

/// The machine and the process.
struct Machine {
    server: ServerFacts,
    cores: i32,
    /// Milliseconds of the monotonic clock.
    ticks_ms: i64,
    /// Kilobytes of pages in memory.
    committed_kb: i64,
}

fn machine(source: &Source<'_>) -> Machine {
    let options = &source.instance.options().database;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let kilobytes = (options.frames * PAGE_BYTES / 1024) as u64;
    Machine {
        server: source.facts.server(),
        cores: i32::try_from(cores).unwrap_or(i32::MAX),
        ticks_ms: i64::try_from(options.clock.monotonic().as_millis()).unwrap_or(i64::MAX),
        committed_kb: i64::try_from(kilobytes).unwrap_or(i64::MAX),
    }
}

/// `sys.dm_os_sys_info`.
pub(in crate::view) fn info(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = processors()
        .put("physical_memory_kb", |it: &Machine| (it.server.memory_bytes / 1024).into())
        .put("virtual_memory_kb", |_| ADDRESS_SPACE_KB.into())
        .put("committed_kb", |it| it.committed_kb.into())
        .put("committed_target_kb", |it| it.committed_kb.into())
        .put("visible_target_kb", |it| it.committed_kb.into())
        .put("ms_ticks", |it| it.ticks_ms.into())
        .put("sqlserver_start_time", |it| it.server.started.into())
        .put("time_source_desc", |_| "QUERY_PERFORMANCE_COUNTER".into())
        .put("virtual_machine_type_desc", |_| "NONE".into())
        .put("sql_memory_model_desc", |_| "CONVENTIONAL".into())
        .put("container_type_desc", |_| "NONE".into())
        .zero(&["cpu_ticks", "stack_size_in_bytes", "os_quantum", "os_error_mode"])
        .zero(&["deadlock_monitor_serial_number", "sqlserver_start_time_ms_ticks"])
        .zero(&["process_kernel_time_ms", "process_user_time_ms", "time_source"])
        .zero(&["virtual_machine_type", "container_type"])
        .one(&["sql_memory_model"])
        .null(&["os_priority_class"]);
    rows.add(&columns, [machine(source)])
}

/// 128 TB of user addresses.
const ADDRESS_SPACE_KB: i64 = 137_438_953_472;

fn processors() -> Columns<Machine> {
    Columns::new()
        .put("cpu_count", |it: &Machine| it.cores.into())
        .put("hyperthread_ratio", |it| it.cores.into())
        .put("max_workers_count", |it| it.cores.into())
        .put("scheduler_count", |it| it.cores.into())
        .put("scheduler_total_count", |it| it.cores.into())
        .put("cores_per_socket", |it| it.cores.into())
        .put("affinity_type", |_| 2.into())
        .put("affinity_type_desc", |_| "AUTO".into())
        .put("softnuma_configuration_desc", |_| "OFF".into())
        .put("process_physical_affinity", |_| "".into())
        .one(&["socket_count", "numa_node_count"])
        .zero(&["softnuma_configuration"])
}

/// `sys.dm_os_host_info`.
pub(in crate::view) fn host_info(source: &Source<'_>, rows: &mut Rows) -> Result<(), Error> {
    let columns = Columns::new()
        .put("host_platform", |it: &ServerFacts| (&it.host_platform).into())
        .put("host_distribution", |it| (&it.host_distribution).into())
        .put("host_release", |it| (&it.host_release).into())
        .put("host_service_pack_level", |_| "".into())
        .put("os_language_version", |_| Value::from(LANGUAGE))
        .put("host_architecture", |it| (&it.host_architecture).into())
        .null(&["host_sku"]);
    rows.add(&columns, [source.facts.server()])
}
