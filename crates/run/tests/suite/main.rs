//! Commands under placements.

mod child;
mod delegation;
mod live;
mod traced;
mod trial;
