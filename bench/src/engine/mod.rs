//! Our storage engine under load, from the inside: sessions of the library, no protocol and no
//! parser between.
//!
//! ```text
//! database   a database in a folder of its own, and its threads
//! device     one small durable write after the other
//! heap       pages, fill and log records of a heap
//! extents    allocation of extents
//! backends   durable writes and checkpoints by each backend
//! trees      a table with indexes, and its clients
//! together   clients that begin at the same moment
//! lobs       long values, and the device beside them
//! loads      many rows by one statement
//! scans      tables that are read whole, by rows and by columns
//! sales      a heap with the rows of a data file, and its indexes
//! mixed      inserts, updates and deletes of rows of all lengths
//! ddl        CREATE TABLE and DROP TABLE
//! temp_tables  the same in tempdb, by several sessions
//! ```

mod backends;
mod database;
mod ddl;
mod device;
mod extents;
mod heap;
mod loads;
mod lobs;
mod mixed;
mod sales;
mod scans;
mod temp_tables;
mod together;
mod trees;

pub use backends::BackendFile;
pub use database::{DatabaseForm, Lab, Load};
pub use ddl::{add_tables, table_cycle};
pub use device::Device;
pub use extents::extents_per_second;
pub use heap::{HeapFacts, ideal_pages};
pub use loads::{LoadBy, LoadLab, LoadTarget};
pub use lobs::{LobLab, device_streams};
pub use mixed::{Mixed, mixed_work};
pub use sales::SalesLab;
pub use scans::{Reading, ScanLab, read_memory};
pub use temp_tables::TempTableLab;
pub use trees::{LeafFacts, TreeLab};
