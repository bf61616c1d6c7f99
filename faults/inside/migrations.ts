import { createRequire } from 'node:module'
import pg from 'pg'
import { pass } from './points.js'

// Passes `in migration` when a step of the schema has been made and its commit is still to come. Both drivers keep their methods on a prototype.
const isStep = (sql: unknown): boolean =>
  typeof sql === 'string' && /create (table|or replace function)|alter table/i.test(sql)

type Driver = { readonly prototype: { exec: (source: string) => unknown } }
/** The very one that the adapter has, whichever version that is. */
const sqlite = createRequire(import.meta.resolve('@org/agent-messaging-sqlite'))(
  'better-sqlite3',
) as Driver
const { exec } = sqlite.prototype
sqlite.prototype.exec = function (source) {
  const database = exec.call(this, source)
  if (isStep(source)) pass('in migration')
  return database
}

type Client = { query: (...args: unknown[]) => unknown }
const client = pg.Client.prototype as unknown as Client
const { query } = client
client.query = function (...args) {
  const result = query.apply(this, args)
  if (!isStep(args[0]) || !(result instanceof Promise)) return result
  return result.then((rows: unknown) => {
    pass('in migration')
    return rows
  })
}
