//! The rungs between memory and Flight.

/// One rung; each adds a layer to the one below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rung {
    Memcpy,
    Tcp,
    Tls,
    Http2,
    Grpc,
    Messages,
    Flight,
}

impl Rung {
    pub(crate) const ALL: [Self; 7] =
        [Self::Memcpy, Self::Tcp, Self::Tls, Self::Http2, Self::Grpc, Self::Messages, Self::Flight];

    /// For the JSON; stable.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Memcpy => "memcpy",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Http2 => "http2",
            Self::Grpc => "grpc",
            Self::Messages => "messages",
            Self::Flight => "flight",
        }
    }

    pub(crate) fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rung| rung.id() == id)
    }

    /// For the table.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Memcpy => "memcpy",
            Self::Tcp => "raw TCP",
            Self::Tls => "raw TLS",
            Self::Http2 => "HTTP/2",
            Self::Grpc => "gRPC no-op",
            Self::Messages => "Flight, no decode",
            Self::Flight => "Flight",
        }
    }

    /// The rung that it stands on. TLS is a branch of its own: what follows is in plaintext.
    pub(crate) fn below(self) -> Option<Self> {
        match self {
            Self::Memcpy => None,
            Self::Tcp => Some(Self::Memcpy),
            Self::Tls | Self::Http2 => Some(Self::Tcp),
            Self::Grpc => Some(Self::Http2),
            Self::Messages => Some(Self::Grpc),
            Self::Flight => Some(Self::Messages),
        }
    }
}
