import { createRequire } from 'node:module'
import pg from 'pg'
import { reach } from './points.js'

// Reaches `in migration` between a step of the schema and its commit. Both drivers have their
// methods on a prototype.
const isStep = (sql: unknown): boolean =>
  typeof sql === 'string' && /create (table|or replace function)|alter table/i.test(sql)

type Driver = { readonly prototype: { exec: (source: string) => unknown } }
/** The driver that the adapter loads. */
const sqlite = createRequire(import.meta.resolve('@org/agent-messaging-adapter-sqlite'))(
  'better-sqlite3',
) as Driver
const { exec } = sqlite.prototype
sqlite.prototype.exec = function (source) {
  const database = exec.call(this, source)
  if (isStep(source)) reach('in migration')
  return database
}

type Client = { query: (...args: unknown[]) => unknown }
const client = pg.Client.prototype as unknown as Client
const { query } = client
client.query = function (...args) {
  const result = query.apply(this, args)
  if (!isStep(args[0]) || !(result instanceof Promise)) return result
  return result.then((rows: unknown) => {
    reach('in migration')
    return rows
  })
}
