//! Calls that each make one schedule and come at the same time share a transaction.
//!
//! A transaction costs more than what it writes. Whoever comes while another one's is under way waits
//! in a queue; whoever has a turn next takes all that wait, and those along whose requests are here
//! already. A lone caller waits for nobody. Each order is checked and answered by itself. When the shared transaction cannot be
//! carried out for one of them (a name is taken, the database refuses a value), it is rolled back
//! and all of them are told to go alone, each in a transaction of its own: so nobody is refused
//! for another one's fault, and an error is always the caller's own.
//!
//! Once taken, orders are carried out in a task of their own: a caller who hangs up takes nobody
//! along.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use entity::{Timestamp, schedule::Model};
use tokio::sync::{Semaphore, oneshot};
use uuid::Uuid;

use super::{
    CommandError, Commands, Editor, NewSchedule, Saved, Work,
    making::{Back, Composed, Known, Refused, Site},
};

/// So many orders in one.
const MOST: usize = 500;

/// Orders that wait for a turn.
pub(crate) struct Gathering {
    orders: Mutex<Vec<Order>>,
    /// One transaction at a time: with two, each would have half as many orders.
    turn: Arc<Semaphore>,
}

struct Order {
    right: Editor,
    new: NewSchedule,
    answer: oneshot::Sender<Answer>,
}

/// None tells the caller to go alone.
type Answer = Option<Result<Saved, CommandError>>;

impl Default for Gathering {
    fn default() -> Self {
        Self { orders: Mutex::default(), turn: Arc::new(Semaphore::new(1)) }
    }
}

impl Gathering {
    fn put(&self, order: Order) {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).push(order);
    }

    /// All that wait, once nobody else who can go on brings another one. Who has hung up is told that
    /// nothing was done: nothing is.
    async fn take(&self) -> Vec<Order> {
        let mut before = 0;
        loop {
            tokio::task::yield_now().await;
            let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
            orders.retain(|order| !order.answer.is_closed());
            let count = orders.len();
            if count == before || count >= MOST {
                return orders.drain(..count.min(MOST)).collect();
            }
            before = count;
        }
    }
}

impl Commands {
    /// Makes a schedule together with those that others make at this moment; None says that it
    /// must be made alone.
    pub(super) async fn create_together(&self, right: &Editor, new: NewSchedule) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.gathering.put(Order { right: right.clone(), new, answer });
        let turn = async {
            let turn = self.gathering.turn.clone().acquire_owned().await;
            let commands = self.clone();
            tokio::spawn(async move {
                loop {
                    let orders = commands.gathering.take().await;
                    if orders.is_empty() {
                        break;
                    }
                    commands.carry_out(orders).await;
                }
                drop(turn);
            });
        };
        // Whoever has a turn may take this order along before this caller has one.
        let mut answered = std::pin::pin!(answered);
        tokio::select! {
            biased;
            answer = &mut answered => return answer.ok().flatten(),
            () = turn => {}
        }
        answered.await.ok().flatten()
    }

    async fn carry_out(&self, orders: Vec<Order>) {
        let mut news = Vec::with_capacity(orders.len());
        let mut callers = Vec::with_capacity(orders.len());
        for Order { right, new, answer } in orders {
            news.push((right, new));
            callers.push(answer);
        }
        // Why it failed, each caller learns alone.
        let (answers, first) = self.make_together(news).await.unwrap_or_default();
        if let Some(first) = first {
            self.signals.schedules_made(first, self.clock.now().into());
        }
        let mut answers = answers.into_iter();
        for caller in callers {
            // Who has hung up is not told.
            let _ = caller.send(answers.next().flatten());
        }
    }

    /// Makes all that can be made, each for the one who asked; says when the first of them is due.
    async fn make_together(
        &self,
        orders: Vec<(Editor, NewSchedule)>,
    ) -> Result<(Vec<Answer>, Option<Timestamp>), CommandError> {
        let tx = self.store.begin().await?;
        self.has_right_clock(&tx).await?;
        self.has_right_zones(&tx).await?;
        let mut namespaces = HashMap::new();
        let mut placed = Vec::with_capacity(orders.len());
        for (right, new) in &orders {
            let namespace = match namespaces.get(&new.namespace) {
                // Found for another one: whether this one may is asked again.
                Some(found) => {
                    right.permit().over(*found, "namespace", &new.namespace)?;
                    *found
                }
                None => self.namespace(&tx, right.permit(), &new.namespace).await?,
            };
            namespaces.insert(new.namespace.clone(), namespace);
            placed.push(namespace);
        }
        let names = placed.iter().copied().zip(orders.iter().map(|(_, new)| new));
        let taken = self.taken_names(&tx, names).await?;
        let mut known = Known::default();
        let (mut answers, mut waiting) = (Vec::with_capacity(orders.len()), Vec::new());
        for (index, ((right, new), namespace)) in orders.into_iter().zip(placed).enumerate() {
            let name = (namespace, new.spec.name.clone());
            if matches!(new.work, Work::Past { .. })
                || matches!(new.work, Work::Task(_)) && taken.contains(&name)
            {
                // It changes rows that are there: not for others to wait for.
                answers.push(None);
                continue;
            }
            let site = Site { tx: &tx, who: right.who(), module: None };
            let composed = self.compose(site, namespace, (index, new), false, &mut known).await;
            answers.push(Some(composed.map(|(composed, saved)| {
                waiting.push(composed);
                saved
            })));
        }
        if waiting.is_empty() {
            return Ok((answers, None));
        }
        let first = waiting.iter().filter_map(Composed::due_at).min();
        let made = self.write(&tx, waiting, Back::Rows).await;
        let made = made.map_err(|(_, error): Refused| *error)?;
        self.store.commit(tx).await?;
        let mut made: HashMap<Uuid, Model> = made.into_iter().map(|row| (row.id, row)).collect();
        for saved in answers.iter_mut().flatten().flatten() {
            saved.row = made.remove(&saved.id).map(Box::new);
        }
        Ok((answers, first))
    }
}
