-- Locks the sessions of these order keys until the commit, for deliveries. A transaction that
-- inserts a delivery with an order key locks before it looks for an open one with that key. A
-- transaction that ends a delivery locks after that, and then looks for the next one. So neither
-- misses the other. An order key begins with the id of its webhook, a UUID. The rest is the
-- session, so a transaction takes one lock for all webhooks.
create or replace function agent_messaging.lock_orders(order_keys text[]) returns void
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(sorted.lock) from (
    select distinct hashtextextended(substr(given.order_key, 38), 1095586631) as lock
    from unnest(order_keys) as given (order_key) where given.order_key is not null
    order by lock) sorted;
end $$;
