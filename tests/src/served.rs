//! Routers that listen on a real socket.

use api_server::server::{Config, Router};

use crate::memory::{ContractErrors, Gate, Memory, State};

/// Serves [`Memory`] with this state on a free port, and returns the base URL. The server ends with
/// the tokio runtime that started it.
pub async fn memory(state: State, config: Config) -> String {
    serve(api_server::router(
        Memory::new(state),
        Gate,
        ContractErrors,
        config,
    ))
    .await
}

/// Serves a router on a free port of 127.0.0.1, and returns the base URL.
///
/// # Panics
///
/// If no port is free.
pub async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}
