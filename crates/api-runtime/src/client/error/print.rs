//! How errors of calls are printed: no headers, no URLs and no bytes of a body.

use std::fmt;

use super::Error;

impl<E> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidRequest(reason) => {
                write!(f, "the request{} was not sent: {reason}", self.words("of"))
            }
            Self::NoCredential(_) => write!(
                f,
                "the request{} was not sent: the source of its credential failed",
                self.words("of")
            ),
            Self::Around(_) => write!(
                f,
                "the call{} failed: the function around its attempts returned an error",
                self.words("of")
            ),
            Self::Communication(error) if error.source.is_timeout() => {
                write!(f, "no response from the API{} in time", self.words("to"))
            }
            Self::Communication(error) if error.source.is_connect() => {
                write!(f, "cannot connect to the API{}", self.words("for"))
            }
            Self::Communication(_) => {
                write!(
                    f,
                    "the connection to the API failed{}",
                    self.words("during")
                )
            }
            Self::ErrorResponse(response) => {
                let status = response.status();
                write!(f, "the API responded{} with {status}", self.words("to"))
            }
            Self::InterruptedResponse(response) => write!(
                f,
                "the response ({}){} ended early",
                response.status,
                self.words("of")
            ),
            Self::OversizedResponse(response) => write!(
                f,
                "the response ({}){} has more than {} bytes; set a larger `response_limit` to read it",
                response.status,
                self.words("of"),
                response.origin.limit
            ),
            Self::OversizedEvent { limit, .. } => write!(
                f,
                "an event{} has more than {limit} bytes; set a larger `max_item_bytes` to read it",
                self.words("of")
            ),
            Self::InvalidResponse(response) => response.fmt(f),
            Self::UnexpectedResponse(response) => {
                write!(
                    f,
                    "the API responded{} with {}, which the contract does not list",
                    self.words("to"),
                    response.status()
                )
            }
            Self::Paging { reason, .. } => write!(
                f,
                "the list{} cannot be read to its end: {reason}",
                self.words("of")
            ),
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidRequest(reason) => f.debug_tuple("InvalidRequest").field(reason).finish(),
            Self::NoCredential(error) => f.debug_tuple("NoCredential").field(error).finish(),
            Self::Around(error) => f.debug_tuple("Around").field(error).finish(),
            Self::Communication(error) => f
                .debug_struct("Communication")
                .field("operation", &error.operation)
                .field("source", &error.source)
                .finish(),
            Self::ErrorResponse(response) => f
                .debug_struct("ErrorResponse")
                .field("status", &response.status())
                .field("body", &***response)
                .finish_non_exhaustive(),
            Self::InterruptedResponse(response) => f
                .debug_struct("InterruptedResponse")
                .field("status", &response.status)
                .field("source", &response.source)
                .finish_non_exhaustive(),
            Self::OversizedResponse(response) => f
                .debug_struct("OversizedResponse")
                .field("status", &response.status)
                .field("limit", &response.origin.limit)
                .finish_non_exhaustive(),
            Self::InvalidResponse(response) => f
                .debug_struct("InvalidResponse")
                .field("status", &response.status)
                .field("misfit", &response.misfit)
                .field("line", &response.error.line())
                .field("column", &response.error.column())
                .finish_non_exhaustive(),
            Self::UnexpectedResponse(response) => f
                .debug_struct("UnexpectedResponse")
                .field("status", &response.status())
                .finish_non_exhaustive(),
            Self::OversizedEvent { limit, operation } => f
                .debug_struct("OversizedEvent")
                .field("limit", limit)
                .field("operation", operation)
                .finish(),
            Self::Paging { reason, operation } => f
                .debug_struct("Paging")
                .field("reason", reason)
                .field("operation", operation)
                .finish(),
        }
    }
}
