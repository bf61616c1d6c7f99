/** The table. A row stays `busy` after a crash, so another process takes it over after a minute. */
export const TABLE = `create table if not exists webhook_deliveries (
  id text primary key,
  state text not null,
  changed_at timestamptz not null default now()
)`

/**
 * Keeps the delivery ids in a table of PostgreSQL, for several receiver processes. Delete old rows
 * now and then: `delete from webhook_deliveries where changed_at < now() - interval '30 days'`.
 */
export function tableDedupe(pool) {
  return {
    async begin(id) {
      const { rowCount } = await pool.query(
        `insert into webhook_deliveries (id, state) values ($1, 'busy')
         on conflict (id) do update set changed_at = now()
         where webhook_deliveries.state = 'busy'
           and webhook_deliveries.changed_at < now() - interval '1 minute'`,
        [id],
      )
      if (rowCount === 1) return 'begun'
      const { rows } = await pool.query('select state from webhook_deliveries where id = $1', [id])
      return rows[0]?.state ?? 'busy'
    },
    async finish(id) {
      await pool.query(
        "update webhook_deliveries set state = 'done', changed_at = now() where id = $1",
        [id],
      )
    },
    async abandon(id) {
      await pool.query("delete from webhook_deliveries where id = $1 and state = 'busy'", [id])
    },
  }
}
