//! What the model concludes from profiles, recorded and made for the tests.

mod audit;
mod delegation;
mod disturbed;
mod families;
mod findings;
mod footprint;
mod measured;
mod properties;
mod published;
mod reference;
mod sampled;
mod synthetic;
mod wrong_claims;
