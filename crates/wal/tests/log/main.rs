//! The log as its users meet it: on a disk that loses power, on a real one with many threads, on
//! one that refuses.

mod crash;
mod damage;
mod emergency;
mod failures;
mod growth;
mod harness;
mod model;
mod reading;
mod reservation;
mod samples;
mod threads;
mod write_ahead;
