import pg from 'pg'
import { expect, it } from 'vitest'
import { connectionOf } from './connection-of.js'

const place = { host: 'db.internal', port: 5432, user: 'host', database: 'd' }

it('connectionOf returns the options of a pool, with hidden ones and certificates as bytes', () => {
  const ssl = {
    ca: Buffer.from('authority'),
    key: 'key',
    cert: ['certificate'],
    rejectUnauthorized: true,
  }
  const pool = new pg.Pool({ ...place, password: 'secret', ssl: { ...ssl } })
  expect(structuredClone(connectionOf(pool))).toEqual({
    ...place,
    password: 'secret',
    ssl: { ...ssl, ca: new Uint8Array(Buffer.from('authority')) },
  })
})

it('connectionOf leaves out functions and missing options', () => {
  const ssl = { ca: 'authority', checkServerIdentity: () => undefined }
  expect(connectionOf(new pg.Pool({ ...place, password: () => 'asked for', ssl }))).toEqual({
    ...place,
    ssl: { ca: 'authority' },
  })
  expect(
    connectionOf(new pg.Pool({ connectionString: 'postgres://db.internal/d', ssl: true })),
  ).toEqual({
    connectionString: 'postgres://db.internal/d',
    ssl: true,
  })
})
