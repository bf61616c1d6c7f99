/**
 * Whether an open delivery is being sent. It was a state of its own: each claim then took the delivery out of the index of what is
 * undelivered and put it back, since that index goes by the state.
 */
export const claimedDeliveries = `
alter table deliveries add column is_claimed integer not null default 0;
update deliveries set state = 'pending', is_claimed = 1 where due_at is not null and state = 'sending';
`
