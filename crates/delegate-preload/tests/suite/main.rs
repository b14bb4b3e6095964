//! Programs whose calls are delegated.

mod choices;
mod clients;
mod common;
mod edges;
mod ends;
mod loading;
mod pace;
mod room;
mod semantics;
mod sharing;
mod stdio;
