//! What comes from the peer, taken into the session.

use bytes::Bytes;
use tonic::Status;

use super::decoder::{Event, Settings};
use super::frame::{Code, FrameError, WINDOW_LIMIT, flag, kind, put_frame};
use super::session::Session;
use crate::limits::INTERIM_ANSWERS_MAX;

impl Session {
    /// Takes bytes that came.
    ///
    /// # Errors
    ///
    /// What no peer may send; the connection cannot go on.
    pub(crate) fn receive(&mut self, mut input: Bytes) -> Result<(), FrameError> {
        while let Some(event) = self.decoder.next(&mut input)? {
            self.take(event)?;
        }
        Ok(())
    }

    /// Where the next bytes may be read to, past [`receive`](Self::receive): the body of a message,
    /// as far as the current DATA frame goes. Empty when something else comes next.
    pub(crate) fn direct_space(&mut self) -> &mut [u8] {
        let rest = self.decoder.data_rest();
        let stream = self.current.and_then(|id| self.streams.get_mut(&id));
        match stream.and_then(|stream| stream.inbound.reader.body_space()) {
            Some(space) => {
                let length = space.len().min(rest);
                &mut space[..length]
            }
            None => &mut [],
        }
    }

    /// `count` bytes were read into [`direct_space`](Self::direct_space).
    ///
    /// # Errors
    ///
    /// As [`receive`](Self::receive).
    pub(crate) fn filled(&mut self, count: usize) -> Result<(), FrameError> {
        if count == 0 {
            return Ok(());
        }
        self.decoder.passed(count);
        if let Some(id) = self.current
            && let Some(stream) = self.streams.get_mut(&id)
        {
            stream.inbound.reader.filled(count);
            self.deliver(id);
        }
        // A frame that is full ends without another byte.
        self.receive(Bytes::new())
    }

    /// Whether a message was completed since the last call.
    pub(crate) fn take_delivered(&mut self) -> bool {
        std::mem::take(&mut self.delivered)
    }

    /// See [`FrameDecoder::certain_bytes`](super::decoder::FrameDecoder::certain_bytes).
    pub(crate) fn certain_bytes(&self) -> usize {
        self.decoder.certain_bytes()
    }

    fn take(&mut self, event: Event) -> Result<(), FrameError> {
        match event {
            Event::DataBegun { stream, flow_bytes } => self.begin_data(stream, flow_bytes)?,
            Event::Data(bytes) => {
                self.control_frames = 0;
                if let Some(id) = self.current
                    && let Some(stream) = self.streams.get_mut(&id)
                {
                    stream.inbound.reader.push(bytes);
                    self.deliver(id);
                }
            }
            Event::DataEnded { end_stream } => {
                if let Some(id) = self.current.take()
                    && end_stream
                {
                    self.close_remote(id);
                }
            }
            Event::Headers { stream, end_stream, block } => {
                self.take_headers(stream, end_stream, &block)?;
            }
            Event::Reset { stream, code } => self.take_reset(stream, code)?,
            Event::Settings(settings) => {
                self.count_control_frame()?;
                self.apply(settings)?;
                put_frame(&mut self.send.control, kind::SETTINGS, flag::ACK, 0, &[]);
            }
            Event::Ping(opaque) => {
                self.count_control_frame()?;
                put_frame(&mut self.send.control, kind::PING, flag::ACK, 0, &opaque);
            }
            Event::GoAway { last_stream, code, debug } => {
                self.count_control_frame()?;
                self.go_away(last_stream, code, &debug);
            }
            Event::WindowUpdate { stream, increment } => self.widen(stream, increment)?,
            Event::Ignored => self.count_control_frame()?,
        }
        Ok(())
    }

