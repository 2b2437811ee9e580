//! A virtual machine that is a task of the test, and requests to it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::AbortHandle;

use super::{DST, Net};

/// A virtual machine: a server of HTTP that responds with its own name.
pub struct Vm {
    pub address: SocketAddr,
    /// The status of responses to health checks, at `/up`.
    pub status: Arc<AtomicU16>,
    /// The number of connections that were more than a health check.
    pub served: Arc<AtomicUsize>,
    accepting: AbortHandle,
}

impl Vm {
    /// Starts the virtual machine with a number.
    #[expect(
        clippy::unused_async,
        reason = "it needs a runtime, and its callers have one"
    )]
    pub async fn start(net: Net, number: u8) -> Self {
        let address = SocketAddr::from((net.vm(number), DST));
        let socket = TcpSocket::new_v4().expect("a socket can be made");
        socket.set_reuseaddr(true).expect("the option exists");
        socket.bind(address).expect("the address is free");
        let listener = socket.listen(1024).expect("the socket listens");
        let (status, served) = (Arc::new(AtomicU16::new(200)), Arc::default());
        let accepting = tokio::spawn(Self::accept(
            listener,
            format!("vm-{number}"),
            Arc::clone(&status),
            Arc::clone(&served),
        ));
        Self {
            address,
            status,
            served,
            accepting: accepting.abort_handle(),
        }
    }

    /// Starts the virtual machines from 1 to `count`.
    pub async fn start_all(net: Net, count: u8) -> Vec<Self> {
        let mut vms = Vec::new();
        for number in 1..=count {
            vms.push(Self::start(net, number).await);
        }
        vms
    }

    async fn accept(
        listener: TcpListener,
        name: String,
        status: Arc<AtomicU16>,
        served: Arc<AtomicUsize>,
    ) {
        while let Ok((stream, _)) = listener.accept().await {
            let (name, status, served) = (name.clone(), Arc::clone(&status), Arc::clone(&served));
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let mut is_counted = false;
                while let Ok(Some(path)) = request_path(&mut stream).await {
                    let is_check = path == "/up";
                    if !is_check && !std::mem::replace(&mut is_counted, true) {
                        served.fetch_add(1, Ordering::SeqCst);
                    }
                    let status = if is_check {
                        status.load(Ordering::SeqCst)
                    } else {
                        200
                    };
                    let response = format!(
                        "HTTP/1.1 {status} -\r\nContent-Length: {}\r\n\r\n{name}",
                        name.len()
                    );
                    if stream.write_all(response.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    }

    /// Refuses connections from now on. Those that are open go on.
    pub async fn stop(&self) {
        self.accepting.abort();
        // The task ends a moment later. What connects before that is neither refused nor served.
        while !self.accepting.is_finished() {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Reads the head of a request, and returns its path; `None` at the end.
async fn request_path<S>(stream: &mut BufReader<S>) -> io::Result<Option<String>>
where
    S: AsyncRead + Unpin,
{
    let mut path = None;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        match path {
            None => path = Some(line.split(' ').nth(1).unwrap_or_default().to_owned()),
            Some(_) if line == "\r\n" => return Ok(path),
            Some(_) => {}
        }
    }
}

/// Sends a request on an open connection, and returns the name of the virtual machine that responds.
pub async fn ask_on<S>(stream: &mut S) -> io::Result<String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: web\r\n\r\n")
        .await?;
    stream.flush().await?;
    let (mut read, mut chunk) = (Vec::new(), [0; 512]);
    loop {
        let text = String::from_utf8_lossy(&read);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .rsplit(' ')
                .next()
                .and_then(|length| length.parse().ok());
            if length == Some(body.len()) {
                return Ok(body.to_owned());
            }
        }
        match stream.read(&mut chunk).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => read.extend_from_slice(&chunk[..count]),
        }
    }
}

/// Sends a request on a new connection.
pub async fn ask(address: SocketAddr) -> io::Result<String> {
    ask_on(&mut TcpStream::connect(address).await?).await
}

/// Sends a request on a new connection from an address.
pub async fn ask_from(caller: IpAddr, address: SocketAddr) -> io::Result<String> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((caller, 0).into())?;
    ask_on(&mut socket.connect(address).await?).await
}
