//! List items that are resolved as far as possible before it is the next item's turn.
//!
//! async-graphql resolves a long list in turns. It treats an item that wakes itself as one that
//! yields, and an object wakes itself whenever all its fields have been polled. After two such
//! items the list pauses, so a loader that should collect the keys of the whole page starts with
//! those of two rows. An item here absorbs its own wake-ups, and continues until it really waits.

use std::{
    borrow::Cow,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
};

use async_graphql::{
    ContextSelectionSet, OutputType, Positioned, ServerResult, Value, async_trait::async_trait,
    parser::types::Field, registry::Registry,
};
use futures::task::AtomicWaker;

/// How often an item is polled in a row before it yields after all.
const TURNS: usize = 32;

/// An item of a list.
pub(crate) struct Calm<T>(pub(crate) T);

#[async_trait]
impl<T: OutputType> OutputType for Calm<T> {
    fn type_name() -> Cow<'static, str> {
        T::type_name()
    }

    fn qualified_type_name() -> String {
        T::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        T::create_type_info(registry)
    }

    async fn resolve(
        &self,
        ctx: &ContextSelectionSet<'_>,
        field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        let mut item = self.0.resolve(ctx, field);
        let bell = Arc::new(Bell::default());
        std::future::poll_fn(move |cx| bell.poll(item.as_mut(), cx)).await
    }
}

/// Receives an item's wake-ups, and passes them on only while the item is not being polled.
#[derive(Default)]
struct Bell {
    polling: AtomicBool,
    rung: AtomicBool,
    list: AtomicWaker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, SeqCst);
        if !self.polling.load(SeqCst) {
            self.list.wake();
        }
    }
}

impl Bell {
    fn poll<F: Future + ?Sized>(
        self: &Arc<Self>,
        mut item: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<F::Output> {
        self.list.register(cx.waker());
        self.polling.store(true, SeqCst);
        let waker = Waker::from(self.clone());
        let mut inner = Context::from_waker(&waker);
        for _ in 0..TURNS {
            self.rung.store(false, SeqCst);
            if let Poll::Ready(value) = item.as_mut().poll(&mut inner) {
                return Poll::Ready(value);
            }
            if !self.rung.load(SeqCst) {
                break;
            }
        }
        self.polling.store(false, SeqCst);
        // It may have been woken between the last poll and this line, when no wake-up was passed
        // on.
        if self.rung.load(SeqCst) {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
