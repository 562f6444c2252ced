//! Starting a server: databases, logins, certificate, initial scripts, and last the port.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use extentdb_base::SessionId;
use extentdb_base::env::SystemClock;
use extentdb_base::sync::{Arc, OnceLock};
use extentdb_engine::{Instance, InstanceOptions, Options};
use extentdb_io::{DurabilityMode, MemDisk, RealDisk};
use extentdb_session::login::{DEFAULT_DATABASE, Login, Logins, SA};
use extentdb_session::{
    Hooks, MemoryLimits, PasswordHash, Product, Server, ShutdownMode, verify_strength,
};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::sync::watch;

use crate::connections::Connections;
use crate::error::Error;
use crate::error_log::ErrorLog;
use crate::files;
use crate::init;
use crate::listener::{RunningServer, Shared, accept};
use crate::lockout::Lockout;
use crate::random;
use crate::settings::Settings;
use crate::tls::Tls;

const LOGINS_FILE: &str = "logins";
/// Threads that requests block; a request that waits for a lock keeps one.
const THREADS_MAX: usize = 32_768;
/// A level of a plan takes 16 KiB of stack at most, and a plan has some thousands of them: a chain
/// of set operators or joins is as deep as it is long (`extentdb_bind`, `CHAIN_MAX`). Only what is
/// used is memory.
const STACK_BYTES: usize = 64 << 20;
const TASK_THREADS: usize = 2;
/// Pages of a megabyte.
const PAGES_PER_MB: u64 = 128;
/// Lines that tools wait for.
const RECOVERED: &str = "Recovery is complete. This is an informational message only. No user \
                         action is required.";
const READY: &str = "SQL Server is now ready for client connections. This is an informational \
                     message; no user action is required.";
/// Least pages that a memory limit leaves.
const FRAMES_MIN: u64 = 1_024;

/// The process as the sessions see it.
struct Process {
    shutdown: watch::Sender<bool>,
    connections: Arc<Connections>,
    logins: Option<std::path::PathBuf>,
    log: ErrorLog,
}

impl Hooks for Process {
    fn shutdown(&self, _: ShutdownMode) {
        self.log.server("SHUTDOWN was requested.");
        self.shutdown.send_replace(true);
    }

    fn killed(&self, session: SessionId) {
        self.connections.close(session);
    }

