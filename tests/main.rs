//! The only integration binary: one module per promise, named after it.

mod agent;
mod battery;
mod console_contract;
mod effects;
mod gate_faults;
mod gate_flow;
mod gate_limits;
mod gate_protocol;
mod gate_start;
mod golden;
mod isolate;
mod policy_broken;
mod policy_model;
mod policy_table;
mod readme;
mod redact_properties;
mod shell_manners;
mod store_durability;
mod store_faults;
mod store_leases;
mod store_moves;
mod store_races;
mod store_world;
mod tidy;
mod trust;
mod world;
