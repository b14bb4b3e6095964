//! Derives the JSON Schema from the types and prints it: the text of `schema.json`.

fn main() {
    println!("{:#}", schemars::schema_for!(coho_profile::Profile).to_value());
}
