import type pg from 'pg'

/** The name of the connections that listen, in pg_stat_activity. A pooler can append to it. */
export const LISTENER = 'agent_messaging_signal'
/** The payload of a process that has connected. */
export const GREETING = ''
/** The answer of each other process. */
export const HERE = 'here'
/** How often a process looks for others, if it has something to send. */
const CHECK_EVERY_MS = 60_000

const pidSql = 'select pg_backend_pid() as pid'
const lookSql = `
  select exists (select from pg_stat_activity
    where datname = current_database() and application_name like '${LISTENER}%'
      and pid <> pg_backend_pid()) as "areThere"`

/**
 * Tells whether other processes listen on this database, because a NOTIFY without a listener is
 * wasted. A process that connects greets the others, and they answer. So both notice at once, even
 * if a pooler changes the names of connections. While other listeners are possible, `areThere` is
 * true.
 */
export class OtherListeners {
  #areThere = true
  #ownPid: number | undefined
  #checkedAt = -Infinity
  #heardAt = -Infinity

  get areThere(): boolean {
    return this.#areThere
  }

  /** Returns true if the notification comes from another process. Then others are there. */
  heard({ processId }: pg.Notification): boolean {
    if (processId === this.#ownPid) return false
    this.#areThere = true
    this.#heardAt = performance.now()
    return true
  }

  /** Greets the others on the channel, and looks for them. */
  async greet(client: pg.Client, channel: string): Promise<void> {
    this.#areThere = true
    // First its own id, because it hears its own greeting.
    const { rows } = await client.query<{ pid: number }>(pidSql)
    this.#ownPid = rows[0]?.pid
    await client.query('select pg_notify($1, $2)', [channel, GREETING])
    await this.#look(client)
  }

  /** Looks for the others again if the last look is old. */
  async checkAgain(client: pg.Client): Promise<void> {
    if (performance.now() - this.#checkedAt >= CHECK_EVERY_MS) await this.#look(client)
  }

  async #look(client: pg.Client): Promise<void> {
    const startedAt = performance.now()
    this.#checkedAt = startedAt
    // Without the right to look, others are possible.
    const found = await client.query<{ areThere: boolean }>(lookSql).catch(() => undefined)
    const isQuiet = this.#heardAt < startedAt - CHECK_EVERY_MS
    this.#areThere = !isQuiet || found?.rows[0]?.areThere !== false
  }
}
