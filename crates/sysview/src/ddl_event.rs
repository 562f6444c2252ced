//! Events of definitions that triggers of a database are fired by, and their groups.

const DATA: &str = include_str!("../data/ddl_events.tsv");

/// An event, or a group of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DdlEvent {
    /// In capitals.
    pub name: &'static str,
    /// `sys.trigger_events.type`, where it is known.
    pub number: Option<i32>,
    /// Name of the group that it is in.
    group: Option<&'static str>,
}

/// All events and groups.
fn all() -> impl Iterator<Item = DdlEvent> {
    DATA.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut parts = line.split('\t');
        Some(DdlEvent {
            name: parts.next()?,
            number: parts.next()?.parse().ok(),
            group: parts.next().filter(|group| *group != "-"),
        })
    })
}

/// An event or group by its name, which is in capitals.
#[must_use]
pub fn ddl_event(name: &str) -> Option<DdlEvent> {
    all().find(|event| event.name == name)
}

impl DdlEvent {
    /// Is it a group of events?
    #[must_use]
    pub fn is_group(&self) -> bool {
        self.name.starts_with("DDL_")
    }

    /// Is it this event, or in this group, whose groups count?
    #[must_use]
    pub fn is_in(&self, name: &str) -> bool {
        self.name == name || self.group.and_then(ddl_event).is_some_and(|group| group.is_in(name))
    }

    /// The events of a group; an event alone.
    pub fn events(&self) -> impl Iterator<Item = DdlEvent> {
        let name = self.name;
        all().filter(move |event| !event.is_group() && event.is_in(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_in_a_group_that_leads_to_all_events() {
        for event in all() {
            assert!(event.is_in("DDL_EVENTS"), "{event:?}");
            assert!(event.is_group() || event.group.is_some(), "{event:?}");
        }
    }

    #[test]
    fn a_group_has_the_events_of_the_groups_in_it() {
        let group = ddl_event("DDL_TABLE_VIEW_EVENTS").unwrap();
        let names: Vec<&str> = group.events().map(|event| event.name).collect();
        assert!(names.contains(&"CREATE_TABLE") && names.contains(&"DROP_INDEX"));
        assert!(!names.contains(&"CREATE_PROCEDURE"));
        assert_eq!(ddl_event("DROP_VIEW").unwrap().events().count(), 1);
    }
}
