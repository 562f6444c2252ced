//! DDL in explicit transactions that are rolled back for the most part, and checkpoints between any
//! two statements.

use crate::workload::{RunStop, Workload};

impl Workload<'_, '_> {
    /// A random statement of such a transaction.
    pub(crate) fn ddl(&mut self, at: usize) -> Result<(), RunStop> {
        let is_open = self.workers[at].session.is_in_transaction();
        if !is_open {
            return self.begin(at);
        }
        match self.below(24) {
            0..=3 => self.checkpoint(),
            4..=6 => self.rollback(at),
            7 => self.commit(at),
            8..=9 => self.save(at),
            10..=11 => self.rollback_to(at),
            12..=13 => self.create_table(at),
            14 => self.drop_table(at),
            15..=16 => self.truncate_table(at),
            17..=18 => self.create_index(at),
            19 => self.drop_index(at),
            20 => self.rebuild_any(at),
            21 => self.burst(at),
            _ => self.insert(at),
        }
    }

    fn rebuild_any(&mut self, at: usize) -> Result<(), RunStop> {
        let Some((name, model)) = self.any_table(at) else { return Ok(()) };
        self.rebuild_index(at, &name, &model)
    }

    /// In runs with a full disk: the disk fills up or gets room again, between more statements.
    pub(crate) fn change_room(&mut self) -> Result<(), RunStop> {
        use crate::fault::full_disk;
        if self.state.kind != crate::RunKind::FullDisk {
            return Ok(());
        }
        for _ in 0..1 + self.below(4) {
            match self.below(3) {
                0 => full_disk::clear(&self.state.disk),
                _ => full_disk::fill(&self.state.disk, &mut self.state.rng),
            }
            self.state.trace.note("the room on the disk has changed");
            let steps = 20 + self.below(100);
            self.run(steps)?;
        }
        Ok(())
    }
}
