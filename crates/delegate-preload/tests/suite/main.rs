//! Programs whose calls are delegated.

mod choices;
mod clients;
mod common;
mod companions;
mod edges;
mod ends;
mod loading;
mod others;
mod pace;
mod reports;
mod room;
mod semantics;
mod sharing;
mod state;
mod stdio;
