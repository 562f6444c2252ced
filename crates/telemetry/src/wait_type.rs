//! Wait types: what a task can wait for.
//!
//! Names are those of `sys.dm_os_wait_stats`; what each means stands in `waits.tsv`, one line per
//! variant in the same order.

use std::fmt;

const DESCRIPTIONS: &str = include_str!("../waits.tsv");

macro_rules! wait_types {
    ($($variant:ident = $name:literal,)*) => {
        /// What a task waits for.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[expect(missing_docs, reason = "waits.tsv describes each")]
        #[non_exhaustive]
        pub enum WaitType { $($variant,)* }

        impl WaitType {
            /// All of them, in order.
            pub const ALL: &[WaitType] = &[$(WaitType::$variant,)*];

            /// The name that the DMVs show.
            pub const fn name(self) -> &'static str {
                match self { $(WaitType::$variant => $name,)* }
            }
        }
    };
}

wait_types! {
    PageLatchKp = "PAGELATCH_KP",
    PageLatchSh = "PAGELATCH_SH",
    PageLatchUp = "PAGELATCH_UP",
    PageLatchEx = "PAGELATCH_EX",
    PageLatchDt = "PAGELATCH_DT",
    PageIoLatchKp = "PAGEIOLATCH_KP",
    PageIoLatchSh = "PAGEIOLATCH_SH",
    PageIoLatchUp = "PAGEIOLATCH_UP",
    PageIoLatchEx = "PAGEIOLATCH_EX",
    PageIoLatchDt = "PAGEIOLATCH_DT",
    LatchKp = "LATCH_KP",
    LatchSh = "LATCH_SH",
    LatchUp = "LATCH_UP",
    LatchEx = "LATCH_EX",
    LatchDt = "LATCH_DT",
    LockSchS = "LCK_M_SCH_S",
    LockSchM = "LCK_M_SCH_M",
    LockS = "LCK_M_S",
    LockU = "LCK_M_U",
    LockX = "LCK_M_X",
    LockIs = "LCK_M_IS",
    LockIu = "LCK_M_IU",
    LockIx = "LCK_M_IX",
    LockSiu = "LCK_M_SIU",
    LockSix = "LCK_M_SIX",
    LockUix = "LCK_M_UIX",
    LockBu = "LCK_M_BU",
    LockRsS = "LCK_M_RS_S",
    LockRsU = "LCK_M_RS_U",
    LockRinNl = "LCK_M_RIn_NL",
    LockRinS = "LCK_M_RIn_S",
    LockRinU = "LCK_M_RIn_U",
    LockRinX = "LCK_M_RIn_X",
    LockRxS = "LCK_M_RX_S",
    LockRxU = "LCK_M_RX_U",
    LockRxX = "LCK_M_RX_X",
    WriteLog = "WRITELOG",
    LogBuffer = "LOGBUFFER",
    LogManagerFlush = "LOGMGR_FLUSH",
    IoCompletion = "IO_COMPLETION",
    AsyncIoCompletion = "ASYNC_IO_COMPLETION",
    FlushFileBuffers = "PREEMPTIVE_OS_FLUSHFILEBUFFERS",
    WriteFileGather = "PREEMPTIVE_OS_WRITEFILEGATHER",
    LogManagerQueue = "LOGMGR_QUEUE",
    LazyWriterSleep = "LAZYWRITER_SLEEP",
    CheckpointQueue = "CHECKPOINT_QUEUE",
    DirtyPagePoll = "DIRTY_PAGE_POLL",
    SleepTask = "SLEEP_TASK",
    ResourceSemaphore = "RESOURCE_SEMAPHORE",
    ThreadPool = "THREADPOOL",
    SchedulerYield = "SOS_SCHEDULER_YIELD",
    WaitFor = "WAITFOR",
}

impl WaitType {
    /// How many there are.
    pub const COUNT: usize = WaitType::ALL.len();

    /// What is waited for, in a few words.
    pub fn description(self) -> &'static str {
        rows().nth(self as usize).map_or("", |(_, description)| description)
    }

    /// The type of this name.
    pub fn by_name(name: &str) -> Option<WaitType> {
        WaitType::ALL.iter().copied().find(|wait| wait.name() == name)
    }

    /// True for waits of background tasks that have nothing to do: monitoring leaves them out.
    pub const fn is_idle(self) -> bool {
        use WaitType::*;
        matches!(
            self,
            LogManagerQueue | LazyWriterSleep | CheckpointQueue | DirtyPagePoll | SleepTask
        )
    }
}

impl fmt::Display for WaitType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Name and description of each line.
fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    DESCRIPTIONS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_variant_and_every_variant_a_line() {
        let names: Vec<&str> = rows().map(|(name, _)| name).collect();
        let variants: Vec<&str> = WaitType::ALL.iter().map(|wait| wait.name()).collect();
        assert_eq!(names, variants);
        assert_eq!(
            names.len() + 1,
            DESCRIPTIONS.lines().count(),
            "a line without a tab, or not a comment"
        );
        for wait in WaitType::ALL {
            assert!(!wait.description().is_empty(), "{wait}");
            assert_eq!(WaitType::by_name(wait.name()), Some(*wait));
        }
        assert_eq!(WaitType::by_name("NO_SUCH_WAIT"), None);
    }

    #[test]
    fn only_background_waits_are_idle() {
        let idle: Vec<&str> =
            WaitType::ALL.iter().filter(|wait| wait.is_idle()).map(|wait| wait.name()).collect();
        assert_eq!(
            idle,
            [
                "LOGMGR_QUEUE",
                "LAZYWRITER_SLEEP",
                "CHECKPOINT_QUEUE",
                "DIRTY_PAGE_POLL",
                "SLEEP_TASK"
            ]
        );
    }
}
