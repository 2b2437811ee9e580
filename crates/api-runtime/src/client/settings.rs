//! The methods of generated `ClientBuilder`s that do not depend on the contract.

/// Declares the settings of a builder whose field `config` is a
/// [`Config`](crate::client::Config). A macro, so that they are methods of the builder itself.
#[doc(hidden)]
#[macro_export]
macro_rules! client_settings {
    () => {
        /// Sets the time-out of a connection attempt, 10 seconds by default. It does not apply to a
        /// client that [`http_client`](Self::http_client) sets.
        pub fn connect_timeout(mut self, timeout: ::std::time::Duration) -> Self {
            self.config = self.config.connect_timeout(timeout);
            self
        }

        /// Sets the time-out of a whole call, 60 seconds by default: getting a credential,
        /// connecting, sending, every retry with the pauses between, and reading the response body.
        pub fn timeout(mut self, timeout: ::std::time::Duration) -> Self {
            self.config = self.config.timeout(::core::option::Option::Some(timeout));
            self
        }

        /// Removes the time-out of calls, for endless streams.
        pub fn no_timeout(mut self) -> Self {
            self.config = self.config.timeout(::core::option::Option::None);
            self
        }

        /// Sets the maximum size in bytes of a response body that is read into memory, 64 MiB by
        /// default. It does not apply to streams, which limit each item instead.
        pub fn response_limit(mut self, bytes: usize) -> Self {
            self.config = self.config.response_limit(bytes);
            self
        }

        /// Sets the header `User-Agent`, by default the name and version of this crate.
        pub fn user_agent(mut self, user_agent: &str) -> Self {
            self.config = self.config.user_agent(user_agent);
            self
        }

        /// Adds a header to every request. A parameter of the operation takes precedence.
        pub fn header(mut self, name: &str, value: &str) -> Self {
            self.config = self.config.header(name, value);
            self
        }

        /// Repeats calls that failed temporarily and are safe to repeat. Off by default.
        pub fn retries(mut self, retries: $crate::client::Retries) -> Self {
            self.config = self.config.retries(retries);
            self
        }

        /// Passes the trace of each call on in the headers `traceparent` and `tracestate` (W3C Trace
        /// Context), unless a call has one of them. Off by default.
        ///
        /// Each call has a span, with the operation's id, the method and the status. The function
        /// returns the context of this span, as the tracing system in use knows it.
        pub fn traces(
            mut self,
            context: impl Fn(
                &$crate::client::Span,
            ) -> ::core::option::Option<$crate::client::TraceContext>
            + ::core::marker::Send
            + ::core::marker::Sync
            + 'static,
        ) -> Self {
            self.config = self.config.traces(context);
            self
        }

        /// Runs a function around every attempt of every call, such as one that signs requests,
        /// counts them, or responds in place of the API. It gets the request with its credentials.
        ///
        /// The function runs within the time-out only as long as it waits for the API: what else it
        /// waits for, it limits itself.
        pub fn around(
            mut self,
            run: impl for<'n> Fn(
                $crate::client::reqwest::Request,
                $crate::client::Next<'n>,
            ) -> $crate::client::Around<'n>
            + ::core::marker::Send
            + ::core::marker::Sync
            + 'static,
        ) -> Self {
            self.config = self.config.around(run);
            self
        }

        /// Replaces the HTTP client, with its settings of TLS, proxies, redirects and connect
        /// time-out.
        ///
        /// Build it from [`http_builder`](crate::http_builder), which sets up TLS. A client of
        /// `reqwest::Client::new()` panics unless the program has installed a crypto provider of
        /// rustls, because reqwest is compiled without one.
        pub fn http_client(mut self, http: $crate::client::reqwest::Client) -> Self {
            self.config = self.config.http_client(http);
            self
        }
    };
}
