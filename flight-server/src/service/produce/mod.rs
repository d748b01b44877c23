//! Rows turned into frames, ahead of the socket, and handed to it.

mod frames;
mod pace;
mod send;

pub(super) use frames::{Frames, Rows};
pub(super) use pace::Pace;
pub(super) use send::send;
