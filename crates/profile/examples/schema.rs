//! Prints the JSON Schema that the types give, for `schema.json`.

fn main() {
    println!("{:#}", schemars::schema_for!(coho_profile::Profile).to_value());
}
