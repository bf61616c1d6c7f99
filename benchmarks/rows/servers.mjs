/** The stores, by the kinds of databases. */
export const STORES = { sqlite: 'SQLite FULL', postgres: 'PostgreSQL' }

/** Returns a function that starts the service on a new database. */
export const service =
  (kind) =>
  async ({ start, database }, options, program = 'server') =>
    start(program, { database: await database(kind), ...options })

/** Returns a function that starts the equal-promise floor on a database that the service made. */
export const equalPromise =
  (kind) =>
  async ({ start, database }, options) => {
    const at = await database(kind)
    const made = await start('server', { database: at, ...options })
    await made.end()
    return start(`../floor-equal/${kind}`, { database: at, ...made.ready })
  }
