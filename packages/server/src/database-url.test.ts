import { expect, it } from 'vitest'
import { shownDatabase } from './database-url.js'

it.each([
  ['data/service.db', 'data/service.db'],
  ['postgres://me:hunter2@db:5432/app?sslmode=require', 'postgres://me@db:5432/app'],
  ['postgresql:///app?host=/run/postgresql&password=hunter2', 'postgresql:///app'],
])('%s is shown as %s', (database, shown) => {
  expect(shownDatabase(database)).toBe(shown)
})
