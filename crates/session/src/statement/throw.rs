//! THROW with a number, a message and a state.

use extentdb_tsql::syntax::Throw;
use extentdb_types::SqlType;

use super::{Compiled, Context};
use extentdb_connection::cause::{Cause, Effect};
use extentdb_connection::frame::Frame;
use extentdb_connection::message::Message;
use extentdb_connection::scalar::Scalar;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::{Raised, Stop};

const FIRST: i64 = 50_000;
const LAST: i64 = i32::MAX as i64;
/// Characters of a message.
const MAX_TEXT: u16 = 2_048;
const SEVERITY: u8 = 16;

struct ThrowStep {
    number: Scalar,
    text: Scalar,
    state: Scalar,
}

pub(super) fn compile(context: &Context<'_>, throw: &Throw) -> Compiled {
    let compiler = &context.compiler;
    let Some(error) = &throw.error else { return Err(context.refused()) };
    let text = SqlType::NVarChar { len: Some(MAX_TEXT * 2), collation: compiler.collation };
    Ok(Box::new(ThrowStep {
        number: compiler.assigned(&error.number, SqlType::Int)?,
        text: compiler.assigned(&error.message, text)?,
        state: compiler.assigned(&error.state, SqlType::Int)?,
    }))
}

impl Step for ThrowStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let at = run.values(frame);
        let number = self.number.integer(at)?.unwrap_or(0);
        if !(FIRST..=LAST).contains(&number) {
            return Err(Cause::ThrownNumber { number }.into());
        }
        let message = Message {
            number: number as i32,
            severity: SEVERITY,
            state: self.state.integer(at)?.unwrap_or(1).clamp(0, 255) as u8,
            procedure: String::new(),
            line: 0,
            text: self.text.text(at)?.unwrap_or_default(),
        };
        let effect = Effect::Batch;
        Err(Stop::Raised(Box::new(Raised { message, effect, is_raiserror: false })))
    }
}
