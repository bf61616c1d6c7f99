import { expect, it } from 'vitest'
import { shownDatabase } from './urls.js'

it.each([
  ['data/service.db', 'data/service.db'],
  ['postgres://me:hunter2@db:5432/app?sslmode=require', 'postgres://me@db:5432/app'],
  [
    'postgres://me:hunter2@a:5432,[::1]:5433/app?target_session_attrs=read-write',
    'postgres://me@a:5432,[::1]:5433/app',
  ],
  ['postgresql:///app?host=/run/postgresql&password=hunter2', 'postgresql:///app'],
])('the database %s is shown as %s', (database, shown) => {
  expect(shownDatabase(database)).toBe(shown)
})
