//! Accepting connections, and ending all of them.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_base::sync::Arc;
use extentdb_engine::Termination;
use extentdb_session::Server;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::connections::{Connections, Pending};
use crate::conversation::{Conversation, LoggedIn};
use crate::error_log::ErrorLog;
use crate::handshake::{self, Greeted};
use crate::lockout::Lockout;
use crate::login::{self, Admitted, Link, Rejected};
use crate::pulse::Pulse;
use crate::settings::Settings;
use crate::tls::Tls;
use crate::transport::{Transport, Wire};

/// After a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// How long connections have to end when the server does.
const END_GRACE: Duration = Duration::from_secs(3);
const END_POLL: Duration = Duration::from_millis(10);

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) server: Arc<Server>,
    pub(crate) settings: Settings,
    pub(crate) tls: Tls,
    pub(crate) lockout: Lockout,
    pub(crate) connections: Arc<Connections>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) log: ErrorLog,
    /// Becomes true when the server ends.
    pub(crate) shutdown: watch::Sender<bool>,
    pub(crate) clock: SystemClock,
}

pub(crate) type SharedState = Arc<Shared>;

impl Shared {
    /// The time, for lockouts.
    pub(crate) fn now(&self) -> Duration {
        self.clock.monotonic()
    }
}

/// A server that takes connections, until it is stopped.
pub struct RunningServer {
    pub(crate) shared: SharedState,
    pub(crate) address: SocketAddr,
    pub(crate) runtime: Option<tokio::runtime::Runtime>,
    /// The password of sa, when this start made it.
    pub(crate) generated_password: Option<String>,
}

impl RunningServer {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The password of sa, when this start made it: it is known nowhere else.
    #[must_use]
    pub fn generated_password(&self) -> Option<&str> {
        self.generated_password.as_deref()
    }

    /// Waits until somebody wants the server to end: SHUTDOWN, SIGTERM, SIGINT.
    pub fn wait(&self) {
        let Some(runtime) = &self.runtime else { return };
        let mut end = self.shared.shutdown.subscribe();
        runtime.block_on(async {
            tokio::select! {
                () = ended(&mut end) => {}
                () = signal() => {}
            }
        });
    }

    /// Ends: no new connections, requests are interrupted, databases are closed.
    ///
    /// # Errors
    /// A database could not be closed; the next start recovers it.
    pub fn stop(mut self) -> Result<(), extentdb_engine::Error> {
        self.shared.shutdown.send_replace(true);
        self.shared.connections.close_all();
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(async {
                let mut waited = Duration::ZERO;
                while self.shared.connections.sessions() > 0 && waited < END_GRACE {
                    sleep(END_POLL).await;
                    waited += END_POLL;
                }
            });
            runtime.shutdown_timeout(END_GRACE);
        }
        self.shared.log.server("SQL Server is terminating because of a system shutdown.");
        self.shared.server.instance().shutdown(Termination::RollbackAfter(Duration::ZERO))
    }
}

impl std::fmt::Debug for RunningServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RunningServer({})", self.address)
    }
}

/// Waits until the server is to end.
pub(crate) async fn ended(shutdown: &mut watch::Receiver<bool>) {
    // Without a sender there is no server any more.
    let _ = shutdown.wait_for(|is_down| *is_down).await;
}

/// A signal that ends the process.
async fn signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminate) = signal(SignalKind::terminate()) else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    // Without the signal only SHUTDOWN is left.
    let _ = tokio::signal::ctrl_c().await;
}

/// Takes connections until the server ends.
pub(crate) async fn accept(listener: TcpListener, shared: SharedState) {
    let mut shutdown = shared.shutdown.subscribe();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ended(&mut shutdown) => return,
        };
        match accepted {
            Ok((socket, peer)) => {
                let pending = shared.connections.begin(shared.settings.pending_max);
                tokio::spawn(connection(socket, peer, pending, shared.clone()));
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn connection(socket: TcpStream, peer: SocketAddr, pending: Pending, shared: SharedState) {
    // Answers are small and waited for.
    let _ = socket.set_nodelay(true);
    let Ok(local) = socket.local_addr() else { return };
    let limit = Duration::from_secs(shared.settings.login_seconds);
    let entered = tokio::select! {
        entered = timeout(limit, enter(socket, peer, local, &shared)) => entered,
        () = pending.close.notified() => return,
    };
    drop(pending);
    if let Ok(Ok(Some(conversation))) = entered {
        conversation.run().await;
    }
}

/// From the first byte to the answer of the login.
async fn enter(
    socket: TcpStream,
    peer: SocketAddr,
    local: SocketAddr,
    shared: &SharedState,
) -> io::Result<Option<Conversation>> {
    let greeted = handshake::greet(Wire::new(socket), peer, shared).await?;
    let Some(Greeted { mut transport, reader, login: packet, was_encrypted }) = greeted else {
        return Ok(None);
    };
    let link = Link {
        peer,
        local,
        was_encrypted,
        is_encrypted: transport.is_encrypted(),
    };
    let state = shared.clone();
    let admitted = tokio::task::spawn_blocking(move || login::admit(&packet, link, &state)).await;
    let admitted = match admitted.map_err(io::Error::other)? {
        Ok(admitted) => admitted,
        Err(rejected) => {
            reject(&mut transport, rejected).await?;
            return Ok(None);
        }
    };
    let Admitted { connection, admission, protocol, writer, answer } = *admitted;
    transport.write_all(&answer).await?;
    transport.flush().await?;
    let client = LoggedIn { transport, reader, protocol, admission, connection, writer };
    Conversation::new(shared.clone(), client).map(Some)
}

async fn reject(transport: &mut Transport, rejected: Rejected) -> io::Result<()> {
    sleep(rejected.delay).await;
    transport.write_all(&rejected.answer).await?;
    transport.flush().await?;
    transport.shutdown().await
}
