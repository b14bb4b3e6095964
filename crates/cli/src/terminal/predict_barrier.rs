//! What the old report still takes from here.

use coho_model::barrier::Prediction;
pub use coho_model::barrier::choice_name;

/// The algorithm with its layout and groups.
pub fn name(prediction: &Prediction) -> String {
    prediction.name()
}