    fn begin_data(&mut self, id: u32, flow_bytes: usize) -> Result<(), FrameError> {
        if flow_bytes == 0 {
            self.count_control_frame()?;
        }
        if !self.receive_window.take(flow_bytes) {
            return Err(FrameError::Overrun { what: "the connection" });
        }
        // The connection's window is granted at once: what a call's reader leaves lying is bounded
        // by the stream's, and must not keep other calls from their bytes.
        if let Some(increment) = self.receive_window.grant() {
            self.send.put_window_update(0, increment);
        }
        self.current = None;
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.opened) else {
            return self.unknown("DATA", id);
        };
        if stream.reset {
            return Ok(());
        }
        if stream.remote_closed {
            return Err(FrameError::Closed { kind: "DATA", stream: id });
        }
        if !stream.inbound.window.take(flow_bytes) {
            return Err(FrameError::Overrun { what: "a stream" });
        }
        if stream.inbound.head.is_none() {
            self.malformed(id, "the answer's data came before its headers");
            return Ok(());
        }
        if let Some(increment) = stream.inbound.grant() {
            self.send.put_window_update(id, increment);
        }
        self.current = Some(id);
        Ok(())
    }

    /// Hands whole messages of a stream to its reader.
    fn deliver(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        match stream.inbound.deliver() {
            Ok(false) => {}
            Ok(true) => {
                self.delivered = true;
                if let Some(waker) = stream.inbound.waker.take() {
                    waker.wake();
                }
            }
            Err(error) => {
                self.reset(id, Code::CANCEL, Err(Status::internal(error.to_string())));
            }
        }
    }

    fn take_headers(&mut self, id: u32, end_stream: bool, block: &[u8]) -> Result<(), FrameError> {
        // Decoded whoever it is for: a block that cannot be read costs the connection.
        let fields = self.headers.decode(block)?;
        self.answered = true;
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.opened) else {
            return self.unknown("HEADERS", id);
        };
        if stream.reset {
            return Ok(());
        }
        if stream.remote_closed {
            return Err(FrameError::Closed { kind: "HEADERS", stream: id });
        }
        let inbound = &mut stream.inbound;
        match (&inbound.head, fields.status) {
            (None, None) => self.malformed(id, "the answer has no :status"),
            (None, Some(100..200)) if !end_stream => {
                inbound.interim += 1;
                if inbound.interim > INTERIM_ANSWERS_MAX {
                    return Err(FrameError::Flood { max: INTERIM_ANSWERS_MAX });
                }
                return Ok(());
            }
            (None, Some(_)) => inbound.begin(&fields),
            (Some(_), _) if !end_stream => self.malformed(id, "headers came amid the answer"),
            (Some(_), _) => inbound.finish(&fields),
        }
        self.control_frames = 0;
        if end_stream {
            self.close_remote(id);
        } else if let Some(stream) = self.streams.get_mut(&id) {
            stream.wake();
        }
        Ok(())
    }

    /// The peer has sent its last frame on a stream, and so wants no more of the request either.
    fn close_remote(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        // A stream without trailers is cut, however complete it looks.
        let cut = Err(Status::unavailable("the stream ended without a status"));
        stream.remote_closed = true;
        if stream.outbound.closed {
            stream.inbound.end(cut);
            stream.wake();
        } else {
            self.reset(id, Code::CANCEL, cut);
        }
    }

    fn take_reset(&mut self, id: u32, code: Code) -> Result<(), FrameError> {
        self.count_control_frame()?;
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.opened) else {
            return if self.is_idle(id) {
                Err(FrameError::Stream { kind: "RST_STREAM", stream: id })
            } else {
                Ok(())
            };
        };
        stream.remote_closed = true;
        stream.outbound.close();
        let why = format!("the server broke the call off (RST_STREAM, {code})");
        stream.inbound.end(Err(Status::unavailable(why)));
        stream.wake();
        Ok(())
    }

    fn apply(&mut self, settings: Settings) -> Result<(), FrameError> {
        if let Some(bytes) = settings.frame_bytes_max {
            self.send.frame_bytes_max = bytes as usize;
        }
        if let Some(window) = settings.window_bytes.map(i64::from) {
            let change = window - self.send.stream_window;
            self.send.stream_window = window;
            for stream in self.streams.values_mut() {
                stream.outbound.window += change;
                if stream.outbound.window > i64::from(WINDOW_LIMIT) {
                    return Err(FrameError::Window);
                }
            }
            self.schedule_all();
        }
        if let Some(streams) = settings.streams_max {
            self.send.streams_max = streams;
            self.admit();
        }
        Ok(())
    }

    fn widen(&mut self, id: u32, increment: u32) -> Result<(), FrameError> {
        let increment = i64::from(increment);
        if id == 0 {
            self.send.window += increment;
            if self.send.window > i64::from(WINDOW_LIMIT) {
                return Err(FrameError::Window);
            }
            self.schedule_all();
            return Ok(());
        }
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.opened) else {
            return if self.is_idle(id) {
                Err(FrameError::Stream { kind: "WINDOW_UPDATE", stream: id })
            } else {
                Ok(())
            };
        };
        stream.outbound.window += increment;
        if stream.outbound.window > i64::from(WINDOW_LIMIT) {
            return Err(FrameError::Window);
        }
        self.schedule(id);
        Ok(())
    }

    /// Calls beyond `last_stream` were never looked at; the others go on.
    fn go_away(&mut self, last_stream: u32, code: Code, debug: &[u8]) {
        let said: String = String::from_utf8_lossy(debug).chars().take(DEBUG_CHARS).collect();
        let said = if said.is_empty() { said } else { format!(": {said:?}") };
        let why = format!("the server is closing the connection (GOAWAY, {code}{said})");
        // Those that wait must not be opened any more (RFC 9113, 6.8).
        for (id, stream) in &mut self.streams {
            if *id > last_stream || !stream.opened {
                stream.remote_closed = true;
                stream.outbound.close();
                stream.inbound.end(Err(Status::unavailable(&why)));
                stream.wake();
            }
        }
        self.going_away = Some(why);
    }

    /// A frame on a stream that is not known: ignored where it may be late.
    fn unknown(&self, kind: &'static str, id: u32) -> Result<(), FrameError> {
        if self.cancelled.contains(&id) {
            Ok(())
        } else if self.is_idle(id) || self.streams.contains_key(&id) {
            Err(FrameError::Stream { kind, stream: id })
        } else {
            Err(FrameError::Closed { kind, stream: id })
        }
    }

    /// Gives up a call whose answer is none.
    fn malformed(&mut self, id: u32, why: &str) {
        self.reset(id, Code::PROTOCOL_ERROR, Err(Status::internal(why)));
    }
}

/// Characters of a peer's own reason that are told.
const DEBUG_CHARS: usize = 200;