    fn store_logins(&self, logins: &str) -> Result<(), String> {
        match &self.logins {
            Some(path) => files::replace_secret(path, logins).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    fn random(&self, bytes: &mut [u8]) {
        random::fill(bytes);
    }
}

/// Files that are served to be read.
pub struct Mounted {
    /// The name of their database; `None` for the one that they say.
    pub name: Option<String>,
    /// The files.
    pub files: extentdb_session::offline::Database,
}

/// Starts a server; it listens when this returns. The databases of `mounted` are there to be read.
///
/// # Errors
/// What cannot be opened, made or listened on.
pub fn start(
    settings: Settings,
    mounted: &[Mounted],
    log: ErrorLog,
) -> Result<RunningServer, Error> {
    if !settings.is_ephemeral {
        files::create_folder(&settings.data)?;
    }
    let instance = Instance::start(instance_options(&settings))?;
    let (logins, generated_password) = logins(&settings, &log, &instance)?;
    let address = SocketAddr::new(address(&settings, &logins)?, settings.port);
    let shutdown = watch::Sender::new(false);
    let connections = Arc::new(Connections::default());
    let path = (!settings.is_ephemeral).then(|| settings.data.join(LOGINS_FILE));
    let process = Process {
        shutdown: shutdown.clone(),
        connections: connections.clone(),
        logins: path,
        log: log.clone(),
    };
    let product = product(&settings);
    let tls = Tls::new(&settings, certificate_names(&product))?;
    let server = Server::new(instance, product, logins, Arc::new(process));
    let stored = server.change_logins(|_| ());
    stored.map_err(|what| Error::Setting { name: LOGINS_FILE.to_owned(), what })?;
    if server.keeps_logins().unwrap_or(false) && !settings.is_ephemeral {
        files::remove_if_there(&settings.data.join(LOGINS_FILE))?;
    }
    server.set_memory_limits(memory_limits(&settings));
    for database in mounted {
        let name = database.files.mount(&server, database.name.as_deref())?.name().to_owned();
        log.server(&format!("Database {name} is read from its files, which are never written."));
        let faults = &database.files.reader().catalog().faults;
        if let Some(first) = faults.first() {
            log.server(&format!(
                "Warning: {} rows of the catalog of {name} are passed over, the first: {first}.",
                faults.len()
            ));
        }
    }
    init::run(&server, &settings.init)?;
    let shared = Arc::new(Shared {
        server,
        settings,
        tls,
        lockout: Lockout::default(),
        connections,
        pulse: Arc::default(),
        log,
        shutdown,
        clock: SystemClock::new(),
    });
    listen(shared, address, generated_password)
}

fn listen(
    shared: Arc<Shared>,
    address: SocketAddr,
    generated_password: Option<String>,
) -> Result<RunningServer, Error> {
    raise_file_limit();
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(TASK_THREADS)
        .max_blocking_threads(THREADS_MAX)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .map_err(Error::Threads)?;
    let refused = |source| Error::Listen { address, source };
    let listener = runtime.block_on(TcpListener::bind(address)).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    runtime.spawn(shared.pulse.clone().run());
    runtime.spawn(accept(listener, shared.clone()));
    let log = &shared.log;
    log.server(&format!("Server is listening on [ {} {} ].", address.ip(), address.port()));
    log.server(RECOVERED);
    log.server(READY);
    Ok(RunningServer { shared, address, runtime: Some(runtime), generated_password })
}

fn instance_options(settings: &Settings) -> InstanceOptions {
    let mut database = if settings.is_ephemeral {
        Options::on(Arc::new(MemDisk::new()))
    } else {
        Options::on(Arc::new(RealDisk::new(DurabilityMode::Auto)))
    };
    if let Some(megabytes) = settings.memory_mb {
        let frames = (megabytes / 2 * PAGES_PER_MB).max(FRAMES_MIN);
        database.frames = usize::try_from(frames).unwrap_or(usize::MAX);
    }
    let mut seed = [0; 8];
    random::fill(&mut seed);
    InstanceOptions {
        seed: u64::from_le_bytes(seed),
        ..InstanceOptions::new(settings.data.clone(), database)
    }
}

/// A quarter of the memory is for rows of statements, a quarter of that for each of them.
fn memory_limits(settings: &Settings) -> MemoryLimits {
    let bytes =
        |megabytes: u64| usize::try_from(megabytes.saturating_mul(1 << 20)).unwrap_or(usize::MAX);
    let limits = MemoryLimits::default();
    let limits = settings.memory_mb.map(bytes).map_or(limits, |bytes| MemoryLimits {
        server: bytes / 4,
        statement: bytes / 16,
        ..limits
    });
    MemoryLimits { login: settings.login_memory_mb.map(bytes), ..limits }
}

/// The logins, and the password of sa when it was made just now.
/// The logins: those of master, or of the file that was there before master kept them.
fn logins(
    settings: &Settings,
    log: &ErrorLog,
    instance: &Instance,
) -> Result<(Logins, Option<String>), Error> {
    let kept = instance.logins()?.filter(|rows| !rows.is_empty());
    let stored = match settings.is_ephemeral {
        true => None,
        false => files::read(&settings.data.join(LOGINS_FILE))?,
    };
    let mut logins = match kept {
        Some(rows) => Logins::from_rows(&rows),
        None => stored.as_deref().map(Logins::from_text).unwrap_or_default(),
    };
    if let Some(sa) = logins.named(SA) {
        let is_other = settings.sa_password.as_ref().is_some_and(|it| !sa.password.is(it));
        if is_other {
            log.server(
                "The password of sa that was given is not the one of this data folder, which \
                 stays as it is: ALTER LOGIN sa WITH PASSWORD changes it.",
            );
        }
        return Ok((logins, None));
    }
    let generated = settings.sa_password.is_none().then(random::password);
    let password = settings.sa_password.clone().or_else(|| generated.clone()).unwrap_or_default();
    let weakness = verify_strength(SA, &password).err();
    if let Some(weakness) = weakness {
        log.server(&format!(
            "The password of sa is weak: {weakness}. It works on this machine only."
        ));
    }
    let mut salt = [0; 4];
    random::fill(&mut salt);
    logins.put(Login {
        name: SA.to_owned(),
        password: PasswordHash::new(&password, salt),
        database: DEFAULT_DATABASE.to_owned(),
        is_enabled: true,
        is_local_only: generated.is_some() || weakness.is_some(),
        ..Login::sa()
    });
    Ok((logins, generated))
}

/// Without a password of its own sa is reached from this machine only.
fn address(settings: &Settings, logins: &Logins) -> Result<IpAddr, Error> {
    let is_local = logins.named(SA).is_none_or(|sa| sa.is_local_only);
    match settings.address {
        Some(address) if is_local && !address.is_loopback() => Err(Error::Setting {
            name: "network.ipaddress".to_owned(),
            what: format!(
                "{address} is reached from other machines, and sa has no strong password of its \
                 own: set one by MSSQL_SA_PASSWORD"
            ),
        }),
        Some(address) => Ok(address),
        None if is_local => Ok(Ipv4Addr::LOCALHOST.into()),
        None => Ok(Ipv4Addr::UNSPECIFIED.into()),
    }
}

fn product(settings: &Settings) -> Product {
    let name = machine_name().to_owned();
    let default = Product::default();
    Product {
        edition: settings.edition.clone().unwrap_or_else(|| default.edition.clone()),
        server_name: name.clone(),
        machine_name: name,
        process_id: std::process::id(),
        ..default
    }
}

/// Name of the machine, in capitals as the product shows it.
fn machine_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let name = rustix::system::uname().nodename().to_string_lossy().to_uppercase();
        if name.is_empty() { "EXTENTDB".to_owned() } else { name }
    })
}

fn certificate_names(product: &Product) -> Vec<String> {
    let machine = product.machine_name.to_lowercase();
    let is_name = machine.bytes().all(|it| it.is_ascii_alphanumeric() || b"-.".contains(&it));
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if is_name {
        names.push(machine);
    }
    names
}

/// As many files as the system allows: every connection is one.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Without it there are fewer connections.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
