import Database from 'better-sqlite3'
import pg from 'pg'
import { pass } from './points.js'

// Passes `in migration` when a step of the schema has been made and its commit is still to come. Both drivers keep their methods on a prototype.
const isStep = (sql: unknown): boolean => typeof sql === 'string' && /create table|alter table/i.test(sql)

const { exec } = Database.prototype
Database.prototype.exec = function (source) {
  const database = exec.call(this, source)
  if (isStep(source)) pass('in migration')
  return database
}

type Query = (...args: unknown[]) => Promise<unknown>
const prototype = pg.Client.prototype as unknown as { query: Query }
const { query } = prototype
prototype.query = function (...args) {
  const result = query.apply(this, args)
  return isStep(args[0]) ? result.then(passed) : result
}

function passed<T>(result: T): T {
  pass('in migration')
  return result
}
